// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/template_kmers.hpp"

#include <sluice/sequence/bases.hpp>

namespace sluice::read_correction {

void TemplateKmers::build(std::string_view bases, std::int32_t k) {
  k_ = k;
  std::uint32_t bits = 4;
  while (bits < 29 && (std::size_t{1} << bits) < bases.size() * 2) ++bits;
  shift_ = 32 - bits;
  mask_ = (std::size_t{1} << bits) - 1;
  slots_.assign(mask_ + 1, {});
  next_.assign(bases.size(), none);
  filter_shift_ = shift_ - 3;
  filter_.assign((mask_ + 1) / 8, 0);
  // From the end, so that each k-mer's places ascend.
  const std::uint32_t kmer_mask = (std::uint32_t{1} << (2 * k)) - 1;
  std::uint32_t kmer = 0;
  std::int32_t letters = 0;
  for (std::size_t i = bases.size(); i-- > 0;) {
    const std::uint32_t code = nucleotide_code(bases[i]);
    if (code == ambiguous_code) {
      letters = 0;
      continue;
    }
    kmer = (kmer >> 2U | code << (2 * (k - 1))) & kmer_mask;
    if (++letters < k) continue;
    const std::uint32_t bit = kmer * multiplier >> filter_shift_;
    filter_[bit / 64] |= std::uint64_t{1} << bit % 64;
    Slot& slot = slots_[slot_of(kmer)];
    next_[i] = slot.count > 0 ? slot.place : none;
    slot = {kmer, static_cast<std::int32_t>(i), slot.count + 1};
  }
}

}  // namespace sluice::read_correction
