// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which stretches of a reference are targets: BED, tables of contigs and regions, and readfish's form with commas.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::target_regions {

enum class Strand : std::uint8_t { both = 0, forward = 1, reverse = 2 };

struct TargetRegion {
  std::string contig, label;                                    // label: the region's name, else the contig's
  std::int64_t start = 0;                                       // 0-based
  std::int64_t end = std::numeric_limits<std::int64_t>::max();  // exclusive; the largest: to the contig's end
  Strand strand = Strand::both;
};

// One region a line, columns divided by tabs, else by commas, else by blanks:
//   contig                                   a whole contig
//   contig start end                         0-based, end exclusive
//   contig start end strand                  + or -: reads of that strand only; . both
//   contig start end name [score [strand]]   BED
// Empty lines and those that begin with #, track or browser are left out. False with `problem` set: line and what is wrong with it.
bool parse_regions(std::string_view text, std::vector<TargetRegion>& regions, std::string& problem);

struct Contig {
  std::string_view name;
  std::int64_t size = 0;
};

// The regions in the order of the contigs and of their starts, each `flank` longer at both ends, within its contig. Regions of one label and strand
// that touch or overlap then are one. False with `problem` set: a contig that is not there, or a region that lies behind its contig's end.
bool place_regions(std::span<const Contig> contigs, std::vector<TargetRegion>& regions, std::int64_t flank, std::string& problem);

}  // namespace sluice::target_regions
