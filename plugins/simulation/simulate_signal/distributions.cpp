// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "simulate_signal/distributions.hpp"

#include <cmath>
#include <cstddef>

namespace sluice::simulate_signal {
namespace {

constexpr std::size_t cells = 4096;
constexpr std::size_t steps = 65536;

// One standard normal number by the polar method (Marsaglia and Bray 1964).
double draw_normal(RandomStream& random) {
  for (;;) {
    const double u = 2 * random.uniform() - 1;
    const double v = 2 * random.uniform() - 1;
    const double s = u * u + v * v;
    if (s < 1 && s > 0) return u * std::sqrt(-2 * natural_logarithm(s) / s);
  }
}

// The logarithm of a gamma variate of scale 1: shapes far below 1 give variates below the smallest double.
double draw_log_gamma(RandomStream& random, double shape) {
  if (shape < 1) return draw_log_gamma(random, shape + 1) + natural_logarithm(random.uniform()) / shape;
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = draw_normal(random);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double log_v = natural_logarithm(v);
    if (natural_logarithm(random.uniform()) < 0.5 * x * x + d - d * v + d * log_v) return natural_logarithm(d) + log_v;
  }
}

}  // namespace

double natural_logarithm(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // exact
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    --exponent;
  }
  // ln m = 2 artanh((m - 1) / (m + 1)) with |argument| < 0.172: the term of power 21 is below 1e-17.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double sum = 0;
  for (int power = 21; power >= 1; power -= 2) sum = sum * square + 1.0 / power;
  return 2 * s * sum + exponent * 0.69314718055994530942;
}

double exponential(double x) {
  const double count = std::floor(x * 1.44269504088896340736 + 0.5);
  // ln 2 in two parts: the first has 21 trailing zero bits, so that count times it is exact.
  const double r = (x - count * 0.693147180369123816490) - count * 1.90821492927058770002e-10;
  double sum = 1;
  for (int term = 14; term >= 1; --term) sum = 1 + sum * r / term;
  return std::ldexp(sum, static_cast<int>(count));
}

QuantileTable QuantileTable::from_density(double low, double high, const std::function<double(double)>& density) {
  const double width = (high - low) / static_cast<double>(steps);
  std::vector<double> cumulative(steps + 1, 0);
  double previous = density(low);
  for (std::size_t i = 1; i <= steps; ++i) {
    const double current = density(low + width * static_cast<double>(i));
    cumulative[i] = cumulative[i - 1] + (previous + current) / 2;
    previous = current;
  }
  QuantileTable table;
  table.nodes_.resize(cells + 1);
  std::size_t at = 0;
  for (std::size_t cell = 0; cell <= cells; ++cell) {
    const double wanted = cumulative[steps] * static_cast<double>(cell) / static_cast<double>(cells);
    while (at + 1 < steps && cumulative[at + 1] < wanted) ++at;
    const double rise = cumulative[at + 1] - cumulative[at];
    const double fraction = rise > 0 ? (wanted - cumulative[at]) / rise : 0;
    table.nodes_[cell] = static_cast<float>(low + width * (static_cast<double>(at) + fraction));
  }
  // A straight line through the whole of a tail would make it too heavy: the outermost points are moved so that the mean of the first and
  // of the last cell is right.
  const auto mean_between = [&](double from, double to) {
    double sum = 0, weight = 0;
    for (std::size_t i = 0; i < steps; ++i) {
      const double x = low + width * (static_cast<double>(i) + 0.5);
      if (x < from || x > to) continue;
      sum += x * (cumulative[i + 1] - cumulative[i]);
      weight += cumulative[i + 1] - cumulative[i];
    }
    return weight > 0 ? sum / weight : (from + to) / 2;
  };
  const double first = 2 * mean_between(low, table.nodes_[1]) - table.nodes_[1];
  const double last = 2 * mean_between(table.nodes_[cells - 1], high) - table.nodes_[cells - 1];
  table.nodes_[0] = static_cast<float>(first < low ? low : first);
  table.nodes_[cells] = static_cast<float>(last > high ? high : last);
  return table;
}

QuantileTable QuantileTable::normal() {
  return from_density(-4, 4, [](double x) { return exponential(-0.5 * x * x); });
}

QuantileTable QuantileTable::gamma(double mean, double shape) {
  const double scale = mean / shape;
  // Beyond shape + 6 sqrt(shape) + 15 scales less than 1e-6 is left for every shape >= 1.
  const double high = scale * (shape + 6 * std::sqrt(shape) + 15);
  return from_density(0, high, [=](double x) {
    if (x <= 0) return shape > 1 ? 0.0 : 1.0;
    const double y = x / scale;
    // Divided by the density at the mode, so that no shape overflows.
    const double mode = shape - 1;
    const double exponent = mode * natural_logarithm(y) - y - (mode > 0 ? mode * natural_logarithm(mode) - mode : 0);
    return exponent < -700 ? 0.0 : exponential(exponent);
  });
}

double draw_beta(RandomStream& random, double alpha, double beta) {
  const double log_first = draw_log_gamma(random, alpha);
  const double log_second = draw_log_gamma(random, beta);
  const double difference = log_second - log_first;
  if (difference > 700) return 0;
  if (difference < -700) return 1;
  return 1 / (1 + exponential(difference));
}

}  // namespace sluice::simulate_signal
