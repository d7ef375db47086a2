// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where the k-mers of one read (the template of a pile) lie.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::read_correction {

inline constexpr std::uint32_t kmer_multiplier = 0x9E3779B1U;

// Which k-mers a table has, or seems to have: 19 of 20 that are not there are known without a look at the table, which is larger than the cache of a
// core. Valid until the table is built anew.
class KmerFilter {
 public:
  KmerFilter(const std::uint64_t* bits, std::uint32_t shift) : bits_(bits), shift_(shift) {}
  bool may_have(std::uint32_t kmer) const {
    const std::uint32_t bit = kmer * kmer_multiplier >> shift_;
    return (bits_[bit / 64] >> bit % 64 & 1U) != 0;
  }

 private:
  const std::uint64_t* bits_;
  std::uint32_t shift_;
};

class TemplateKmers {
 public:
  static constexpr std::int32_t none = -1;
  // K-mers with more occurrences are not looked up: they say little about where a read belongs.
  static constexpr std::int32_t max_occurrences = 8;

  // Replaces what was there. 1 <= k <= 15. K-mers with a letter other than A, C, G, T are left out. Memory is kept from one call to the next.
  void build(std::string_view bases, std::int32_t k);

  std::int32_t k() const { return k_; }
  KmerFilter filter() const { return {filter_.data(), filter_shift_}; }
  // First place of a k-mer (its 2-bit codes, first base most significant), none if it is absent or too frequent; the further ones by next().
  std::int32_t first(std::uint32_t kmer) const {
    if (!filter().may_have(kmer)) return none;
    const Slot& slot = slots_[slot_of(kmer)];
    return slot.count > 0 && slot.count <= max_occurrences ? slot.place : none;
  }
  // The place after this one of the same k-mer, none: it was the last. Ascending.
  std::int32_t next(std::int32_t place) const { return next_[static_cast<std::size_t>(place)]; }

  // The k-mer of a place has no other.
  bool is_single(std::int32_t place) const { return is_repeated_[static_cast<std::size_t>(place)] == 0; }
  // How many of `letters` follow the k-mer of a place in the template, each as the last one of a k-mer that has no other place: what looking up each
  // of those k-mers would find.
  std::int32_t single_letters_behind(std::int32_t place, std::string_view letters) const;
  std::uint32_t kmer_at(std::int32_t place) const { return kmer_at_[static_cast<std::size_t>(place)]; }

 private:
  struct Slot {
    std::uint32_t kmer = 0;
    std::int32_t place = none;
    std::int32_t count = 0;  // 0: free
  };
  std::size_t slot_of(std::uint32_t kmer) const {
    std::size_t slot = kmer * kmer_multiplier >> shift_;
    while (slots_[slot].count > 0 && slots_[slot].kmer != kmer) slot = (slot + 1) & mask_;
    return slot;
  }

  std::int32_t k_ = 0;
  std::uint32_t shift_ = 28;
  std::size_t mask_ = 15;
  std::vector<Slot> slots_ = std::vector<Slot>(16);
  // Sixteen bits a slot.
  std::uint32_t filter_shift_ = 24;
  std::vector<std::uint64_t> filter_ = {0, 0, 0, 0};
  std::vector<std::int32_t> next_;
  std::string bases_;
  std::vector<std::uint8_t> is_repeated_;  // per place; 1 where there is no k-mer, too
  std::vector<std::uint32_t> kmer_at_;
};

}  // namespace sluice::read_correction
