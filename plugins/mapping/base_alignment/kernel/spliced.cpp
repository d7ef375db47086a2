// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time.

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base_alignment/kernel/spliced_path.hpp"

#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base_alignment/kernel/spliced.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "base_alignment/kernel/vector_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace sluice::base_alignment::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
void raise_to_sums_chosen(std::int32_t* to, const std::int32_t* from, std::int32_t more, std::int32_t count) {
  for (std::int32_t i = 0; i < count; ++i) to[i] = std::max(to[i], from[i] + more);
}
void align_spliced_chosen(const Scores& scores, const Problem& problem, const SiteColumns& sites, SplicedRows& rows, const SplicedWanted& wanted) {
  wanted.empty_edges();
  if (wanted.result != nullptr) align_spliced_plainly(scores, problem, sites, rows, *wanted.result);
}
#else

void raise_to_sums_chosen(std::int32_t* to, const std::int32_t* from, std::int32_t more, std::int32_t count) {
  const hn::ScalableTag<std::int32_t> tag;
  const auto width = static_cast<std::int32_t>(hn::Lanes(tag));
  const auto all_more = hn::Set(tag, more);
  std::int32_t i = 0;
  for (; i + width <= count; i += width) hn::StoreU(hn::Max(hn::LoadU(tag, to + i), hn::Add(hn::LoadU(tag, from + i), all_more)), tag, to + i);
  for (; i < count; ++i) to[i] = std::max(to[i], from[i] + more);
}

// What introns can gain together in front of the read's first base, where sites are worth more than introns cost.
std::int32_t most_gained(const Scores& scores, const Problem& problem, const SiteColumns& sites) {
  std::int32_t closed = 0, open = -scores.gap_open_long + sites.donor[0];
  for (std::size_t t = 1; t < static_cast<std::size_t>(problem.target_length); ++t) {
    closed = std::max(closed, open + sites.acceptor[t]);
    open = std::max(open, closed - scores.gap_open_long + sites.donor[t]);
  }
  return closed;
}

// Do differences of neighbours' scores fit 8 bits? Against a cell's score an intron that enters the next one lies between an open one and what closes
// it; along the read a score rises by a match and a gap at most, along the target by what sites differ besides. At the border, which knows no sites,
// what introns gain comes on top.
bool differences_fit(const Scores& scores, const Problem& problem, const SiteColumns& sites) {
  const CellTag tag;
  std::int32_t lowest = 0, highest = 0, most_of_two = 0;
  for (const auto column : {sites.donor, sites.acceptor}) {
    Cells low = hn::Zero(tag), high = low;
    std::int32_t i = 0;
    for (; i + lanes <= problem.target_length; i += lanes) {
      const Cells some = hn::LoadU(tag, column.data() + i);
      low = hn::Min(low, some);
      high = hn::Max(high, some);
    }
    HWY_ALIGN std::int8_t lows[lanes], highs[lanes];
    hn::Store(low, tag, lows);
    hn::Store(high, tag, highs);
    lowest = std::min<std::int32_t>(lowest, *std::min_element(lows, lows + lanes));
    std::int32_t highest_here = *std::max_element(highs, highs + lanes);
    for (; i < problem.target_length; ++i) {
      lowest = std::min<std::int32_t>(lowest, column[static_cast<std::size_t>(i)]);
      highest_here = std::max<std::int32_t>(highest_here, column[static_cast<std::size_t>(i)]);
    }
    highest = std::max(highest, highest_here);
    most_of_two += highest_here;
  }
  const std::int32_t gained = most_of_two > scores.gap_open_long ? most_gained(scores, problem, sites) : 0;
  constexpr std::int32_t most = 120;
  const std::int32_t gap = scores.gap_open + scores.gap_extend + gained;
  // The first: an intron that enters a cell against the score there, where its columns are equal.
  return scores.gap_open_long - 2 * lowest + highest + 2 * gap + scores.match <= most && scores.match + 2 * gap + highest - lowest <= most &&
         scores.match + scores.worst_column() + gap <= most;
}

// Differences of scores between neighbours, by place on the target, as A.21.1 of the specification names them: along the target (u) and the read (v),
// and of deletions (x), insertions (y) and introns (x2) that enter the next cell against this one's score.
template <TieOrder ties>
class SplicedVectors {
 public:
  static constexpr std::int32_t most_vectors = 8;

  SplicedVectors(const Scores& scores, const Problem& problem, const SiteColumns& sites, SplicedRows& rows, const SplicedWanted& wanted)
      : scores_(scores),
        problem_(problem),
        rows_(rows),
        keeps_steps_(wanted.result != nullptr),
        edges_(wanted.edges),
        starts_(wanted.start != nullptr) {
    const auto target_length = static_cast<std::size_t>(problem.target_length), query_length = static_cast<std::size_t>(problem.query_length);
    const std::size_t stride = target_length + 2 * slack;
    rows.differences.assign((vectors_of(problem) > 0 ? 2 : 7) * stride, 0);
    std::int8_t* at = rows.differences.data() + slack;
    for (std::int8_t** array : {&donor_, &acceptor_}) {
      *array = at;
      at += stride;
    }
    for (std::int8_t** array : {&u_, &v_, &x_, &y_, &x2_}) {
      if (vectors_of(problem) > 0) break;
      *array = at;
      at += stride;
    }
    // Of a donor what an intron costs that opens there. What is copied beyond an end lies in the slack.
    std::memcpy(donor_, sites.donor.data(), target_length);
    std::memcpy(acceptor_, sites.acceptor.data(), target_length);
    rows.target.assign(target_length + 2 * slack, 0);
    std::memcpy(rows.target.data() + slack, problem.target, target_length);
    target_ = rows.target.data() + slack;
    for (std::size_t i = 0; i < target_length; i += lanes) {
      const CellTag tag;
      hn::StoreU(hn::Sub(hn::LoadU(tag, donor_ + i), set(scores.gap_open_long)), tag, donor_ + i);
      std::uint8_t* const codes = rows.target.data() + slack + i;
      const auto code = hn::LoadU(CodeTag(), codes);
      hn::StoreU(hn::IfThenElse(hn::Gt(code, hn::Set(CodeTag(), 3)), hn::Set(CodeTag(), 8), code), CodeTag(), codes);
    }
    rows.query_back.assign(query_length + 2 * slack, 0);
    for (std::size_t i = 0; i < query_length; ++i) rows.query_back[slack + query_length - 1 - i] = std::min<std::uint8_t>(problem.query[i], 4);
    for (std::uint8_t i = 0; i < 16; ++i)
      column_scores_[i] = static_cast<std::int8_t>(i > 3 ? spliced_matrix_score(scores, 4, 4) : spliced_matrix_score(scores, 0, i));
    rows.begin_of_row.clear();
    steps_ = rows.steps.start((keeps_steps_ ? target_length : 1) * query_length, slack);
    if (problem.goal != Goal::ends) rows.numbers.assign(target_length + slack, Alignment::unreached);
    set_border(wanted.start);
    for (SplicedEdge& edge : edges_) {
      edge.score.assign(1, starts_ ? wanted.start->score[0] : spliced_border(scores, edge.column + 1));
      edge.intron.assign(1, edge.score[0]);
    }
  }

  // How many vectors hold a row, if it is to stay in registers: from end to end, where the target has no fewer bases than the read. 0: it is not.
  static std::int32_t vectors_of(const Problem& problem) {
    const std::int32_t vectors = (problem.query_length + lanes - 1) / lanes;
    return problem.goal == Goal::ends && problem.query_length <= problem.target_length && vectors <= most_vectors ? vectors : 0;
  }
  // A row that is stored and loaded again one place beside waits until the store is done: more than half of the time of a matrix that is as narrow as
  // a read between two anchors.
  template <int vectors>
  void run_in_registers(Alignment& result) {
    const CellTag tag;
    const Walk own = walk();
    const std::int32_t read = own.read_length, target = own.target_length;
    Registers<vectors> state;
    for (int i = 0; i < vectors; ++i) {
      state.at[i] = {hn::Zero(tag), hn::Zero(tag), hn::Zero(tag), hn::Zero(tag), hn::Zero(tag)};
      state.query[i] = hn::LoadU(CodeTag(), rows_.query_back.data() + slack + i * lanes);
    }
    HWY_ALIGN std::int8_t all[vectors * lanes];
    std::size_t begin = 0;
    std::int32_t corner = -(scores_.gap_open + scores_.gap_extend), row = 0;
    rows_.begin_of_row.resize(static_cast<std::size_t>(read + target - 1));
    std::size_t* const begin_of_row = rows_.begin_of_row.data();
    std::uint8_t* const steps = steps_;
    for (; row < read; ++row) {  // the corner is reached along the read, then along the target
      begin_of_row[row] = begin;
      fill_registers<vectors, Part::first>(own, row, border_of(row), steps + begin, state);
      look_at_edges(row, state);
      if (keeps_steps_) begin += static_cast<std::size_t>(row + 1);
      for (int i = 0; i < vectors; ++i) hn::Store(state.at[i].v, tag, all + i * lanes);
      corner += all[read - 1 - row];
    }
    for (; row < target; ++row) {
      begin_of_row[row] = begin;
      fill_registers<vectors, Part::middle>(own, row, border_of(row), steps + begin, state);
      look_at_edges(row, state);
      if (keeps_steps_) begin += static_cast<std::size_t>(read);
      corner += hn::GetLane(state.at[0].u);
    }
    for (; row < read + target - 1; ++row) {
      begin_of_row[row] = begin;
      fill_registers<vectors, Part::last>(own, row, 0, steps + begin, state);
      look_at_edges(row, state);
      if (keeps_steps_) begin += static_cast<std::size_t>(read + target - 1 - row);
      corner += hn::GetLane(state.at[0].u);
    }
    if (keeps_steps_) finish_spliced(scores_, problem_, corner, rows_, result);
  }

  template <bool has_peak>
  void run(Alignment& result) {
    const std::int32_t last_row = problem_.query_length + problem_.target_length - 2, first_gap = scores_.gap_open + scores_.gap_extend;
    std::int32_t* const score = rows_.numbers.data();
    const Walk own = walk();
    std::size_t begin = 0;
    std::int32_t corner = 0, corner_at = 0;
    for (std::int32_t row = 0; row <= last_row && !result.dropped; ++row) {
      const SplicedRow cells = spliced_row(problem_, row);
      rows_.begin_of_row.push_back(begin);
      fill(own, row, cells, steps_ + begin);
      if (keeps_steps_) begin += static_cast<std::size_t>(cells.last - cells.first + 1);
      if (has_edge(row))
        for (std::size_t e = first_edge_; e < edges_.size() && edges_[e].column <= row; ++e) {
          const std::int32_t column = edges_[e].column;
          add_to_edge(edges_[e], v_[column], x_[column], x2_[column]);
        }
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
    if (keeps_steps_) finish_spliced(scores_, problem_, has_peak ? score[problem_.target_length - 1] : corner, rows_, result);
  }

 private:
  static constexpr std::size_t slack = 64;
  static_assert(lanes <= 64);

  // As in narrow_band-inl.hpp: constructors that GCC adds are compiled for no instruction set.
  struct Neighbours {
    Cells u, v, x, y, x2;
    HWY_INLINE Neighbours() {}
    HWY_INLINE Neighbours(Cells u_, Cells v_, Cells x_, Cells y_, Cells x2_) : u(u_), v(v_), x(x_), y(y_), x2(x2_) {}
  };
  // What all rows have in common, by value: what is stored might else be taken for a change of it.
  struct Walk {
    Cells opened, extend, column_scores;
    const std::uint8_t* target;
    const std::int8_t *donor, *acceptor;
    const std::int8_t* border;
    std::int32_t read_length, target_length, closed;
  };
  HWY_INLINE Walk walk() const {
    return {
        set(-scores_.gap_open), set(scores_.gap_extend), hn::LoadDup128(CellTag(), column_scores_), target_, donor_, acceptor_, rows_.border.data(),
        problem_.query_length,  problem_.target_length,  -(scores_.gap_open + scores_.gap_extend)};
  }
  // What columns score: of codes in which an unknown base of the target is 8, one of the read 4, each pair has one exclusive or.
  static HWY_INLINE Cells substitution(const Walk& walk, const std::uint8_t* target, hn::Vec<CodeTag> query) {
    return hn::TableLookupBytes(walk.column_scores, hn::BitCast(CellTag(), hn::Xor(hn::LoadU(CodeTag(), target), query)));
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
    steps = hn::IfThenElse(on, hn::Add(steps, set(goes_on(step))), steps);
    return hn::Max(gap_less_cell, opened);
  }

  // From what enters cells to what leaves them; returns their steps. score: of their columns.
  static HWY_INLINE Cells advance(const Walk& walk, Cells score, Cells acceptor, Cells donor, Neighbours& at) {
    const Cells deletion = hn::Add(at.x, at.v), insertion = hn::Add(at.y, at.u), intron = hn::Add(at.x2, at.v);
    Cells steps = hn::Zero(CellTag());
    choose(deletion, step_deletion, score, steps);
    choose(insertion, step_insertion, score, steps);
    choose(hn::Add(intron, acceptor), step_intron, score, steps);
    const Cells u = hn::Sub(score, at.v);
    at.v = hn::Sub(score, at.u);
    at.u = u;
    at.x = hn::Sub(behind(hn::Sub(deletion, score), walk.opened, step_deletion, steps), walk.extend);
    at.y = hn::Sub(behind(hn::Sub(insertion, score), walk.opened, step_insertion, steps), walk.extend);
    at.x2 = behind(hn::Sub(intron, score), donor, step_intron, steps);
    return steps;
  }

  // ---- rows in registers: lane p has the read's base query_length - 1 - p, and in each row the next base of the target
  template <int vectors>
  struct Registers {
    Neighbours at[vectors];
    hn::Vec<CodeTag> query[vectors];
    HWY_INLINE Registers() {}
  };
  enum class Part : std::uint8_t { first, middle, last };  // rows with the target's first base; with the read's first base alone; with neither

  // The column of an edge comes to a base of the read in each row.
  bool has_edge(std::int32_t row) {
    while (first_edge_ < edges_.size() && edges_[first_edge_].column + problem_.query_length <= row) ++first_edge_;
    return first_edge_ < edges_.size() && edges_[first_edge_].column <= row;
  }
  template <int vectors>
  HWY_INLINE void look_at_edges(std::int32_t row, const Registers<vectors>& state) {
    if (!has_edge(row)) return;
    const CellTag tag;
    HWY_ALIGN std::int8_t v[vectors * lanes], x[vectors * lanes], x2[vectors * lanes];
    for (int i = 0; i < vectors; ++i) {
      hn::Store(state.at[i].v, tag, v + i * lanes);
      hn::Store(state.at[i].x, tag, x + i * lanes);
      hn::Store(state.at[i].x2, tag, x2 + i * lanes);
    }
    for (std::size_t e = first_edge_; e < edges_.size() && edges_[e].column <= row; ++e) {
      const std::int32_t lane = problem_.query_length - 1 - (row - edges_[e].column);
      add_to_edge(edges_[e], v[lane], x[lane], x2[lane]);
    }
  }
  // A cell's score less that of the one before, and what its gaps come to against its score.
  void add_to_edge(SplicedEdge& edge, std::int8_t difference, std::int8_t deletion, std::int8_t intron) {
    if (edge.score.size() == 1) edge.at = edge.score[0];
    edge.at += difference;
    edge.score.push_back(edge.at + std::max<std::int32_t>(0, deletion));
    edge.intron.push_back(edge.at + intron);
  }

  // Differences of scores in front of the target, and introns against them, by base of the read.
  void set_border(const SplicedStart* start) {
    const auto read = static_cast<std::size_t>(problem_.query_length);
    rows_.border.resize(2 * read);
    std::int8_t *const difference = rows_.border.data(), *const intron = difference + read;
    for (std::size_t j = 0; j < read; ++j) {
      difference[j] = static_cast<std::int8_t>(start == nullptr ? spliced_border(scores_, static_cast<std::int32_t>(j) + 1) -
                                                                      spliced_border(scores_, static_cast<std::int32_t>(j))
                                                                : start->score[j + 1] - start->score[j]);
      intron[j] = static_cast<std::int8_t>(start == nullptr ? -scores_.gap_open_long : start->intron[j + 1] - start->score[j + 1]);
    }
  }
  // In front of the read.
  HWY_INLINE std::int32_t border_of(std::int32_t row) const { return starts_ ? 0 : spliced_border(scores_, row + 1) - spliced_border(scores_, row); }

  template <int vectors, Part part>
  static HWY_INLINE void fill_registers(const Walk& walk, std::int32_t row, std::int32_t border, std::uint8_t* steps_of_row,
                                        Registers<vectors>& state) {
    const CellTag tag;
    const std::int32_t base = row - walk.read_length + 1;  // the target's base of lane 0
    const std::int32_t first = part == Part::first ? -base : 0, last = part == Part::last ? walk.target_length - 1 - base : 0;
#pragma GCC unroll 8
    for (std::int32_t i = 0; i < vectors; ++i) {
      const std::int32_t p = i * lanes;
      if (part == Part::first && p + lanes <= first) continue;
      if (part == Part::last && p > last) break;
      Neighbours& at = state.at[i];
      // What came out of the cell above, of the base of the read before: the next lane's.
      at.u = shift_down(at.u, i + 1 < vectors ? state.at[i + 1 < vectors ? i + 1 : i].u : at.u);
      at.y = shift_down(at.y, i + 1 < vectors ? state.at[i + 1 < vectors ? i + 1 : i].y : at.y);
      if (part != Part::last && i == vectors - 1) {
        const auto here = hn::Eq(hn::Iota(tag, 0), set(walk.read_length - 1 - p));
        at.y = hn::IfThenElse(here, set(walk.closed), at.y);
        at.u = hn::IfThenElse(here, set(border), at.u);
      }
      if (part == Part::first && first >= p) {
        const auto here = hn::Eq(hn::Iota(tag, 0), set(first - p));
        at.x = hn::IfThenElse(here, set(walk.closed), at.x);
        at.x2 = hn::IfThenElse(here, set(walk.border[walk.read_length + row]), at.x2);
        at.v = hn::IfThenElse(here, set(walk.border[row]), at.v);
      }
      const std::int32_t t = base + p;
      const Cells score = substitution(walk, walk.target + t, state.query[i]);
      const auto steps = hn::BitCast(CodeTag(), advance(walk, score, hn::LoadU(tag, walk.acceptor + t), hn::LoadU(tag, walk.donor + t), at));
      if (part == Part::first && first > p) {
        HWY_ALIGN std::uint8_t all[lanes];
        hn::Store(steps, CodeTag(), all);
        std::memcpy(steps_of_row, all + (first - p), static_cast<std::size_t>(lanes - (first - p)));
      } else {
        hn::StoreU(steps, CodeTag(), steps_of_row + (p - first));
      }
    }
  }

  HWY_INLINE void fill(const Walk& walk, std::int32_t row, SplicedRow cells, std::uint8_t* steps_of_row) {
    const CellTag tag;
    const std::int32_t closed = -(scores_.gap_open + scores_.gap_extend);
    const std::int32_t border = border_of(row);
    const bool at_border = cells.first == 0 && row < walk.read_length;
    Cells x_before = set(at_border ? closed : x_[cells.first - 1]),
          x2_before = set(at_border ? walk.border[walk.read_length + row] : x2_[cells.first - 1]),
          v_before = set(at_border ? walk.border[row] : v_[cells.first - 1]);
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
      const Cells score = substitution(walk, walk.target + t, hn::LoadU(CodeTag(), query + t));
      Neighbours next{u, v, x, y, x2};
      const Cells steps = advance(walk, score, hn::LoadU(tag, acceptor_ + t), hn::LoadU(tag, donor_ + t), next);
      hn::StoreU(next.u, tag, u_ + t);
      hn::StoreU(next.v, tag, v_ + t);
      hn::StoreU(next.x, tag, x_ + t);
      hn::StoreU(next.y, tag, y_ + t);
      hn::StoreU(next.x2, tag, x2_ + t);
      hn::StoreU(hn::BitCast(CodeTag(), steps), CodeTag(), steps_of_row + (t - cells.first));
    }
  }

  const Scores& scores_;
  const Problem& problem_;
  SplicedRows& rows_;
  const bool keeps_steps_;
  const std::span<SplicedEdge> edges_;
  const bool starts_;
  std::size_t first_edge_ = 0;  // that is not complete
  alignas(16) std::int8_t column_scores_[16];
  const std::uint8_t* target_ = nullptr;
  std::uint8_t* steps_ = nullptr;
  std::int8_t *u_ = nullptr, *v_ = nullptr, *x_ = nullptr, *y_ = nullptr, *x2_ = nullptr, *donor_ = nullptr, *acceptor_ = nullptr;
};

template <TieOrder ties>
void align_spliced_in_vectors(const Scores& scores, const Problem& problem, const SiteColumns& sites, SplicedRows& rows, const SplicedWanted& wanted,
                              Alignment& result) {
  SplicedVectors<ties> whole(scores, problem, sites, rows, wanted);
  const std::int32_t vectors = SplicedVectors<ties>::vectors_of(problem);
  const auto in_registers = [&]<int... counts>(std::integer_sequence<int, counts...>) {
    return ((vectors == counts + 1 && (whole.template run_in_registers<counts + 1>(result), true)) || ...);
  };
  if (in_registers(std::make_integer_sequence<int, SplicedVectors<ties>::most_vectors>())) return;
  if (problem.goal == Goal::ends)
    whole.template run<false>(result);
  else
    whole.template run<true>(result);
}

void align_spliced_chosen(const Scores& scores, const Problem& problem, const SiteColumns& sites, SplicedRows& rows, const SplicedWanted& wanted) {
  wanted.empty_edges();
  Alignment unused;
  Alignment& made = wanted.result != nullptr ? *wanted.result : unused;
  if (!starts(scores, problem, made) || !intron_costs_fit(scores)) return;
  if (!differences_fit(scores, problem, sites)) {
    if (wanted.result != nullptr) align_spliced_plainly(scores, problem, sites, rows, made);
    return;
  }
  if (problem.ties == TieOrder::gap_right)
    align_spliced_in_vectors<TieOrder::gap_right>(scores, problem, sites, rows, wanted, made);
  else
    align_spliced_in_vectors<TieOrder::gap_left>(scores, problem, sites, rows, wanted, made);
}
#endif

}  // namespace sluice::base_alignment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::base_alignment {
namespace {
HWY_EXPORT(align_spliced_chosen);
HWY_EXPORT(raise_to_sums_chosen);
}  // namespace

void align_spliced(const Scores& scores, const Problem& problem, const SiteColumns& sites, SplicedRows& rows, Alignment& result,
                   std::span<SplicedEdge> edges) {
  HWY_DYNAMIC_DISPATCH(align_spliced_chosen)(scores, problem, sites, rows, {&result, edges, nullptr});
}
void score_spliced_edges(const Scores& scores, const Problem& problem, const SiteColumns& sites, const SplicedStart& start, SplicedRows& rows,
                         std::span<SplicedEdge> edges) {
  HWY_DYNAMIC_DISPATCH(align_spliced_chosen)(scores, problem, sites, rows, {nullptr, edges, &start});
}
void raise_to_sums(std::int32_t* to, const std::int32_t* from, std::int32_t more, std::int32_t count) {
  HWY_DYNAMIC_DISPATCH(raise_to_sums_chosen)(to, from, more, count);
}

}  // namespace sluice::base_alignment
#endif
