// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sdtw/candidate_search.hpp"

#include <algorithm>

namespace sluice::sdtw {

CandidateSearch::CandidateSearch(const Batch& target, Method method) : method_(method) {
  const SquiggleReferenceView view(target);
  for (std::int64_t t = 0; t < view.targets(); ++t) {
    const SquiggleTarget levels = view[t];
    for (const std::span<const std::int16_t> level : {levels.forward_level, levels.reverse_level}) {
      if (!level.empty()) strands_.push_back({columns_, level});
      columns_ += static_cast<std::int64_t>(level.size());
    }
  }
}

const CandidateSearch::Strand& CandidateSearch::strand_of(std::int64_t column) const {
  const auto after = std::upper_bound(strands_.begin(), strands_.end(), column,
                                      [](std::int64_t value, const Strand& strand) { return value < strand.first_column; });
  return *(after - 1);
}

bool CandidateSearch::are_valid(std::span<const Stretch> stretches) const {
  std::int64_t before = 0;
  for (const Stretch& stretch : stretches) {
    if (stretch.begin < before || stretch.end <= stretch.begin || stretch.end > columns_) return false;
    const Strand& strand = strand_of(stretch.begin);
    if (stretch.end > strand.first_column + static_cast<std::int64_t>(strand.level.size())) return false;
    before = stretch.end;
  }
  return true;
}

std::span<const std::int16_t> CandidateSearch::levels_of(const Stretch& stretch) const {
  const Strand& strand = strand_of(stretch.begin);
  return strand.level.subspan(static_cast<std::size_t>(stretch.begin - strand.first_column), static_cast<std::size_t>(stretch.end - stretch.begin));
}

// The stretches become a reference of their own, each a target: the order of ties is that of the columns.
SearchResult CandidateSearch::find(std::span<const std::int16_t> query, std::span<const Stretch> stretches, Search::PathStart start,
                                   Workspace& workspace) const {
  if (query.empty()) return {};
  if (stretches.empty()) return {{static_cast<std::int64_t>(query.size()) * largest_cost(method_.cost), -1}, -1, CellWidth::narrow};
  Reference reference;
  for (const Stretch& stretch : stretches) reference.add_target(levels_of(stretch), {});
  workspace.scalar.reset();  // of another reference
  SearchResult result = Search(reference, method_).find(query, start, workspace);
  workspace.scalar.reset();
  const Segment& segment = reference.segment_of(result.hit.column);
  const std::int64_t shift = stretches[static_cast<std::size_t>(segment.target)].begin - segment.begin;
  result.hit.column += shift;
  if (result.first_column >= 0) result.first_column += shift;
  return result;
}

}  // namespace sluice::sdtw
