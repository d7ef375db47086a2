// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base_alignment/kernel/align.hpp"
#include "kernel_problems.hpp"
#include "unit/instruction_sets.hpp"

using namespace sluice::base_alignment;
using namespace kernel_problems;

namespace {

// What minimap2's blocks of 16 cells do at the edge of a band, with a loop over cells: the path from end to end.
class Blocks {
 public:
  Blocks(const Scores& scores, const Problem& problem) : s_(scores), p_(problem) {
    const auto width = static_cast<std::size_t>((p_.target_length + 15) / 16 * 16);
    for (auto* array : {&u_, &v_, &x_, &y_}) array->assign(width, closed());
    for (auto* array : {&x2_, &y2_}) array->assign(width, closed_long());
    column_.assign(width, 0);
    for (std::int32_t r = 0; r <= p_.target_length + p_.query_length - 2 && !misses_end_; ++r) fill(r);
  }
  bool misses_end() const { return misses_end_; }
  std::vector<std::uint32_t> cigar() const {
    std::vector<std::uint32_t> steps;
    std::int32_t i = p_.target_length - 1, j = p_.query_length - 1;
    int state = 0;
    while (i >= 0 && j >= 0) {
      const Row& row = rows_[static_cast<std::size_t>(i + j)];
      if (i < row.begin || i > row.end) {
        state = i < row.begin ? 2 : 1;
      } else {
        const Cell& cell = row.cells[static_cast<std::size_t>(i - row.begin)];
        if (state != 0 && !cell.goes_on[state - 1]) state = 0;
        if (state == 0) state = cell.from;
      }
      steps.push_back(state == 0 ? 0U : state % 2 == 1 ? 2U : 1U);
      i -= steps.back() != 1 ? 1 : 0;
      j -= steps.back() != 2 ? 1 : 0;
    }
    for (; i >= 0; --i) steps.push_back(2);
    for (; j >= 0; --j) steps.push_back(1);
    return cigar_of(std::move(steps), p_.ties);
  }

 private:
  using Byte = std::int8_t;
  struct Cell {
    int from = 0;  // 0: both bases, else 1 + gap: deletion, insertion, long deletion, long insertion
    bool goes_on[4] = {};
  };
  struct Row {
    std::int32_t begin = 0, end = -1;
    std::vector<Cell> cells;
  };

  Byte closed() const { return static_cast<Byte>(-(s_.gap_open + s_.gap_extend)); }
  Byte closed_long() const { return static_cast<Byte>(-(s_.gap_open_long + s_.gap_extend_long)); }
  std::int32_t border(std::int32_t bases) const {
    return bases == 0 ? 0 : -std::min(s_.gap_open + bases * s_.gap_extend, s_.gap_open_long + bases * s_.gap_extend_long);
  }
  std::int32_t column(std::int32_t t, std::int32_t q) const {
    const std::uint8_t target = t < p_.target_length ? p_.target[t] : 0, query = q >= 0 ? p_.query[q] : 0;
    const bool has_transitions = s_.transition > 0 && s_.transition != s_.mismatch;
    if (target == 4 || query == 4) return -(s_.ambiguous == 0 && !has_transitions ? s_.gap_extend_long : s_.ambiguous);
    return target == query ? s_.match : (target ^ query) == 2 && has_transitions ? -s_.transition : -s_.mismatch;
  }
  void fill(std::int32_t r) {
    const std::int32_t band = p_.band >= 0 ? p_.band : std::max(p_.target_length, p_.query_length);
    const std::int32_t first = std::max({0, r - p_.query_length + 1, (r - band + 1) >> 1});
    const std::int32_t last = std::min({p_.target_length - 1, r, (r + band) >> 1});
    misses_end_ = first > last;
    if (misses_end_) return;
    Row row{.begin = first / 16 * 16, .end = last / 16 * 16 + 15, .cells = {}};
    const auto difference = static_cast<Byte>(border(r + 1) - border(r));
    Byte x = closed(), x2 = closed_long(), v = closed();
    if (row.begin == 0) {
      v = difference;
    } else if (r > 0 && row.begin - 1 >= rows_.back().begin && row.begin - 1 <= rows_.back().end) {
      const auto left = static_cast<std::size_t>(row.begin - 1);
      x = x_[left], x2 = x2_[left], v = v_[left];
    }
    if (r <= row.end) {
      const auto here = static_cast<std::size_t>(r);
      y_[here] = closed(), y2_[here] = closed_long(), u_[here] = difference;
    }
    // Columns get their scores in groups of 16 from the band's first cell on, but one by one where transitions have a score of their own.
    const bool one_by_one = s_.transition > 0 && s_.transition != s_.mismatch;
    const std::int32_t count = one_by_one ? last - first + 1 : (last - first + 16) / 16 * 16;
    for (std::int32_t t = first; t < std::min(first + count, static_cast<std::int32_t>(column_.size())); ++t)
      column_[static_cast<std::size_t>(t)] = static_cast<Byte>(column(t, r - t));
    for (std::int32_t t = row.begin; t <= row.end; ++t) row.cells.push_back(fill_cell(static_cast<std::size_t>(t), x, x2, v));
    rows_.push_back(std::move(row));
  }
  // x, x2, v: of the cell to the left in the row before, and then those of this one.
  Cell fill_cell(std::size_t t, Byte& x, Byte& x2, Byte& v) {
    const Byte up = u_[t], gaps[4] = {sum(x, v), sum(y_[t], up), sum(x2, v), sum(y2_[t], up)};
    const int kinds = s_.one_piece() ? 2 : 4;
    const Byte left = v;
    x = x_[t], x2 = x2_[t], v = v_[t];
    Cell cell;
    Byte best = column_[t];
    for (int gap = 0; gap < kinds; ++gap)
      if (gaps[gap] > best || (gaps[gap] == best && p_.ties == TieOrder::gap_left)) {
        best = gaps[gap];
        cell.from = 1 + gap;
      }
    best = std::min(best, static_cast<Byte>(s_.match));
    u_[t] = static_cast<Byte>(best - left);
    v_[t] = static_cast<Byte>(best - up);
    Byte* const behind[4] = {&x_[t], &y_[t], &x2_[t], &y2_[t]};
    for (int gap = 0; gap < kinds; ++gap) {
      const auto over = static_cast<Byte>(gaps[gap] - best + (gap < 2 ? s_.gap_open : s_.gap_open_long));
      cell.goes_on[gap] = over > 0 || (over == 0 && p_.ties == TieOrder::gap_left);
      *behind[gap] = static_cast<Byte>(std::max<int>(over, 0) + (gap < 2 ? closed() : closed_long()));
    }
    return cell;
  }
  static Byte sum(Byte a, Byte b) { return static_cast<Byte>(a + b); }

  const Scores& s_;
  const Problem& p_;
  bool misses_end_ = false;
  std::vector<Byte> u_, v_, x_, y_, x2_, y2_, column_;
  std::vector<Row> rows_;
};

}  // namespace

TEST_CASE("at the edge of a band cells have the scores that minimap2's blocks give them, also where transitions have their own") {
  sluice::testing::for_each_instruction_set([] {
    std::mt19937 random(5);
    MatrixRows rows;
    int compared = 0;
    for (int round = 0; round < 4000; ++round) {
      const std::size_t length = 1 + random() % 90;
      const Pair pair = random_pair(random, length, length + random() % 5);
      Problem problem = pair.problem(random, true);
      problem.band = static_cast<std::int32_t>(random() % 12);
      problem.goal = Goal::ends;
      const Scores& scores = all_score_sets[random() % all_score_sets.size()];
      const Blocks blocks(scores, problem);
      if (blocks.misses_end()) continue;
      Alignment plain, vectors;
      align_plainly(scores, problem, rows, plain);
      align(scores, problem, rows, vectors);
      REQUIRE(plain.cigar == blocks.cigar());
      REQUIRE(vectors.cigar == blocks.cigar());
      ++compared;
    }
    CHECK(compared > 1000);
  });
}
