// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/template_kmers.hpp"

#include <algorithm>
#include <bit>

namespace sluice::read_correction {

void TemplateKmers::build(const PackedBases& bases, std::int32_t k) {
  bases_ = bases;
  const auto size = static_cast<std::size_t>(bases.size());
  k_ = k;
  mask_ = kmer_mask(k);
  std::uint32_t bits = 4;
  while (bits < 31 && (std::size_t{1} << bits) < size * 2) ++bits;
  shift_ = 32 - bits;
  slots_.assign(std::size_t{1} << bits, 0);
  next_.resize(size);
  is_repeated_.assign(size / 64 + 2, ~std::uint64_t{0});
  filter_.reset(size);
  const auto change_repeated = [this](std::int32_t place) {
    is_repeated_[static_cast<std::size_t>(place) / 64] ^= std::uint64_t{1} << static_cast<std::size_t>(place) % 64;
  };
  // From the end, so that each k-mer's places ascend.
  std::size_t others = bases_.others().size();
  std::int32_t end = bases_.size();  // of the letters that k-mers may have
  for (std::int32_t place = bases_.size(); place-- > 0;) {
    if (others > 0 && bases_.others()[others - 1] == place) {
      --others;
      end = place;
    }
    if (place + k > end) continue;
    const std::uint32_t kmer = bases_.kmer_at(place, mask_);
    filter_.add(kmer);
    std::uint32_t& slot = slots_[slot_of(kmer)];
    const std::int32_t later = static_cast<std::int32_t>(slot) - 1;
    next_[static_cast<std::size_t>(place)] = later;
    if (later == none)
      change_repeated(place);
    else if (is_single(later))
      change_repeated(later);
    slot = static_cast<std::uint32_t>(place) + 1;
  }
}

bool TemplateKmers::is_frequent(std::int32_t place) const {
  std::int32_t places = 1;
  while (places <= max_occurrences && (place = next(place)) != none) ++places;
  return places > max_occurrences;
}

std::int32_t TemplateKmers::single_letters_behind(std::int32_t place, const PackedBases& read, std::int32_t read_begin, std::int32_t most) const {
  for (std::int32_t letters = 0; letters < most; letters += PackedBases::word_bases) {
    const std::uint64_t different = bases_.word_at(place + k_ + letters) ^ read.word_at(read_begin + k_ + letters);
    const std::uint64_t repeated = bits_from(is_repeated_.data(), static_cast<std::size_t>(place + 1 + letters));
    const std::int32_t equal = std::min(std::countr_zero(different) / 2, std::countr_zero(repeated));
    if (equal < PackedBases::word_bases) return std::min(letters + equal, most);
  }
  return std::max(most, 0);
}

}  // namespace sluice::read_correction
