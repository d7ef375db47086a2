// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_merging/change_records.hpp"

#include <vector>

#include "window_merging/edit_script.hpp"

namespace sluice::window_merging {

void append_records(std::string_view target, std::int64_t first, std::string_view from, std::string_view to, std::string& records) {
  std::vector<Change> changes = find_changes(from, to);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Change& change = changes[i];
    const bool lacks_letters = change.from_begin == change.from_end || change.to_begin == change.to_end;
    if (lacks_letters && change.from_begin > 0 && change.to_begin > 0) {
      --change.from_begin;
      --change.to_begin;
    } else if (lacks_letters && change.from_end < from.size()) {  // then there is the same letter in `to`
      ++change.from_end;
      ++change.to_end;
      // The next one may want the same base.
      if (i + 1 < changes.size() && changes[i + 1].from_begin == change.from_end) {
        changes[i + 1].from_begin = change.from_begin;
        changes[i + 1].to_begin = change.to_begin;
        continue;
      }
    }
    // A window that has lost all of its bases has none beside them that is left; one that has got some where there were none can't be named so.
    if (change.from_begin == change.from_end) continue;
    records.append(target).append("\t").append(std::to_string(first + static_cast<std::int64_t>(change.from_begin))).append("\t.\t");
    records.append(from.substr(change.from_begin, change.from_end - change.from_begin)).append("\t");
    const std::string_view letters = to.substr(change.to_begin, change.to_end - change.to_begin);
    records.append(letters.empty() ? "<DEL>" : letters).append("\t.\t.\t.\n");
  }
}

}  // namespace sluice::window_merging
