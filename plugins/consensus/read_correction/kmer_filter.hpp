// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which k-mers a set has, or seems to have: a Bloom filter of which each k-mer has two bits in one word (Putze, Sanders, Singler: Cache-, hash- and
// space-efficient Bloom filters, 2007). It lies in the first-level cache of a core where the table of a read's k-mers does not.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "read_correction/packed_bases.hpp"

namespace sluice::read_correction {

inline constexpr std::uint32_t kmer_multiplier = 0x9E3779B1U;

// Bits of the product with kmer_multiplier: the highest ones are the word's number, five each of the next ones the bits' in the word.
struct KmerFilter {
  const std::uint32_t* words;
  std::uint32_t shift;
  bool may_have(std::uint32_t kmer) const {
    const std::uint32_t product = kmer * kmer_multiplier;
    return (bits_of(product) & ~words[product >> shift]) == 0;
  }
  std::uint32_t bits_of(std::uint32_t product) const {
    return std::uint32_t{1} << (product >> (shift - 5) & 31U) | std::uint32_t{1} << (product >> (shift - 10) & 31U);
  }
};

class KmerBits {
 public:
  // Empty, for about so many k-mers.
  void reset(std::size_t kmers);
  void add(std::uint32_t kmer) {
    const std::uint32_t product = kmer * kmer_multiplier;
    words_[product >> shift_] |= view().bits_of(product);
  }
  KmerFilter view() const { return {words_.data(), shift_}; }

 private:
  std::uint32_t shift_ = 22;
  std::vector<std::uint32_t> words_ = std::vector<std::uint32_t>(1024);
};

// A bit of each k-mer of a read, from its first letter on: may the set have it? Those with letters other than A, C, G and T are 0. One word more than
// the bits take follows, which is 0.
void find_candidates(const KmerFilter& filter, const PackedBases& read, std::int32_t k, std::vector<std::uint64_t>& candidates);

}  // namespace sluice::read_correction
