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
#include "kmer_training/level_prior.hpp"

namespace sluice::kmer_training {

struct TrainingParameters {
  std::uint32_t min_observations = 1;  // k-mers seen less often have the level that the others make expected
  event_scaling::RecalibrationParams recalibration;
};

// A level as a normal distribution.
struct Belief {
  double mean = 0;      // pA
  double variance = 0;  // pA^2
};

enum class AddStatus : std::uint8_t { added, no_events, read_too_short };

struct Round {
  std::uint64_t aligned_reads = 0;
  std::uint64_t observations = 0;
  std::uint64_t trained_kmers = 0;           // those that were seen: they have a share in their level
  std::uint64_t trained_modified_kmers = 0;  // of these with M
  double mean_change = 0;                    // pA: mean absolute change of the trained k-mers' levels in this round
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
  std::uint64_t kmers() const { return plain_.size() + modified_.size(); }       // that can be trained
  std::uint64_t modified_kmers() const { return modified_.size(); }
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
  // What the observations of each k-mer say; spread_ from all of them.
  std::vector<LevelFit> fit_kmers(const Parallel& parallel);
  bool has_own_level(std::size_t rank) const;
  double spread_of(std::size_t rank, const LevelFit& fit, double expected) const;
  // By rank.
  struct Estimates {
    std::vector<Belief> level;
    std::vector<double> stdv;
  };
  void fit_plain(std::span<const LevelFit> fits, Estimates& to) const;
  void fit_modified(std::span<const LevelFit> fits, Estimates& to) const;
  Round fit_levels(const Parallel& parallel);

  Levels start_, levels_;
  TrainingParameters parameters_;
  char base_;                            // that M modifies
  std::vector<std::uint8_t> may_train_;  // per k-mer
  std::vector<std::size_t> plain_;       // ranks of the k-mers without M: their levels at the start were a pore's, not a guess
  std::vector<std::size_t> modified_;    // ranks of those with M where it can be
  double spread_ = 1;                    // how much more the observations spread than the start's model has it
  std::vector<Read> reads_;
  std::vector<Observation> gathered_;  // by rank, in the order of reads
  std::vector<std::size_t> begin_;     // per rank, and the end
  std::vector<std::uint32_t> observations_;
  std::uint64_t bases_ = 0, memory_bytes_ = 0;
};

}  // namespace sluice::kmer_training
