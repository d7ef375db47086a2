// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_merging/edit_script.hpp"

#include <algorithm>
#include <cstdint>

namespace sluice::window_merging {
namespace {

using Place = std::int64_t;
constexpr Place unreached = -1;

// Works from the ends of both texts to their beginnings, so that what could lie in several places is found in the first. Diagonal d has the places
// (i, i + d), counted from the ends; reach_[edits][d] is the largest i that so many edits lead to.
class FromBehind {
 public:
  FromBehind(std::string_view from, std::string_view to)
      : from_(from), to_(to), rows_(static_cast<Place>(from.size())), columns_(static_cast<Place>(to.size())) {}

  // False: it takes more edits.
  bool search(std::size_t most_edits) {
    for (Place edits = 0; edits <= static_cast<Place>(most_edits); ++edits) {
      reach_.emplace_back(static_cast<std::size_t>(2 * edits + 1), unreached);
      for (Place d = std::max(-edits, -rows_); d <= std::min(edits, columns_); ++d) {
        Place i = edits == 0 ? 0 : best_before(edits, d).i;
        if (i == unreached) continue;
        while (i < rows_ && i + d < columns_ && is_equal(i, i + d)) ++i;
        reach_.back()[static_cast<std::size_t>(d + edits)] = i;
        if (i == rows_ && i + d == columns_) return true;
      }
    }
    return false;
  }

  // The edits of the path, from the beginning of the texts on.
  std::vector<Change> changes() const {
    std::vector<Change> changes;
    Place edits = static_cast<Place>(reach_.size()) - 1, d = columns_ - rows_;
    for (; edits > 0; --edits) {
      const Step step = best_before(edits, d);
      const Place d_before = step.d, i_before = reach(edits - 1, d_before), j_before = i_before + d_before, i = step.i, j = i + d;
      append(changes, {static_cast<std::size_t>(rows_ - i), static_cast<std::size_t>(rows_ - i_before), static_cast<std::size_t>(columns_ - j),
                       static_cast<std::size_t>(columns_ - j_before)});
      d = d_before;
    }
    return changes;
  }

 private:
  struct Step {
    Place i, d;  // where an edit leads to, from which diagonal
  };
  bool is_equal(Place i, Place j) const { return from_[static_cast<std::size_t>(rows_ - 1 - i)] == to_[static_cast<std::size_t>(columns_ - 1 - j)]; }
  Place reach(Place edits, Place d) const {
    return d < -edits || d > edits ? unreached : reach_[static_cast<std::size_t>(edits)][static_cast<std::size_t>(d + edits)];
  }
  // A substitution before a deletion before an insertion, if they reach as far.
  Step best_before(Place edits, Place d) const {
    Step best{unreached, d};
    const auto consider = [&](Place d_before, Place forward) {
      const Place from = reach(edits - 1, d_before);
      if (from == unreached) return;
      const Place i = from + forward;
      if (i > rows_ || i + d > columns_ || i <= best.i) return;
      best = {i, d_before};
    };
    consider(d, 1);
    consider(d + 1, 1);
    consider(d - 1, 0);
    return best;
  }
  // Edits with nothing equal between them are one change.
  static void append(std::vector<Change>& changes, const Change& change) {
    if (!changes.empty() && changes.back().from_end == change.from_begin && changes.back().to_end == change.to_begin) {
      changes.back().from_end = change.from_end;
      changes.back().to_end = change.to_end;
    } else {
      changes.push_back(change);
    }
  }

  std::string_view from_, to_;
  Place rows_, columns_;
  std::vector<std::vector<Place>> reach_;
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
