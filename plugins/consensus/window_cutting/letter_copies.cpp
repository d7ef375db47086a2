// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time.

#include "window_cutting/letter_copies.hpp"

#include <algorithm>
#include <sluice/sequence/packed_bases.hpp>

// AVX3_DL adds nothing that these loops could use.
#define HWY_DISABLED_TARGETS HWY_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "window_cutting/letter_copies.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::window_cutting::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
using Tag = hn::CappedTag<std::uint8_t, packed_word_bases>;

// The 32 letters of a word: each byte of it four times, of which each keeps the bits of its own base, where they lie in either half of the byte.
HWY_INLINE void store_letters(std::uint64_t word, std::uint8_t* out) {
  alignas(16) static constexpr std::uint8_t own_bits[16] = {0x03, 0x0C, 0x30, 0xC0, 0x03, 0x0C, 0x30, 0xC0,
                                                            0x03, 0x0C, 0x30, 0xC0, 0x03, 0x0C, 0x30, 0xC0};
  alignas(16) static constexpr std::uint8_t letters[16] = {'A', 'C', 'T', 'G', 'C', 0, 0, 0, 'T', 0, 0, 0, 'G', 0, 0, 0};
  const Tag tag;
  const hn::Repartition<std::uint64_t, Tag> words;
  const hn::Repartition<std::uint16_t, Tag> pairs;
  const std::size_t lanes = hn::Lanes(tag);
  const auto byte_of = hn::BitCast(tag, hn::And(hn::ShiftRight<2>(hn::BitCast(pairs, hn::Iota(tag, 0))), hn::Set(pairs, 0x0707)));
  for (std::size_t at = 0; at < packed_word_bases; at += lanes) {
    const auto bytes = hn::TableLookupBytes(hn::BitCast(tag, hn::Set(words, word >> 2 * at)), byte_of);
    const auto base = hn::And(bytes, hn::LoadDup128(tag, own_bits));
    const auto upper = hn::BitCast(tag, hn::ShiftRight<4>(hn::BitCast(pairs, base)));
    const auto place = hn::And(hn::Or(base, upper), hn::Set(tag, 0x0F));
    hn::StoreU(hn::TableLookupBytes(hn::LoadDup128(tag, letters), place), tag, out + at);
  }
}
#endif

void CopyBases(const std::uint64_t* packed, std::size_t begin, std::size_t end, Strand strand, char* out) {
  const bool is_reverse = strand == Strand::reverse;
#if HWY_TARGET != HWY_SCALAR
  if (end - begin >= packed_word_bases) {
    const std::size_t size = end - begin;
    for (std::size_t at = 0; at < size; at += packed_word_bases) {
      // The last ones once more, together with those before them.
      const std::size_t from = std::min(at, size - packed_word_bases);
      store_letters(is_reverse ? reversed_packed_word(packed, end - from) : packed_word(packed, begin + from),
                    reinterpret_cast<std::uint8_t*>(out) + from);
    }
    return;
  }
#endif
  if (is_reverse)
    unpack_reverse_complement(packed, begin, end, out);
  else
    unpack_bases(packed, begin, end, out);
}

void ReverseQualities(const char* letters, std::size_t size, char* out) {
#if HWY_TARGET != HWY_SCALAR
  constexpr std::size_t lanes = 16;
  const hn::FixedTag<std::uint8_t, lanes> tag;
  if (size >= lanes) {
    const auto from_behind = hn::Sub(hn::Set(tag, lanes - 1), hn::Iota(tag, 0));
    for (std::size_t at = 0; at < size; at += lanes) {
      const std::size_t to = std::min(at, size - lanes);
      const auto part = hn::LoadU(tag, reinterpret_cast<const std::uint8_t*>(letters) + (size - lanes - to));
      hn::StoreU(hn::TableLookupBytes(part, from_behind), tag, reinterpret_cast<std::uint8_t*>(out) + to);
    }
    return;
  }
#endif
  std::reverse_copy(letters, letters + size, out);
}

}  // namespace sluice::window_cutting::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::window_cutting {

HWY_EXPORT(CopyBases);
HWY_EXPORT(ReverseQualities);

void copy_bases(const std::uint64_t* packed, std::size_t begin, std::size_t end, Strand strand, char* out) {
  HWY_DYNAMIC_DISPATCH(CopyBases)(packed, begin, end, strand, out);
}

void copy_qualities(const char* letters, std::size_t size, Strand strand, char* out) {
  if (strand == Strand::reverse)
    HWY_DYNAMIC_DISPATCH(ReverseQualities)(letters, size, out);
  else
    std::copy(letters, letters + size, out);
}

}  // namespace sluice::window_cutting
#endif
