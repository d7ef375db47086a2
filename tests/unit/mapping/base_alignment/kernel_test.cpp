// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base_alignment/kernel/align.hpp"
#include "base_alignment/kernel/equal_ends.hpp"
#include "kernel_problems.hpp"
#include "unit/instruction_sets.hpp"

using namespace sluice::base_alignment;
using namespace kernel_problems;

namespace {

std::string text(const std::vector<std::uint32_t>& cigar) {
  std::string result;
  for (const std::uint32_t operation : cigar) result += std::to_string(operation >> 4) + "MID"[operation & 15U];
  return result;
}

std::string text(const Alignment& a) {
  const auto number = [](std::int32_t value) { return ' ' + std::to_string(value); };
  return number(a.best) + number(a.best_target) + number(a.best_query) + number(a.query_end_score) + number(a.query_end_target) + number(a.score) +
         (a.dropped ? " dropped" : "") + (a.reached_end ? " end" : "") + ' ' + text(a.cigar);
}

// The recurrences of affine gaps over the whole matrix, in whole numbers; no band.
class WholeMatrix {
 public:
  WholeMatrix(const Scores& scores, const Problem& problem) : s_(scores), p_(problem), n_(problem.target_length), m_(problem.query_length) {
    cells_.resize(static_cast<std::size_t>((n_ + 1) * (m_ + 1)));
    for (std::int32_t i = -1; i < n_; ++i)
      for (std::int32_t j = -1; j < m_; ++j) fill(i, j);
  }

  Alignment align() const {
    Alignment a;
    for (std::int32_t row = 0; row <= n_ + m_ - 2 && p_.goal != Goal::ends && !a.dropped; ++row) look_at(row, a);
    if (!a.dropped) a.score = at(n_ - 1, m_ - 1).h;
    if (!a.dropped && p_.goal != Goal::extension) {
      a.cigar = path(n_ - 1, m_ - 1);
    } else if (!a.dropped && a.query_end_score + p_.end_bonus > a.best) {
      a.reached_end = true;
      a.cigar = path(a.query_end_target, m_ - 1);
    } else if (a.best_target >= 0) {
      a.cigar = path(a.best_target, a.best_query);
    }
    return a;
  }

 private:
  struct Cell {
    std::int32_t h = 0, gap[4] = {low, low, low, low};  // deletion, insertion, long deletion, long insertion
    int from = 0;                                       // 0: both bases, else 1 + gap
  };
  static constexpr std::int32_t low = -100000000;

  const Cell& at(std::int32_t i, std::int32_t j) const { return cells_[static_cast<std::size_t>((i + 1) * (m_ + 1) + j + 1)]; }
  std::int32_t open(int gap) const { return gap < 2 ? s_.gap_open : s_.gap_open_long; }
  std::int32_t extend(int gap) const { return gap < 2 ? s_.gap_extend : s_.gap_extend_long; }
  std::int32_t border(std::int32_t bases) const {
    return bases == 0 ? 0 : -std::min(s_.gap_open + bases * s_.gap_extend, s_.gap_open_long + bases * s_.gap_extend_long);
  }
  std::int32_t column(std::int32_t i, std::int32_t j) const {
    const std::uint8_t t = p_.target[i], q = p_.query[j];
    if (t == 4 || q == 4) return -(s_.ambiguous == 0 && s_.transition == 0 ? s_.gap_extend_long : s_.ambiguous);
    return t == q ? s_.match : (t ^ q) == 2 && s_.transition > 0 ? -s_.transition : -s_.mismatch;
  }
  void fill(std::int32_t i, std::int32_t j) {
    Cell& cell = cells_[static_cast<std::size_t>((i + 1) * (m_ + 1) + j + 1)];
    if (i < 0 || j < 0) {
      cell.h = border(i + j + 2);
      return;
    }
    cell.h = at(i - 1, j - 1).h + column(i, j);
    const int gaps = s_.one_piece() ? 2 : 4;
    for (int gap = 0; gap < gaps; ++gap) {
      const Cell& before = gap % 2 == 0 ? at(i - 1, j) : at(i, j - 1);
      cell.gap[gap] = std::max(before.h - open(gap), before.gap[gap]) - extend(gap);
      if (cell.gap[gap] > cell.h || (cell.gap[gap] == cell.h && p_.ties == TieOrder::gap_left)) {
        cell.h = cell.gap[gap];
        cell.from = 1 + gap;
      }
    }
  }
  bool goes_on(const Cell& cell, int gap) const {
    const std::int32_t opened = cell.h - open(gap);
    return cell.gap[gap] > opened || (cell.gap[gap] == opened && p_.ties == TieOrder::gap_left);
  }
  std::vector<std::uint32_t> path(std::int32_t i, std::int32_t j) const {
    std::vector<std::uint32_t> steps;
    int state = 0;
    while (i >= 0 && j >= 0) {
      const Cell& cell = at(i, j);
      if (state == 0 || !goes_on(cell, state - 1)) state = cell.from;
      steps.push_back(state == 0 ? 0U : state % 2 == 1 ? 2U : 1U);
      i -= steps.back() != 1 ? 1 : 0;
      j -= steps.back() != 2 ? 1 : 0;
    }
    for (; i >= 0; --i) steps.push_back(2);
    for (; j >= 0; --j) steps.push_back(1);
    return cigar_of(std::move(steps), p_.ties);
  }
  void look_at(std::int32_t row, Alignment& a) const {
    const std::int32_t begin = std::max(0, row - m_ + 1), last = std::min(n_ - 1, row);
    const auto score = [&](std::int32_t i) { return at(i, row - i).h; };
    // Of equal scores that of the band's last cell, then by the column among four.
    std::int32_t best = last;
    const std::int32_t grouped = (last - begin) / 4 * 4;
    for (std::int32_t column = 0; column < 4; ++column)
      for (std::int32_t i = begin + column; i < begin + grouped; i += 4)
        if (score(i) > score(best)) best = i;
    for (std::int32_t i = begin + grouped; i < last; ++i)
      if (score(i) > score(best)) best = i;
    if (row - begin == m_ - 1 && score(begin) > a.query_end_score) {
      a.query_end_score = score(begin);
      a.query_end_target = begin;
    }
    if (score(best) > a.best) {
      a.best = score(best);
      a.best_target = best;
      a.best_query = row - best;
    } else if (best >= a.best_target && row - best >= a.best_query && p_.z_drop >= 0) {
      const std::int32_t shift = std::abs((best - a.best_target) - (row - best - a.best_query));
      a.dropped = a.best - score(best) > p_.z_drop + s_.gap_extend_long * shift;
    }
  }

  const Scores& s_;
  const Problem& p_;
  std::int32_t n_, m_;
  std::vector<Cell> cells_;
};

// Does the path lead from the first bases to where the alignment says?
bool path_fits(const Problem& p, const Alignment& a) {
  std::int32_t query = 0, target = 0;
  for (const std::uint32_t operation : a.cigar) {
    const auto bases = static_cast<std::int32_t>(operation >> 4);
    if ((operation & 15U) != 2) query += bases;
    if ((operation & 15U) != 1) target += bases;
  }
  if (a.cigar.empty()) return true;
  if (!a.dropped && p.goal != Goal::extension) return query == p.query_length && target == p.target_length;
  if (a.reached_end) return query == p.query_length && target == a.query_end_target + 1;
  return query == a.best_query + 1 && target == a.best_target + 1;
}

// The vectors of the instruction set that is chosen give what the plain form gives.
void require_plain_result(const Scores& scores, const Problem& problem, MatrixRows& rows) {
  Alignment plain, vectors;
  align_plainly(scores, problem, rows, plain);
  align(scores, problem, rows, vectors);
  REQUIRE(text(vectors) == text(plain));
  REQUIRE(path_fits(problem, plain));
}

}  // namespace

TEST_CASE("without a band the kernel's answers are those of the whole matrix") {
  std::mt19937 random(1);
  MatrixRows rows;
  Alignment plain, vectors;
  for (std::size_t query = 1; query <= 40; ++query)
    for (std::size_t target = 1; target <= 40; ++target)
      for (int round = 0; round < 4; ++round) {
        const Pair pair = random_pair(random, query, target);
        const Problem problem = pair.problem(random, false);
        const Scores& scores = all_score_sets[random() % all_score_sets.size()];
        const std::string expected = text(WholeMatrix(scores, problem).align());
        plain.cigar.clear();
        align_plainly(scores, problem, rows, plain);
        REQUIRE(text(plain) == expected);
        vectors.cigar.clear();
        align(scores, problem, rows, vectors);
        REQUIRE(text(vectors) == expected);
      }
}

TEST_CASE("every instruction set gives the answers of the plain form, whatever the band") {
  sluice::testing::for_each_instruction_set([] {
    std::mt19937 random(2);
    MatrixRows rows;
    for (std::size_t length = 1; length <= 500; ++length) {
      const Pair pair = random_pair(random, 1 + random() % length, length);
      const Problem problem = pair.problem(random, random() % 4 != 0);
      const Scores& scores = all_score_sets[random() % all_score_sets.size()];
      require_plain_result(scores, problem, rows);
    }
  });
}

TEST_CASE("short pairs in narrow bands, where cells outside the band are read, are equal on every instruction set") {
  sluice::testing::for_each_instruction_set([] {
    std::mt19937 random(3);
    MatrixRows rows;
    for (int round = 0; round < 5000; ++round) {
      const Pair pair = random_pair(random, 1 + random() % 90, 1 + random() % 90);
      Problem problem = pair.problem(random, true);
      problem.band = static_cast<std::int32_t>(random() % 12);
      const Scores& scores = all_score_sets[random() % all_score_sets.size()];
      require_plain_result(scores, problem, rows);
    }
  });
}

TEST_CASE("from end to end, sequences that are alike take the way through a narrow band, and it gives the whole matrix's path") {
  sluice::testing::for_each_instruction_set([] {
    std::mt19937 random(6);
    MatrixRows rows;
    Alignment plain, vectors;
    for (int round = 0; round < 250; ++round) {
      const std::uint32_t letters = 1 + random() % 4, ns = random() % 5 == 0 ? 20 : 0, errors = random() % 25;
      Bases unit = random_bases(random, 1 + random() % 30, letters, 0), query, target;
      // Tandem repeats have many paths of equal score.
      for (std::size_t i = 0, copies = random() % 3 == 0 ? 1 + random() % 20 : 0; i < copies; ++i)
        query.insert(query.end(), unit.begin(), unit.end());
      const Bases rest = random_bases(random, 1 + random() % 700, 1 + random() % 4, ns);
      query.insert(query.end(), rest.begin(), rest.end());
      for (const std::uint8_t base : query) {
        if (random() % 200 < errors) {
          const std::uint32_t kind = random() % 3;
          if (kind == 0) continue;
          target.push_back(static_cast<std::uint8_t>(random() % 4));
          if (kind == 1) continue;
        }
        target.push_back(base);
      }
      if (random() % 6 == 0)
        target.insert(target.begin() + static_cast<std::ptrdiff_t>(random() % (target.size() + 1)), random() % 90, std::uint8_t{2});
      if (target.empty()) continue;
      Problem problem{.query = query.data(), .target = target.data()};
      problem.query_length = static_cast<std::int32_t>(query.size());
      problem.target_length = static_cast<std::int32_t>(target.size());
      const Scores& scores = all_score_sets[static_cast<std::size_t>(round) % all_score_sets.size()];
      plain.cigar.clear();
      align_plainly(scores, problem, rows, plain);
      vectors.cigar.clear();
      align(scores, problem, rows, vectors);
      REQUIRE(text(vectors) == text(plain));
    }
  });
}

TEST_CASE("from end to end, sequences with hardly a difference need no matrix, and get the whole matrix's path") {
  sluice::testing::for_each_instruction_set([] {
    std::mt19937 random(9);
    MatrixRows rows;
    for (int round = 0; round < 3000; ++round) {
      const Bases query = random_bases(random, 1 + random() % (round % 10 == 0 ? 600 : 60), 1 + random() % 4, round % 20 == 0 ? 30 : 0);
      Bases target = query;
      for (std::uint32_t changes = random() % 5; changes > 0; --changes) {
        const auto at = static_cast<std::ptrdiff_t>(random() % target.size());
        const std::uint32_t kind = random() % 4;
        if (kind == 0 && target.size() > 1)
          target.erase(target.begin() + at);
        else if (kind == 1)
          target.insert(target.begin() + at, static_cast<std::uint8_t>(random() % 4));
        else
          target[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(random() % 4);
      }
      const Problem problem{.query = query.data(),
                            .target = target.data(),
                            .query_length = static_cast<std::int32_t>(query.size()),
                            .target_length = static_cast<std::int32_t>(target.size())};
      require_plain_result(all_score_sets[random() % all_score_sets.size()], problem, rows);
    }
  });
}

TEST_CASE("from end to end, sequences that are equal but for one gap need no matrix, and get the whole matrix's path") {
  sluice::testing::for_each_instruction_set([] {
    std::mt19937 random(11);
    MatrixRows rows;
    for (int round = 0; round < 3000; ++round) {
      const Bases shorter = random_bases(random, 1 + random() % (round % 10 == 0 ? 400 : 12), 1 + random() % 3, 0);
      Bases longer = shorter;
      const Bases more = random_bases(random, 1 + random() % (round % 7 == 0 ? 60 : 5), 1 + random() % 3, 0);
      longer.insert(longer.begin() + static_cast<std::ptrdiff_t>(random() % (longer.size() + 1)), more.begin(), more.end());
      const bool is_insertion = random() % 2 == 0;
      const Bases &query = is_insertion ? longer : shorter, &target = is_insertion ? shorter : longer;
      const Problem problem{.query = query.data(),
                            .target = target.data(),
                            .query_length = static_cast<std::int32_t>(query.size()),
                            .target_length = static_cast<std::int32_t>(target.size())};
      const Scores& scores = all_score_sets[random() % all_score_sets.size()];
      CHECK(needs_no_matrix(scores, problem));
      require_plain_result(scores, problem, rows);
    }
  });
}

TEST_CASE("empty pieces and costs that 8 bits can't hold give no alignment") {
  MatrixRows rows;
  const Bases bases = {0, 1, 2, 3};
  Alignment result;
  align({}, {.query = bases.data(), .target = bases.data(), .query_length = 0, .target_length = 4}, rows, result);
  CHECK(text(result) == text(Alignment()));
  align({}, {.query = bases.data(), .target = bases.data(), .query_length = 4, .target_length = 0}, rows, result);
  CHECK(text(result) == text(Alignment()));
  const Scores harsh{.match = 1, .mismatch = 13, .gap_open = 4, .gap_extend = 2};
  align(harsh, {.query = bases.data(), .target = bases.data(), .query_length = 4, .target_length = 4}, rows, result);
  CHECK(text(result) == text(Alignment()));
  CHECK(gap_costs_fit({}));
  CHECK_FALSE(gap_costs_fit({.gap_open = 0}));
  CHECK_FALSE(gap_costs_fit({.gap_extend = 1}));
  CHECK_FALSE(gap_costs_fit({.gap_open = 60, .gap_extend = 4, .gap_open_long = 64, .gap_extend_long = 1}));
}

TEST_CASE("memory that has served other problems gives what fresh memory gives") {
  std::mt19937 random(4);
  MatrixRows used;
  for (int i = 0; i < 200; ++i) {
    const Pair pair = random_pair(random, 1 + random() % 300, 1 + random() % 300);
    const Problem problem = pair.problem(random, true);
    MatrixRows fresh;
    Alignment with_used, with_fresh;
    align({}, problem, used, with_used);
    align({}, problem, fresh, with_fresh);
    CHECK(text(with_used) == text(with_fresh));
  }
}

TEST_CASE("a matrix that is so large that its memory is given back leaves nothing behind for the next problem") {
  std::mt19937 random(23);
  const Pair huge{random_bases(random, 14'000, 4, 0), random_bases(random, 14'000, 4, 0)};  // unlike each other: the whole matrix is needed
  const auto ends = [](const Pair& pair) {
    return Problem{.query = pair.query.data(),
                   .target = pair.target.data(),
                   .query_length = static_cast<std::int32_t>(pair.query.size()),
                   .target_length = static_cast<std::int32_t>(pair.target.size())};
  };
  std::vector<Pair> small;
  for (const std::size_t length : {600U, 30U, 2000U, 5U}) {
    const Bases bases = random_bases(random, length, 4, 0);
    Bases changed = bases;
    for (std::size_t i = 3; i < length; i += 11) changed[i] ^= 1U;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(length / 2));
    small.push_back({bases, changed});
  }
  const Scores scores;
  MatrixRows kept;
  for (const Pair& pair : small) {
    Alignment first, after, alone;
    align(scores, ends(huge), kept, first);
    kept.give_back();
    align(scores, ends(pair), kept, after);
    MatrixRows own;
    align(scores, ends(pair), own, alone);
    CHECK(text(after) == text(alone));
    CHECK(path_fits(ends(huge), first));
  }
}
