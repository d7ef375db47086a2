// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_training/alphabet.hpp"

#include <algorithm>

namespace sluice::kmer_training {
namespace {

constexpr std::string_view letters(Alphabet alphabet) { return alphabet == Alphabet::nucleotide ? "ACGT" : "ACGMT"; }

}  // namespace

std::string spell(std::size_t rank, Alphabet alphabet, std::uint32_t k) {
  const std::string_view all = letters(alphabet);
  std::string kmer(k, 'A');
  for (std::uint32_t i = k; i-- > 0; rank /= all.size()) kmer[i] = all[rank % all.size()];
  return kmer;
}

Levels levels_in(Alphabet alphabet, const KmerModelView& model, char base) {
  if (alphabet == Alphabet::nucleotide && model.alphabet != Alphabet::nucleotide) return {};
  const std::size_t rows = kmer_count(model.alphabet, model.k);
  if (model.k == 0 || model.level_mean.size() != rows || model.level_stdv.size() != rows || model.log_level_stdv.size() != rows) return {};
  Levels levels{model.k, alphabet, {}, {}, {}};
  const std::size_t count = kmer_count(alphabet, model.k);
  levels.mean.resize(count);
  levels.stdv.resize(count);
  levels.log_stdv.resize(count);
  for (std::size_t rank = 0; rank < count; ++rank) {
    std::size_t from = rank;
    if (alphabet != model.alphabet) {
      std::string kmer = spell(rank, alphabet, model.k);
      std::replace(kmer.begin(), kmer.end(), 'M', base);
      from = kmer_rank(model.alphabet, kmer);
    }
    levels.mean[rank] = model.level_mean[from];
    levels.stdv[rank] = model.level_stdv[from];
    levels.log_stdv[rank] = model.log_level_stdv[from];
  }
  return levels;
}

bool is_possible(std::string_view kmer, const Motif& motif) {
  for (std::size_t i = 0; i < kmer.size(); ++i)
    if (kmer[i] == 'M' && !can_be_modified(kmer, i, motif)) return false;
  return true;
}

}  // namespace sluice::kmer_training
