// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The best local alignment's score and end, by which inversions are found (Farrar's striped Smith-Waterman as minimap2 has it: A.22 of the
// specification).

#include <cstdint>
#include <sluice/kept_buffer.hpp>
#include <span>

#include "base_alignment/kernel/problem.hpp"

namespace sluice::base_alignment {

struct LocalEnd {
  std::int32_t score = 0;
  // Last bases of both. With Padding::passes the query's may lie up to seven behind its end, and the target's as many too far.
  std::int32_t query = 0, target = 0;
};

// What columns that fill the last stripe are to a score: they pass it on unchanged, as in minimap2 2.24, or cost one, as in 2.31. The best score is
// the same.
enum class Padding : std::uint8_t { passes, costs };
constexpr std::int32_t score_of_padding(Padding padding) { return padding == Padding::passes ? 0 : -1; }

// Reusable memory.
struct LocalRows {
  static constexpr std::size_t most_kept = 4U << 20U;  // bytes
  KeptBuffer<std::uint8_t> bytes;
};

// Codes as in Problem; neither is empty. One piece of gap costs, the first.
LocalEnd align_locally(const Scores& scores, std::span<const std::uint8_t> query, std::span<const std::uint8_t> target, Padding padding,
                       LocalRows& rows);
// Does that score come to `wanted`? For less work: most pairs that are asked about have nothing in common.
bool aligns_locally(const Scores& scores, std::span<const std::uint8_t> query, std::span<const std::uint8_t> target, std::int32_t wanted,
                    LocalRows& rows);

// The definition of what align_locally computes, in plain loops.
LocalEnd align_locally_plainly(const Scores& scores, std::span<const std::uint8_t> query, std::span<const std::uint8_t> target, Padding padding);

}  // namespace sluice::base_alignment
