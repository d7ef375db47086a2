// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_merging/edit_script.hpp"

#include <algorithm>
#include <cstdint>

namespace sluice::window_merging {
namespace {

using Place = std::int64_t;
constexpr Place unreached = -1;

enum class Edit : std::uint8_t { substitution, deletion, insertion };

// The last edit to each diagonal with so many edits, four to a byte.
class LastEdits {
 public:
  explicit LastEdits(std::size_t diagonals) : bits_((diagonals + 3) / 4) {}
  void set(std::size_t diagonal, Edit edit) {
    bits_[diagonal / 4] = static_cast<std::uint8_t>(bits_[diagonal / 4] | static_cast<unsigned>(edit) << diagonal % 4 * 2);
  }
  Edit operator[](std::size_t diagonal) const { return static_cast<Edit>(bits_[diagonal / 4] >> diagonal % 4 * 2 & 3); }

 private:
  std::vector<std::uint8_t> bits_;
};

// Works from the ends of both texts to their beginnings, so that what could lie in several places is found in the first. Diagonal d has the places
// (i, i + d), counted from the ends. Of each number of edits only the last edit to each diagonal is kept (2 bits): where it leads to is found again
// along the path.
class FromBehind {
 public:
  FromBehind(std::string_view from, std::string_view to)
      : from_(from), to_(to), rows_(static_cast<Place>(from.size())), columns_(static_cast<Place>(to.size())) {}

  // False: it takes more edits.
  bool search(std::size_t most_edits) {
    for (Place edits = 0; edits <= static_cast<Place>(most_edits); ++edits) {
      reach_before_.swap(reach_);
      reach_.assign(static_cast<std::size_t>(2 * edits + 1), unreached);
      last_edits_.emplace_back(reach_.size());
      for (Place d = std::max(-edits, -rows_); d <= std::min(edits, columns_); ++d) {
        const Step step = edits == 0 ? Step{0, Edit::substitution} : best_step(edits, d);
        if (step.i == unreached) continue;
        const auto diagonal = static_cast<std::size_t>(d + edits);
        last_edits_.back().set(diagonal, step.edit);
        reach_[diagonal] = end_of_equal(step.i, d);
        if (reach_[diagonal] == rows_ && rows_ + d == columns_) return true;
      }
    }
    return false;
  }

  // The edits of the path, from the beginning of the texts on.
  std::vector<Change> changes() const {
    std::vector<Change> changes;
    Place i = end_of_equal(0, 0), d = 0;
    for (const Edit edit : path()) {
      const Place i_before = i, j_before = i + d;
      i += edit == Edit::insertion ? 0 : 1;
      d += diagonals_of(edit);
      append(changes, {static_cast<std::size_t>(rows_ - i), static_cast<std::size_t>(rows_ - i_before), static_cast<std::size_t>(columns_ - i - d),
                       static_cast<std::size_t>(columns_ - j_before)});
      i = end_of_equal(i, d);
    }
    std::reverse(changes.begin(), changes.end());
    return changes;
  }

 private:
  struct Step {
    Place i;  // where the edit leads to
    Edit edit;
  };
  static Place diagonals_of(Edit edit) { return edit == Edit::deletion ? -1 : edit == Edit::insertion ? 1 : 0; }
  bool is_equal(Place i, Place j) const { return from_[static_cast<std::size_t>(rows_ - 1 - i)] == to_[static_cast<std::size_t>(columns_ - 1 - j)]; }
  Place end_of_equal(Place i, Place d) const {
    while (i < rows_ && i + d < columns_ && is_equal(i, i + d)) ++i;
    return i;
  }
  // The edits from the ends of the texts on.
  std::vector<Edit> path() const {
    std::vector<Edit> path;
    Place d = columns_ - rows_;
    for (Place edits = static_cast<Place>(last_edits_.size()) - 1; edits > 0; --edits) {
      path.push_back(last_edits_[static_cast<std::size_t>(edits)][static_cast<std::size_t>(d + edits)]);
      d -= diagonals_of(path.back());
    }
    std::reverse(path.begin(), path.end());
    return path;
  }
  // The furthest place on diagonal d that one edit more than before leads to: a substitution before a deletion before an insertion, if they reach as
  // far.
  Step best_step(Place edits, Place d) const {
    Step best{unreached, Edit::substitution};
    for (const Edit edit : {Edit::substitution, Edit::deletion, Edit::insertion}) {
      const Place d_before = d - diagonals_of(edit);
      if (d_before <= -edits || d_before >= edits) continue;
      const Place before = reach_before_[static_cast<std::size_t>(d_before + edits - 1)];
      if (before == unreached) continue;
      const Place i = before + (edit == Edit::insertion ? 0 : 1);
      if (i <= rows_ && i + d <= columns_ && i > best.i) best = {i, edit};
    }
    return best;
  }
  // Edits with nothing equal between them are one change. They come from the end of the texts on.
  static void append(std::vector<Change>& changes, const Change& change) {
    if (!changes.empty() && changes.back().from_begin == change.from_end && changes.back().to_begin == change.to_end) {
      changes.back().from_begin = change.from_begin;
      changes.back().to_begin = change.to_begin;
    } else {
      changes.push_back(change);
    }
  }

  std::string_view from_, to_;
  Place rows_, columns_;
  std::vector<Place> reach_before_, reach_;  // of each diagonal, with one edit less and with the last number: the largest i that they lead to
  std::vector<LastEdits> last_edits_;        // of each number of edits
};

}  // namespace

std::vector<Change> find_changes(std::string_view from, std::string_view to, std::size_t most_edits) {
  FromBehind search(from, to);
  if (search.search(most_edits)) return search.changes();
  const auto first = static_cast<std::size_t>(std::mismatch(from.begin(), from.end(), to.begin(), to.end()).first - from.begin());
  const std::size_t shorter = std::min(from.size(), to.size()) - first;
  std::size_t last = 0;
  while (last < shorter && from[from.size() - 1 - last] == to[to.size() - 1 - last]) ++last;
  return {{first, from.size() - last, first, to.size() - last}};
}

}  // namespace sluice::window_merging
