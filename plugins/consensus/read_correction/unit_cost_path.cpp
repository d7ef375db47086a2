// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/unit_cost_path.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::read_correction {

void UnitCostAligner::set_pattern(std::string_view pattern) {
  pattern_.assign(pattern);
  wavefronts_.set_pattern(pattern);
  is_bit_vectors_pattern_ = false;
}

BitVectors& UnitCostAligner::bit_vectors() {
  if (!is_bit_vectors_pattern_) bit_vectors_.set_pattern(pattern_);
  is_bit_vectors_pattern_ = true;
  return bit_vectors_;
}

// Wavefronts take the time of d * d cells, bit vectors that of about one cell for each letter of the text and word of the pattern, and one for each
// step back.
std::int32_t UnitCostAligner::worthwhile_distance(std::string_view text) const {
  return static_cast<std::int32_t>(std::sqrt(static_cast<double>(text.size() * (pattern_.size() / 64 + 2))));
}

std::int32_t UnitCostAligner::align(std::string_view text) {
  is_path_of_wavefronts_ = wavefronts_.align(text, worthwhile_distance(text));
  return is_path_of_wavefronts_ ? wavefronts_.distance() : bit_vectors().align(text);
}

std::int32_t UnitCostAligner::align_padded(std::string_view text) {
  is_path_of_wavefronts_ = wavefronts_.align_padded(text, worthwhile_distance(text));
  return is_path_of_wavefronts_ ? wavefronts_.distance() : bit_vectors().align(text);
}

void UnitCostAligner::path(std::vector<PathRun>& runs) const {
  if (is_path_of_wavefronts_)
    wavefronts_.path(runs);
  else
    bit_vectors_.path(runs);
}

BestPrefix UnitCostAligner::best_prefix(std::string_view text) {
  BestPrefix best;
  if (wavefronts_.find_best_prefix(text, worthwhile_distance(text), best)) return best;
  return bit_vectors().best_prefix(text);
}

}  // namespace sluice::read_correction
