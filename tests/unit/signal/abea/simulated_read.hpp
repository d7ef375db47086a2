// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Reads simulated on a synthetic k-mer model, for the tests and the benchmark of ABEA.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <sluice/kmer_model.hpp>
#include <sluice/methods/abea/abea.hpp>
#include <vector>

namespace sluice::abea::simulation {

struct Model {
  std::uint32_t k = 6;
  std::vector<float> level_mean, level_stdv, log_level_stdv;
  KmerModelView view() const { return {k, Alphabet::nucleotide, level_mean, level_stdv, log_level_stdv}; }
};

// Levels of 58 to 120 pA, spread of lowest_stdv to lowest_stdv + 4 pA: the ranges of the R9.4 6-mer model, whose lowest is 1.22 pA.
inline Model make_model(std::uint32_t k = 6, float lowest_stdv = 1.22F, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> unit(0.0F, 1.0F);
  Model model;
  model.k = k;
  const std::size_t count = sluice::kmer_count(Alphabet::nucleotide, k);
  for (std::size_t rank = 0; rank < count; ++rank) {
    const float spread = unit(random);
    const float stdv = lowest_stdv + 4.0F * spread * spread * spread;
    model.level_mean.push_back(58.0F + 62.0F * unit(random));
    model.level_stdv.push_back(stdv);
    model.log_level_stdv.push_back(static_cast<float>(std::log(static_cast<double>(stdv))));
  }
  return model;
}

struct ReadParameters {
  std::size_t kmer_count = 1000;
  double events_per_kmer = 2.0;
  double skipped_kmers = 0.02;  // fraction without an event
  double outliers = 0.001;      // fraction of events that are up to 60 pA off
  float noise = 0.9F;           // in standard deviations of the k-mer
  LevelScaling scaling{1.02F, -3.5F};
};

struct Read {
  std::vector<std::uint32_t> kmer_ranks;
  std::vector<float> event_means;
  LevelScaling scaling;
  AlignmentInput input(const Model& model) const { return {event_means, kmer_ranks, model.view(), scaling, {}}; }
};

inline Read make_read(const Model& model, const ReadParameters& parameters, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  std::normal_distribution<float> normal(0.0F, 1.0F);
  Read read;
  read.scaling = parameters.scaling;
  const auto rank_count = static_cast<std::uint32_t>(model.level_mean.size());
  std::uint32_t rank = static_cast<std::uint32_t>(random() % rank_count);
  const double mean_of_others = parameters.events_per_kmer / (1.0 - parameters.skipped_kmers);
  for (std::size_t kmer = 0; kmer < parameters.kmer_count; ++kmer) {
    rank = (rank * 4U + static_cast<std::uint32_t>(random() & 3U)) % rank_count;
    read.kmer_ranks.push_back(rank);
    if (unit(random) < parameters.skipped_kmers) continue;
    do {
      float event = parameters.scaling.scale * model.level_mean[rank] + parameters.scaling.shift;
      event += normal(random) * parameters.noise * model.level_stdv[rank];
      if (unit(random) < parameters.outliers) event += static_cast<float>(120.0 * (unit(random) - 0.5));
      read.event_means.push_back(event);
    } while (unit(random) > 1.0 / mean_of_others);
  }
  return read;
}

}  // namespace sluice::abea::simulation
