// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Is the read of a file the one that was aligned? It may have been trimmed, or base-called again under the same name.

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::read_bases {

// What an alignment says of its read.
struct AlignedRead {
  std::span<const std::uint32_t> cigar;  // as in BAM; empty: it is not known
  std::string_view bases;                // SEQ in sequencing orientation, "": it is absent
  bool is_reverse = false;
};

// Bases of the whole read: those that the CIGAR consumes, and hard clips. 0: the CIGAR is empty.
std::uint64_t read_length(std::span<const std::uint32_t> cigar);

// Of two base calls of one length an insertion and a deletion shift what is between them, which then agrees by chance, in 25 to 30 %.
constexpr double least_equal_bases = 0.9;

// Does the read, in sequencing orientation, have the length and the bases that the alignment says? Codes for several bases agree with each of them,
// U with T. What the alignment does not say agrees.
bool is_aligned_read(std::string_view read, const AlignedRead& aligned);

}  // namespace sluice::read_bases
