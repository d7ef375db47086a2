// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the stages sdtw and sdtw_stream have in common: options, columns, targets.

#include <algorithm>
#include <cstdint>
#include <sluice/squiggle_reference.hpp>
#include <sluice/stage.hpp>
#include <span>
#include <string>

#include "sdtw/search.hpp"

namespace sluice::sdtw {

struct Parameters {
  std::string cost = "manhattan";
  bool reference_deletions = false;
};

template <class Stage>
void describe_both(Describe<Stage>& d) {
  d.map("read").work_unit("cell");
  d.uses("target", "squiggle_target", "expected levels of the targets, both strands");
  d.needs("query_level", "list<i16>", "normalised signal in steps of 1/16, within +-63");
  d.gives("sdtw_score", "i64", "cost of the best alignment, summed over the levels of the query");
  d.gives("sdtw_target", "i32", "row of the target where it lies, -1: there was no level yet");
  d.gives("sdtw_is_reverse", "u8", "1: on the reverse strand");
  d.gives("sdtw_start", "i64", "first k-mer of the alignment, on the forward strand of the target", Needed::optional);
  d.gives("sdtw_end", "i64", "end of the alignment, on the forward strand of the target", Needed::optional);
  d.gives("sdtw_length", "i32", "levels of the query");
  d.option("cost", &Stage::Parameters::cost, "cost of two levels: their distance or its square").choices({"manhattan", "squared"});
  d.option("reference_deletions", &Stage::Parameters::reference_deletions,
           "may an alignment skip k-mers of the reference without a level of their own? On the CPU only, and slow");
}

inline Method method_of(const Parameters& parameters) {
  return {parameters.cost == "squared" ? Cost::squared : Cost::manhattan,
          parameters.reference_deletions ? ReferenceDeletions::allowed : ReferenceDeletions::forbidden};
}

inline Reference reference_of(const Setup& setup) {
  const SquiggleReferenceView view(setup.resource("target"));
  Reference reference;
  for (std::int64_t target = 0; target < view.targets(); ++target) {
    const SquiggleTarget levels = view[target];
    reference.add_target(levels.forward_level, levels.reverse_level);
  }
  return reference;
}

// The columns that both stages give.
struct ResultColumns {
  ResultColumns(Output& out, bool wants_start, bool wants_end)
      : score(out.column<std::int64_t>("sdtw_score")),
        target(out.column<std::int32_t>("sdtw_target")),
        is_reverse(out.column<std::uint8_t>("sdtw_is_reverse")),
        length(out.column<std::int32_t>("sdtw_length")) {
    if (wants_start) start = out.column<std::int64_t>("sdtw_start");
    if (wants_end) end = out.column<std::int64_t>("sdtw_end");
  }
  void set(std::size_t row, const Reference& reference, const SearchResult& result, std::size_t query_levels) const {
    const Place place = place_of(reference, result.first_column, result.hit.column);
    score[row] = result.hit.score;
    target[row] = place.target;
    is_reverse[row] = place.strand == Strand::reverse ? 1 : 0;
    length[row] = static_cast<std::int32_t>(query_levels);
    if (!start.empty()) start[row] = place.start;
    if (!end.empty()) end[row] = place.end;
  }
  std::span<std::int64_t> score;
  std::span<std::int32_t> target;
  std::span<std::uint8_t> is_reverse;
  std::span<std::int32_t> length;
  std::span<std::int64_t> start, end;
};

// What both stages are made of. On the reverse strand the end is found as the start is: the first column is needed for either.
struct Targets {
  Targets(const Setup& setup, const Parameters& parameters)
      : reference(reference_of(setup)),
        search(reference, method_of(parameters)),
        wants_start(setup.wanted("sdtw_start")),
        wants_end(setup.wanted("sdtw_end")),
        path_start(wants_start || wants_end ? Search::PathStart::wanted : Search::PathStart::unwanted) {}
  // Manhattan cost without reference deletions is what the kernels of cuda.hpp compute, for targets whose strands have levels alike.
  bool can_be_searched_on_devices() const {
    const std::span<const Segment> segments = reference.segments();
    for (std::size_t i = 0; i < segments.size(); i += 2) {
      const bool is_pair = i + 1 < segments.size() && segments[i].target == segments[i + 1].target && segments[i].size == segments[i + 1].size;
      if (!is_pair || segments[i].size >= std::int64_t{1} << 31) return false;
    }
    return search.method().cost == Cost::manhattan && search.method().deletions == ReferenceDeletions::forbidden;
  }
  Reference reference;
  Search search;
  bool wants_start, wants_end;
  Search::PathStart path_start;
};

}  // namespace sluice::sdtw
