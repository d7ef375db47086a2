// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A model of k-mers as one of shorter k-mers, for tools that know those only (m6anet, xpore: 5-mers).

#include <cstdint>

#include "kmer_model/model_text.hpp"

namespace sluice::kmer_model {

// The level of a shorter k-mer is the mean over all bases beside it, its spread that of all of them together. Which bases of the longer k-mer stay is
// where they tell most: of all places the one at which the levels differ most (for RNA004 bases 2 to 6 of 9, as in f5c's model of 5-mers). `first`:
// the base at which they begin. A nucleotide model, and 1 <= k <= model.k.
KmerModel shortened(const KmerModel& model, std::uint32_t k, std::uint32_t& first);

}  // namespace sluice::kmer_model
