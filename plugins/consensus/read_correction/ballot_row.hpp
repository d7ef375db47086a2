// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What sequences say of a base of a consensus and of what is behind it, in sums of 16 bits, and who wins (consensus_vote.hpp).

#include <cstdint>
#include <sluice/host_device.hpp>

#include "read_correction/vote_rules.hpp"

namespace sluice::read_correction {

SLUICE_HOST_DEVICE constexpr char letter_of_code(std::uint32_t code) { return code == 0 ? 'A' : code == 1 ? 'C' : code == 2 ? 'G' : 'T'; }

struct ElectedLetter {
  char letter = '\0';
  bool is_there = false;
};

// Letters other than A, C, G and T vote for no base.
struct BallotRow {
  static constexpr std::uint32_t words = 5;
  std::uint32_t word[words] = {};  // two sums each: A and C, G and T, no base and nothing behind it; letters behind it: A and C, G and T

  SLUICE_HOST_DEVICE void add_base(std::uint32_t code, std::uint32_t votes) { add_letter(word[0], word[1], code, votes); }
  SLUICE_HOST_DEVICE void add_no_base(std::uint32_t votes) { word[2] += votes; }
  SLUICE_HOST_DEVICE void add_inserted(std::uint32_t code, std::uint32_t votes) { add_letter(word[3], word[4], code, votes); }
  SLUICE_HOST_DEVICE void add_nothing_inserted(std::uint32_t votes) { word[2] += votes << 16; }

  SLUICE_HOST_DEVICE std::int32_t most_of_base() const {
    std::int32_t most = 0;
    for (std::uint32_t code = 0; code < ambiguous_code; ++code) most = most < of_letter(0, code) ? of_letter(0, code) : most;
    return most;
  }

  SLUICE_HOST_DEVICE ElectedLetter elect_inserted() const {
    std::uint32_t code = 0;
    for (std::uint32_t other = 1; other < ambiguous_code; ++other)
      if (of_letter(3, other) > of_letter(3, code)) code = other;
    return {letter_of_code(code), of_letter(3, code) > static_cast<std::int32_t>(word[2] >> 16)};
  }

  // Instead of `base`, or itself. contested: becomes true if another letter has an eighth of the votes.
  SLUICE_HOST_DEVICE ElectedLetter elect_base(char base, bool& contested) const {
    constexpr std::uint32_t none = 5;
    const std::int32_t votes[] = {
        of_letter(0, 0), of_letter(0, 1), of_letter(0, 2), of_letter(0, 3), 0, static_cast<std::int32_t>(word[2] & 0xFFFFU)};
    const std::uint32_t held = nucleotide_code(base);
    const std::int32_t all = votes[0] + votes[1] + votes[2] + votes[3] + votes[none];
    if (8 * (all - votes[held]) >= all && second_votes(votes) * 8 >= (all < 1 ? 1 : all)) contested = true;
    std::uint32_t most = 0;
    for (std::uint32_t outcome = 1; outcome <= none; ++outcome)
      if (votes[outcome] > votes[most]) most = outcome;
    if (votes[most] == 0 || (held != ambiguous_code && votes[held] == votes[most])) return {base, true};
    return {letter_of_code(most), most != none};
  }

 private:
  SLUICE_HOST_DEVICE static void add_letter(std::uint32_t& a_and_c, std::uint32_t& g_and_t, std::uint32_t code, std::uint32_t votes) {
    const std::uint32_t placed = votes << (code & 1U) * 16;
    a_and_c += code < 2 ? placed : 0;
    g_and_t += code == 2 || code == 3 ? placed : 0;
  }
  SLUICE_HOST_DEVICE std::int32_t of_letter(std::uint32_t first_word, std::uint32_t code) const {
    return static_cast<std::int32_t>(word[first_word + code / 2] >> code % 2 * 16 & 0xFFFFU);
  }
};

}  // namespace sluice::read_correction
