// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Some neighbouring bases of the read on each row of the matrix across introns (kernel/spliced_plain.cpp), in the registers of one lane; the lanes of
// a job hold the whole row, and the target passes by, a base a row.
//
// Scores are whole numbers, four times as large. The two low bits of a candidate say which it is: of equal scores the one with the higher number is
// taken, and one maximum gives both the score and the step.

#include <limits>

#include "base_alignment/cuda/job.hpp"
#include "base_alignment/cuda/pairs.hpp"
#include "base_alignment/cuda/row_best.hpp"
#include "base_alignment/kernel/spliced_path.hpp"

namespace sluice::base_alignment::cuda {

struct SplicedRule {
  static constexpr std::int32_t scale = 4;
  std::int32_t gap_open, gap_extend, intron_open;  // scaled
  // What columns score, a byte each: by the exclusive or of two codes; from the fifth on there is an N.
  std::uint32_t of_bases, of_ambiguous;
};
inline SplicedRule spliced_rule(const Scores& scores) {
  SplicedRule rule{scores.gap_open * SplicedRule::scale, scores.gap_extend * SplicedRule::scale, scores.gap_open_long * SplicedRule::scale, 0, 0};
  for (std::uint8_t unlike = 0; unlike < 4; ++unlike)
    rule.of_bases |= static_cast<std::uint32_t>(spliced_matrix_score(scores, 0, unlike) & 255) << 8 * unlike;
  rule.of_ambiguous = static_cast<std::uint32_t>(spliced_matrix_score(scores, 4, 4) & 255) * 0x01010101U;
  return rule;
}

// What a lane gives to the next one, scaled: the score two rows before of its last cell, and the insertion that leaves it.
struct SplicedPassing {
  std::int32_t score, insertion;
};

template <int cells>
class SplicedLane {
 public:
  static constexpr int step_words = cells > 4 ? cells / 4 : 1;
  static_assert(cells == 2 || cells == 4 || cells == 8 || cells == 16);

  // first: the read's base of the first cell. Beyond the read cells are computed for nothing.
  SLUICE_HOST_DEVICE void start(const Scores& scores, const std::uint8_t* query, std::int32_t query_length, std::int32_t first) {
    first_ = first;
    for (int k = 0; k < cells; ++k) {
      const std::int32_t base = first + k;
      query_[k] = base < query_length ? query[base] * 0x1111U : 0U;
      // In front of the target.
      const std::int32_t border = spliced_border(scores, base + 1);
      score_[k] = before_[k] = border * SplicedRule::scale;
      deletion_[k] = (border - scores.gap_open - scores.gap_extend) * SplicedRule::scale;
      intron_[k] = (border - scores.gap_open_long) * SplicedRule::scale;
      insertion_[k] = 0;
      target_[k] = 0;
    }
  }

  // The same behind scores and introns that go on, by bases of the read from none to all, as of SplicedStart in kernel/spliced.hpp.
  SLUICE_HOST_DEVICE void start_behind(const Scores& scores, const std::int32_t* score, const std::int32_t* intron, std::int32_t query_length) {
    for (int k = 0; k < cells; ++k) {
      const std::int32_t bases = first_ + k + 1 < query_length ? first_ + k + 1 : query_length;
      score_[k] = before_[k] = score[bases] * SplicedRule::scale;
      deletion_[k] = (score[bases] - scores.gap_open - scores.gap_extend) * SplicedRule::scale;
      intron_[k] = intron[bases] * SplicedRule::scale;
      insertion_[k] = 0;
      target_[k] = 0;
    }
  }
  SLUICE_HOST_DEVICE static SplicedPassing before_first_behind(const Scores& scores, std::int32_t score) {
    return {score * SplicedRule::scale, (score - scores.gap_open - scores.gap_extend) * SplicedRule::scale};
  }
  // What leaves a column behind the row that was filled last, if the lane has its cell there: at the place of the read's bases in front of it.
  SLUICE_HOST_DEVICE void write_edge(std::int32_t row, std::int32_t column, std::int32_t query_length, std::int32_t* score,
                                     std::int32_t* intron) const {
    const std::int32_t base = row - column;
    if (base < first_ || base >= first_ + cells || base >= query_length) return;
    for (int k = 0; k < cells; ++k) {
      if (first_ + k != base) continue;
      score[base + 1] = higher(score_[k], deletion_[k]) / SplicedRule::scale;
      intron[base + 1] = intron_[k] / SplicedRule::scale;
    }
  }

  SLUICE_HOST_DEVICE SplicedPassing passing() const { return {before_[cells - 1], insertion_[cells - 1]}; }
  // What the lane of the read's first base takes.
  SLUICE_HOST_DEVICE static SplicedPassing before_first(const Scores& scores, std::int32_t row) {
    return {spliced_border(scores, row) * SplicedRule::scale,
            (spliced_border(scores, row + 1) - scores.gap_open - scores.gap_extend) * SplicedRule::scale};
  }

  // The row's cells; entering: the target's base of the first cell. On first rows, up to the read's length, cells in front of the target are not
  // reached yet. steps: a byte a cell, the first one lowest.
  template <TieOrder ties, bool on_first_rows>
  SLUICE_HOST_DEVICE void fill(const SplicedRule& rule, std::int32_t row, SiteWord entering, SplicedPassing passed,
                               std::uint32_t (&steps)[step_words]) {
    for (int i = 0; i < step_words; ++i) steps[i] = 0;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = cells - 1; k >= 0; --k) {
      target_[k] = k > 0 ? target_[k > 0 ? k - 1 : 0] : entering;
      if (on_first_rows && row < first_ + k) continue;
      const std::int32_t diagonal = k > 0 ? before_[k > 0 ? k - 1 : 0] : passed.score;
      const std::int32_t insertion = k > 0 ? insertion_[k > 0 ? k - 1 : 0] : passed.insertion;
      before_[k] = score_[k];
      steps[k / 4] |= fill_cell<ties>(rule, k, diagonal, insertion) << 8 * (k % 4);
    }
  }

  // Of the row's cells, whose places on the target are cells_of_row; score 0x80000000 if the lane has none.
  SLUICE_HOST_DEVICE RowBest best(std::int32_t row, SplicedRow cells_of_row) const {
    RowBest best{std::numeric_limits<std::int32_t>::min(), 0xFFFFFFFFU};
    for (int k = 0; k < cells; ++k) {
      const std::int32_t target = row - first_ - k;
      if (target < cells_of_row.first || target > cells_of_row.last) continue;
      const RowBest cell{score_[k] / SplicedRule::scale, turn_of(target, cells_of_row.first, cells_of_row.last)};
      if (cell.beats(best)) best = cell;
    }
    return best;
  }
  // Of the cell at a base of the read that the lane has.
  SLUICE_HOST_DEVICE std::int32_t score_at(std::int32_t base) const {
    std::int32_t score = 0;
    for (int k = 0; k < cells; ++k)
      if (first_ + k == base) score = score_[k] / SplicedRule::scale;
    return score;
  }

 private:
  template <TieOrder ties>
  SLUICE_HOST_DEVICE static constexpr std::int32_t number_of(std::uint8_t step) {
    return ties == TieOrder::gap_right ? 3 - step : step;
  }
  SLUICE_HOST_DEVICE static std::int32_t higher(std::int32_t a, std::int32_t b) { return a > b ? a : b; }
  template <TieOrder ties>
  SLUICE_HOST_DEVICE static bool continues(std::int32_t gap, std::int32_t opened) {
    return ties == TieOrder::gap_right ? gap > opened : gap >= opened;
  }

  template <TieOrder ties>
  SLUICE_HOST_DEVICE std::uint32_t fill_cell(const SplicedRule& rule, int k, std::int32_t diagonal, std::int32_t insertion) {
    const SiteWord target = target_[k];
    const auto column =
        static_cast<std::int32_t>(select_bytes(rule.of_bases, rule.of_ambiguous, (((target ^ query_[k]) | (target & 0x4444U)) & 0x7777U) | 0x8880U));
    const auto donor = static_cast<std::int32_t>(select_bytes(target, 0, 0xAAA2)),
               acceptor = static_cast<std::int32_t>(select_bytes(target, 0, 0xBBB3));
    const std::int32_t deletion = deletion_[k], intron = intron_[k];
    std::int32_t best = diagonal + column * SplicedRule::scale + number_of<ties>(step_match);
    best = higher(best, deletion + number_of<ties>(step_deletion));
    best = higher(best, insertion + number_of<ties>(step_insertion));
    best = higher(best, intron + acceptor * SplicedRule::scale + number_of<ties>(step_intron));
    std::uint32_t step = static_cast<std::uint32_t>(best) & 3U;
    if constexpr (ties == TieOrder::gap_right) step ^= 3U;
    const std::int32_t score = best & ~3, opened = score - rule.gap_open;
    const std::int32_t intron_opened = score - rule.intron_open + donor * SplicedRule::scale;
    if (continues<ties>(deletion, opened)) step |= goes_on(step_deletion);
    if (continues<ties>(insertion, opened)) step |= goes_on(step_insertion);
    if (continues<ties>(intron, intron_opened)) step |= goes_on(step_intron);
    score_[k] = score;
    deletion_[k] = higher(opened, deletion) - rule.gap_extend;
    insertion_[k] = higher(opened, insertion) - rule.gap_extend;
    intron_[k] = higher(intron_opened, intron);
    return step;
  }

  // Scaled; of the row before, of the one before that, and of gaps that leave the cells of the row before.
  std::int32_t score_[cells], before_[cells], deletion_[cells], insertion_[cells], intron_[cells];
  SiteWord target_[cells];
  std::uint32_t query_[cells];
  std::int32_t first_;
};

// What leaves columns before cuts, and what goes on behind them (highest_through_cuts in splicing/cut_target.hpp), by bases of the read from none to
// all.
class CutNumbers {
 public:
  SLUICE_HOST_DEVICE static constexpr std::int64_t bytes(std::int32_t cuts, std::int32_t query_length) {
    return (2 * std::int64_t{cuts} + 5) * (query_length + 1) * static_cast<std::int64_t>(sizeof(std::int32_t));
  }
  SLUICE_HOST_DEVICE CutNumbers(void* memory, const Job& job, const std::int32_t* of_cuts)
      : memory_(static_cast<std::int32_t*>(memory)), of_cuts_(of_cuts), cuts_(job.cuts), parts_(job.query_length + 1) {}
  SLUICE_HOST_DEVICE std::int32_t column(std::int32_t cut) const { return of_cuts_[cut]; }
  SLUICE_HOST_DEVICE const std::int32_t* losses(std::int32_t cut) const { return of_cuts_ + cuts_ + std::int64_t{cut} * parts_; }
  SLUICE_HOST_DEVICE std::int32_t* score_before(std::int32_t cut) const { return memory_ + std::int64_t{2} * cut * parts_; }
  SLUICE_HOST_DEVICE std::int32_t* intron_before(std::int32_t cut) const { return score_before(cut) + parts_; }
  // On paths through an earlier cut.
  SLUICE_HOST_DEVICE std::int32_t* score_through() const { return score_before(cuts_); }
  SLUICE_HOST_DEVICE std::int32_t* intron_through() const { return intron_before(cuts_); }
  SLUICE_HOST_DEVICE std::int32_t* best() const { return score_before(cuts_) + 2 * parts_; }
  SLUICE_HOST_DEVICE std::int32_t* score() const { return best() + parts_; }
  SLUICE_HOST_DEVICE std::int32_t* intron() const { return score() + parts_; }

  // By one of `size` threads; between these steps all memory is to be seen by all.
  SLUICE_HOST_DEVICE void start(const Scores& scores, std::int32_t rank, std::int32_t size) const {
    for (std::int32_t cut = rank; cut < cuts_; cut += size) *score_before(cut) = *intron_before(cut) = spliced_border(scores, column(cut) + 1);
    if (rank == 0) *score_through() = *intron_through() = -scores.gap_open_long;
  }
  SLUICE_HOST_DEVICE void find_best(std::int32_t cut, std::int32_t rank, std::int32_t size) const {
    for (std::int32_t j = rank; j < parts_; j += size) {
      std::int32_t highest = higher(score_before(cut)[j], intron_before(cut)[j]);
      if (cut > 0) highest = higher(highest, higher(score_through()[j], intron_through()[j]));
      best()[j] = highest;
    }
  }
  SLUICE_HOST_DEVICE void go_through(const Scores& scores, std::int32_t cut, std::int32_t rank, std::int32_t size) const {
    const std::int32_t* const loss = losses(cut);
    for (std::int32_t j = rank; j < parts_; j += size) {
      std::int32_t highest = best()[j];
      for (std::int32_t m = 1; m <= j; ++m) highest = higher(highest, best()[j - m] + m * scores.match - loss[m]);
      score()[j] = highest;
      const std::int32_t opened = highest - scores.gap_open_long;
      intron()[j] = cut > 0 ? higher(opened, intron_through()[j]) : opened;
    }
  }

 private:
  SLUICE_HOST_DEVICE static std::int32_t higher(std::int32_t a, std::int32_t b) { return a > b ? a : b; }
  std::int32_t* memory_;
  const std::int32_t* of_cuts_;
  std::int32_t cuts_, parts_;
};

// Have the lanes of a warp room for the read's bases, and are scores whole numbers that can be scaled?
inline bool fits_spliced_lanes(const Scores& scores, const Problem& problem) {
  constexpr std::int32_t most_query = 32 * 16, most_target = 1 << 27;
  return problem.query_length <= most_query && problem.target_length <= most_target && scores.worst_column() <= 127 && scores.match <= 127;
}

// What all lanes of a job know of its best cell: as take_spliced_peak of kernel/spliced_path.hpp. False: the score has fallen too far.
SLUICE_HOST_DEVICE inline bool take_spliced_row(const Job& job, std::int32_t row, SplicedRow cells, RowBest best, std::int32_t score_at_first,
                                                Answer& answer) {
  if (row - cells.first == job.query_length - 1 && score_at_first > answer.query_end_score) {
    answer.query_end_score = score_at_first;
    answer.query_end_target = cells.first;
  }
  const std::int32_t target = target_of_turn(best.turn, cells.first, cells.last), query = row - target;
  if (best.score > answer.best) {
    answer.best = best.score;
    answer.best_target = target;
    answer.best_query = query;
    return true;
  }
  if (job.z_drop < 0 || target < answer.best_target || query < answer.best_query) return true;
  return std::int64_t{answer.best} - best.score <= job.z_drop;
}
SLUICE_HOST_DEVICE inline SplicedRow spliced_row(const Job& job, std::int32_t row) {
  const std::int32_t before = row - job.query_length + 1;
  return {before > 0 ? before : 0, row < job.target_length - 1 ? row : job.target_length - 1};
}

}  // namespace sluice::base_alignment::cuda
