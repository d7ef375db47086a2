// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <htslib/sam.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace sluice::hts {

// The letters of two 4-bit codes in a byte, and those of their complements in the opposite order, as two characters in memory.
struct PackedPairs {
  std::array<std::array<char, 2>, 256> forward{}, reverse{};
};
inline constexpr PackedPairs packed_pairs = [] {
  constexpr char letters[] = "=ACMGRSVTWYHKDBN";  // HTSlib's seq_nt16_str
  // A code has one bit for each of A, C, G, T; its complement has them in reverse order.
  constexpr auto complement = [](unsigned code) { return ((code & 1U) << 3) | ((code & 2U) << 1) | ((code & 4U) >> 1) | ((code & 8U) >> 3); };
  PackedPairs pairs;
  for (unsigned byte = 0; byte < 256; ++byte) {
    pairs.forward[byte] = {letters[byte >> 4], letters[byte & 15U]};
    pairs.reverse[byte] = {letters[complement(byte & 15U)], letters[complement(byte >> 4)]};
  }
  return pairs;
}();

// SEQ of a record as it was sequenced: reverse-complemented if the record is on the reverse strand. Letters are "=ACMGRSVTWYHKDBN". `packed`: two
// bases in a byte; `out` has room for `bases` letters.
inline void sequenced_bases(const std::uint8_t* packed, std::size_t bases, bool is_reverse, char* out) {
  const std::size_t pairs = bases / 2;
  if (is_reverse) {
    // A last base without a second one comes first.
    if (bases % 2 != 0) *out++ = packed_pairs.reverse[packed[pairs]][1];
    for (std::size_t i = 0; i < pairs; ++i) std::memcpy(out + 2 * i, packed_pairs.reverse[packed[pairs - 1 - i]].data(), 2);
  } else {
    for (std::size_t i = 0; i < pairs; ++i) std::memcpy(out + 2 * i, packed_pairs.forward[packed[i]].data(), 2);
    if (bases % 2 != 0) out[2 * pairs] = packed_pairs.forward[packed[pairs]][0];
  }
}
inline void sequenced_bases(const bam1_t& record, std::string& out) {
  out.resize(static_cast<std::size_t>(record.core.l_qseq));
  sequenced_bases(bam_get_seq(&record), out.size(), bam_is_rev(&record), out.data());
}

}  // namespace sluice::hts
