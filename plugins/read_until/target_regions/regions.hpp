// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which stretches of a reference are targets.

#include <cstdint>
#include <sluice/region_table.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::target_regions {

using Strand = RegionStrand;
using TargetRegion = TableRegion;

struct Contig {
  std::string_view name;
  std::int64_t size = 0;
};

// The regions in the order of the contigs and of their starts, each `flank` longer at both ends, within its contig. Regions of one label and strand
// that touch or overlap then are one. False with `problem` set: a contig that is not there, or a region that lies behind its contig's end.
bool place_regions(std::span<const Contig> contigs, std::vector<TargetRegion>& regions, std::int64_t flank, std::string& problem);

}  // namespace sluice::target_regions
