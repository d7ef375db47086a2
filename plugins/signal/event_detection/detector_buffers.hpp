// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Scratch memory of the event detector. A read is processed in blocks that stay in the first-level cache: 1,024 samples
// need 28 KiB of the buffers below. (Measured: 512, 2,048 and 4,096 are within 3 % of it.)

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "event_detection/events.hpp"

namespace sluice::event_detection {

inline constexpr std::size_t block_samples = 1024;
// Vectors may read and write this many elements past the end of what is meant.
inline constexpr std::size_t vector_slack = 32;

// A position between two events, and the sums over all samples before it.
struct BoundarySums {
  std::vector<std::int32_t> position;
  std::vector<double> sum;         // pA
  std::vector<double> square_sum;  // pA^2
};

struct DetectorWorkspace::Buffers {
  static constexpr std::size_t chunk_capacity = block_samples + max_window + vector_slack;
  // Prefix sums of the block, of max_window positions before it and of as many after it.
  static constexpr std::size_t prefix_capacity = block_samples + 2 * max_window + vector_slack + 1;

  alignas(64) std::array<float, chunk_capacity> picoamps{};
  alignas(64) std::array<double, prefix_capacity> sum{};
  alignas(64) std::array<double, prefix_capacity> square_sum{};
  // The block's t-statistics, after statistic_front elements of which the last is the value before the block, and before
  // as many as a look ahead by settling_time(max_window) needs.
  static constexpr std::size_t statistic_front = 16;
  static constexpr std::size_t statistic_capacity = statistic_front + block_samples + max_window / 2 + 1 + vector_slack;
  alignas(64) std::array<float, statistic_capacity> t_short{};
  alignas(64) std::array<float, statistic_capacity> t_long{};

  using Bits = std::array<std::uint64_t, block_samples / 64 + 1>;
  Bits above_short{};
  Bits above_long{};
  Bits rises{};
  Bits summits{};
  Bits settles{};

  BoundarySums boundaries;
  // The prefix sums at the positions where each block's conversion began, for boundaries that are reported more than a
  // block late (a peak may stay open for any time).
  BoundarySums checkpoints;
};

// What one read needs besides its samples.
struct SampleUnit {
  float offset = 0.0F;  // in raw units
  float unit = 1.0F;    // pA per raw unit
};

}  // namespace sluice::event_detection
