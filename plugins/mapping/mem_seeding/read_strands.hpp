// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// All reads of a batch, each followed by its reverse complement where both strands are searched, as one packed sequence with edges that no match
// crosses: what the search word by word runs over. Plain pointers; works on the host and in kernels.

#include <cstdint>
#include <sluice/fm_index.hpp>

namespace sluice::mem_seeding {

SLUICE_FM_INLINE std::uint32_t zeros_above(std::uint64_t word) {  // word != 0
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__clzll(static_cast<long long>(word)));
#else
  return static_cast<std::uint32_t>(__builtin_clzll(word));
#endif
}
SLUICE_FM_INLINE std::uint32_t zeros_below(std::uint64_t word) {  // word != 0
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__ffsll(static_cast<long long>(word)) - 1);
#else
  return static_cast<std::uint32_t>(__builtin_ctzll(word));
#endif
}

// Places are counted from the first base of the first read. At most most_bases.
struct ReadStrands {
  static constexpr std::uint64_t most_bases = std::uint64_t{0xFFF00000};
  static constexpr std::uint64_t bases_per_word = 32;
  // A word of zeros, the bases, and zeros up to the end of the word after next.
  static constexpr std::uint64_t packed_words(std::uint64_t length) { return length / bases_per_word + 4; }
  // 32 bits a word likewise: two words of zeros; what is behind the last base are edges.
  static constexpr std::uint64_t edge_words(std::uint64_t length) { return length / bases_per_word + 5; }

  const std::uint64_t* packed = nullptr;  // as sluice/fm_index.hpp packs texts
  const std::uint32_t* edges = nullptr;   // bit g, counted from the third word's lowest: no match has both base g - 1 and base g
  std::uint64_t length = 0;               // bases

  SLUICE_FM_INLINE std::uint64_t bases_at(std::int64_t place) const { return FmIndexTables::packed_bases_at(packed, place); }
  SLUICE_FM_INLINE std::uint32_t base(std::uint64_t place) const {
    return static_cast<std::uint32_t>(packed[place / 32 + 1] >> (62 - 2 * (place % 32)) & 3U);
  }
  // The edges at place, place + 1 ... place + 31, the first in the lowest bit. -64 <= place <= length.
  SLUICE_FM_INLINE std::uint32_t edges_at(std::int64_t place) const {
    const auto from = static_cast<std::uint64_t>(place + 64);
    const std::uint32_t* word = edges + from / 32;
    return static_cast<std::uint32_t>((word[0] | static_cast<std::uint64_t>(word[1]) << 32) >> (from % 32));
  }
  // Whether `count` bases from `place` on lie within one stretch of bases that are not ambiguous. 2 <= count.
  SLUICE_FM_INLINE bool unbroken(std::uint64_t place, std::uint64_t count) const {
    if (place + count > length) return false;
    for (std::uint64_t at = place + 1, end = place + count; at < end; at += 32) {
      std::uint32_t edge = edges_at(static_cast<std::int64_t>(at));
      if (end - at < 32) edge &= (std::uint32_t{1} << (end - at)) - 1;
      if (edge != 0) return false;
    }
    return true;
  }
  SLUICE_FM_INLINE bool edge(std::uint64_t place) const { return (edges_at(static_cast<std::int64_t>(place)) & 1) != 0; }

  // Bases from `from` on, which follow a base of a match, that agree with the text from `place` on.
  SLUICE_FM_INLINE std::uint64_t equal_to_the_right(const FmIndexTables& index, std::uint64_t from, std::uint64_t place) const {
    std::uint64_t equal = 0;
    while (true) {
      const std::uint64_t difference = bases_at(static_cast<std::int64_t>(from + equal)) ^ index.bases_at(static_cast<std::int64_t>(place + equal));
      std::uint64_t more = difference == 0 ? 32 : zeros_above(difference) / 2;
      const std::uint32_t edge = edges_at(static_cast<std::int64_t>(from + equal));
      if (edge != 0 && zeros_below(edge) < more) more = zeros_below(edge);
      if (index.text_length - place - equal < more) more = index.text_length - place - equal;
      equal += more;
      if (more < 32) return equal;
    }
  }
  // Bases before `from`, where a match begins, that agree with the text before `place`; at most `limit`.
  SLUICE_FM_INLINE std::uint64_t equal_to_the_left(const FmIndexTables& index, std::uint64_t from, std::uint64_t place, std::uint64_t limit) const {
    std::uint64_t equal = 0;
    if (place < limit) limit = place;
    while (equal < limit) {
      const auto at = static_cast<std::int64_t>(from - equal);
      const std::uint64_t difference = bases_at(at - 32) ^ index.bases_at(static_cast<std::int64_t>(place - equal) - 32);
      std::uint64_t more = difference == 0 ? 32 : zeros_below(difference) / 2;
      const std::uint64_t edge = edges_at(at - 31);
      if (edge != 0 && zeros_above(edge << 32) < more) more = zeros_above(edge << 32);
      equal += more;
      if (more < 32) break;
    }
    return equal < limit ? equal : limit;
  }
};

}  // namespace sluice::mem_seeding
