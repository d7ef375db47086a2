// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The samples of a read in pA, and what is computed from them alone.

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::event_alignment_writer {

// In single precision, as f5c reads it.
struct RawSignal {
  std::span<const std::int16_t> samples;
  float offset = 0, pico_amps_per_level = 1;  // range / digitisation

  float pico_amps(std::int16_t raw) const { return (static_cast<float>(raw) + offset) * pico_amps_per_level; }
};

struct Level {
  float mean = 0, stdv = 0;  // pA; of the population
};

// Of the samples in [start, end): sums in single precision, one after the other.
Level level_of(const RawSignal& signal, std::size_t start, std::size_t end);

}  // namespace sluice::event_alignment_writer
