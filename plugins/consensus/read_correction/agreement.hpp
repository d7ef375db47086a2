// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Votes for a consensus as it is: most votes, which are added for many letters at a time.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace sluice::read_correction {

class Agreement {
 public:
  // Bytes before a voter's first vote that may be read.
  static constexpr std::size_t padding = 32;

  void reset(std::size_t bases);

  // What a voter says, whose votes come from the last base to the first. Its own pointers: they need not be read again behind each byte that is
  // written.
  class Voice {
   public:
    Voice(std::uint8_t* of_bases, std::uint8_t* of_gaps) : of_bases_(of_bases), of_gaps_(of_gaps) {}
    // Its letters from `letter` on are the bases from `base` on, and nothing is between them. votes: per letter; votes_of_gap: of a gap before it.
    void agree(std::size_t base, std::size_t letter, std::size_t length, const std::uint8_t* votes, const std::uint8_t* votes_of_gap) const {
      // What is too much is overwritten by what the voter says of the bases before.
      std::uint8_t* const to_bases = of_bases_ + base + length;
      std::uint8_t* const to_gaps = of_gaps_ + base + length;
      votes += letter + length;
      votes_of_gap += letter + length;
      std::size_t done = 0;
      do {
        done += padding;
        std::memcpy(to_bases - done, votes - done, padding);
        std::memcpy(to_gaps - done, votes_of_gap - done, padding);
      } while (done < length);
    }
    // It has another letter or none instead of the base; of_gap: its vote for no letter before that. Or it inserts a letter before the base, of which
    // it has spoken, or behind the last.
    void disagree(std::size_t base, bool inserts, std::uint8_t of_gap) const {
      of_bases_[base] &= inserts ? 0xFF : 0;
      of_gaps_[base] = inserts ? 0 : of_gap;
    }
    // The two apart: it has another letter; it inserts letters before the base, or not.
    void replace(std::size_t base) const { of_bases_[base] = 0; }
    void insert(std::size_t base, bool is_there) const { of_gaps_[base] &= is_there ? 0 : 0xFF; }

   private:
    std::uint8_t *of_bases_, *of_gaps_;
  };
  // of_gap: its vote for no letter behind the last base.
  Voice begin_voter(std::uint8_t of_gap) {
    std::uint8_t* const of_gaps = of_gaps_.data() + padding;
    of_gaps[bases_] = of_gap;
    return {of_bases_.data() + padding, of_gaps};
  }
  // Adds what the voter has said. True: count what is in for_bases() and for_no_insertion() now, which may have no more voters, and clear().
  bool end_voter();

  std::span<const std::uint16_t> for_bases() const { return {base_sums_.data(), bases_}; }
  // Before each base, and behind the last.
  std::span<const std::uint16_t> for_no_insertion() const { return {gap_sums_.data(), bases_ + 1}; }
  void clear();

 private:
  std::size_t bases_ = 0;
  std::vector<std::uint8_t> of_bases_, of_gaps_;     // of the voter, behind the padding
  std::vector<std::uint16_t> base_sums_, gap_sums_;  // as long as the bases and one more, rounded up to what is added at a time
  std::size_t voters_ = 0;
};

}  // namespace sluice::read_correction
