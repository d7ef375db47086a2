// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time.

#include "read_correction/kmer_filter.hpp"

#include <algorithm>

// AVX3_DL adds nothing that this loop could use, SSSE3 nothing over SSE4 on any machine still in use.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "read_correction/kmer_filter.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::read_correction::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<std::uint32_t, 16>;
using Vector = hn::Vec<Tag>;

// K-mers of as many places as there are lanes: the bases of 16 places and of a k-mer behind the last are in one word.
HWY_INLINE Vector kmers_of(std::uint64_t word, Vector first_bit, Vector mask) {
  const Tag tag;
  const auto low = hn::Set(tag, static_cast<std::uint32_t>(word)), high = hn::Set(tag, static_cast<std::uint32_t>(word >> 32));
  return hn::And(hn::Or(hn::Shr(low, first_bit), hn::ShiftLeft<1>(hn::Shl(high, hn::Sub(hn::Set(tag, 31), first_bit)))), mask);
}

void TestKmers(const KmerFilter& filter, const std::uint64_t* read, std::uint32_t kmer_mask, std::size_t words, std::uint64_t* candidates) {
  const Tag tag;
  const hn::RebindToSigned<Tag> index_tag;
  const std::size_t lanes = hn::Lanes(tag);
  const auto first_bit = hn::ShiftLeft<1>(hn::Iota(tag, 0)), mask = hn::Set(tag, kmer_mask), multiplier = hn::Set(tag, kmer_multiplier);
  const auto one = hn::Set(tag, 1), last_bits = hn::Set(tag, 31);
  const auto bit_of = [&](Vector product, int shift) { return hn::Shl(one, hn::And(hn::ShiftRightSame(product, shift), last_bits)); };
  const int shift = static_cast<int>(filter.shift);
  for (std::size_t word = 0; word < words; ++word) {
    std::uint64_t may_have = 0;
    for (std::size_t place = 0; place < 64; place += lanes) {
      const auto product = hn::Mul(kmers_of(bits_from(read, 2 * (64 * word + place)), first_bit, mask), multiplier);
      const auto bits = hn::Or(bit_of(product, shift - 5), bit_of(product, shift - 10));
      const auto set = hn::GatherIndex(tag, filter.words, hn::BitCast(index_tag, hn::ShiftRightSame(product, shift)));
      std::uint8_t bytes[8] = {};
      hn::StoreMaskBits(tag, hn::Eq(hn::And(set, bits), bits), bytes);
      may_have |= (std::uint64_t{bytes[0]} | std::uint64_t{bytes[1]} << 8) << place;
    }
    candidates[word] = may_have;
  }
}

}  // namespace sluice::read_correction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::read_correction {
namespace {

HWY_EXPORT(TestKmers);

// A word for each base or for two: one of 130 to 340 k-mers that are not there seems to be, and the filter of a read of 8,000 bases takes 32 KiB.
constexpr std::uint32_t fewest_word_bits = 4, most_word_bits = 22;

void clear_bits(std::int32_t begin, std::int32_t end, std::vector<std::uint64_t>& bits) {
  for (std::int32_t bit = begin; bit < end; ++bit)
    bits[static_cast<std::size_t>(bit) / 64] &= ~(std::uint64_t{1} << static_cast<std::size_t>(bit) % 64);
}

}  // namespace

void KmerBits::reset(std::size_t kmers) {
  std::uint32_t bits = fewest_word_bits;
  while (bits < most_word_bits && (std::size_t{1} << bits) < kmers) ++bits;
  shift_ = 32 - bits;
  words_.assign(std::size_t{1} << bits, 0);
}

void find_candidates(const KmerFilter& filter, const PackedBases& read, std::int32_t k, std::vector<std::uint64_t>& candidates) {
  const std::int32_t kmers = std::max(read.size() - k + 1, 0);
  const std::size_t words = (static_cast<std::size_t>(kmers) + 63) / 64;
  candidates.resize(words + 1);
  candidates[words] = 0;
  HWY_DYNAMIC_DISPATCH(TestKmers)(filter, read.words(), kmer_mask(k), words, candidates.data());
  clear_bits(kmers, static_cast<std::int32_t>(words * 64), candidates);
  for (const std::int32_t other : read.others()) clear_bits(std::max(other - k + 1, 0), std::min(other + 1, kmers), candidates);
}

}  // namespace sluice::read_correction
#endif
