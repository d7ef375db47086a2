// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "simulate_signal/distributions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

using namespace sluice::simulate_signal;

namespace {

struct Moments {
  double mean = 0, stdv = 0, lowest = 1e300, highest = -1e300;
};
template <class Draw>
Moments moments_of(Draw&& draw, int count = 200'000) {
  Moments m;
  double squares = 0;
  for (int i = 0; i < count; ++i) {
    const double x = draw();
    m.mean += x;
    squares += x * x;
    m.lowest = std::min(m.lowest, x);
    m.highest = std::max(m.highest, x);
  }
  m.mean /= count;
  m.stdv = std::sqrt(squares / count - m.mean * m.mean);
  return m;
}

}  // namespace

TEST_CASE("the same key gives the same numbers, another seed, index or purpose gives others") {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (std::uint64_t index = 0; index < 10; ++index)
      for (const Purpose purpose : {Purpose::noise, Purpose::dwell, Purpose::errors}) firsts.insert(RandomStream(seed, index, purpose).next());
  CHECK(firsts.size() == 300);
  RandomStream a(3, 4, Purpose::noise), b(3, 4, Purpose::noise);
  for (int i = 0; i < 100; ++i) CHECK(a.next() == b.next());
}

TEST_CASE("below stays below its bound and reaches every value") {
  RandomStream random(5, 0, Purpose::errors);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.below(7));
  CHECK(seen.size() == 7);
  CHECK(*seen.rbegin() == 6);
  for (int i = 0; i < 1000; ++i) CHECK(random.below(std::uint64_t{1} << 60U) < std::uint64_t{1} << 60U);
  CHECK(random.below(1) == 0);
}

TEST_CASE("logarithm and exponential agree with the library") {
  for (double x = 1e-300; x < 1e300; x *= 3.7) CHECK(natural_logarithm(x) == doctest::Approx(std::log(x)).epsilon(1e-14));
  for (double x = -690; x < 690; x += 3.7) CHECK(exponential(x) == doctest::Approx(std::exp(x)).epsilon(1e-14));
  CHECK(natural_logarithm(1) == 0);
  CHECK(exponential(0) == 1);
}

TEST_CASE("a quantile table has the mean and the spread of its distribution") {
  RandomStream random(1, 2, Purpose::noise);
  const QuantileTable normal = QuantileTable::normal();
  const Moments z = moments_of([&] { return normal(random.next32()); });
  CHECK(std::abs(z.mean) < 0.01);
  CHECK(z.stdv == doctest::Approx(1).epsilon(0.01));
  CHECK(z.lowest >= -4);
  CHECK(z.highest <= 4);
  for (const double shape : {1.0, 2.0, 30.0}) {
    const QuantileTable gamma = QuantileTable::gamma(6.9, shape);
    const Moments g = moments_of([&] { return gamma(random.next32()); });
    CHECK(g.mean == doctest::Approx(6.9).epsilon(0.01));
    CHECK(g.stdv == doctest::Approx(6.9 / std::sqrt(shape)).epsilon(0.02));
    CHECK(g.lowest >= 0);
  }
}

TEST_CASE("beta variates have the mean and the spread of their distribution") {
  RandomStream random(1, 3, Purpose::site);
  for (const auto& [alpha, beta] : {std::pair{0.8, 0.4}, std::pair{5.0, 2.0}, std::pair{0.05, 0.05}}) {
    const Moments m = moments_of([&, a = alpha, b = beta] { return draw_beta(random, a, b); }, 50'000);
    const double sum = alpha + beta;
    CHECK(m.mean == doctest::Approx(alpha / sum).epsilon(0.02));
    CHECK(m.stdv == doctest::Approx(std::sqrt(alpha * beta / (sum * sum * (sum + 1)))).epsilon(0.02));
    CHECK(m.lowest >= 0);
    CHECK(m.highest <= 1);
  }
}
