// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time.

#include "base_alignment/kernel/align.hpp"

#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base_alignment/kernel/align.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "base_alignment/kernel/vector_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace sluice::base_alignment::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
void align_chosen(const Scores& scores, const Problem& problem, MatrixRows& rows, Alignment& result) { align_plainly(scores, problem, rows, result); }
#else
template <Pieces pieces, TieOrder ties>
void align_in_vectors(const Scores& scores, const Problem& problem, MatrixRows& rows, Alignment& result) {
  align_by_rows(
      scores, problem, rows, result, [&] { return VectorRows<pieces, ties>(scores, problem, rows); },
      [&](std::int32_t row, const RowCells& cells, std::int32_t highest) { return add_differences(row, cells, highest, problem.z_drop, scores, rows); });
}

void align_chosen(const Scores& scores, const Problem& problem, MatrixRows& rows, Alignment& result) {
  const bool right = problem.ties == TieOrder::gap_right;
  if (scores.one_piece())
    return right ? align_in_vectors<Pieces::one, TieOrder::gap_right>(scores, problem, rows, result)
                 : align_in_vectors<Pieces::one, TieOrder::gap_left>(scores, problem, rows, result);
  return right ? align_in_vectors<Pieces::two, TieOrder::gap_right>(scores, problem, rows, result)
               : align_in_vectors<Pieces::two, TieOrder::gap_left>(scores, problem, rows, result);
}
#endif

}  // namespace sluice::base_alignment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::base_alignment {
namespace {
HWY_EXPORT(align_chosen);
}  // namespace

bool scores_fit(const Scores& scores) {
  if (scores.gap_open <= 0 || scores.gap_extend <= 0) return false;
  const std::int32_t short_gap = scores.gap_open + scores.gap_extend, long_gap = scores.gap_open_long + scores.gap_extend_long;
  if (!scores.one_piece() && (scores.gap_extend <= scores.gap_extend_long || short_gap >= long_gap)) return false;
  return short_gap + long_gap <= 127;
}

void align(const Scores& scores, const Problem& problem, MatrixRows& rows, Alignment& result) {
  HWY_DYNAMIC_DISPATCH(align_chosen)(scores, problem, rows, result);
}

void align(const Scores& scores, std::span<const Problem> problems, MatrixRows& rows, std::span<Alignment> results) {
  for (std::size_t i = 0; i < problems.size(); ++i) align(scores, problems[i], rows, results[i]);
}

}  // namespace sluice::base_alignment
#endif
