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
  float stdv = 0;             // of observations whose read has var = 1; 0 where one is left
  float mean_square_var = 1;  // of the reads' var: the mean's variance is that of one observation with var = 1, times this, by `kept`
  std::uint32_t kept = 0;
};

// A mean and a standard deviation that misaligned events do not move: observations farther than 2.5 standard deviations from the median are left out,
// and the standard deviation is corrected for that, as of a normal distribution. What a standard deviation is for this, the median absolute deviation
// tells, and where there are few observations `expected_stdv`. Reorders the observations; the result depends on their order only in the last bits.
// There must be at least one.
LevelFit fit_level(std::span<Observation> observations, float expected_stdv);

// Units of a model are a convention, and reads are scaled to the model, so a training on its own would drift.
struct Units {
  double offset = 0;
  double factor = 1;
};

// What brings trained levels back to the units of those at the start: the line of least squares between the means of the k-mers in `anchors`
// (indices), each with its weight; the identity where they do not tell.
struct Anchor {
  std::size_t rank = 0;
  double weight = 1;
};
Units to_start_units(std::span<const float> start_mean, std::span<const float> trained_mean, std::span<const Anchor> anchors);

}  // namespace sluice::kmer_training
