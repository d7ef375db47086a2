// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "target_regions/regions.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace sluice::target_regions {

bool place_regions(std::span<const Contig> contigs, std::vector<TargetRegion>& regions, std::int64_t flank, std::string& problem) {
  std::map<std::string_view, std::size_t> row_of;
  for (std::size_t row = 0; row < contigs.size(); ++row) row_of.emplace(contigs[row].name, row);
  for (TargetRegion& region : regions) {
    const auto found = row_of.find(region.contig);
    if (found == row_of.end()) return problem = "contig '" + region.contig + "' is not in the reference", false;
    const std::int64_t size = contigs[found->second].size;
    if (region.start >= size)
      return problem =
                 "region " + region.contig + ":" + std::to_string(region.start) + " begins behind the contig's end (" + std::to_string(size) + ")",
             false;
    region.start = std::max<std::int64_t>(region.start - flank, 0);
    region.end = region.end > size - flank ? size : region.end + flank;
  }
  const auto order = [&](const TargetRegion& r) { return std::tuple(row_of.at(r.contig), std::string_view(r.label), r.strand, r.start, r.end); };
  std::sort(regions.begin(), regions.end(), [&](const TargetRegion& a, const TargetRegion& b) { return order(a) < order(b); });
  std::vector<TargetRegion> merged;
  for (TargetRegion& region : regions) {
    const bool goes_on = !merged.empty() && merged.back().contig == region.contig && merged.back().label == region.label &&
                         merged.back().strand == region.strand && region.start <= merged.back().end;
    if (goes_on)
      merged.back().end = std::max(merged.back().end, region.end);
    else
      merged.push_back(std::move(region));
  }
  std::stable_sort(merged.begin(), merged.end(), [&](const TargetRegion& a, const TargetRegion& b) {
    return std::tuple(row_of.at(a.contig), a.start) < std::tuple(row_of.at(b.contig), b.start);
  });
  regions = std::move(merged);
  return true;
}

}  // namespace sluice::target_regions
