// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From what was observed of a k-mer to its level, and from levels to the units of the model that a training began with.

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::kmer_training {

// One visit of a k-mer in a read.
struct Observation {
  float level = 0;        // mean of its events in units of the model: (pA - shift) / scale
  float inverse_var = 0;  // 1 / the read's var, the factor on level_stdv
};

struct LevelFit {
  float mean = 0;
  float stdv = 0;  // of observations whose read has var = 1
};

// A mean and a standard deviation that misaligned events do not move: observations farther than 2.5 standard deviations (estimated from the
// median absolute deviation) from the median are left out, and the standard deviation is corrected for that, as of a normal distribution. Reorders
// the observations; the result depends on their order only in the last bits. There must be at least one.
LevelFit fit_level(std::span<Observation> observations);

// Units of a model are a convention, and reads are scaled to the model, so a training on its own would drift.
struct Units {
  double offset = 0;
  double factor = 1;
  double stdv_factor = 1;  // each read's var scales standard deviations
};

// What brings trained levels back to the units of those at the start: the line of least squares between the means, and the geometric mean of the
// standard deviations' ratios. Over the k-mers in `anchors` (indices); the identity where they do not tell.
Units to_start_units(std::span<const float> start_mean, std::span<const float> start_stdv, std::span<const float> trained_mean,
                     std::span<const float> trained_stdv, std::span<const std::size_t> anchors);

}  // namespace sluice::kmer_training
