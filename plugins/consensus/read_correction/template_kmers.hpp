// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where the k-mers of one read (the template of a pile) lie.

#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::read_correction {

class TemplateKmers {
 public:
  static constexpr std::int32_t none = -1;
  // K-mers with more occurrences are not looked up: they say little about where a read belongs.
  static constexpr std::int32_t max_occurrences = 8;

  // Replaces what was there. 1 <= k <= 15. K-mers with a letter other than A, C, G, T are left out. Memory is kept from one call to the next.
  void build(std::string_view bases, std::int32_t k);

  std::int32_t k() const { return k_; }
  // First place of a k-mer (its 2-bit codes, first base most significant), none if it is absent or too frequent; the further ones by next().
  std::int32_t first(std::uint32_t kmer) const {
    const std::uint32_t bit = kmer * multiplier >> filter_shift_;
    if ((filter_[bit / 64] >> bit % 64 & 1U) == 0) return none;
    const Slot& slot = slots_[slot_of(kmer)];
    return slot.count > 0 && slot.count <= max_occurrences ? slot.place : none;
  }
  // The place after this one of the same k-mer, none: it was the last. Ascending.
  std::int32_t next(std::int32_t place) const { return next_[static_cast<std::size_t>(place)]; }

 private:
  static constexpr std::uint32_t multiplier = 0x9E3779B1U;
  struct Slot {
    std::uint32_t kmer = 0;
    std::int32_t place = none;
    std::int32_t count = 0;  // 0: free
  };
  std::size_t slot_of(std::uint32_t kmer) const {
    std::size_t slot = kmer * multiplier >> shift_;
    while (slots_[slot].count > 0 && slots_[slot].kmer != kmer) slot = (slot + 1) & mask_;
    return slot;
  }

  std::int32_t k_ = 0;
  std::uint32_t shift_ = 28;
  std::size_t mask_ = 15;
  std::vector<Slot> slots_ = std::vector<Slot>(16);
  // A bit for each k-mer that is there, eight bits a slot: nine of ten k-mers that are not there are known without a look at the table, which is
  // larger than the cache of a core.
  std::uint32_t filter_shift_ = 25;
  std::vector<std::uint64_t> filter_ = {0, 0};
  std::vector<std::int32_t> next_;
};

}  // namespace sluice::read_correction
