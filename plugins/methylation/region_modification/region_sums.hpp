// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Counts of modified bases, summed over regions, and samples compared by them.

#include <cstdint>
#include <map>
#include <set>
#include <sluice/region_table.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace sluice::region_modification {

struct SiteCounts {
  std::int64_t sites = 0;     // with at least one call
  std::int64_t coverage = 0;  // calls that pass, of all sites
  std::int64_t modified = 0;  // of these, of the modification
  double sum_of_shares = 0;   // of the sites, each counted once

  void add(const SiteCounts& other);
  double share() const { return static_cast<double>(modified) / static_cast<double>(coverage); }
  double mean_share() const { return sum_of_shares / static_cast<double>(sites); }
};

// How probable a difference of shares as large as this, or larger, is by chance, if all calls are independent: the likelihood ratio test (G) of a
// table of two by two, with one degree of freedom. Wilks 1938.
double difference_by_chance(const SiteCounts& a, const SiteCounts& b);

class RegionSums {
 public:
  explicit RegionSums(RegionIndex regions) : regions_(std::move(regions)) {}

  // A site with `valid` calls, `modified` of them of the modification. strand: '+', '-', or '.', which is on both.
  struct Site {
    std::string_view contig, modification, partition, sample;
    std::int64_t position = 0;
    char strand = '.';
    std::int64_t modified = 0, valid = 0;
  };
  void add(const Site& site);

  // By region, modification, partition and the order in which samples came.
  using Key = std::tuple<std::size_t, std::string, std::string, std::size_t>;
  const std::map<Key, SiteCounts>& sums() const { return sums_; }
  std::map<Key, SiteCounts>& sums() { return sums_; }
  const RegionIndex& regions() const { return regions_; }
  const std::vector<std::string>& samples() const { return samples_; }
  std::size_t sample_number(std::string_view name);
  // Contigs that sites are on, in a region or not.
  const std::set<std::string, std::less<>>& contigs() const { return contigs_; }
  void add_contig(std::string_view name);

 private:
  RegionIndex regions_;
  std::map<Key, SiteCounts> sums_;
  std::vector<std::string> samples_;
  std::set<std::string, std::less<>> contigs_;
  std::string latest_contig_;
};

}  // namespace sluice::region_modification
