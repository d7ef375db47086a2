// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time.

#include "base_alignment/kernel/align.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <type_traits>
#include <vector>

#include "base_alignment/kernel/equal_ends.hpp"

#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base_alignment/kernel/align.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "base_alignment/kernel/narrow_band-inl.hpp"
#include "base_alignment/kernel/vector_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace sluice::base_alignment::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
void align_chosen(const Scores& scores, const Problem& problem, MatrixRows& rows, Alignment& result) { align_plainly(scores, problem, rows, result); }
#else

// Behind the operations from `begin` on.
void add_matches(std::int32_t count, std::size_t begin, std::vector<std::uint32_t>& cigar) {
  const std::uint32_t operation = static_cast<std::uint32_t>(count) << 4;
  if (count == 0) return;
  if (cigar.size() > begin && (cigar.back() & 15U) == 0)
    cigar.back() += operation;
  else
    cigar.push_back(operation);
}

// Of a problem without ambiguous bases and equal ends. False: it needs a matrix.
bool align_without_matrix(const Scores& scores, const Problem& problem, Alignment& result) {
  const std::size_t before = result.cigar.size();
  if (has_no_gaps(scores, problem)) {
    add_matches(problem.query_length, before, result.cigar);
  } else {
    const std::int32_t columns = columns_before_only_gap(problem);
    if (columns < 0) return false;
    const std::int32_t inserted = problem.query_length - problem.target_length;
    add_matches(columns, before, result.cigar);
    result.cigar.push_back(static_cast<std::uint32_t>(std::abs(inserted)) << 4 | (inserted > 0 ? 1U : 2U));
    add_matches(std::min(problem.query_length, problem.target_length) - columns, before, result.cigar);
  }
  result.score = static_cast<std::int32_t>(path_score(scores, problem, std::span(result.cigar).subspan(before)));
  return true;
}

// False: not done, as the best path may need a wider band.
template <class Band>
bool align_in_narrow_band(const Scores& scores, const Problem& problem, MatrixRows& rows, Alignment& result) {
  const Diagonals diagonals = diagonals_around(problem, Band::width);
  // The least that is expected of a path: three quarters of what equal sequences would score.
  const std::int64_t expected = std::int64_t{scores.match} * std::min(problem.query_length, problem.target_length) * 3 / 4;
  if (!holds_ends(problem, diagonals) || highest_outside(scores, problem, diagonals) >= expected) return false;
  return Band(scores, problem, rows).run(result);
}

template <Pieces pieces, bool is_general>
void align_by_rows(const Scores& scores, const Problem& problem, MatrixRows& rows, Alignment& result) {
  rows.start(problem, scores);
  const auto run = [&]<TieOrder ties>() {
    VectorRows<pieces, ties, is_general> whole(scores, problem, rows);
    if (problem.goal == Goal::ends)
      whole.template run<false>(result);
    else
      whole.template run<true>(result);
  };
  if (problem.ties == TieOrder::gap_right)
    run.template operator()<TieOrder::gap_right>();
  else
    run.template operator()<TieOrder::gap_left>();
}

// From end to end, in the whole matrix.
template <Pieces pieces, bool is_general>
void align_ends(const Scores& scores, const Problem& problem, MatrixRows& rows, Alignment& result) {
  rows.start_sequences(problem);
  const auto in_band = [&]<int width>() {
    using Tag = std::conditional_t<width >= lanes, CellTag, HalfTag>;
    constexpr int vectors = width / static_cast<int>(hn::MaxLanes(Tag()));
    return align_in_narrow_band<NarrowBand<pieces, is_general, vectors, Tag> >(scores, problem, rows, result);
  };
  if (!in_band.template operator()<32>() && !in_band.template operator()<64>() && !in_band.template operator()<128>())
    align_by_rows<pieces, is_general>(scores, problem, rows, result);
}

template <Pieces pieces, bool is_general>
void align_in_vectors(const Scores& scores, Problem problem, MatrixRows& rows, Alignment& result) {
  if (!is_whole(problem)) return align_by_rows<pieces, is_general>(scores, problem, rows, result);
  if constexpr (is_general) {
    align_ends<pieces, is_general>(scores, problem, rows, result);
  } else {
    const std::int32_t equal = equal_end(problem);
    problem.query_length -= equal;
    problem.target_length -= equal;
    const std::size_t before = result.cigar.size();
    if (!align_without_matrix(scores, problem, result)) align_ends<pieces, is_general>(scores, problem, rows, result);
    add_matches(equal, before, result.cigar);
    result.score += equal * scores.match;
  }
}

bool any_ambiguous(const std::uint8_t* codes, std::int32_t count) {
  const CodeTag tag;
  auto all = hn::Zero(tag);
  std::int32_t i = 0;
  for (; i + lanes <= count; i += lanes) all = hn::Or(all, hn::LoadU(tag, codes + i));
  std::uint8_t rest = 0;
  for (; i < count; ++i) rest |= codes[i];
  const CellTag signed_tag;
  return rest > 3 || !hn::AllFalse(signed_tag, hn::Gt(hn::BitCast(signed_tag, all), set(3)));
}

void align_chosen(const Scores& scores, const Problem& problem, MatrixRows& rows, Alignment& result) {
  if (!starts(scores, problem, result)) return;
  if (scores.has_transitions() || any_ambiguous(problem.query, problem.query_length) || any_ambiguous(problem.target, problem.target_length))
    return scores.one_piece() ? align_in_vectors<Pieces::one, true>(scores, problem, rows, result)
                              : align_in_vectors<Pieces::two, true>(scores, problem, rows, result);
  return scores.one_piece() ? align_in_vectors<Pieces::one, false>(scores, problem, rows, result)
                            : align_in_vectors<Pieces::two, false>(scores, problem, rows, result);
}
#endif

}  // namespace sluice::base_alignment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::base_alignment {
namespace {
HWY_EXPORT(align_chosen);
}  // namespace

bool gap_costs_fit(const Scores& scores) {
  if (scores.gap_open <= 0 || scores.gap_extend <= 0) return false;
  const std::int32_t short_gap = scores.gap_open + scores.gap_extend, long_gap = scores.gap_open_long + scores.gap_extend_long;
  if (!scores.one_piece() && (scores.gap_extend <= scores.gap_extend_long || short_gap >= long_gap)) return false;
  return short_gap + long_gap <= 127;
}

void align(const Scores& scores, const Problem& problem, MatrixRows& rows, Alignment& result) {
  HWY_DYNAMIC_DISPATCH(align_chosen)(scores, problem, rows, result);
}

}  // namespace sluice::base_alignment
#endif
