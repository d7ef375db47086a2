// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which built-in model belongs to which pore. The files lie in models/ and say where their figures come from.

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

// The file of a built-in model, or "" if there is none for this pore and alphabet.
constexpr std::string_view builtin_model_file(std::string_view pore, Alphabet alphabet) {
  for (const BuiltinModel& model : builtin_models)
    if (model.pore == pore && model.alphabet == alphabet) return model.file;
  return {};
}

}  // namespace sluice::kmer_model
