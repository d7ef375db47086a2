// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::pair_alignment {

class PairAligner {
 public:
  // Replaces `cigar`; returns the edit distance.
  std::int64_t align(std::string_view query, std::string_view target, std::vector<std::uint32_t>& cigar);
};

}  // namespace sluice::pair_alignment
