// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Rate of event detection on one core, per instruction set: median over repeated runs, in time of this thread, so that
// other programs on the machine disturb it little.
// Usage: event_detection_bench [FILE]   FILE: raw samples, 16-bit little endian; without it, a simulated R9.4 DNA read.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "event_detection/events.hpp"

namespace {

// Levels and noise of R9.4 DNA in raw units, 8.9 samples per base: 1.7 events per base are found, as on real reads.
std::vector<std::int16_t> simulated_read(std::size_t samples) {
  std::mt19937 random(1);
  std::normal_distribution<double> level(480.0, 70.0);
  std::normal_distribution<double> noise(0.0, 9.0);
  std::geometric_distribution<int> dwell(1.0 / 8.9);
  std::vector<std::int16_t> raw;
  while (raw.size() < samples) {
    const double current = level(random);
    for (int left = 1 + dwell(random); left > 0 && raw.size() < samples; --left) {
      raw.push_back(static_cast<std::int16_t>(std::lround(current + noise(random))));
    }
  }
  return raw;
}

std::vector<std::int16_t> read_samples(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::int16_t> raw;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const unsigned low = static_cast<unsigned char>(bytes[i]);
    const unsigned high = static_cast<unsigned char>(bytes[i + 1]);
    raw.push_back(static_cast<std::int16_t>(low | high << 8U));
  }
  return raw;
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int argument_count, char** arguments) {
  using namespace sluice::event_detection;
  const auto raw = argument_count > 1 ? read_samples(arguments[1]) : simulated_read(100'000);
  constexpr Calibration calibration{10.0F, 1467.61F, 8192.0F};
  constexpr int runs = 31;
  DetectorWorkspace workspace;
  EventTable events;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (target == HWY_SSSE3 || target == HWY_AVX3_DL) continue;  // not generated for this plugin
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    for (const auto& [chemistry, params] : {std::pair{"DNA", DetectorParams::dna()}, std::pair{"RNA", DetectorParams::rna()}}) {
      std::vector<double> seconds;
      DetectionStatus status = DetectionStatus::ok;
      for (int run = 0; run < runs; ++run) {
        const double start = thread_seconds();
        status = detect_events(raw, calibration, params, workspace, events);
        seconds.push_back(thread_seconds() - start);
      }
      std::nth_element(seconds.begin(), seconds.begin() + runs / 2, seconds.end());
      std::printf("%-6s %s %7.1f Msamples/s  %zu samples, %zu events, %s\n", hwy::TargetName(target), chemistry,
                  static_cast<double>(raw.size()) / seconds[runs / 2] * 1e-6, raw.size(), events.size(), std::string(name(status)).c_str());
    }
  }
}
