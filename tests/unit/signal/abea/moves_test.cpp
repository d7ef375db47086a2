// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "abea/moves.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <sluice/methods/abea/abea.hpp>
#include <string>
#include <vector>

#include "simulated_read.hpp"
#include "unit/instruction_sets.hpp"

using namespace sluice;
using namespace sluice::abea;

namespace {

struct Aligned {
  AlignmentResult result;
  std::vector<std::int32_t> first, last;
};
Aligned align_with(bool scalar, const AlignmentInput& input) {
  Aligned aligned;
  aligned.first.resize(input.kmer_ranks.size());
  aligned.last.resize(input.kmer_ranks.size());
  AlignmentWorkspace workspace;
  aligned.result = scalar ? align_events_scalar(input, aligned.first, aligned.last) : align_events(input, workspace, aligned.first, aligned.last);
  return aligned;
}

AlignmentLimits no_limits() { return {1000.0F, -std::numeric_limits<double>::infinity(), std::numeric_limits<std::int32_t>::max()}; }

// Any ascending list that could be made of moves.
std::vector<std::int32_t> random_way(std::size_t events, std::size_t kmers, std::mt19937_64& random) {
  std::vector<std::int32_t> way(events);
  const double per_event = static_cast<double>(kmers) / static_cast<double>(events);
  double at = -1 + static_cast<double>(random() % 5);
  for (std::int32_t& kmer : way) {
    kmer = static_cast<std::int32_t>(std::min(at, static_cast<double>(kmers) - 1));
    at += per_event * static_cast<double>(random() % 1000) / 500;
  }
  return way;
}

// Moves of a made-up read: `events` of 5 samples each, base b begins at event begin_of[b].
std::vector<std::int8_t> moves_of(const std::vector<std::int32_t>& begin_of, std::size_t events, std::int8_t stride = 5) {
  std::vector<std::int8_t> moves(events + 1, 0);
  moves[0] = stride;
  for (const std::int32_t begin : begin_of) moves[1 + static_cast<std::size_t>(begin)] = 1;
  return moves;
}
std::vector<std::int32_t> starts_every(std::int32_t samples, std::size_t events) {
  std::vector<std::int32_t> starts(events);
  for (std::size_t i = 0; i < events; ++i) starts[i] = samples * static_cast<std::int32_t>(i);
  return starts;
}

}  // namespace

TEST_SUITE("moves") {
  TEST_CASE("a guide moves the band along the cells that are asked for") {
    const std::vector<std::int32_t> way = {-1, -1, 0, 0, 1, 4, 4, 5};
    const std::vector<std::uint64_t> guide = guide_along(way, 8);
    REQUIRE(guide.size() == guide_words(8, 8));
    std::int32_t event = 0, kmer = -1;  // of band 1
    std::vector<std::int32_t> reached(way.size(), -2);
    reached[0] = kmer;
    for (std::int64_t band = 2; band < 8 + 8 + 1; ++band) {
      ++(moves_right(guide, band) ? kmer : event);
      if (event < 8) reached[static_cast<std::size_t>(event)] = kmer;
    }
    CHECK(event == 7);
    CHECK(kmer == 7);
    // Behind the last event the way goes on to the last k-mer.
    CHECK(std::vector<std::int32_t>(reached.begin(), reached.end() - 1) == std::vector<std::int32_t>{-1, 0, 0, 1, 4, 4, 5});
  }

  TEST_CASE("a guided band is the same in every instruction set, wherever the guide leads") {
    const simulation::Model model = simulation::make_model();
    std::mt19937_64 random(5);
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      simulation::ReadParameters parameters;
      parameters.kmer_count = 1 + (seed * 7919) % 1500;
      parameters.events_per_kmer = 1.1 + 0.4 * static_cast<double>(seed % 9);
      parameters.outliers = seed % 4 == 0 ? 0.05 : 0.002;
      simulation::Read read = simulation::make_read(model, parameters, seed);
      if (seed % 7 == 0) read.event_means[read.event_means.size() / 2] = std::numeric_limits<float>::quiet_NaN();
      const std::vector<std::uint64_t> guide =
          guide_along(random_way(read.event_means.size(), read.kmer_ranks.size(), random), read.kmer_ranks.size());
      const AlignmentInput input{read.event_means, read.kmer_ranks, model.view(), read.scaling, no_limits(), guide};
      const Aligned expected = align_with(true, input);
      sluice::testing::for_each_instruction_set([&] {
        const Aligned found = align_with(false, input);
        REQUIRE(name(found.result.status) == name(expected.result.status));
        REQUIRE(found.first == expected.first);
        REQUIRE(found.last == expected.last);
        if (!std::isnan(expected.result.average_emission)) REQUIRE(found.result.average_emission == expected.result.average_emission);
      });
    }
  }

  TEST_CASE("a guide of the right way gives the alignment of the wide band") {
    const simulation::Model model = simulation::make_model();
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      simulation::ReadParameters parameters;
      parameters.kmer_count = 1200;
      const simulation::Read read = simulation::make_read(model, parameters, seed);
      AlignmentInput input{read.event_means, read.kmer_ranks, model.view(), read.scaling, no_limits()};
      const Aligned wide = align_with(false, input);
      REQUIRE(name(wide.result.status) == "ok");
      std::vector<std::int32_t> way(read.event_means.size(), -1);
      for (std::size_t kmer = 0; kmer < wide.first.size(); ++kmer)
        for (std::int32_t event = wide.first[kmer]; event >= 0 && event <= wide.last[kmer]; ++event)
          way[static_cast<std::size_t>(event)] = static_cast<std::int32_t>(kmer);
      for (std::size_t event = 1; event < way.size(); ++event) way[event] = std::max(way[event], way[event - 1]);
      const std::vector<std::uint64_t> guide = guide_along(way, read.kmer_ranks.size());
      input.guide = guide;
      const Aligned guided = align_with(false, input);
      CHECK(guided.first == wide.first);
      CHECK(guided.last == wide.last);
    }
  }

  TEST_CASE("a guide of another size is refused") {
    const simulation::Model model = simulation::make_model();
    const simulation::Read read = simulation::make_read(model, {}, 3);
    const std::vector<std::uint64_t> guide(1);
    const Aligned aligned = align_with(false, {read.event_means, read.kmer_ranks, model.view(), read.scaling, {}, guide});
    CHECK(name(aligned.result.status) == "output_size_mismatch");
  }

  TEST_CASE("blocks of bases begin where the moves say") {
    CHECK(base_starts(std::vector<std::int8_t>{6, 1, 0, 0, 1, 1, 0}) == std::vector<std::int32_t>{0, 18, 24});
    CHECK(base_starts({}).empty());
    CHECK(base_starts(std::vector<std::int8_t>{-5, 1, 1}).empty());
    CHECK(base_of_kmer(9, false) == 7);
    CHECK(base_of_kmer(9, true) == 2);
    CHECK(base_of_kmer(5, true) == 1);
  }

  TEST_CASE("events of DNA are looked for in the k-mer of their base, and reads that lie elsewhere are told") {
    constexpr std::uint32_t k = 9;
    constexpr std::size_t bases = 20, kmers = bases - k + 1, events = 2 * bases;
    std::vector<std::int32_t> begin;
    for (std::size_t base = 0; base < bases; ++base) begin.push_back(static_cast<std::int32_t>(2 * base));
    const std::vector<std::int8_t> moves = moves_of(begin, events);
    const std::vector<std::int32_t> starts = starts_every(5, events);
    const MovedKmers moved(moves, starts, kmers, k);
    REQUIRE(moved.fit());
    const std::vector<std::int32_t> expected = moved.expected_kmers();
    CHECK(expected[0] == -1);
    CHECK(expected[13] == -1);
    CHECK(expected[14] == 0);  // the eighth base
    CHECK(expected[15] == 0);
    CHECK(expected[16] == 1);
    CHECK(expected.back() == static_cast<std::int32_t>(kmers) - 1);
    std::vector<std::int32_t> first(kmers), last(kmers);
    for (std::size_t kmer = 0; kmer < kmers; ++kmer) first[kmer] = static_cast<std::int32_t>(2 * (kmer + 7)), last[kmer] = first[kmer] + 1;
    CHECK(moved.agreement(first, last, 0).share() == 1);
    for (std::int32_t& event : first) event -= 3;
    CHECK(moved.agreement(first, last, 14).share() == 0);
    CHECK(moved.agreement(first, last, 15).share() == 1);
    first[0] = -1;
    CHECK(moved.agreement(first, last, 15).kmers == static_cast<std::int64_t>(kmers) - 1);
    CHECK_FALSE(MovedKmers(moves, starts, kmers + 1, k).fit());
  }

  TEST_CASE("events of direct RNA come last first, its moves do not") {
    constexpr std::uint32_t k = 9;
    constexpr std::size_t bases = 30, kmers = bases - k + 1, events = 3 * bases;
    std::vector<std::int32_t> begin, starts = starts_every(5, events);
    for (std::size_t base = 0; base < bases; ++base) begin.push_back(static_cast<std::int32_t>(3 * base));
    std::reverse(starts.begin(), starts.end());
    const std::vector<std::int8_t> moves = moves_of(begin, events);
    const MovedKmers moved(moves, starts, kmers, k);
    const std::vector<std::int32_t> expected = moved.expected_kmers();
    // The first events are those of the read's first base, the last in time.
    CHECK(expected.front() == -1);
    CHECK(expected[6] == 0);  // the third base
    CHECK(expected[9] == 1);
    CHECK(expected.back() == static_cast<std::int32_t>(kmers) - 1);
    CHECK(std::is_sorted(expected.begin(), expected.end()));
    std::vector<std::int32_t> first(kmers), last(kmers);
    for (std::size_t kmer = 0; kmer < kmers; ++kmer) first[kmer] = static_cast<std::int32_t>(3 * (kmer + 2)), last[kmer] = first[kmer] + 2;
    CHECK(moved.agreement(first, last, 0).share() == 1);
  }

  TEST_CASE("with one-mers each base is its own k-mer, from the first event and base to the last") {
    const std::vector<std::int8_t> moves = {5, 1, 0, 1, 0};  // bases at samples 0 and 10
    const std::vector<std::int32_t> starts = {0, 10};
    const MovedKmers moved(moves, starts, 2, 1);
    REQUIRE(moved.fit());
    CHECK(moved.samples_per_base() == 10);
    CHECK(moved.expected_kmers() ==
          std::vector<std::int32_t>{0, 1});  // the last event has no middle: it counts from where it begins, as the base does
    const std::vector<std::int32_t> own = {0, 1}, late = {1, 1};
    CHECK(moved.agreement(own, own, 0).kmers == 2);
    CHECK(moved.agreement(own, own, 0).near == 2);
    CHECK(moved.agreement(late, late, 9).near == 1);
    CHECK(moved.agreement(late, late, 10).near == 2);
    // A third k-mer has no block, and no event 2 is there.
    const MovedKmers more(moves, starts, 3, 1);
    const std::vector<std::int32_t> all = {0, 1, 1}, none = {2, 1, 0};
    CHECK(more.agreement(all, all, 100).kmers == 2);
    CHECK(more.agreement(none, none, 100).kmers == 1);
    CHECK(MovedKmers::Agreement{}.share() == 1);
    CHECK(MovedKmers::Agreement{1, 0}.share() == 0);
    CHECK(MovedKmers::Agreement{4, 3}.share() == 0.75);
  }

  TEST_CASE("the shift is the median of what events differ from the scaled level, of thirty events on") {
    constexpr std::size_t kmers = 40;
    const std::vector<float> level = {100};
    KmerModelView model;
    model.level_mean = level;
    const std::vector<std::int8_t> moves = {5, 1};
    const std::vector<std::int32_t> starts = {0};
    const MovedKmers moved(moves, starts, kmers, 1);
    std::vector<std::uint32_t> rank(kmers, 0);
    std::vector<std::int32_t> expected(kmers);
    std::vector<float> mean(kmers);
    for (std::size_t event = 0; event < kmers; ++event) {
      expected[event] = static_cast<std::int32_t>(event);
      mean[event] = 200 + static_cast<float>(event);  // differs by its number from twice the level
    }
    const LevelScaling moments{2, -7};
    // Not the first and the last k-mer: 1 to 38.
    CHECK(moved.scaling(expected, mean, rank, model, moments).scale == 2);
    CHECK(moved.scaling(expected, mean, rank, model, moments).shift == 20);
    // Neither one that the model does not have, nor one without a level: 1 to 36.
    rank[38] = 1;
    mean[37] = std::numeric_limits<float>::quiet_NaN();
    CHECK(moved.scaling(expected, mean, rank, model, moments).shift == 19);
    expected.resize(31);  // 1 to 30
    mean.resize(31);
    CHECK(moved.scaling(expected, mean, rank, model, moments).shift == 16);
    expected[5] = -1;  // of 29 there is none
    CHECK(moved.scaling(expected, mean, rank, model, moments).shift == -7);
  }
}
