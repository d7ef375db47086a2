// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Letters of reads changed to those that are compared, many at a time.

#include <cstddef>
#include <cstdint>

namespace sluice::read_correction {

enum class Strand : std::uint8_t { forward, reverse };

// In place, from upper case letters of a forward strand: A, C, G, T (also for U) and N for all others, turned to the strand. U has no complement.
void to_strand(Strand strand, char* letters, std::size_t size);

// nucleotide_code() of each letter.
void to_codes(const char* letters, std::size_t size, char* codes);

}  // namespace sluice::read_correction
