// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The event detector as its definition reads, position by position over whole-read arrays: the oracle of the tests.

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "event_detection/events.hpp"

namespace sluice::event_detection::literal {

struct Statistics {
  std::vector<double> sum;
  std::vector<double> square_sum;
  std::vector<float> t_short;
  std::vector<float> t_long;
};

inline std::vector<float> t_statistics(const Statistics& s, std::size_t n, std::uint32_t window) {
  std::vector<float> t(n, 0.0F);
  if (n < 2 * static_cast<std::size_t>(window) || window < 2) return t;
  const auto w = static_cast<float>(window);
  for (std::size_t i = window; i <= n - window; ++i) {
    if (i == n) break;
    const double s1 = s.sum[i] - s.sum[i - window];
    const double q1 = s.square_sum[i] - s.square_sum[i - window];
    const auto s2 = static_cast<float>(s.sum[i + window] - s.sum[i]);
    const auto q2 = static_cast<float>(s.square_sum[i + window] - s.square_sum[i]);
    const auto m1 = static_cast<float>(s1 / window);
    const float m2 = s2 / w;
    const float m1_squared = m1 * m1;
    const float m2_squared = m2 * m2;
    const float q2_mean = q2 / w;
    float v = static_cast<float>(((q1 / window - m1_squared) + q2_mean) - m2_squared);
    if (!(v > FLT_MIN)) v = FLT_MIN;
    const float d = m2 - m1;
    t[i] = std::fabs(d) / std::sqrt(v / w);
  }
  return t;
}

inline Statistics statistics(std::span<const float> picoamps, const DetectorParams& params) {
  Statistics s;
  s.sum.assign(1, 0.0);
  s.square_sum.assign(1, 0.0);
  for (const float x : picoamps) {
    const float square = x * x;
    s.sum.push_back(s.sum.back() + x);
    s.square_sum.push_back(s.square_sum.back() + square);
  }
  s.t_short = t_statistics(s, picoamps.size(), params.window_short);
  s.t_long = t_statistics(s, picoamps.size(), params.window_long);
  return s;
}

struct Detector {
  std::int64_t masked_to = 0;
  std::int64_t peak_position = -1;
  float peak_value = FLT_MAX;
  bool valid = false;
};

inline std::vector<std::int64_t> boundaries(std::span<const float> t_short, std::span<const float> t_long, const DetectorParams& params) {
  std::vector<std::int64_t> found;
  Detector detectors[2];
  const std::uint32_t windows[2] = {params.window_short, params.window_long};
  const float thresholds[2] = {params.threshold_short, params.threshold_long};
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(t_short.size()); ++i) {
    for (int k = 0; k < 2; ++k) {
      Detector& self = detectors[k];
      if (self.masked_to >= i) continue;
      const float c = k == 0 ? t_short[static_cast<std::size_t>(i)] : t_long[static_cast<std::size_t>(i)];
      if (self.peak_position < 0) {
        if (c < self.peak_value) {
          self.peak_value = c;
        } else if (c - self.peak_value > params.peak_height) {
          self.peak_value = c;
          self.peak_position = i;
        }
        continue;
      }
      if (c > self.peak_value) {
        self.peak_value = c;
        self.peak_position = i;
      }
      if (k == 0 && self.peak_value > thresholds[0]) {
        detectors[1] = Detector{};
        detectors[1].masked_to = self.peak_position + params.window_short;
      }
      if (self.peak_value - c > params.peak_height && self.peak_value > thresholds[k]) self.valid = true;
      if (self.valid && i - self.peak_position > static_cast<std::int64_t>(windows[k] / 2)) {
        found.push_back(self.peak_position);
        self.peak_position = -1;
        self.peak_value = c;
        self.valid = false;
      }
    }
  }
  return found;
}

// Columns as DetectorWorkspace's detector fills them; empty without a boundary.
inline EventTable events(std::span<const float> picoamps, const DetectorParams& params) {
  const Statistics s = statistics(picoamps, params);
  std::vector<std::int64_t> ends = boundaries(s.t_short, s.t_long, params);
  EventTable table;
  if (ends.empty()) return table;
  ends.push_back(static_cast<std::int64_t>(picoamps.size()));
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    const auto a = static_cast<std::size_t>(begin);
    const auto b = static_cast<std::size_t>(end);
    const auto length = static_cast<float>(end - begin);
    const float mean = static_cast<float>(s.sum[b] - s.sum[a]) / length;
    const float mean_square = static_cast<float>(s.square_sum[b] - s.square_sum[a]) / length;
    const float mean_squared = mean * mean;
    const float variance = mean_square - mean_squared;
    table.start_sample.push_back(static_cast<std::int32_t>(begin));
    table.length_samples.push_back(static_cast<std::int32_t>(end - begin));
    table.mean.push_back(mean);
    table.stdv.push_back(std::sqrt(variance > 0.0F ? variance : 0.0F));
    begin = end;
  }
  return table;
}

}  // namespace sluice::event_detection::literal
