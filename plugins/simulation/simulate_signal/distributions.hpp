// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Distributions from IEEE +, -, *, / and sqrt alone, so that a simulated data set has the same bytes on every platform.

#include <cstdint>
#include <functional>
#include <vector>

#include "simulate_signal/counter_random.hpp"

namespace sluice::simulate_signal {

// Natural logarithm of a positive finite number and exponential of |x| < 700; relative error below 1e-15.
double natural_logarithm(double x);
double exponential(double x);

// Draws from a distribution by its quantiles at 4,097 points and straight lines between them: one random word, one look-up.
// A table is 16 KiB, so that it stays in the first-level cache while a read is made.
class QuantileTable {
 public:
  // Of a density (need not be normalised) over [low, high], finite there and positive somewhere. Integrated on 65,536 steps.
  static QuantileTable from_density(double low, double high, const std::function<double(double)>& density);
  // Standard normal; nothing beyond 4 standard deviations.
  static QuantileTable normal();
  // Gamma with this mean and shape >= 1; the highest 1/4096 is drawn from a straight line of the right mean.
  static QuantileTable gamma(double mean, double shape);

  float operator()(std::uint32_t random) const {
    const std::uint32_t cell = random >> 20U;
    const float fraction = static_cast<float>(random & 0xFFFFFU) * 0x1p-20F;
    return nodes_[cell] + fraction * (nodes_[cell + 1] - nodes_[cell]);
  }

 private:
  std::vector<float> nodes_;  // 4,097 quantiles, ascending
};

// Beta(alpha, beta) by two gamma variates (Marsaglia and Tsang 2000); both parameters > 0.
double draw_beta(RandomStream& random, double alpha, double beta);

}  // namespace sluice::simulate_signal
