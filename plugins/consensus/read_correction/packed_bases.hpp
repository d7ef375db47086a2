// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Bases of 2 bits, the first in the lowest bits of the first word, so that k-mers and stretches of letters are compared as numbers.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "read_correction/strand_letters.hpp"

namespace sluice::read_correction {

// 64 bits from bit `at` on. There is one word more than has bits that matter.
inline std::uint64_t bits_from(const std::uint64_t* words, std::size_t at) {
  return words[at / 64] >> at % 64 | words[at / 64 + 1] << 1 << (63 - at % 64);
}

class PackedBases {
 public:
  static constexpr std::int32_t word_bases = 32;

  PackedBases() = default;
  explicit PackedBases(std::string_view letters) { assign(letters); }

  // Replaces what was there; memory is kept. Letters are A, C, G and T, and others, which are packed as some base.
  void assign(std::string_view letters);
  // Bases [begin, end) of those that a store has packed (sluice/sequence/packed_bases.hpp), turned to a strand.
  void assign(const std::uint64_t* packed, std::size_t begin, std::size_t end, Strand strand);

  // Bases [begin, end) as letters, N for the others; replaces what was there.
  void letters(std::int32_t begin, std::int32_t end, std::string& out) const;

  // 32 bases from `place` (0 <= place < size()) on; bases behind the last are of no meaning.
  std::uint64_t word_at(std::int32_t place) const { return bits_from(words_.data(), static_cast<std::size_t>(place) * 2); }
  std::uint32_t kmer_at(std::int32_t place, std::uint32_t kmer_mask) const { return static_cast<std::uint32_t>(word_at(place)) & kmer_mask; }
  const std::uint64_t* words() const { return words_.data(); }
  std::int32_t size() const { return size_; }
  std::size_t bytes() const { return words_.capacity() * sizeof(std::uint64_t); }
  // Is one of [begin, end) another letter?
  bool has_others(std::int32_t begin, std::int32_t end) const {
    if (others_.empty()) return false;
    const auto other = std::lower_bound(others_.begin(), others_.end(), begin);
    return other != others_.end() && *other < end;
  }
  // Places of the other letters, ascending.
  const std::vector<std::int32_t>& others() const { return others_; }

 private:
  void list_others(std::string_view letters, std::size_t begin);

  std::int32_t size_ = 0;
  std::vector<std::uint64_t> words_ = {0, 0};
  std::vector<std::int32_t> others_;
};

// 1 <= k <= 15
constexpr std::uint32_t kmer_mask(std::int32_t k) { return (std::uint32_t{1} << (2 * k)) - 1; }

}  // namespace sluice::read_correction
