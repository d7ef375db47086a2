// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From the bases of an alignment to the events of a read, by the rules of f5c: for stages that compare events with the reference.

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

enum class Strand : std::uint8_t { forward, reverse };

// BAM's operation codes: the low four bits of an element of a CIGAR, whose other bits are the length.
enum class CigarOperation : std::uint8_t { match, insertion, deletion, reference_skip, soft_clip, hard_clip, padding, equal, difference, back };

// What a hard clip does to the read position. The base-to-event map covers the whole read, hard-clipped bases included.
enum class HardClips : std::uint8_t {
  count,   // a leading hard clip advances the read position: right
  compat,  // it does not, as in f5c and nanopolish: events of hard-clipped (supplementary) records are shifted
};

// First event of k-mer q of the read, 0 <= q < first_event.size(), or of the nearest k-mer that has one, downwards before upwards; -1: none. f5c
// stops the downward search at max(0, q - 1000) and the upward one at min(q + 1000, last k-mer), and examines neither stop: k-mer 0 and the last
// k-mer never answer. ABEA leaves at most 50 k-mers in a row without event, so the search is short.
constexpr std::int32_t nearest_event(std::span<const std::int32_t> first_event, std::int64_t q) {
  constexpr std::int64_t reach = 1000;
  const std::int64_t lower_stop = q > reach ? q - reach : 0;
  for (std::int64_t i = q; i > lower_stop; --i) {
    if (first_event[static_cast<std::size_t>(i)] >= 0) return first_event[static_cast<std::size_t>(i)];
  }
  const auto last = static_cast<std::int64_t>(first_event.size()) - 1;
  const std::int64_t upper_stop = q + reach < last ? q + reach : last;
  for (std::int64_t i = q; i < upper_stop; ++i) {
    if (first_event[static_cast<std::size_t>(i)] >= 0) return first_event[static_cast<std::size_t>(i)];
  }
  return -1;
}

}  // namespace sluice
