// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Pores that nobody has, and reads of them.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "event_detection/events.hpp"
#include "kmer_training/alphabet.hpp"
#include "simulate_signal/simulate_read.hpp"

namespace sluice::kmer_training {

using simulate_signal::Purpose, simulate_signal::QuantileTable, simulate_signal::RandomStream;

inline const QuantileTable& normal() {
  static const QuantileTable table = QuantileTable::normal();
  return table;
}

// Levels from 70 to 120 pA.
inline Levels random_pore(std::uint32_t k, std::uint64_t seed) {
  Levels levels{k, Alphabet::nucleotide, {}, {}, {}};
  RandomStream random(seed, 0, Purpose::reference);
  for (std::size_t rank = 0; rank < kmer_count(Alphabet::nucleotide, k); ++rank) {
    levels.mean.push_back(static_cast<float>(70 + 50 * random.uniform()));
    levels.stdv.push_back(static_cast<float>(1.2 + 0.8 * random.uniform()));
    levels.log_stdv.push_back(std::log(levels.stdv.back()));
  }
  return levels;
}

// The same with an error of `stdv` pA in every level.
inline Levels rough(const Levels& pore, float stdv, std::uint64_t seed) {
  Levels levels = pore;
  RandomStream random(seed, 0, Purpose::calibration);
  for (float& mean : levels.mean) mean += stdv * normal()(random.next32());
  return levels;
}

struct MadeRead {
  std::string bases;
  std::vector<float> event_mean;
};
inline std::vector<MadeRead> made_reads(const Levels& pore, std::int64_t count, std::uint64_t seed) {
  const std::string bases = simulate_signal::synthesize_contig(seed, 0, 300'000, 0.5, 1);
  const simulate_signal::Contig contig{"c", bases};
  simulate_signal::SimulationParameters parameters;
  parameters.seed = seed;
  parameters.mean_length = 4000;
  const simulate_signal::Simulator simulator(parameters, {&contig, 1}, pore.view(), nullptr);
  const event_detection::Calibration calibration{static_cast<float>(parameters.offset), static_cast<float>(parameters.range),
                                                 static_cast<float>(parameters.digitisation)};
  event_detection::DetectorWorkspace workspace;
  event_detection::EventTable events;
  simulate_signal::Simulator::Read read;
  std::vector<MadeRead> made;
  for (const auto& place : simulator.place_reads(count)) {
    simulator.simulate(place, simulate_signal::Simulator::Signal::make, read);
    REQUIRE(event_detection::detect_events(std::span<const std::int16_t>(read.raw_signal), calibration, event_detection::DetectorParams::dna(),
                                           workspace, events) == event_detection::DetectionStatus::ok);
    made.push_back({std::string(read.bases), {events.mean.begin(), events.mean.end()}});
  }
  return made;
}

// Reads of a pore with modified bases, of which half are modified: events without errors of segmentation, two to three a k-mer.
using ModifiedRead = MadeRead;
inline std::vector<ModifiedRead> modified_reads(const Levels& pore, std::size_t count, std::uint64_t seed) {
  std::vector<ModifiedRead> made;
  for (std::size_t i = 0; i < count; ++i) {
    RandomStream random(seed, i, Purpose::reference);
    ModifiedRead read;
    for (int base = 0; base < 1500; ++base) {
      read.bases += "ACGT"[random.next32() >> 30U];
      const std::size_t end = read.bases.size();
      if (end >= 2 && read.bases[end - 2] == 'C' && read.bases[end - 1] == 'G' && random.uniform() < 0.5) read.bases[end - 2] = 'M';
    }
    for (std::size_t at = 0; at + pore.k <= read.bases.size(); ++at) {
      const std::uint32_t rank = kmer_rank(pore.alphabet, std::string_view(read.bases).substr(at, pore.k));
      const int events = 2 + (random.uniform() < 0.3 ? 1 : 0);
      for (int event = 0; event < events; ++event) read.event_mean.push_back(pore.mean[rank] + pore.stdv[rank] * normal()(random.next32()));
    }
    made.push_back(std::move(read));
  }
  return made;
}

}  // namespace sluice::kmer_training
