// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The columns that base_alignment gives.

#include <sluice/call.hpp>
#include <string>
#include <vector>

#include "base_alignment/aligned_hit.hpp"

namespace sluice::base_alignment {

struct AlignedRow {
  std::vector<AlignedHit> hits;
  std::size_t operations = 0;  // of all hits
  std::string difference, mismatches;
};
struct WantedTexts {
  bool difference = false, mismatches = false;
};
void give_alignments(const std::vector<AlignedRow>& made, WantedTexts wanted, Output& out);

}  // namespace sluice::base_alignment
