// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The best cell of a row, whatever the order in which its cells are looked at.

#include <cstdint>
#include <sluice/minimizer_index.hpp>  // SLUICE_HOST_DEVICE

namespace sluice::base_alignment::cuda {

// A cell's score and its turn among equal ones of its row, the lowest first.
struct RowBest {
  std::int32_t score;
  std::uint32_t turn;
  SLUICE_HOST_DEVICE bool beats(const RowBest& other) const { return score > other.score || (score == other.score && turn < other.turn); }
};

// Of equal cells of a row, whose places on the target are first to last, the last is taken, else the first of the first of four columns: see
// best_of_row in kernel/progress.hpp.
inline constexpr std::uint32_t turns_of_column = 1U << 28;
SLUICE_HOST_DEVICE constexpr std::uint32_t turn_of(std::int32_t target, std::int32_t first, std::int32_t last) {
  if (target == last) return 0;
  const auto i = static_cast<std::uint32_t>(target - first);
  const auto grouped = static_cast<std::uint32_t>(last - first) / 4 * 4;
  return i < grouped ? 1 + (i % 4) * turns_of_column + i / 4 : 4 * turns_of_column + i;
}
SLUICE_HOST_DEVICE constexpr std::int32_t target_of_turn(std::uint32_t turn, std::int32_t first, std::int32_t last) {
  if (turn == 0) return last;
  if (turn >= 4 * turns_of_column) return first + static_cast<std::int32_t>(turn - 4 * turns_of_column);
  return first + static_cast<std::int32_t>((turn - 1) % turns_of_column * 4 + (turn - 1) / turns_of_column);
}

}  // namespace sluice::base_alignment::cuda
