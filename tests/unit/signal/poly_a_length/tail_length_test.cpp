// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poly_a_length/tail_length.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

using namespace sluice::poly_a_length;

namespace {

constexpr double digitisation = 8192, range = 1475, offset = -200;

// Bases of `dwell` samples whose levels lie around a mean, from a small generator.
class MadeSignal {
 public:
  MadeSignal& bases(int count, float mean, float spread, int dwell = 31) {
    for (int base = 0; base < count; ++base) {
      const float level = mean + spread * (draw() + draw() + draw() - 1.5F) * 2;
      for (int i = 0; i < dwell; ++i) add(level + 3 * (draw() - 0.5F));
    }
    return *this;
  }
  std::vector<std::int16_t> samples;

 private:
  float draw() { return static_cast<float>((state_ = state_ * 1664525U + 1013904223U) >> 8U) / 0x1p24F; }
  void add(float picoamps) { samples.push_back(static_cast<std::int16_t>(static_cast<double>(picoamps) * digitisation / range - offset)); }
  std::uint32_t state_ = 7;
};
TailLength length_of(const std::vector<std::int16_t>& samples, std::int64_t bases, Front front = Front::whole) {
  return tail_length(samples, digitisation, range, offset, 4000, bases, front);
}

}  // namespace

TEST_CASE("a tail is as long as its signal at the speed of the read") {
  for (const int dwell : {25, 31, 40})
    for (const int tail : {40, 60, 150, 250}) {
      CAPTURE(dwell);
      CAPTURE(tail);
      const auto samples = MadeSignal().bases(110, 64, 7).bases(tail, 108, 0.5F, dwell).bases(600, 80, 13, dwell).samples;
      const TailLength found = length_of(samples, 600);
      CHECK(std::abs(found.bases - tail) <= 6 + tail / 10);
      CHECK(found.begin >= 110 * 31 - 400);
      CHECK(found.begin <= 110 * 31 + 400);
      CHECK(found.end - found.begin == doctest::Approx(tail * dwell).epsilon(0.25));
    }
}

TEST_CASE("no tail, no adapter, and an adapter that was cut off") {
  const TailLength without = length_of(MadeSignal().bases(110, 64, 7).bases(20, 90, 13).bases(600, 80, 13).samples, 600);
  CHECK(without.bases == TailLength::no_tail);
  CHECK(without.begin == -1);
  CHECK(length_of(MadeSignal().bases(600, 83, 11).samples, 600).bases == TailLength::no_adapter);
  CHECK(length_of({}, 0).bases == TailLength::no_adapter);
  CHECK(length_of({}, 0, Front::cut).bases == TailLength::no_tail);
  const TailLength cut = length_of(MadeSignal().bases(80, 108, 0.5F).bases(600, 80, 13).samples, 600, Front::cut);
  CHECK(std::abs(cut.bases - 80) <= 14);
}
