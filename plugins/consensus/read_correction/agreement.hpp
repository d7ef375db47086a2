// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Votes for a consensus as it is: most votes, which are added for many letters at a time.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::read_correction {

class Agreement {
 public:
  // Bytes behind the last vote of a voter that may be read.
  static constexpr std::size_t padding = 16;

  void reset(std::size_t bases);

  // Of a voter each base is one of the next two, from the first to the last.
  // Its letters from `letter` on are the bases from `base` on, and nothing is between them. votes: per letter; votes_of_gap: of a gap before it.
  void agree(std::size_t base, std::size_t letter, std::size_t length, const std::uint8_t* votes, const std::uint8_t* votes_of_gap);
  void disagree(std::size_t base) { of_bases_[base] = of_gaps_[base] = 0; }
  // There is a letter before this base, on which the voter has agreed.
  void insert_before(std::size_t base) { of_gaps_[base] = 0; }
  // Adds what the voter has said. True: count what is in for_bases() and for_no_insertion() now, which may have no more voters, and clear().
  bool end_voter();

  std::span<const std::uint16_t> for_bases() const { return {base_sums_.data(), bases_}; }
  // Before each base.
  std::span<const std::uint16_t> for_no_insertion() const { return {gap_sums_.data(), bases_}; }
  void clear();

 private:
  std::size_t bases_ = 0;
  std::vector<std::uint8_t> of_bases_, of_gaps_;     // of the voter
  std::vector<std::uint16_t> base_sums_, gap_sums_;  // as long as the bases, rounded up to what is added at a time
  std::size_t voters_ = 0;
};

}  // namespace sluice::read_correction
