// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time.

#include <algorithm>
#include <cstring>

#include "base_alignment/kernel/spliced_path.hpp"

#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base_alignment/kernel/spliced.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "base_alignment/kernel/vector_rows-inl.hpp"

#ifndef SLUICE_SPLICED_DIFFERENCES
#define SLUICE_SPLICED_DIFFERENCES
namespace sluice::base_alignment {
// Do differences of neighbours' scores fit 8 bits? Against a cell's score an intron that enters the next one lies between an open one and what closes
// it; along the read a score rises by a match and a gap at most, along the target by what sites differ besides.
inline bool differences_fit(const Scores& scores, const Problem& problem, const SiteColumns& sites) {
  std::int32_t lowest = 0, highest = 0;
  for (const auto column : {sites.donor, sites.acceptor}) {
    const auto [low, high] = std::minmax_element(column.begin(), column.begin() + problem.target_length);
    lowest = std::min<std::int32_t>(lowest, *low);
    highest = std::max<std::int32_t>(highest, *high);
  }
  constexpr std::int32_t most = 120;
  const std::int32_t gap = scores.gap_open + scores.gap_extend;
  // The first: an intron that enters a cell against the score there, where its columns are equal.
  return scores.gap_open_long - 2 * lowest + highest + 2 * gap + scores.match <= most && scores.match + 2 * gap + highest - lowest <= most &&
         scores.match + scores.worst_column() + gap <= most;
}
}  // namespace sluice::base_alignment
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice::base_alignment::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
void align_spliced_chosen(const Scores& scores, const Problem& problem, const SiteColumns& sites, SplicedRows& rows, Alignment& result) {
  align_spliced_plainly(scores, problem, sites, rows, result);
}
#else

// Differences of scores between neighbours, by place on the target, as A.21.1 of the specification names them: along the target (u) and the read (v),
// and of deletions (x), insertions (y) and introns (x2) that enter the next cell against this one's score.
template <TieOrder ties>
class SplicedVectors {
 public:
  SplicedVectors(const Scores& scores, const Problem& problem, const SiteColumns& sites, SplicedRows& rows)
      : scores_(scores), problem_(problem), rows_(rows) {
    const auto target_length = static_cast<std::size_t>(problem.target_length), query_length = static_cast<std::size_t>(problem.query_length);
    const std::size_t stride = target_length + 2 * slack;
    rows.differences.assign(7 * stride, 0);
    std::int8_t* at = rows.differences.data() + slack;
    for (std::int8_t** array : {&u_, &v_, &x_, &y_, &x2_, &donor_, &acceptor_}) {
      *array = at;
      at += stride;
    }
    // Of a donor what an intron costs that opens there.
    for (std::size_t i = 0; i < target_length; ++i) donor_[i] = static_cast<std::int8_t>(sites.donor[i] - scores.gap_open_long);
    std::memcpy(acceptor_, sites.acceptor.data(), target_length);
    rows.target.assign(target_length + slack, 0);
    std::memcpy(rows.target.data(), problem.target, target_length);
    rows.query_back.assign(query_length + 2 * slack, 0);
    std::reverse_copy(problem.query, problem.query + query_length, rows.query_back.begin() + slack);
    rows.begin_of_row.clear();
    steps_ = rows.steps.start(target_length * query_length, slack);
    if (problem.goal != Goal::ends) rows.numbers.assign(target_length + slack, Alignment::unreached);
  }

  template <bool has_peak>
  void run(Alignment& result) {
    const std::int32_t last_row = problem_.query_length + problem_.target_length - 2, first_gap = scores_.gap_open + scores_.gap_extend;
    std::int32_t* const score = rows_.numbers.data();
    std::size_t begin = 0;
    std::int32_t corner = 0, corner_at = 0;
    for (std::int32_t row = 0; row <= last_row && !result.dropped; ++row) {
      const SplicedRow cells = spliced_row(problem_, row);
      rows_.begin_of_row.push_back(begin);
      fill(row, cells, steps_ + begin);
      begin += static_cast<std::size_t>(cells.last - cells.first + 1);
      if constexpr (has_peak) {
        const RowCells places{.band_begin = cells.first, .band_last = cells.last};
        const BestCell best = add_differences(row, places, result.best, problem_.z_drop, first_gap, u_, v_, score);
        result.dropped = !take_spliced_peak(problem_, row, cells.first, score[cells.first], best, result);
      } else if (row == 0) {
        corner = v_[0] - first_gap;
      } else {
        corner += corner_at >= cells.first ? v_[corner_at] : u_[corner_at + 1];
        if (corner_at < cells.first) ++corner_at;
      }
    }
    finish_spliced(scores_, problem_, has_peak ? score[problem_.target_length - 1] : corner, rows_, result);
  }

 private:
  static constexpr std::size_t slack = 64;
  static_assert(lanes <= 64);

  HWY_INLINE Cells substitution(const std::uint8_t* target, const std::uint8_t* query) const {
    const CellTag tag;
    const auto t = hn::BitCast(tag, hn::LoadU(CodeTag(), target)), q = hn::BitCast(tag, hn::LoadU(CodeTag(), query));
    const auto differences = hn::Xor(t, q);
    const Cells different = hn::IfThenElse(hn::Eq(differences, set(2)), set(-scores_.transition_penalty()), set(-scores_.mismatch));
    const Cells score = hn::IfThenElse(hn::Eq(differences, set(0)), set(scores_.match), different);
    return hn::IfThenElse(hn::Gt(hn::Or(t, q), set(3)), set(spliced_matrix_score(scores_, 4, 4)), score);
  }
  static HWY_INLINE void choose(Cells candidate, std::uint8_t step, Cells& score, Cells& steps) {
    if constexpr (ties == TieOrder::gap_right)
      steps = hn::IfThenElse(hn::Gt(candidate, score), set(step), steps);
    else
      steps = hn::IfThenElse(hn::Gt(score, candidate), steps, set(step));
    score = hn::Max(score, candidate);
  }
  // The gap behind cells against their scores; opened: of one that opens there.
  static HWY_INLINE Cells behind(Cells gap_less_cell, Cells opened, std::uint8_t step, Cells& steps) {
    const auto on = ties == TieOrder::gap_right ? hn::Gt(gap_less_cell, opened) : hn::Not(hn::Gt(opened, gap_less_cell));
    steps = hn::Or(steps, hn::IfThenElseZero(on, set(goes_on(step))));
    return hn::Max(gap_less_cell, opened);
  }

  HWY_INLINE void fill(std::int32_t row, SplicedRow cells, std::uint8_t* steps_of_row) {
    const CellTag tag;
    const std::int32_t closed = -(scores_.gap_open + scores_.gap_extend);
    const std::int32_t border = spliced_border(scores_, row + 1) - spliced_border(scores_, row);
    const Cells opened = set(-scores_.gap_open), extend = set(scores_.gap_extend);
    const bool at_border = cells.first == 0;
    Cells x_before = set(at_border ? closed : x_[cells.first - 1]), x2_before = set(at_border ? -scores_.gap_open_long : x2_[cells.first - 1]),
          v_before = set(at_border ? border : v_[cells.first - 1]);
    const std::uint8_t* const query = rows_.query_back.data() + slack + (problem_.query_length - 1 - row);
    for (std::int32_t t = cells.first; t <= cells.last; t += lanes) {
      Cells y = hn::LoadU(tag, y_ + t), u = hn::LoadU(tag, u_ + t);
      if (cells.last == row && row - t < lanes) {  // the cell at the read's first base
        const auto here = hn::Eq(hn::Iota(tag, 0), set(row - t));
        y = hn::IfThenElse(here, set(closed), y);
        u = hn::IfThenElse(here, set(border), u);
      }
      const Cells own_x = hn::LoadU(tag, x_ + t), own_x2 = hn::LoadU(tag, x2_ + t), own_v = hn::LoadU(tag, v_ + t);
      const Cells x = shift_up(own_x, x_before), x2 = shift_up(own_x2, x2_before), v = shift_up(own_v, v_before);
      x_before = own_x;
      x2_before = own_x2;
      v_before = own_v;
      const Cells deletion = hn::Add(x, v), insertion = hn::Add(y, u), intron = hn::Add(x2, v);
      Cells score = substitution(rows_.target.data() + t, query + t), steps = hn::Zero(tag);
      choose(deletion, step_deletion, score, steps);
      choose(insertion, step_insertion, score, steps);
      choose(hn::Add(intron, hn::LoadU(tag, acceptor_ + t)), step_intron, score, steps);
      hn::StoreU(hn::Sub(score, v), tag, u_ + t);
      hn::StoreU(hn::Sub(score, u), tag, v_ + t);
      hn::StoreU(hn::Sub(behind(hn::Sub(deletion, score), opened, step_deletion, steps), extend), tag, x_ + t);
      hn::StoreU(hn::Sub(behind(hn::Sub(insertion, score), opened, step_insertion, steps), extend), tag, y_ + t);
      hn::StoreU(behind(hn::Sub(intron, score), hn::LoadU(tag, donor_ + t), step_intron, steps), tag, x2_ + t);
      hn::StoreU(hn::BitCast(CodeTag(), steps), CodeTag(), steps_of_row + (t - cells.first));
    }
  }

  const Scores& scores_;
  const Problem& problem_;
  SplicedRows& rows_;
  std::uint8_t* steps_ = nullptr;
  std::int8_t *u_ = nullptr, *v_ = nullptr, *x_ = nullptr, *y_ = nullptr, *x2_ = nullptr, *donor_ = nullptr, *acceptor_ = nullptr;
};

template <TieOrder ties>
void align_spliced_in_vectors(const Scores& scores, const Problem& problem, const SiteColumns& sites, SplicedRows& rows, Alignment& result) {
  SplicedVectors<ties> whole(scores, problem, sites, rows);
  if (problem.goal == Goal::ends)
    whole.template run<false>(result);
  else
    whole.template run<true>(result);
}

void align_spliced_chosen(const Scores& scores, const Problem& problem, const SiteColumns& sites, SplicedRows& rows, Alignment& result) {
  if (!starts(scores, problem, result) || !intron_costs_fit(scores)) return;
  if (!differences_fit(scores, problem, sites)) return align_spliced_plainly(scores, problem, sites, rows, result);
  if (problem.ties == TieOrder::gap_right)
    align_spliced_in_vectors<TieOrder::gap_right>(scores, problem, sites, rows, result);
  else
    align_spliced_in_vectors<TieOrder::gap_left>(scores, problem, sites, rows, result);
}
#endif

}  // namespace sluice::base_alignment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::base_alignment {
namespace {
HWY_EXPORT(align_spliced_chosen);
}  // namespace

void align_spliced(const Scores& scores, const Problem& problem, const SiteColumns& sites, SplicedRows& rows, Alignment& result) {
  HWY_DYNAMIC_DISPATCH(align_spliced_chosen)(scores, problem, sites, rows, result);
}

}  // namespace sluice::base_alignment
#endif
