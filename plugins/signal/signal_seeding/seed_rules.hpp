// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the CPU and devices do alike between the events of a read and its anchors: symbols, what is tried of a run, and the word that stands for an
// anchor until the end.
//
// An anchor's word is the column among all strands << event bits | number of the read's event. Words of a read are all different, and ascend as the
// anchors do.

#include <array>
#include <cstddef>
#include <cstdint>
#include <sluice/host_device.hpp>
#include <sluice/squiggle_reference.hpp>
#include <span>

#include "signal_seeding/squiggle_index.hpp"

namespace sluice::signal_seeding {

struct Symbol {
  std::uint8_t symbol = 0, other = 0;  // the same: there is only one
  std::int16_t distance = 0;           // to the border between both; large if there is only one
  friend bool operator==(const Symbol&, const Symbol&) = default;
};
// By level + squiggle_sample_limit.
using SymbolTable = std::array<Symbol, static_cast<std::size_t>(2 * squiggle_sample_limit + 1)>;
// An event whose level is within `uncertainty` of a border between symbols may have either.
SymbolTable symbol_table(std::span<const std::int16_t> borders, std::int32_t uncertainty);

// Of a run, which of its events' other symbols are tried first: those nearest to a border, of equal ones the later event.
struct Flip {
  std::int16_t distance = 0;
  std::uint64_t bits = 0;  // what of the run's word differs
  friend constexpr bool operator<(const Flip& a, const Flip& b) { return a.distance != b.distance ? a.distance < b.distance : a.bits < b.bits; }
};

// Greatest value of most_uncertain.
inline constexpr std::int32_t most_tried_events = 10;

// Of an anchor's word.
SLUICE_HOST_DEVICE constexpr unsigned event_bits(std::int32_t position_bits) { return 64U - static_cast<unsigned>(position_bits); }
// Events from this one on, which no read of a nanopore has, are not looked up: their places would not fit 31 bits.
SLUICE_HOST_DEVICE constexpr std::int64_t event_limit(std::int32_t position_bits) {
  return std::int64_t{1} << (position_bits < 34 ? 30U : event_bits(position_bits));
}
// Place on the read, in columns, of its event of this number; the first one has number 1.
SLUICE_HOST_DEVICE constexpr std::int32_t column_of_event(std::int64_t event, double columns_per_event) {
  const double column = static_cast<double>(event) * columns_per_event;
  return column < 2147483647.0 ? static_cast<std::int32_t>(column) : 2147483647;
}
// The column read_length of a read of so many events.
SLUICE_HOST_DEVICE constexpr std::int32_t read_length(std::int64_t events, double columns_per_event) {
  const std::int32_t columns = column_of_event(events, columns_per_event);
  return columns < 2147483647 ? columns + 1 : columns;
}

// Anchors can only be neighbours in a chain when the diagonals of their words, cut into bins of 2^shift, differ by at most one bin.
constexpr unsigned diagonal_shift(std::int32_t most_shift) {
  unsigned shift = 0;
  while (std::int64_t{1} << shift < most_shift) ++shift;
  return shift;
}
SLUICE_HOST_DEVICE constexpr std::uint64_t diagonal_bin(std::int64_t column, std::int64_t place, unsigned shift) {
  // Places are below 2^31: no difference is negative.
  return static_cast<std::uint64_t>(column - place + (std::int64_t{1} << 32)) >> shift;
}

// May one follow the other in a chain? Columns on the same strand.
SLUICE_HOST_DEVICE constexpr bool may_follow(std::int64_t columns, std::int64_t places, std::int64_t most_shift) {
  const std::int64_t shift = columns - places;
  return columns > 0 && places > 0 && shift <= most_shift && -shift <= most_shift;
}

}  // namespace sluice::signal_seeding
