// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From the raw signal at the beginning of a read to the levels that are compared with a squiggle reference, sample by sample as they come.
//
//   trim        what comes before the molecule, stall, adapter and a poly(A) tail, is left out by sluice/molecule_start.hpp.
//   levels      the means of `samples_per_level` samples each.
//   normalise   z-scores. Levels come in blocks: the first has `calibration` samples, each further one `recalibration`. The levels of a block are
//               normalised by mean and standard deviation of all levels up to and including that block, so that nothing is computed twice and
//               nothing that was given is ever changed.
//   quantise    to the integers of sluice/squiggle_reference.hpp.
//
// All sums are integers, and a read's digitisation, range and offset cancel out of the z-scores. Where the signal is cut into pieces makes no
// difference to any bit.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <sluice/molecule_start.hpp>
#include <span>
#include <vector>

namespace sluice::signal_normalization {

// Lengths in bases are turned into samples at the rate at which strands pass the pore.
struct NormalizationParameters {
  std::int32_t samples_per_level = 3;  // 1 to 64
  double prefix_bases = 250;           // levels are given for so much signal behind the adapter
  double adapter_bases = 90;
  double calibration_bases = 100;   // of the first block
  double recalibration_bases = 25;  // of each further block
  double stall_stdv = 4;            // pA
  double bases_per_second = 450;
  Tail tail = Tail::none;  // what passes the pore between adapter and molecule
};

enum class NormalizationStatus : std::uint8_t {
  ok,
  bad_calibration,  // digitisation, range, sampling rate or prefix_bases is not a positive number
  flat_signal,      // all levels of the first block are the same: there is no scale
};

struct NormalizedSignal {
  enum class Samples : std::uint8_t { unwanted, wanted };
  Samples wants = Samples::unwanted;
  std::vector<std::int16_t> levels;
  // The samples of which the levels are means, with the shift and scale of the levels: in steps of squiggle_sample_steps, within +-4 *
  // squiggle_limit.
  std::vector<std::int16_t> samples;
  void clear() { levels.clear(), samples.clear(); }
};

// One read at a time.
class PrefixNormalizer {
 public:
  // Begins a read. digitisation, range (pA) and sampling_rate (Hz) as in a SLOW5 record.
  NormalizationStatus begin(const NormalizationParameters& parameters, double digitisation, double range, double sampling_rate);

  // Takes the read's next samples and appends the levels that they complete. flat_signal: the read is to be given up.
  NormalizationStatus take(std::span<const std::int16_t> samples, NormalizedSignal& to);
  // The read has ended: appends the levels of the block that it breaks off in.
  NormalizationStatus end(NormalizedSignal& to);

  // Have all levels of the prefix been given?
  bool complete() const { return given_ == prefix_levels_; }
  // Samples of the read up to the end of the last level given, trimmed ones included; while there is no level: samples taken.
  std::int64_t prefix_samples() const;

 private:
  NormalizationStatus take_kept(NormalizedSignal& to);
  NormalizationStatus add_samples(std::span<const std::int16_t> samples, NormalizedSignal& to);
  void add_level(std::int32_t sum);
  NormalizationStatus give_block(NormalizedSignal& to);
  void give_samples(float shift, float scale, std::vector<std::int16_t>& to);

  // In samples, or in levels where the name says so.
  std::int32_t samples_per_level_ = 1;
  std::int64_t prefix_levels_ = 0, calibration_levels_ = 0, recalibration_levels_ = 0;

  MoleculeStart start_;
  std::int64_t samples_ = 0;  // taken

  std::int32_t in_level_ = 0, level_sum_ = 0;  // of the level that is being filled
  std::vector<std::int32_t> block_;            // sums of the levels that have not been given
  std::vector<std::int16_t> block_samples_;    // their samples, and those of the level that is being filled, if they are wanted
  std::int64_t given_ = 0;                     // levels
  std::int32_t origin_ = 0;                    // the first level's sum: the sums below are of distances from it, so that no digit is lost
  std::int64_t sum_ = 0, squares_ = 0;         // of all levels
  bool alike_ = true;                          // all levels so far are the same
};

}  // namespace sluice::signal_normalization
