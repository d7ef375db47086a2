// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cstdint>
#include <sluice/rna_adapter.hpp>
#include <vector>

#include "event_detection/events.hpp"

using namespace sluice::event_detection;

namespace {

constexpr double digitisation = 8192, range = 1475, offset = -200;
std::int64_t adapter_of(std::span<const std::int16_t> samples) { return sluice::find_rna_adapter(samples, digitisation, range, offset); }

// Bases of 31 samples whose levels lie around a mean, from a small generator; the levels of both differ as in real reads of RNA004.
class MadeSignal {
 public:
  MadeSignal& bases(int count, float mean, float spread) {
    for (int base = 0; base < count; ++base) {
      const float level = mean + spread * (draw() + draw() + draw() - 1.5F) * 2;
      for (int i = 0; i < 31; ++i) add(level + 3 * (draw() - 0.5F));
    }
    return *this;
  }
  std::vector<std::int16_t> samples;

 private:
  float draw() { return static_cast<float>((state_ = state_ * 1664525U + 1013904223U) >> 8U) / 0x1p24F; }
  void add(float picoamps) { samples.push_back(static_cast<std::int16_t>(static_cast<double>(picoamps) * digitisation / range - offset)); }
  std::uint32_t state_ = 7;
};

}  // namespace

TEST_CASE("the adapter ends where the current rises for good") {
  for (const int adapter : {60, 110, 180}) {
    CAPTURE(adapter);
    const auto to_transcript = MadeSignal().bases(adapter, 64, 7).bases(30, 88, 8).bases(400, 80, 13).samples;
    CHECK(adapter_of(to_transcript) == doctest::Approx(adapter * 31).epsilon(0.06));
    const auto to_tail = MadeSignal().bases(adapter, 64, 7).bases(40, 108, 1).bases(400, 80, 13).samples;
    CHECK(adapter_of(to_tail) == doctest::Approx(adapter * 31).epsilon(0.06));
  }
}

TEST_CASE("signal without an adapter has none") {
  CHECK(adapter_of({}) == 0);
  CHECK(adapter_of(MadeSignal().bases(10, 64, 7).samples) == 0);
  CHECK(adapter_of(MadeSignal().bases(500, 64, 7).samples) == 0);
  CHECK(adapter_of(MadeSignal().bases(500, 83, 11).samples) == 0);
  // Beyond the search.
  CHECK(adapter_of(MadeSignal().bases(700, 64, 2).bases(100, 90, 8).samples) == 0);
}

TEST_CASE("events before a sample are dropped, but not all") {
  EventTable events;
  events.start_sample = {0, 10, 25};
  events.length_samples = {10, 15, 5};
  events.mean = {1, 2, 3};
  events.stdv = {1, 1, 1};
  events.drop_before(0);
  CHECK(events.size() == 3);
  events.drop_before(11);
  CHECK(events.start_sample == std::vector<std::int32_t>{25});
  CHECK(events.mean == std::vector<float>{3});
  events.drop_before(1000);
  CHECK(events.size() == 1);
  EventTable none;
  none.drop_before(5);
  CHECK(none.size() == 0);
}
