// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where the k-mers of one read (the template of a pile) lie.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "read_correction/kmer_filter.hpp"
#include "read_correction/packed_bases.hpp"

namespace sluice::read_correction {

class TemplateKmers {
 public:
  static constexpr std::int32_t none = -1;
  // K-mers with more occurrences are not looked up: they say little about where a read belongs.
  static constexpr std::int32_t max_occurrences = 8;

  // Replaces what was there. 1 <= k <= 15. K-mers with a letter other than A, C, G, T are left out. Memory is kept from one call to the next.
  void build(const PackedBases& bases, std::int32_t k);

  std::int32_t k() const { return k_; }
  // Valid until the next build().
  KmerFilter filter() const { return filter_.view(); }
  // First place of a k-mer (as PackedBases::kmer_at() has it), none if it is absent or too frequent; the further ones by next().
  std::int32_t first(std::uint32_t kmer) const {
    const std::int32_t place = static_cast<std::int32_t>(slots_[slot_of(kmer)]) - 1;
    return place == none || is_single(place) || !is_frequent(place) ? place : none;
  }
  // The place after this one of the same k-mer, none: it was the last. Ascending.
  std::int32_t next(std::int32_t place) const { return next_[static_cast<std::size_t>(place)]; }

  // The tables, for loops over many k-mers. Valid until the next build(). A k-mer's slot is that of the highest bits of its product with
  // kmer_multiplier, or one behind it with no free one between; it has the k-mer's first place + 1, 0 if it is free.
  struct Tables {
    const std::uint32_t* slots;
    std::size_t last_slot;
    std::uint32_t shift, kmer_mask;
    const std::uint64_t* bases;        // as PackedBases::words()
    const std::uint64_t* is_repeated;  // a bit per place, and a word more
  };
  Tables tables() const { return {slots_.data(), slots_.size() - 1, shift_, mask_, bases_.words(), is_repeated_.data()}; }

  // The k-mer of a place has no other.
  bool is_single(std::int32_t place) const {
    const auto at = static_cast<std::size_t>(place);
    return (is_repeated_[at / 64] >> at % 64 & 1U) == 0;
  }
  // How many of the next `most` letters of a read equal those that follow the k-mer of a place in the template, each as the last one of a k-mer that
  // has no other place: what looking up each of those k-mers would find. read_begin: the k-mer on the read.
  std::int32_t single_letters_behind(std::int32_t place, const PackedBases& read, std::int32_t read_begin, std::int32_t most) const;

 private:
  // A k-mer's, or the free one where it would be.
  std::size_t slot_of(std::uint32_t kmer) const {
    std::size_t slot = kmer * kmer_multiplier >> shift_;
    while (slots_[slot] != 0 && bases_.kmer_at(static_cast<std::int32_t>(slots_[slot] - 1), mask_) != kmer) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }
  bool is_frequent(std::int32_t place) const;

  std::int32_t k_ = 0;
  std::uint32_t mask_ = 0;  // of k-mers
  std::uint32_t shift_ = 28;
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(16);  // first place + 1; 0: free
  std::vector<std::int32_t> next_;
  PackedBases bases_;
  std::vector<std::uint64_t> is_repeated_;  // a bit per place; 1 where there is no k-mer, too
  KmerBits filter_;
};

}  // namespace sluice::read_correction
