// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment_writer/raw_signal.hpp"

#include <cmath>

namespace sluice::event_alignment_writer {

Level level_of(const RawSignal& signal, std::size_t start, std::size_t end) {
  const auto samples = signal.samples.subspan(start, end - start);
  const auto count = static_cast<float>(samples.size());
  Level level;
  for (const std::int16_t raw : samples) level.mean += signal.pico_amps(raw);
  level.mean /= count;
  float squares = 0;
  for (const std::int16_t raw : samples) {
    const float difference = signal.pico_amps(raw) - level.mean;
    squares += difference * difference;
  }
  level.stdv = std::sqrt(squares / count);
  return level;
}

}  // namespace sluice::event_alignment_writer
