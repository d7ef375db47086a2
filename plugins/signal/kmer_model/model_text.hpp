// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The text format of k-mer models that nanopolish and f5c use, as a plain function over memory.

#include <cstddef>
#include <cstdint>
#include <sluice/kmer_model.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::kmer_model {

// All k-mers of an alphabet, in rank order.
struct KmerModel {
  std::uint32_t k = 0;
  Alphabet alphabet = Alphabet::nucleotide;
  std::string name;                   // of a comment "#name" or "#ont_model_name"; "" if there is none
  std::string alphabet_name;          // of a comment "#alphabet", as it stands there
  std::string kit;                    // of a comment "#kit": r9.4_450bps
  std::vector<float> level_mean;      // pA
  std::vector<float> level_stdv;      // pA
  std::vector<float> log_level_stdv;  // natural logarithm, taken in double

  KmerModelView view() const { return {k, alphabet, level_mean, level_stdv, log_level_stdv}; }
};

struct ModelProblem {
  std::uint64_t line = 0;  // from 1; 0: the model as a whole
  std::string what;
};

// Longer k-mers are refused: the table of the larger alphabet would take 2.9 GB (5^12 rows).
inline constexpr std::uint32_t max_k = 11;

// Lines: "#" comments, one optional header line that begins with "kmer", then "k-mer level_mean level_stdv ..." separated by blanks or tabs, in any
// order. U counts as T. False with `problem` set: a k-mer that is missing, doubled, of another length than the first or with letters outside the
// alphabet; a mean that is not finite; a standard deviation that is not finite and positive.
bool parse_kmer_model(std::string_view text, Alphabet alphabet, KmerModel& model, ModelProblem& problem);

// The letters of a k-mer by its rank.
std::string spell(std::size_t rank, Alphabet alphabet, std::uint32_t k);

}  // namespace sluice::kmer_model
