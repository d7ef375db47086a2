// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// States of a read's bases, laid along the reference.

#include <cstdint>
#include <span>
#include <vector>

#include "modification_pileup/alignment_record.hpp"

namespace sluice::modification_pileup {

// Blocks of the reference that the read covers, without what its CIGAR skips (N).
struct AlignedStates {
  std::vector<std::int64_t> block_start, block_length;
  std::vector<std::uint8_t> base, opposite;  // of all blocks, one after the other; `opposite` may be empty
};

// `sequenced` and `opposite`: states of the record's bases in sequencing orientation; no `opposite`: none. False: CIGAR and bases do not fit each
// other, or more is deleted than a read can lack.
bool align_states(const AlignmentRecord& record, std::span<const std::uint8_t> sequenced, std::span<const std::uint8_t> opposite,
                  AlignedStates& aligned);

// The position of each of the record's bases, in sequencing orientation, on the reference; -1: it is inserted or clipped, or the record has no CIGAR.
// False: CIGAR and bases do not fit each other.
bool align_positions(const AlignmentRecord& record, std::vector<std::int64_t>& positions);

}  // namespace sluice::modification_pileup
