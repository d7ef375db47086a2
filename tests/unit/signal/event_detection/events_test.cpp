// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_detection/events.hpp"

#include <doctest/doctest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "event_detection/peak_picker.hpp"
#include "unit/instruction_sets.hpp"
#include "unit/signal/event_detection/literal_detector.hpp"

namespace sluice::event_detection {
namespace {

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> result;
  for (const float value : values) result.push_back(std::bit_cast<std::uint32_t>(value));
  return result;
}

void check_same_bits(const EventTable& events, const EventTable& expected) {
  REQUIRE(events.size() == expected.size());
  CHECK((events.start_sample == expected.start_sample));
  CHECK((events.length_samples == expected.length_samples));
  CHECK((bits(events.mean) == bits(expected.mean)));
  CHECK((bits(events.stdv) == bits(expected.stdv)));
}

// Steps between random levels with noise, in raw units: like R9.4 DNA at 8.9 samples per base.
std::vector<std::int16_t> squiggle(std::size_t samples, std::uint32_t seed, double mean_dwell = 8.9) {
  std::mt19937 random(seed);
  std::normal_distribution<double> level(480.0, 70.0);
  std::normal_distribution<double> noise(0.0, 9.0);
  std::geometric_distribution<int> dwell(1.0 / mean_dwell);
  std::vector<std::int16_t> raw;
  while (raw.size() < samples) {
    const double current = level(random);
    for (int left = 1 + dwell(random); left > 0 && raw.size() < samples; --left) {
      raw.push_back(static_cast<std::int16_t>(std::lround(current + noise(random))));
    }
  }
  return raw;
}

constexpr Calibration minion{10.0F, 1467.61F, 8192.0F};

EventTable detect_ok(std::span<const std::int16_t> raw, const DetectorParams& params = DetectorParams::dna()) {
  DetectorWorkspace workspace;
  EventTable events;
  REQUIRE(detect_events(raw, minion, params, workspace, events) == DetectionStatus::ok);
  return events;
}

EventTable literal_events(std::span<const std::int16_t> raw, const DetectorParams& params) {
  std::vector<float> picoamps(raw.size());
  REQUIRE(to_picoamps(raw, minion, picoamps) == DetectionStatus::ok);
  return literal::events(picoamps, params);
}

DetectionStatus status_of(std::span<const float> picoamps, const DetectorParams& params = DetectorParams::dna()) {
  DetectorWorkspace workspace;
  EventTable events;
  const DetectionStatus status = detect_events(picoamps, params, workspace, events);
  if (status != DetectionStatus::ok) CHECK(events.size() == 0);
  return status;
}

TEST_CASE("events tile the signal") {
  const auto raw = squiggle(50'000, 1);
  const EventTable events = detect_ok(raw);
  std::int32_t next = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    CHECK(events.start_sample[i] == next);
    CHECK(events.length_samples[i] > 0);
    next += events.length_samples[i];
  }
  CHECK(next == 50'000);
}

TEST_CASE("one clean step gives one boundary at the step") {
  std::vector<float> picoamps(40, 80.0F);
  std::fill(picoamps.begin() + 20, picoamps.end(), 100.0F);
  DetectorWorkspace workspace;
  EventTable events;
  sluice::testing::for_each_instruction_set([&] {
    REQUIRE(detect_events(picoamps, DetectorParams::dna(), workspace, events) == DetectionStatus::ok);
    CHECK(events.start_sample == std::vector<std::int32_t>{0, 20});
    CHECK(events.length_samples == std::vector<std::int32_t>{20, 20});
    CHECK(events.mean == std::vector<float>{80.0F, 100.0F});
    CHECK(events.stdv == std::vector<float>{0.0F, 0.0F});
  });
}

TEST_CASE("picoamperes are (raw + offset) * (range / digitisation)") {
  const std::vector<std::int16_t> raw{-32768, -10, 0, 32767};
  std::vector<float> picoamps(raw.size());
  REQUIRE(to_picoamps(raw, Calibration{10.0F, 1024.0F, 8192.0F}, picoamps) == DetectionStatus::ok);
  CHECK(picoamps == std::vector<float>{-4094.75F, 0.0F, 1.25F, 4097.125F});
  CHECK_THROWS_AS(to_picoamps(raw, minion, std::span<float>(picoamps).first(3)), std::invalid_argument);
}

TEST_CASE("raw samples and their picoamperes give the same events") {
  const auto raw = squiggle(20'000, 2);
  std::vector<float> picoamps(raw.size());
  REQUIRE(to_picoamps(raw, minion, picoamps) == DetectionStatus::ok);
  DetectorWorkspace workspace;
  EventTable events;
  REQUIRE(detect_events(picoamps, DetectorParams::dna(), workspace, events) == DetectionStatus::ok);
  check_same_bits(events, detect_ok(raw));
}

TEST_CASE("every instruction set gives the bits of the definition, at every length around the block size") {
  for (const DetectorParams& params : {DetectorParams::dna(), DetectorParams::rna(), DetectorParams{5, 32, 2.0F, 4.0F, 0.5F}}) {
    std::uint32_t seed = 10;
    for (const std::size_t samples :
         {13UL, 64UL, 100UL, 1000UL, 1018UL, 1023UL, 1024UL, 1025UL, 1030UL, 1031UL, 1038UL, 2047UL, 2048UL, 2054UL, 2055UL, 3000UL, 70'001UL}) {
      const auto raw = squiggle(samples, ++seed, samples % 2 == 0 ? 8.9 : 30.0);
      const EventTable expected = literal_events(raw, params);
      CAPTURE(samples);
      CAPTURE(params.window_long);
      sluice::testing::for_each_instruction_set([&] {
        DetectorWorkspace workspace;
        EventTable events;
        const DetectionStatus status = detect_events(raw, minion, params, workspace, events);
        CHECK(status == (expected.size() == 0 ? DetectionStatus::no_boundary : DetectionStatus::ok));
        check_same_bits(events, expected);
      });
    }
  }
}

TEST_CASE("the bits hold where prefix sums round: zero crossings, spikes, tiny and huge currents") {
  std::mt19937 random(77);
  std::normal_distribution<float> normal(0.0F, 1.0F);
  for (int kind = 0; kind < 6; ++kind) {
    const auto raw = squiggle(30'000, 100 + static_cast<std::uint32_t>(kind));
    std::vector<float> picoamps;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const float level = static_cast<float>(raw[i]);
      float value = level;
      if (kind == 0) value = (level - 480.0F) / 70.0F + 0.01F * normal(random);
      if (kind == 1) value = random() % 500 == 0 ? 1e-6F * normal(random) : level * 0.179F;
      if (kind == 2) value = level * 1e-22F;
      if (kind == 3) value = random() % 1000 == 0 ? level * 1e6F : level * 0.179F;
      if (kind == 4) value = level * 1e9F;
      if (kind == 5) value = random() % 3 == 0 ? -level * 1e-12F : level * 1e3F;
      picoamps.push_back(value);
    }
    const EventTable expected = literal::events(picoamps, DetectorParams::dna());
    CAPTURE(kind);
    sluice::testing::for_each_instruction_set([&] {
      DetectorWorkspace workspace;
      EventTable events;
      const DetectionStatus status = detect_events(picoamps, DetectorParams::dna(), workspace, events);
      CHECK(status == (expected.size() == 0 ? DetectionStatus::no_boundary : DetectionStatus::ok));
      check_same_bits(events, expected);
    });
  }
}

TEST_CASE("a peak that stays open over many blocks is reported with the sums of its own place") {
  // Along exponential growth both statistics are constant (4.5 and 6.1); one extra step inside it is the maximum, which
  // the growth keeps within peak_height until it ends 4,000 samples later.
  std::mt19937 random(5);
  std::vector<float> picoamps;
  for (int i = 0; i < 3000; ++i) picoamps.push_back(80.0F + static_cast<float>(random() % 8));
  for (int i = 0; i < 5000; ++i) picoamps.push_back(std::pow(1.005F, static_cast<float>(i) + (i < 1000 ? 0.0F : 1.5F)));
  for (int i = 0; i < 3000; ++i) picoamps.push_back(80.0F + static_cast<float>(random() % 8));
  for (const DetectorParams& params : {DetectorParams{3, 6, 1.4F, 9.0F, 3.0F}, DetectorParams{3, 6, 50.0F, 5.0F, 3.0F}}) {
    const EventTable expected = literal::events(picoamps, params);
    CHECK(std::count(expected.start_sample.begin(), expected.start_sample.end(), 4000) == 1);
    sluice::testing::for_each_instruction_set([&] {
      DetectorWorkspace workspace;
      EventTable events;
      REQUIRE(detect_events(picoamps, params, workspace, events) == DetectionStatus::ok);
      check_same_bits(events, expected);
    });
  }
}

TEST_CASE("the peak picker visits the same boundaries as the definition, in ascending order, on any statistics") {
  std::mt19937 random(9);
  for (int round = 0; round < 3000; ++round) {
    DetectorParams params;
    params.window_short = static_cast<std::uint32_t>(2 + random() % 9);
    params.window_long = static_cast<std::uint32_t>(2 + random() % 20);
    params.threshold_short = static_cast<float>(random() % 40) * 0.1F;
    params.threshold_long = static_cast<float>(random() % 60) * 0.1F;
    params.peak_height = static_cast<float>(random() % 20) * 0.1F;
    const std::int32_t n = 1 + static_cast<std::int32_t>(random() % 400);
    // Coarse values make ties frequent; a slow walk makes long peaks.
    std::vector<float> t_short;
    std::vector<float> t_long;
    float a = 1.0F;
    float b = 1.0F;
    const bool walk = random() % 2 == 0;
    for (std::int32_t i = 0; i < n; ++i) {
      a = walk ? std::fabs(a + (static_cast<float>(random() % 11) - 5.0F) * 0.1F) : static_cast<float>(random() % 50) * 0.1F;
      b = walk ? std::fabs(b + (static_cast<float>(random() % 21) - 10.0F) * 0.1F) : static_cast<float>(random() % 80) * 0.1F;
      t_short.push_back(a);
      t_long.push_back(b);
    }
    const auto expected = literal::boundaries(t_short, t_long, params);
    CHECK(std::is_sorted(expected.begin(), expected.end(), std::less_equal<>()));

    std::vector<std::int64_t> found;
    PeakPicker picker(params);
    const std::int32_t block_size = 1 + static_cast<std::int32_t>(random() % 200);
    for (std::int32_t begin = 0; begin < n; begin += block_size) {
      // Where a bit may be anything, it is random.
      const auto random_bits = [&] {
        std::vector<std::uint64_t> bits(5);
        for (std::uint64_t& word : bits) word = std::uint64_t{random()} << 32U | random();
        return bits;
      };
      auto above_short = random_bits();
      auto above_long = random_bits();
      auto rises = random_bits();
      auto summits = random_bits();
      auto settles = random_bits();
      const std::int32_t end = std::min(begin + block_size, n);
      for (std::int32_t i = begin; i < end; ++i) {
        const auto set = [&](std::vector<std::uint64_t>& bits, bool value) {
          const auto bit = static_cast<std::size_t>(i - begin);
          bits[bit / 64] = (bits[bit / 64] & ~(std::uint64_t{1} << (bit % 64))) | std::uint64_t{value} << (bit % 64);
        };
        const float* const here = t_short.data() + i;
        set(above_short, *here > params.threshold_short);
        set(above_long, t_long[static_cast<std::size_t>(i)] > params.threshold_long);
        if (i > 0) set(rises, *here > here[-1]);
        if (i > 0 && i + 1 < end) set(summits, *here > params.threshold_short && *here > here[-1] && *here >= here[1]);
        const std::int32_t settling = settling_time(params.window_short);
        if (i + settling < end) {
          set(settles, *std::max_element(here + 1, here + 1 + settling) <= *here &&
                           *here - *std::min_element(here + 1, here + 1 + settling) > params.peak_height);
        }
      }
      StatisticBlock block{
          begin,          end,           t_short.data() + begin, t_long.data() + begin, above_short.data(), above_long.data(), rises.data(),
          summits.data(), settles.data()};
      std::vector<std::int32_t> boundaries(static_cast<std::size_t>(block_size));
      const std::int32_t* const past = picker.advance(block, boundaries.data());
      for (const std::int32_t* boundary = boundaries.data(); boundary != past; ++boundary) found.push_back(*boundary);
    }
    REQUIRE((found == expected));
  }
}

TEST_CASE("a workspace and a table that were used before change nothing") {
  DetectorWorkspace workspace;
  EventTable events;
  const auto longer = squiggle(9'000, 3);
  const auto shorter = squiggle(700, 4);
  REQUIRE(detect_events(longer, minion, DetectorParams::rna(), workspace, events) == DetectionStatus::ok);
  REQUIRE(detect_events(shorter, minion, DetectorParams::dna(), workspace, events) == DetectionStatus::ok);
  check_same_bits(events, detect_ok(shorter));
}

TEST_CASE("hostile signals fail with a reason") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(status_of({}) == DetectionStatus::empty_signal);
  CHECK(status_of(std::vector<float>(1, 80.0F)) == DetectionStatus::no_boundary);
  CHECK(status_of(std::vector<float>(11, 80.0F)) == DetectionStatus::no_boundary);
  CHECK(status_of(std::vector<float>(5'000, 80.0F)) == DetectionStatus::no_boundary);
  CHECK(status_of(std::vector<float>(5'000, 0.0F)) == DetectionStatus::no_boundary);
  for (const float bad : {nan, infinity, -infinity, 1e13F, -1e13F}) {
    for (const std::size_t at : {0UL, 16UL, 1023UL, 1024UL, 2499UL}) {
      std::vector<float> picoamps(2'500, 80.0F);
      picoamps[at] = bad;
      sluice::testing::for_each_instruction_set([&] { CHECK(status_of(picoamps) == DetectionStatus::sample_out_of_range); });
    }
  }
  const float one = 80.0F;
  const std::span<const float> endless(&one, std::size_t{1} << 40U);  // refused before anything is read
  CHECK(status_of(endless) == DetectionStatus::signal_too_long);
}

TEST_CASE("hostile calibrations and parameters fail with a reason") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto raw = squiggle(1'000, 6);
  DetectorWorkspace workspace;
  EventTable events;
  for (const Calibration& bad : {Calibration{10.0F, 1467.61F, 0.0F}, Calibration{10.0F, 0.0F, 8192.0F}, Calibration{nan, 1467.61F, 8192.0F},
                                 Calibration{10.0F, infinity, 8192.0F}, Calibration{10.0F, 1467.61F, nan}, Calibration{10.0F, 0.0F, 0.0F}}) {
    CHECK(detect_events(raw, bad, DetectorParams::dna(), workspace, events) == DetectionStatus::bad_calibration);
  }
  CHECK(detect_events(raw, Calibration{0.0F, 1e30F, 1.0F}, DetectorParams::dna(), workspace, events) == DetectionStatus::sample_out_of_range);
  const std::vector<float> picoamps(1'000, 80.0F);
  CHECK(status_of(picoamps, {1, 6, 1.4F, 9.0F, 0.2F}) == DetectionStatus::bad_parameters);
  CHECK(status_of(picoamps, {3, 257, 1.4F, 9.0F, 0.2F}) == DetectionStatus::bad_parameters);
  CHECK(status_of(picoamps, {3, 6, nan, 9.0F, 0.2F}) == DetectionStatus::bad_parameters);
  CHECK(status_of(picoamps, {3, 6, 1.4F, infinity, 0.2F}) == DetectionStatus::bad_parameters);
  CHECK(status_of(picoamps, {3, 6, 1.4F, 9.0F, -0.2F}) == DetectionStatus::bad_parameters);
  CHECK(name(DetectionStatus::no_boundary) == "no_boundary");
}

TEST_CASE("the widest windows stay inside the buffers") {
  const auto raw = squiggle(5'000, 8, 400.0);
  const DetectorParams widest{max_window, max_window - 1, 2.0F, 3.0F, 0.1F};
  const EventTable expected = literal_events(raw, widest);
  sluice::testing::for_each_instruction_set([&] { check_same_bits(detect_ok(raw, widest), expected); });
}

}  // namespace
}  // namespace sluice::event_detection
