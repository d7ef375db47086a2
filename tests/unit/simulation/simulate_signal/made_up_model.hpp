// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A k-mer model with levels from a hash, for tests that need any model.

#include <cmath>
#include <cstddef>
#include <sluice/kmer_model.hpp>
#include <vector>

#include "simulate_signal/counter_random.hpp"

namespace sluice::simulate_signal {

struct MadeUpModel {
  MadeUpModel(Alphabet alphabet, std::uint32_t k) : k(k), alphabet(alphabet) {
    for (std::size_t rank = 0; rank < kmer_count(alphabet, k); ++rank) {
      const std::uint64_t hash = mix(rank + (alphabet == Alphabet::methylation ? 1'000'000 : 0));
      mean.push_back(60.0F + static_cast<float>(hash % 6000) / 100.0F);
      stdv.push_back(1.0F + static_cast<float>((hash >> 20U) % 200) / 100.0F);
      log_stdv.push_back(std::log(stdv.back()));
    }
  }
  KmerModelView view() const { return {k, alphabet, mean, stdv, log_stdv}; }

  std::uint32_t k;
  Alphabet alphabet;
  std::vector<float> mean, stdv, log_stdv;
};

}  // namespace sluice::simulate_signal
