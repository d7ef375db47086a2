// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which built-in model belongs to which pore. The files lie in models/ and say where their figures come from.

#include <cstdint>
#include <sluice/kmer_model.hpp>
#include <string_view>

namespace sluice::kmer_model {

struct BuiltinModel {
  std::string_view pore;  // a choice of the parameter `pore`
  Alphabet alphabet;
  std::string_view file;  // in models/
};

inline constexpr BuiltinModel builtin_models[] = {
    {"r9", Alphabet::nucleotide, "r9.nucleotide.model.gz"},         {"r9", Alphabet::methylation, "r9.methylation.model.gz"},
    {"r10", Alphabet::nucleotide, "r10.nucleotide.model.gz"},       {"rna_r9", Alphabet::nucleotide, "rna_r9.nucleotide.model.gz"},
    {"rna004", Alphabet::nucleotide, "rna004.nucleotide.model.gz"},
};

// The choices of the parameter `pore`, and the length of the k-mers that their models have.
struct PoreKmers {
  std::string_view pore;
  std::uint32_t k;
};

inline constexpr PoreKmers pores[] = {{"r9", 6}, {"r10", 9}, {"rna_r9", 5}, {"rna004", 9}};

// 0: no such pore.
constexpr std::uint32_t kmer_size_of_pore(std::string_view name) {
  for (const PoreKmers& pore : pores)
    if (pore.pore == name) return pore.k;
  return 0;
}

// The file of a built-in model, or "" if there is none for this pore and alphabet.
constexpr std::string_view builtin_model_file(std::string_view pore, Alphabet alphabet) {
  for (const BuiltinModel& model : builtin_models)
    if (model.pore == pore && model.alphabet == alphabet) return model.file;
  return {};
}

}  // namespace sluice::kmer_model
