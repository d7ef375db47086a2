// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What `nanocompore eventalign_collapse` (2.2) makes of the event table with samples and scaled events: of each read and position the median of the
// samples and the time.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "event_alignment_writer/event_path.hpp"
#include "event_alignment_writer/raw_signal.hpp"
#include "event_alignment_writer/sample_texts.hpp"

namespace sluice::event_alignment_writer {

// Plain bytes, as they go from one call of a stage to another.
struct CollapsedPosition {
  std::int32_t position = 0;  // of the k-mer's first base, 0-based
  float intensity = 0;        // scaled to the model
  float seconds = 0;
};

// One for each thread.
class EventCollapse {
 public:
  // Appends the positions of the path, ascending; returns how many of them are valid: all events match the reference's k-mer. Numbers are those that
  // the table prints. The path lies in the signal.
  std::uint32_t collapse(const Alignment& alignment, const RawSignal& signal, std::uint32_t k, std::vector<CollapsedPosition>& positions);

 private:
  double value_of(std::int16_t raw);
  SampleTexts texts_;
  std::vector<double> samples_;
};

}  // namespace sluice::event_alignment_writer
