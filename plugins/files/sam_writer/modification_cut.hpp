// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Base modifications of a part of a read. Source: Sequence Alignment/Map Optional Fields Specification, section 1.7.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::sam_writer {

struct Modifications {
  std::string positions;                                   // MM
  std::optional<std::vector<std::uint8_t>> probabilities;  // ML, if there is one
};

// Bases [begin, end) of a read in sequencing orientation.
struct ReadPart {
  std::size_t begin = 0, end = 0;
  bool operator==(const ReadPart&) const = default;
};

// Those of the bases that remain: counts of skipped bases begin at the part, as if it were the read. Lists without a call that remains stay, empty.
// None: MM is malformed or speaks of more bases than `bases` (upper case, T for U) has, or ML has another number of values than MM has calls.
std::optional<Modifications> cut_modifications(std::string_view positions, std::optional<std::span<const std::uint8_t>> probabilities,
                                               std::string_view bases, ReadPart part);

}  // namespace sluice::sam_writer
