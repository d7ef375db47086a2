// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/template_kmers.hpp"

#include <algorithm>
#include <sluice/sequence/bases.hpp>

#include "read_correction/equal_letters.hpp"

namespace sluice::read_correction {
void TemplateKmers::build(std::string_view bases, std::int32_t k) {
  k_ = k;
  std::uint32_t bits = 4;
  while (bits < 29 && (std::size_t{1} << bits) < bases.size() * 2) ++bits;
  shift_ = 32 - bits;
  mask_ = (std::size_t{1} << bits) - 1;
  slots_.assign(mask_ + 1, {});
  next_.assign(bases.size(), none);
  bases_.assign(bases);
  bases_.append(word_letters, '\0');
  is_repeated_.assign(bases.size() + word_letters, 1);
  kmer_at_.resize(bases.size());
  filter_shift_ = shift_ > 4 ? shift_ - 4 : 0;
  filter_.assign(std::size_t{1} << (32 - 6 - filter_shift_), 0);
  // From the end, so that each k-mer's places ascend.
  const std::uint32_t kmer_mask = (std::uint32_t{1} << (2 * k)) - 1;
  std::uint32_t kmer = 0;
  std::int32_t letters = 0;
  for (std::size_t i = bases.size(); i-- > 0;) {
    const std::uint32_t code = nucleotide_codes[static_cast<unsigned char>(bases[i])];
    if (code == ambiguous_code) {
      letters = 0;
      continue;
    }
    kmer = (kmer >> 2U | code << (2 * (k - 1))) & kmer_mask;
    if (++letters < k) continue;
    const std::uint32_t bit = kmer * kmer_multiplier >> filter_shift_;
    filter_[bit / 64] |= std::uint64_t{1} << bit % 64;
    Slot& slot = slots_[slot_of(kmer)];
    next_[i] = slot.count > 0 ? slot.place : none;
    is_repeated_[i] = slot.count > 0 ? 1 : 0;
    if (slot.count > 0) is_repeated_[static_cast<std::size_t>(slot.place)] = 1;
    kmer_at_[i] = kmer;
    slot = {kmer, static_cast<std::int32_t>(i), slot.count + 1};
  }
}

std::int32_t TemplateKmers::single_letters_behind(std::int32_t place, std::string_view letters) const {
  const char* const bases = bases_.data() + place + k_;
  const std::uint8_t* const is_repeated = is_repeated_.data() + place + 1;
  const std::size_t in_template = bases_.size() - word_letters - static_cast<std::size_t>(place + k_);
  const std::size_t most = std::min(letters.size(), in_template);
  std::size_t i = 0;
  for (; i + word_letters <= most; i += word_letters) {
    const std::uint64_t ends = (load_word(bases + i) ^ load_word(letters.data() + i)) | load_word(is_repeated + i);
    if (ends != 0) return static_cast<std::int32_t>(i) + first_set_byte(ends);
  }
  while (i < most && bases[i] == letters[i] && is_repeated[i] == 0) ++i;
  return static_cast<std::int32_t>(i);
}

}  // namespace sluice::read_correction
