// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A read with 2 bits a base, as sluice/fm_index.hpp packs texts, and where it has no ambiguous bases.

#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::mem_seeding {

struct Stretch {
  std::int32_t begin = 0, end = 0;
};

struct PackedRead {
  std::vector<std::uint64_t> words;  // one of zeros, 32 bases each, two of zeros
  std::vector<Stretch> stretches;    // of A, C, G, T (either case; U is T), ascending
  std::int32_t length = 0;
};

// `bases` has less than 2^31 letters.
void pack_read(std::string_view bases, PackedRead& packed);
void reverse_complement(const PackedRead& packed, PackedRead& reversed);

}  // namespace sluice::mem_seeding
