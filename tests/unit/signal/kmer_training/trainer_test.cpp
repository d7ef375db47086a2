// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_training/trainer.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "unit/signal/kmer_training/made_reads.hpp"

namespace sluice::kmer_training {
namespace {

double mean_error(const Levels& levels, const Levels& truth) {
  double sum = 0;
  for (std::size_t rank = 0; rank < truth.mean.size(); ++rank) sum += std::fabs(static_cast<double>(levels.mean[rank] - truth.mean[rank]));
  return sum / static_cast<double>(truth.mean.size());
}

void add_reads(Trainer& trainer, const Levels& pore, std::int64_t count, std::uint64_t seed) {
  for (const MadeRead& read : made_reads(pore, count, seed)) REQUIRE(trainer.add(read.event_mean, read.bases) == AddStatus::added);
}

void alone(std::size_t count, const std::function<void(std::size_t, std::size_t)>& body) { body(0, count); }

void on_three_threads(std::size_t count, const std::function<void(std::size_t, std::size_t)>& body) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 3; ++i) threads.emplace_back([&, i] { body(count * i / 3, count * (i + 1) / 3); });
  for (std::thread& thread : threads) thread.join();
}

TrainingParameters rough_start() {
  TrainingParameters parameters;
  parameters.recalibration.max_var = 10;
  return parameters;
}

TEST_CASE("a training finds the pore's levels from a rough model") {
  const Levels pore = random_pore(5, 17), start = rough(pore, 2, 18);
  REQUIRE(mean_error(start, pore) > 1.4);
  Trainer trainer(start, parse_motif("cpg"), rough_start());
  add_reads(trainer, pore, 250, 19);
  Round round;
  double first_change = 0;
  for (int i = 0; i < 4; ++i) {
    round = trainer.run_round(alone);
    if (i == 0) first_change = round.mean_change;
  }
  CHECK(round.aligned_reads >= 225);
  CHECK(round.trained_kmers == 1024);
  CHECK(round.mean_change < first_change / 4);
  CHECK(mean_error(trainer.levels(), pore) < 0.3);
}

TEST_CASE("the result is the same on any number of threads") {
  const Levels pore = random_pore(4, 27), start = rough(pore, 1, 28);
  Trainer one(start, parse_motif("cpg"), rough_start()), three(start, parse_motif("cpg"), rough_start());
  add_reads(one, pore, 30, 29);
  add_reads(three, pore, 30, 29);
  for (int i = 0; i < 2; ++i) {
    one.run_round(alone);
    three.run_round(on_three_threads);
  }
  REQUIRE(one.levels().mean != start.mean);
  CHECK(one.levels().mean == three.levels().mean);
  CHECK(one.levels().stdv == three.levels().stdv);
  CHECK(std::vector(one.observations().begin(), one.observations().end()) == std::vector(three.observations().begin(), three.observations().end()));
}

TEST_CASE("without reads all k-mers keep their level, and those that were seen too rarely have an expected one near it") {
  const Levels pore = random_pore(4, 37), start = rough(pore, 1, 38);
  Trainer empty(start, parse_motif("cpg"), {});
  CHECK(empty.run_round(alone).trained_kmers == 0);
  CHECK(empty.levels().mean == start.mean);

  TrainingParameters parameters = rough_start();
  parameters.min_observations = 300;
  Trainer trainer(start, parse_motif("cpg"), parameters);
  add_reads(trainer, pore, 20, 39);
  const Round round = trainer.run_round(alone);
  CHECK(round.trained_kmers > 0);
  CHECK(round.trained_kmers < 256);
  for (std::size_t rank = 0; rank < 256; ++rank)
    if (trainer.observations()[rank] < 300) CHECK(std::fabs(trainer.levels().mean[rank] - start.mean[rank]) < 2);
}

TEST_CASE("one read with k-mers that are seen once does not diverge: spreads stay near those of the start, levels between start and read") {
  const Levels pore = random_pore(6, 57);
  Trainer trainer(pore, parse_motif("cpg"), {});
  add_reads(trainer, pore, 1, 58);
  for (int i = 0; i < 6; ++i) {
    CHECK(trainer.run_round(alone).aligned_reads == 1);
    for (std::size_t rank = 0; rank < pore.mean.size(); ++rank) {
      REQUIRE(trainer.levels().stdv[rank] <= 2.1F * pore.stdv[rank]);
      REQUIRE(trainer.levels().stdv[rank] >= pore.stdv[rank] / 2.1F);
    }
  }
  CHECK(mean_error(trainer.levels(), pore) < 0.3);
}

// The shift of an M by its place and by what stands before it.
float shift_of(const std::string& kmer, std::size_t place) {
  const float by_place = place == 2 ? 4.0F : place == 1 || place == 3 ? -2.0F : 0.5F;
  return place > 0 && kmer[place - 1] == 'A' ? by_place * 1.5F : by_place;
}

TEST_CASE("what modified k-mers shift is learned from those that were seen, and holds for those that were not") {
  const std::uint32_t k = 5;
  const Motif cpg = parse_motif("cpg");
  const Levels plain = random_pore(k, 67);
  const Levels start = levels_in(Alphabet::methylation, plain.view(), 'C');
  Levels truth = start;
  for (std::size_t rank = 0; rank < truth.mean.size(); ++rank) {
    const std::string kmer = spell(rank, Alphabet::methylation, k);
    for (std::size_t place = 0; place < k; ++place)
      if (kmer[place] == 'M' && is_possible(kmer, cpg)) truth.mean[rank] += shift_of(kmer, place);
  }
  Trainer trainer(start, cpg, {});
  for (const ModifiedRead& read : modified_reads(truth, 8, 68)) REQUIRE(trainer.add(read.event_mean, read.bases) == AddStatus::added);
  Round round;
  for (int i = 0; i < 5; ++i) round = trainer.run_round(alone);
  CHECK(trainer.modified_kmers() > round.trained_modified_kmers);
  CHECK(round.trained_modified_kmers > 50);
  double seen = 0, unseen = 0, before = 0;
  std::size_t seen_count = 0, unseen_count = 0;
  for (std::size_t rank = 0; rank < truth.mean.size(); ++rank) {
    const std::string kmer = spell(rank, Alphabet::methylation, k);
    if (kmer.find('M') == std::string::npos) continue;
    const double error = std::fabs(static_cast<double>(trainer.levels().mean[rank] - truth.mean[rank]));
    if (!is_possible(kmer, cpg)) {
      REQUIRE(trainer.levels().mean[rank] == start.mean[rank]);
    } else if (trainer.observations()[rank] > 0) {
      seen += error;
      ++seen_count;
    } else {
      unseen += error;
      before += std::fabs(static_cast<double>(start.mean[rank] - truth.mean[rank]));
      ++unseen_count;
    }
  }
  REQUIRE(unseen_count > 50);
  CHECK(seen_count == round.trained_modified_kmers);
  MESSAGE("errors of k-mers with M: seen ", seen / static_cast<double>(seen_count), ", unseen ", unseen / static_cast<double>(unseen_count),
          ", at the start ", before / static_cast<double>(unseen_count));
  CHECK(seen / static_cast<double>(seen_count) < 0.5);
  CHECK(unseen < before / 2.5);
}

TEST_CASE("reads that teach nothing: no events, too short, not of these bases, events that are no numbers") {
  const Levels pore = random_pore(4, 47);
  Trainer trainer(pore, parse_motif("cpg"), {});
  const std::vector<float> events(100, 90.0F);
  CHECK(trainer.add({}, "ACGTACGT") == AddStatus::no_events);
  CHECK(trainer.add(events, "ACG") == AddStatus::read_too_short);
  CHECK(trainer.bases() == 0);
  CHECK(trainer.add(events, std::string(400, 'A')) == AddStatus::added);
  CHECK(trainer.add(std::vector<float>(100, std::numeric_limits<float>::quiet_NaN()), "ACGTNNNNNNNNRYACGT") == AddStatus::added);
  CHECK(trainer.add(std::vector<float>(100, std::numeric_limits<float>::infinity()), "ACGTACGTACGTACGTAC") == AddStatus::added);
  const Round round = trainer.run_round(alone);
  CHECK(round.aligned_reads == 0);
  CHECK(trainer.levels().mean == pore.mean);
}

}  // namespace
}  // namespace sluice::kmer_training
