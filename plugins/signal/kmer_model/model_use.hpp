// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a model is for.

#include <sluice/kmer_model.hpp>
#include <string>

namespace sluice::kmer_model {

// Its name is the pore's, with "-5mc" behind it for the methylation alphabet: r10, r10-5mc.
struct ModelUse {
  std::string pore;
  Alphabet alphabet = Alphabet::nucleotide;
  std::string name() const { return pore + (alphabet == Alphabet::methylation ? "-5mc" : ""); }
};

}  // namespace sluice::kmer_model
