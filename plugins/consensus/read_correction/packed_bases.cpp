// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time.

#include "read_correction/packed_bases.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <sluice/sequence/packed_bases.hpp>

// AVX3_DL adds nothing that this loop could use, SSSE3 nothing over SSE4 on any machine still in use.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "read_correction/packed_bases.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::read_correction::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Two bits of the letter: A 0, C 1, T 2, G 3. Those of eight letters lie side by side then.
HWY_INLINE std::uint64_t pack_eight(const char* letters) {
  std::uint64_t word = 0;
  std::memcpy(&word, letters, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  word = word >> 1U & 0x0303030303030303U;
  word = (word | word >> 6U) & 0x000F000F000F000FU;
  word = (word | word >> 12U) & 0x000000FF000000FFU;
  return (word | word >> 24U) & 0xFFFFU;
}

HWY_INLINE bool are_bases(const char* letters) {
  const hn::CappedTag<std::uint8_t, PackedBases::word_bases> tag;
  bool bases = true;
  for (std::size_t i = 0; i < PackedBases::word_bases; i += hn::Lanes(tag)) {
    const auto part = hn::LoadU(tag, reinterpret_cast<const std::uint8_t*>(letters + i));
    const auto is = [&](char base) { return hn::Eq(part, hn::Set(tag, static_cast<std::uint8_t>(base))); };
    bases = bases && hn::AllTrue(tag, hn::Or(hn::Or(is('A'), is('C')), hn::Or(is('G'), is('T'))));
  }
  return bases;
}

// Words up to the first one that has other letters; how many.
std::size_t PackWords(const char* letters, std::size_t words, std::uint64_t* packed) {
  for (std::size_t word = 0; word < words; ++word, letters += PackedBases::word_bases) {
    packed[word] = pack_eight(letters) | pack_eight(letters + 8) << 16U | pack_eight(letters + 16) << 32U | pack_eight(letters + 24) << 48U;
    if (!are_bases(letters)) return word;
  }
  return words;
}

}  // namespace sluice::read_correction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::read_correction {
namespace {

HWY_EXPORT(PackWords);

bool is_base(char letter) { return letter == 'A' || letter == 'C' || letter == 'G' || letter == 'T'; }

// Whole 64 bases, and one word more.
constexpr std::size_t words_of(std::size_t bases) { return bases / 64 * 2 + 3; }

}  // namespace

void PackedBases::assign(std::string_view letters) {
  constexpr std::size_t letters_of_word = word_bases;
  size_ = static_cast<std::int32_t>(letters.size());
  others_.clear();
  words_.assign(words_of(letters.size()), 0);
  const std::size_t whole = letters.size() / letters_of_word;
  for (std::size_t word = 0; word < whole; ++word) {
    word += HWY_DYNAMIC_DISPATCH(PackWords)(letters.data() + word * letters_of_word, whole - word, words_.data() + word);
    if (word < whole) list_others(letters.substr(word * letters_of_word, letters_of_word), word * letters_of_word);
  }
  const std::string_view rest = letters.substr(whole * letters_of_word);
  std::array<char, letters_of_word> block;
  block.fill('A');
  std::memcpy(block.data(), rest.data(), rest.size());
  HWY_DYNAMIC_DISPATCH(PackWords)(block.data(), 1, words_.data() + whole);
  list_others(rest, whole * letters_of_word);
}

void PackedBases::assign(const std::uint64_t* packed, std::size_t begin, std::size_t end, Strand strand) {
  const std::size_t size = end - begin;
  size_ = static_cast<std::int32_t>(size);
  others_.clear();
  words_.resize(words_of(size));
  const std::size_t used = (size + word_bases - 1) / word_bases;
  if (strand == Strand::forward)
    for (std::size_t word = 0; word < used; ++word) words_[word] = packed_word(packed, begin + word * word_bases);
  else
    for (std::size_t word = 0; word < used; ++word) words_[word] = reversed_packed_word(packed, end - word * word_bases);
  std::fill(words_.begin() + static_cast<std::ptrdiff_t>(used), words_.end(), 0);
}

void PackedBases::letters(std::int32_t begin, std::int32_t end, std::string& out) const {
  out.resize(static_cast<std::size_t>(end - begin));
  unpack_bases(words_.data(), static_cast<std::size_t>(begin), static_cast<std::size_t>(end), out.data());
  for (auto other = std::lower_bound(others_.begin(), others_.end(), begin); other != others_.end() && *other < end; ++other)
    out[static_cast<std::size_t>(*other - begin)] = 'N';
}

void PackedBases::list_others(std::string_view letters, std::size_t begin) {
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (!is_base(letters[i])) others_.push_back(static_cast<std::int32_t>(begin + i));
}

}  // namespace sluice::read_correction
#endif
