// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "region_modification/region_sums.hpp"

#include <algorithm>
#include <sluice/natural_log.hpp>

#include "region_modification/chi_squared_tail.hpp"

namespace sluice::region_modification {

void SiteCounts::add(const SiteCounts& other) {
  sites += other.sites;
  coverage += other.coverage;
  modified += other.modified;
  sum_of_shares += other.sum_of_shares;
}

double difference_by_chance(const SiteCounts& a, const SiteCounts& b) {
  const double all = static_cast<double>(a.coverage) + static_cast<double>(b.coverage);
  const double modified = static_cast<double>(a.modified) + static_cast<double>(b.modified);
  double g = 0;
  for (const SiteCounts* of : {&a, &b})
    for (const bool is_modified : {true, false}) {
      const double seen = static_cast<double>(is_modified ? of->modified : of->coverage - of->modified);
      const double expected = static_cast<double>(of->coverage) * (is_modified ? modified : all - modified) / all;
      if (seen > 0) g += 2 * seen * natural_log(seen / expected);
    }
  return chi_squared_tail(std::max(g, 0.0));
}

std::size_t RegionSums::sample_number(std::string_view name) {
  const auto found = std::find(samples_.begin(), samples_.end(), name);
  if (found != samples_.end()) return static_cast<std::size_t>(found - samples_.begin());
  samples_.emplace_back(name);
  return samples_.size() - 1;
}

void RegionSums::add_contig(std::string_view name) {
  if (name == latest_contig_) return;  // nearly always
  latest_contig_ = name;
  contigs_.insert(latest_contig_);
}

void RegionSums::add(const Site& site) {
  const std::size_t sample = sample_number(site.sample);
  add_contig(site.contig);
  if (site.valid <= 0) return;
  const SiteCounts counts{1, site.valid, site.modified, static_cast<double>(site.modified) / static_cast<double>(site.valid)};
  regions_.for_each(site.contig, site.position, site.position + 1, [&](std::size_t which) {
    const RegionStrand strand = regions_.regions()[which].strand;
    if ((site.strand == '+' && strand == RegionStrand::reverse) || (site.strand == '-' && strand == RegionStrand::forward)) return;
    sums_[{which, std::string(site.modification), std::string(site.partition), sample}].add(counts);
  });
}

}  // namespace sluice::region_modification
