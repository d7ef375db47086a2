// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the stages sdtw and sdtw_stream have in common: options, columns, targets.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sluice/squiggle_reference.hpp>
#include <sluice/stage.hpp>
#include <span>
#include <string>

#include "sdtw/candidate_search.hpp"
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
  d.uses("index", "squiggle_index", "says whether reads are aligned to all of the targets or only to candidates; without it to all",
         Needed::optional);
  d.needs("query_level", "list<i16>", "normalised signal in steps of 1/16, within +-63");
  d.needs("candidate_begin", "list<i64>", "search by seeds: first column of each stretch to align to, among all strands", Needed::optional);
  d.needs("candidate_end", "list<i64>", "search by seeds: column behind its last", Needed::optional);
  d.gives("sdtw_score", "i64", "cost of the best alignment, summed over the levels of the query");
  d.gives("sdtw_target", "i32", "row of the target where it lies, -1: there was no level yet, or no candidate (the score is then the largest)");
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
  Reference reference(view.first_end());
  for (std::int64_t target = 0; target < view.targets(); ++target) {
    const SquiggleTarget levels = view[target];
    reference.add_target(levels.forward_level, levels.reverse_level);
  }
  return reference;
}

// Where the strands of the targets lie, without their levels: nothing can be searched for in it.
inline Reference strands_of(const Setup& setup) {
  const SquiggleReferenceView view(setup.resource("target"));
  Reference reference(view.first_end());
  for (std::int64_t target = 0; target < view.targets(); ++target)
    reference.add_target_sizes(view[target].forward_level.size(), view[target].reverse_level.size());
  return reference;
}

// Are reads aligned to candidates only? Throws Failure if there are none.
inline bool is_by_seeds(const Setup& setup) {
  if (!setup.has_resource("index") || setup.resource("index").attribute("search") != "seeds") return false;
  if (!setup.available("candidate_begin") || !setup.available("candidate_end"))
    throw Failure::usage("the search is by seeds, but no stage before this one gives candidates",
                         "put signal_seeding, chaining and seed_candidates before it, or set search = \"sdtw\" of the resource squiggle_index");
  return true;
}

// False: there are more beginnings than ends, or fewer.
inline bool make_stretches(std::span<const std::int64_t> begin, std::span<const std::int64_t> end, std::vector<Stretch>& stretches) {
  stretches.clear();
  if (begin.size() != end.size()) return false;
  for (std::size_t i = 0; i < begin.size(); ++i) stretches.push_back({begin[i], end[i]});
  return true;
}

// What seed_candidates gives.
class CandidateColumns {
 public:
  explicit CandidateColumns(const Batch& in) : begin_(in.list<std::int64_t>("candidate_begin")), end_(in.list<std::int64_t>("candidate_end")) {}
  // False: a row has more beginnings than ends, or fewer.
  bool of(std::int64_t row, std::vector<Stretch>& stretches) const { return make_stretches(begin_[row], end_[row], stretches); }

 private:
  ListView<std::int64_t> begin_, end_;
};

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

// What both stages are made of. Where columns descend (DNA's reverse strands) the end is found as the start is: the first column is needed for
// either.
struct Targets {
  Targets(const Setup& setup, const Parameters& parameters)
      : by_seeds(is_by_seeds(setup)),
        method(method_of(parameters)),
        reference(by_seeds ? strands_of(setup) : reference_of(setup)),
        wants_start(setup.wanted("sdtw_start")),
        wants_end(setup.wanted("sdtw_end")),
        path_start(wants_start || wants_end ? Search::PathStart::wanted : Search::PathStart::unwanted) {
    if (by_seeds)
      candidates.emplace(setup.resource("target"), method);
    else
      whole.emplace(reference, method);
  }
  // Of all columns: not by seeds.
  const Search& search() const { return *whole; }
  // Manhattan cost without reference deletions is what the kernels of cuda.hpp compute.
  bool can_be_searched_on_devices() const {
    if (by_seeds || reference.columns() == 0) return false;
    if (std::ranges::any_of(reference.segments(), [](const Segment& segment) { return segment.size >= std::int64_t{1} << 31; })) return false;
    return method.cost == Cost::manhattan && method.deletions == ReferenceDeletions::forbidden;
  }
  // The same of candidates.
  bool has_candidates_for_devices() const { return by_seeds && method.cost == Cost::manhattan && method.deletions == ReferenceDeletions::forbidden; }
  // Cells of a query of so many levels: by seeds about, because the candidates are not known yet.
  double cells(std::int64_t levels) const {
    constexpr std::int64_t candidate_columns = 10'000;
    return static_cast<double>(levels) * static_cast<double>(by_seeds ? std::min(candidate_columns, reference.columns()) : reference.columns());
  }
  bool by_seeds;
  Method method;
  Reference reference;  // by seeds: without levels
  std::optional<Search> whole;
  std::optional<CandidateSearch> candidates;
  bool wants_start, wants_end;
  Search::PathStart path_start;
};

}  // namespace sluice::sdtw
