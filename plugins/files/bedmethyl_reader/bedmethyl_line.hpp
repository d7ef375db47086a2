// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A line of bedMethyl with the 18 columns of modkit, and the 19th of `sluice pileup --partition`.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::bedmethyl_reader {

struct BedMethylLine {
  std::string_view contig, modification, strand, partition;  // of the line
  std::int64_t position = 0;
  // Reads: modified, canonical, other modification, deletion, failed, different base, no call.
  std::array<std::int64_t, 7> counts{};
};

// Columns are divided by tabs, or, as older versions of modkit write the last nine, by blanks. "": fine; else what is wrong.
std::string parse_bedmethyl(std::string_view text, BedMethylLine& line);

}  // namespace sluice::bedmethyl_reader
