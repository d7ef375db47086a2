// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the name of a sequencing kit says about the pore.

#include <string_view>

namespace sluice::kmer_model {

// Whether a kit's number tells its pore: 114 and RNA004, and those that were sold for R9 (sqk-lsk109, sqk-rad004, sqk-rna002 ...). Kits of
// chemistry 12 (sqk-lsk112) came with R10.4 and do not count.
constexpr bool says_pore(std::string_view kit) {
  for (const char* const number : {"114", "001", "002", "003", "004", "005", "006", "106", "107", "108", "109", "110", "111"})
    if (kit.find(number) != std::string_view::npos) return true;
  return false;
}

}  // namespace sluice::kmer_model
