// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "event_alignment/event_alignment.hpp"
#include "event_alignment/segment.hpp"
#include "unit/instruction_sets.hpp"
#include "unit/signal/event_alignment/simulated_record.hpp"

namespace sluice::event_alignment {
namespace {

using event_hmm::kMinusInfinity;

struct Problem {
  std::vector<float> events;
  std::string sequence;
  Segment segment;

  Problem(const KmerModelView& model, std::size_t rows, std::size_t columns, std::mt19937_64& random, double events_per_base = 1.8) {
    std::normal_distribution<float> noise(0.0F, 3.0F);
    for (std::size_t i = 0; i < columns + model.k - 1; ++i) sequence += "ACGT"[random() % 4];
    const bool descending = random() % 2 == 0;
    std::vector<std::uint32_t> ranks(kMaximumColumns);
    segment.strand = random() % 2 == 0 ? Strand::forward : Strand::reverse;
    segment.sequence = sequence;
    segment_ranks(segment, model.k, std::span<std::uint32_t, kMaximumColumns>(ranks));
    for (std::size_t row = 0; row < rows; ++row) events.push_back(model.level_mean[ranks[row * columns / rows]] + noise(random));
    if (descending) std::ranges::reverse(events);
    segment.event_mean = events;
    segment.first_event = descending ? static_cast<std::int64_t>(rows) - 1 : 0;
    segment.step = descending ? -1 : 1;
    segment.rows = static_cast<std::int64_t>(rows);
    segment.scaling = {1.0F, 0.5F, 1.2F, 0.2F};
    segment.transitions = *event_hmm::make_transitions(events_per_base, event_hmm::EventsPerBase::raised);
  }
  Problem(const Problem&) = delete;
};

struct Emissions {
  Emissions(const Segment& segment, const KmerModelView& model) : columns(column_count(segment, model.k)) {
    std::vector<std::uint32_t> ranks(kMaximumColumns);
    segment_ranks(segment, model.k, std::span<std::uint32_t, kMaximumColumns>(ranks));
    for (std::int64_t row = 0; row < segment.rows; ++row)
      for (std::size_t j = 0; j < columns; ++j) {
        const auto level = event_hmm::scale_level(model, ranks[j], segment.scaling);
        const float a = (segment.event_mean[static_cast<std::size_t>(segment.first_event + row * segment.step)] - level.mean) / level.stdv;
        values.push_back(level.constant + -0.5F * a * a);
      }
  }
  float operator()(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
  std::size_t columns;
  std::vector<float> values;
};

// Every path through a small segment, in turn: all that begin in the first match with the first event, by f5c's transitions.
struct EveryPath {
  const Segment& segment;
  const Emissions& emission;
  float best = kMinusInfinity;
  std::vector<PathCell> best_path, path;
  std::size_t ends = 0, as_good = 0;

  void match(std::size_t row, std::size_t column, float before) {
    const float score = before + emission(row, column);
    path.push_back({static_cast<std::int32_t>(row), static_cast<std::int16_t>(column), State::match});
    if (row + 1 == static_cast<std::size_t>(segment.rows) && column + 1 == emission.columns) {
      ++ends;
      as_good = score > best ? 1 : as_good + (score == best ? 1 : 0);
      if (score > best) {
        best = score;
        best_path = path;
      }
    }
    const auto& log = segment.transitions;
    if (row + 1 < static_cast<std::size_t>(segment.rows)) {
      match(row + 1, column, score + log.match_stay);
      if (column + 1 < emission.columns) match(row + 1, column + 1, score + log.match_next);
      bad(row + 1, column, score + log.match_bad);
    }
    if (column + 1 < emission.columns) skip(row, column + 1, score + log.match_skip);
    path.pop_back();
  }
  void bad(std::size_t row, std::size_t column, float score) {
    path.push_back({static_cast<std::int32_t>(row), static_cast<std::int16_t>(column), State::bad});
    const auto& log = segment.transitions;
    if (row + 1 < static_cast<std::size_t>(segment.rows)) {
      match(row + 1, column, score + log.bad_match);
      if (column + 1 < emission.columns) match(row + 1, column + 1, score + log.bad_match);
      bad(row + 1, column, score + log.bad_stay);
    }
    if (column + 1 < emission.columns) skip(row, column + 1, score + log.bad_skip);
    path.pop_back();
  }
  void skip(std::size_t row, std::size_t column, float score) {
    const auto& log = segment.transitions;
    if (row + 1 < static_cast<std::size_t>(segment.rows) && column + 1 < emission.columns) match(row + 1, column + 1, score + log.skip_match);
    if (column + 1 < emission.columns) skip(row, column + 1, score + log.skip_stay);
  }
};

bool same_path(std::vector<PathCell> a, const std::vector<PathCell>& b) {
  return std::ranges::equal(a, b, [](const PathCell& x, const PathCell& y) { return x.row == y.row && x.column == y.column && x.state == y.state; });
}

void expect_reference_path(const Problem& problem, const KmerModelView& model, Workspace& workspace) {
  segment_path_reference(problem.segment, model, workspace);
  const std::vector<PathCell> expected = workspace.path;
  sluice::testing::for_each_instruction_set([&] {
    segment_path(problem.segment, model, workspace);
    CHECK(same_path(workspace.path, expected));
  });
}

TEST_CASE("the reference finds the best of all paths") {
  const simulation::Model model(2);
  std::mt19937_64 random(1);
  Workspace workspace;
  std::size_t compared = 0;
  for (int turn = 0; turn < 300; ++turn) {
    const std::size_t rows = 2 + random() % 5, columns = 1 + random() % 5;
    const Problem problem(model.view, rows, columns, random, 1.0 + 0.01 * static_cast<double>(random() % 200));
    const Emissions emissions(problem.segment, model.view);
    EveryPath every{problem.segment, emissions, kMinusInfinity, {}, {}};
    every.match(0, 0, kLogStart);
    segment_path_reference(problem.segment, model.view, workspace);
    std::ranges::reverse(workspace.path);
    if (every.as_good == 1) {
      CHECK(same_path(workspace.path, every.best_path));
      ++compared;
    }
  }
  CHECK(compared > 250);
}

TEST_CASE("every instruction set finds the path of the reference") {
  std::mt19937_64 random(2);
  Workspace workspace;
  for (const std::uint32_t k : {1U, 5U, 6U, 9U}) {
    const simulation::Model model(k);
    for (int turn = 0; turn < 120; ++turn) {
      const std::size_t columns = 1 + random() % (kMaximumColumns - k + 1);
      const std::size_t rows = 1 + random() % (random() % 4 == 0 ? 500 : 60);
      expect_reference_path(Problem(model.view, rows, columns, random, 1.0 + 0.01 * static_cast<double>(random() % 300)), model.view, workspace);
    }
  }
}

TEST_CASE("ties go to the last movement, on every instruction set") {
  // Two levels only, and events that are one of them: many paths are equally good.
  simulation::Model model(3);
  for (std::size_t rank = 0; rank < model.level_mean.size(); ++rank) {
    model.level_mean[rank] = rank % 3 == 0 ? 80.0F : 84.0F;
    model.level_stdv[rank] = 2.0F;
    model.log_level_stdv[rank] = 0.75F;
  }
  model.view.level_mean = model.level_mean;
  std::mt19937_64 random(3);
  Workspace workspace;
  for (int turn = 0; turn < 300; ++turn) {
    Problem problem(model.view, 2 + random() % 60, 1 + random() % 60, random);
    for (float& event : problem.events) event = random() % 2 == 0 ? 80.5F : 84.5F;
    problem.segment.scaling = {1.0F, 0.5F, 1.0F, 0.0F};
    problem.segment.transitions = {-1.0F, -1.0F, -4.0F, -4.0F, -1.0F, -1.0F, -1.0F, -1.0F, -1.0F};
    problem.segment.transitions.bad_skip = problem.segment.transitions.bad_match;
    expect_reference_path(problem, model.view, workspace);
  }
}

TEST_CASE("emissions of -infinity leave the path that f5c would print, on every instruction set") {
  const simulation::Model model(6);
  std::mt19937_64 random(4);
  Workspace workspace;
  for (int turn = 0; turn < 200; ++turn) {
    Problem problem(model.view, 2 + random() % 40, 1 + random() % 90, random);
    for (float& event : problem.events) {
      const auto dice = random() % 20;
      if (dice == 0) event = 1e15F;
      if (dice == 1) event = -4e14F;
      if (dice == 2) event = 0.0F;
    }
    if (turn % 4 == 0) problem.events[static_cast<std::size_t>(problem.segment.first_event)] = 1e15F;
    if (turn % 5 == 0) problem.segment.scaling = {1e-15F, 0.0F, 1e-10F, -0.918938F};
    if (turn % 7 == 0) problem.segment.scaling.var = 3e-12F;
    expect_reference_path(problem, model.view, workspace);
  }
}

TEST_CASE("a constant of zero or nearly zero does not show how the quotient is made") {
  simulation::Model model(3);
  for (float& log_stdv : model.log_level_stdv) log_stdv = -0.918938F;
  model.view.log_level_stdv = model.log_level_stdv;
  std::mt19937_64 random(5);
  Workspace workspace;
  for (int turn = 0; turn < 100; ++turn) {
    Problem problem(model.view, 2 + random() % 40, 1 + random() % 90, random);
    problem.segment.scaling = {1e-20F, 0.0F, 1.0F, 0.0F};
    std::uniform_real_distribution<float> exponent(-120.0F, -40.0F);
    for (float& event : problem.events) event = std::exp2(exponent(random));
    expect_reference_path(problem, model.view, workspace);
  }
}

// The smallest x > 0 with a * x = 1 modulo the odd number `modulus`.
std::uint64_t inverse(std::uint64_t a, std::uint64_t modulus) {
  std::int64_t t = 0, next_t = 1;
  auto r = static_cast<std::int64_t>(modulus), next_r = static_cast<std::int64_t>(a % modulus);
  while (next_r != 0) {
    const std::int64_t quotient = r / next_r;
    t = std::exchange(next_t, t - quotient * next_t);
    r = std::exchange(next_r, r - quotient * next_r);
  }
  return static_cast<std::uint64_t>(t < 0 ? t + static_cast<std::int64_t>(modulus) : t);
}

TEST_CASE("a product with the reciprocal, corrected once, is the quotient, rounded") {
  // Before its last rounding the corrected product is within 1.5 * 2^-24 last places of the quotient. With significands A and S the quotient is n /
  // (2 S) of a last place away from the middle of two numbers, n a whole number: only n = 1, 2 can be rounded wrongly, and these pairs can be listed.
  // A part of all S here; all 2^23 were checked once.
  std::size_t pairs = 0, wrong = 0;
  for (std::uint64_t s = (1U << 23U) + 1; s < 1U << 24U; s += 61) {
    const unsigned halvings = s % 2 == 0 ? 1 : 0;
    if (s % 4 == 0) continue;
    const std::uint64_t odd = s >> halvings;
    for (const std::int64_t n : {-2, -1, 1, 2}) {
      if (n % (1 << halvings) != 0) continue;
      for (const unsigned shift : {24U, 25U}) {
        const std::int64_t wanted = (n >> halvings) < 0 ? static_cast<std::int64_t>(odd) + (n >> halvings) : n >> halvings;
        std::uint64_t a = inverse((std::uint64_t{1} << (shift - halvings)) % odd, odd) * static_cast<std::uint64_t>(wanted) % odd;
        const std::uint64_t lowest = shift == 25 ? 1U << 23U : s, end = shift == 25 ? s : 1U << 24U;
        if (a < lowest) a += (lowest - a + odd - 1) / odd * odd;
        for (; a < end; a += odd, ++pairs) {
          const auto x = static_cast<float>(a), y = static_cast<float>(s);
          const float reciprocal = 1.0F / y, quotient = x * reciprocal;
          wrong += std::fma(std::fma(-quotient, y, x), reciprocal, quotient) == x / y ? 0 : 1;
        }
      }
    }
  }
  CHECK(pairs > 100'000);
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace sluice::event_alignment
