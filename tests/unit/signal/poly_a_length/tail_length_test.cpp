// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poly_a_length/tail_length.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "poly_a_length/flat_stretch.hpp"

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
  const TailLength no_adapter = length_of(MadeSignal().bases(600, 83, 11).samples, 600);
  CHECK(no_adapter.bases == TailLength::no_adapter);
  CHECK(no_adapter.anchor == -1);
  CHECK(length_of({}, 0).bases == TailLength::no_adapter);
  CHECK(length_of({}, 0, Front::cut).bases == TailLength::no_tail);
  const TailLength cut = length_of(MadeSignal().bases(80, 108, 0.5F).bases(600, 80, 13).samples, 600, Front::cut);
  CHECK(std::abs(cut.bases - 80) <= 14);
  CHECK(cut.anchor == 0);
}

namespace {

// Bases of ten samples: each level, in steps of 1 pA.
std::vector<std::int16_t> of_levels(const std::vector<int>& levels) {
  std::vector<std::int16_t> samples;
  for (const int level : levels) samples.insert(samples.end(), 10, static_cast<std::int16_t>(level));
  return samples;
}
std::vector<int> in_turn(std::size_t count) {
  std::vector<int> levels;
  for (std::size_t i = 0; i < count; ++i) levels.push_back(i % 2 == 0 ? 0 : 100);
  return levels;
}

}  // namespace

TEST_CASE("a flat stretch has the samples of its bases, a slip of two included, and ends where three lie off its level") {
  const auto found = [](std::vector<int> tail) {
    std::vector<int> levels = in_turn(10);
    levels.insert(levels.end(), tail.begin(), tail.end());
    const std::vector<int> rest = in_turn(40);
    levels.insert(levels.end(), rest.begin(), rest.end());
    const auto stretch = flat_stretch(of_levels(levels), 10, 1);
    REQUIRE(stretch);
    CHECK(stretch->begin == 100);
    return stretch->end;
  };
  std::vector<int> tail(20, 50);
  CHECK(found(tail) == 300);
  tail[1] = tail[2] = 57;  // the first base is on the level, and so are those behind the slip
  CHECK(found(tail) == 300);
  tail.insert(tail.end(), 10, 60);  // flat, too, but another level
  CHECK(found(tail) == 300);
}

TEST_CASE("a stretch has bases at the speed of the rest, between a third and three times the usual, and at least one") {
  CHECK(bases_of_stretch(1200, 2000, 100, 10) == 60);
  CHECK(bases_of_stretch(1200, 100'000, 100, 10) == 40);
  CHECK(bases_of_stretch(1200, 100, 100, 10) == 360);
  CHECK(bases_of_stretch(1200, 2000, 49, 10) == 120);  // too short to tell
  CHECK(bases_of_stretch(1200, 2000, 50, 10) == 40);   // a base has 40 samples: three times the usual at most
  CHECK(bases_of_stretch(1200, 0, 100, 10) == 120);
  CHECK(bases_of_stretch(1, 2000, 100, 10) == 1);
}

TEST_CASE("a tail of direct RNA begins within 25 bases of the adapter's end") {
  const auto begins_at = [](std::size_t base) {
    std::vector<int> levels = in_turn(base);
    levels.insert(levels.end(), 20, 50);
    const std::vector<int> rest = in_turn(100);
    levels.insert(levels.end(), rest.begin(), rest.end());
    return tail_length(of_levels(levels), 1000, 1000, 0, 1300, 100, Front::cut).begin;  // 130 bases a second
  };
  CHECK(begins_at(25) == 250);
  CHECK(begins_at(26) == -1);
}
