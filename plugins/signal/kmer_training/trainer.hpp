// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Trains a k-mer model from reads: aligns each read's events to its own bases by the model so far, estimates every k-mer's level from the events
// that fell on it, and does so again. Hard expectation-maximization, as nanopolish train does it over event alignments.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <sluice/kmer_model.hpp>
#include <sluice/methods/event_scaling/scaling.hpp>
#include <sluice/saved_state.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "kmer_training/alphabet.hpp"
#include "kmer_training/level_fit.hpp"

namespace sluice::kmer_training {

struct TrainingParameters {
  std::uint32_t min_observations = 10;  // k-mers seen less often keep the level that they had
  event_scaling::RecalibrationParams recalibration;
};

enum class AddStatus : std::uint8_t { added, no_events, read_too_short };

struct Round {
  std::uint64_t aligned_reads = 0;
  std::uint64_t observations = 0;
  std::uint64_t trained_kmers = 0;
  double mean_change = 0;  // pA: mean absolute change of the trained k-mers' levels in this round
};

class Trainer {
 public:
  // Calls body(begin, end) for parts of [0, count), on many threads.
  using Parallel = std::function<void(std::size_t count, const std::function<void(std::size_t, std::size_t)>& body)>;

  // `motif`: whose modified base M is.
  Trainer(Levels start, const Motif& motif, const TrainingParameters& parameters);

  // Keeps a read: 4 bytes an event, 8 a base and 4 more while a round runs. event_mean: pA, in the order of the bases. A letter outside the
  // alphabet counts as A.
  AddStatus add(std::span<const float> event_mean, std::string_view bases);

  // Before the first round.
  void save(StateWriter& to) const;
  struct SavedRead {
    std::uint64_t bases;
    std::vector<float> event_mean;
    std::vector<std::uint32_t> ranks;
  };
  // take(read) for each that was saved; throws Failure::input.
  void restore(StateReader& from, const std::function<void(SavedRead&&)>& take) const;
  void add(SavedRead&& read);

  // One round over all reads. The result is the same on every number of threads. Throws std::bad_alloc only.
  Round run_round(const Parallel& parallel);

  const Levels& levels() const { return levels_; }
  std::span<const std::uint32_t> observations() const { return observations_; }  // per k-mer, of the last round
  std::uint64_t bases() const { return bases_; }
  std::uint64_t memory_bytes() const { return memory_bytes_; }

 private:
  struct Read {
    std::vector<float> event_mean;
    std::vector<std::uint32_t> ranks;
    std::uint64_t bases = 0;
    std::vector<float> level;  // per k-mer: what was observed, NaN: nothing
    float inverse_var = 0;     // 0: the read was not aligned in this round
  };
  struct Scratch;  // working memory of one thread
  void observe(Read& read, Scratch& scratch) const;
  void gather_observations();
  Round fit_levels(const Parallel& parallel);

  Levels start_, levels_;
  TrainingParameters parameters_;
  std::vector<std::uint8_t> may_train_;  // per k-mer
  std::vector<std::size_t> anchors_;     // ranks of the k-mers whose levels at the start were a pore's, not a guess: those without M
  std::vector<Read> reads_;
  std::vector<Observation> gathered_;  // by rank, in the order of reads
  std::vector<std::size_t> begin_;     // per rank, and the end
  std::vector<std::uint32_t> observations_;
  std::uint64_t bases_ = 0, memory_bytes_ = 0;
};

}  // namespace sluice::kmer_training
