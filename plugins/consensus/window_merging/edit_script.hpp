// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where one text differs from another that is much like it.

#include <cstddef>
#include <string_view>
#include <vector>

namespace sluice::window_merging {

// Letters [from_begin, from_end) become letters [to_begin, to_end) of the other text. One of the two may be none.
struct Change {
  std::size_t from_begin, from_end, to_begin, to_end;
  bool operator==(const Change&) const = default;
};

// The changes from one text to the other by the fewest substitutions, insertions and deletions (furthest-reaching points: Ukkonen 1985, Myers 1986),
// in order, with at least one equal letter between two. Where a letter could be inserted or deleted in several places it is the first one. Time and
// memory grow with the square of their number (a quarter of a byte for each: 4.3 MB for 4,096 edits): beyond most_edits there is one change, of
// everything between the letters that both begin and end with.
std::vector<Change> find_changes(std::string_view from, std::string_view to, std::size_t most_edits = 4096);

}  // namespace sluice::window_merging
