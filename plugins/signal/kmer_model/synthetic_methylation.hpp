// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A made-up model of modified bases from any nucleotide model, so that the simulator and the demo work for a pore, or a motif, without a published
// one. It says nothing about real reads: reads that were simulated with it must be called with it.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sluice/kmer_model.hpp>
#include <sluice/motif.hpp>
#include <span>

namespace sluice::kmer_model {

// Fills the 5^k levels of a methylation model. A k-mer without M where the motif's modified base can be (for CpG: before G, or in the last place,
// where the G lies outside) keeps the level of its nucleotide k-mer, M counting as the base that is modified. Each such M moves the level by 1.5
// to 4.5 pA, up or down by a hash of the nucleotide k-mer and the place: about what 5mC does in R9.4 (tombo's CpG model: standard deviation 2.1 pA).
// The spread stays. level_mean, level_stdv, log_level_stdv: 5^k values each, in rank order. Returns false, and writes nothing, if a size does not
// fit.
inline bool synthesize_methylation(const KmerModelView& nucleotide, const Motif& motif, std::span<float> level_mean, std::span<float> level_stdv,
                                   std::span<float> log_level_stdv) {
  if (nucleotide.k == 0 || nucleotide.k > 12 || nucleotide.alphabet != Alphabet::nucleotide) return false;
  const std::size_t nucleotide_count = kmer_count(Alphabet::nucleotide, nucleotide.k);
  const std::size_t count = kmer_count(Alphabet::methylation, nucleotide.k);
  if (nucleotide.level_mean.size() != nucleotide_count || nucleotide.level_stdv.size() != nucleotide_count) return false;
  if (level_mean.size() != count || level_stdv.size() != count || log_level_stdv.size() != count) return false;

  constexpr std::uint8_t methylated = base_code(Alphabet::methylation, 'M');
  const std::size_t unmodified = base_code(Alphabet::nucleotide, motif.base);
  for (std::size_t rank = 0; rank < count; ++rank) {
    std::uint8_t codes[12];
    char letters[12];
    std::size_t rest = rank;
    for (std::uint32_t i = nucleotide.k; i-- > 0; rest /= 5) {
      codes[i] = static_cast<std::uint8_t>(rest % 5);
      letters[i] = "ACGMT"[codes[i]];
    }
    std::size_t nucleotide_rank = 0;
    for (std::uint32_t i = 0; i < nucleotide.k; ++i) {
      const std::size_t code = codes[i] == methylated ? unmodified : codes[i] == 4 ? 3U : codes[i];
      nucleotide_rank = nucleotide_rank * 4 + code;
    }
    float level = nucleotide.level_mean[nucleotide_rank];
    for (std::uint32_t i = 0; i < nucleotide.k; ++i) {
      if (codes[i] != methylated || !can_be_modified({letters, nucleotide.k}, i, motif)) continue;
      std::uint64_t hash = (nucleotide_rank * 16 + i + 1) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 32U;
      hash *= 0xD6E8FEB86659FD93U;
      hash ^= hash >> 32U;
      const float magnitude = 1.5F + 3.0F * static_cast<float>((hash >> 8U) & 0xFFFFU) / 65536.0F;
      level += (hash & 1U) != 0 ? magnitude : -magnitude;
    }
    level_mean[rank] = level;
    level_stdv[rank] = nucleotide.level_stdv[nucleotide_rank];
    log_level_stdv[rank] = static_cast<float>(std::log(static_cast<double>(level_stdv[rank])));
  }
  return true;
}

}  // namespace sluice::kmer_model
