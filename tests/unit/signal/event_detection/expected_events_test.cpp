// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The events of real reads against those that f5c printed. Needs the xz program.
#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "event_detection/events.hpp"
#include "unit/signal/event_detection/expected_output.hpp"

namespace sluice::event_detection {
namespace {

std::string print_events(const EventTable& events) {
  std::string text;
  char entry[128];
  for (std::size_t i = 0; i < events.size(); ++i) {
    const int size = std::snprintf(entry, sizeof(entry), "{%d,%f,%f,%f}\t", events.start_sample[i], static_cast<double>(events.length_samples[i]),
                                   static_cast<double>(events.mean[i]), static_cast<double>(events.stdv[i]));
    text.append(entry, static_cast<std::size_t>(size));
  }
  return text;
}

TEST_CASE("events of ten real E. coli reads are those that f5c prints, to the last digit") {
  if (!expected_output::is_available()) return;
  const auto signals = expected_output::read_signals();
  const auto expected =
      expected_output::split_by_read(expected_output::unpack("xz", expected_output::reads_folder + "expected/f5c_print_events.first10reads.txt.xz"));
  CHECK(expected.size() == 10);
  DetectorWorkspace workspace;
  EventTable events;
  for (const auto& entry : expected) {
    const auto& read = entry.first;
    const auto& printed = entry.second;
    CAPTURE(read);
    const auto& signal = signals.at(read);
    REQUIRE(detect_events(signal.raw, signal.calibration, DetectorParams::dna(), workspace, events) == DetectionStatus::ok);
    CHECK((print_events(events) == printed));
  }
}

}  // namespace
}  // namespace sluice::event_detection
