// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The levels of a model as a training changes them, and where they begin.

#include <cstdint>
#include <sluice/kmer_model.hpp>
#include <sluice/motif.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::kmer_training {

// All k-mers of an alphabet, in rank order.
struct Levels {
  std::uint32_t k = 0;
  Alphabet alphabet = Alphabet::nucleotide;
  std::vector<float> mean;      // pA
  std::vector<float> stdv;      // pA
  std::vector<float> log_stdv;  // natural logarithm, taken in double

  KmerModelView view() const { return {k, alphabet, mean, stdv, log_stdv}; }
};

// The levels of `model` in `alphabet`. From nucleotides to methylation every M begins as `base`, which is modified. Nothing (k = 0) if `model` is a
// methylation model and nucleotides are asked for, or if its columns do not fit its k.
Levels levels_in(Alphabet alphabet, const KmerModelView& model, char base);

// The letters of a k-mer by its rank.
std::string spell(std::size_t rank, Alphabet alphabet, std::uint32_t k);

// Whether every M can be the modified base of the motif: of CpG, whether G comes after it, or lies outside.
bool is_possible(std::string_view kmer, const Motif& motif);

}  // namespace sluice::kmer_training
