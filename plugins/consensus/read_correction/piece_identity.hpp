// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How alike pieces of reads are to those of the reads that overlap them, before they are corrected and after.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::read_correction {

// Sums over pairs of the read and a read that overlaps it. Of a pair the whole is the longer of the two pieces, and the part what is left of it
// without their differences (letters to replace, remove or insert, as few as can be). The other reads stay as they were sequenced.
struct PieceIdentity {
  std::uint64_t equal_before = 0, bases_before = 0;  // the read as it was
  std::uint64_t equal_after = 0, bases_after = 0;    // its consensus

  // Every window would take half as long as the votes do. What decides is in the window, not its number: the same windows on every machine.
  static bool is_sampled(std::size_t letters_of_window) { return letters_of_window % 61 == 0; }

  // A window's sequences, one after the other, the read's own first. Lengths must add up.
  void add(std::string_view sequences, std::span<const std::int32_t> lengths, std::string_view consensus);
  void add(const PieceIdentity& other);
};

}  // namespace sluice::read_correction
