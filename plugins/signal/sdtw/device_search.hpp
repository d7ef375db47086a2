// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Searches in the targets on CUDA devices: what both stages ask of cuda.hpp. Private to the plugin.

#include <cstdint>
#include <sluice/cuda.hpp>
#include <span>
#include <vector>

#include "sdtw/cuda.hpp"
#include "sdtw/sdtw.hpp"
#include "sdtw/search.hpp"

namespace sluice::sdtw::cuda {

// Is this a hit that the device could compute? Else the query has to be searched for again by the CPU.
inline bool is_exact(const Hit& hit) { return hit.score < std::int64_t{ceiling}; }

// Searches each job in its stretches alone, which are those of one job after the other, ascending, and have their levels in `stretch_levels`. Result
// i is that of the job with result i; its first column is found where it is wanted and the hit is exact. Jobs have 1 to most_rows levels, which lie
// in `levels` on the device, and at least one stretch. Waits for the device.
std::vector<SearchResult> search_stretches(const sluice::cuda::DeviceCall& device, std::span<const Job> jobs, const std::int16_t* levels,
                                           std::vector<OwnStretch> stretches, const std::vector<std::int16_t>& stretch_levels,
                                           Search::PathStart start);

class DeviceSearch {
 public:
  // `reference` can be packed, and outlives the search.
  explicit DeviceSearch(const Reference& reference) : reference_(&reference), packed_(pack(reference)) {}

  const PackedReference& packed() const { return packed_; }

  // Hit i is that of the job with result i. Jobs have levels, which lie in `levels` on the device; those of more than most_rows levels without
  // states get states for the time of this call. Waits for the device.
  std::vector<Hit> find(const sluice::cuda::DeviceCall& device, std::span<const Job> jobs, const std::int16_t* levels);
  // First column i is that of the path of the job with result i. Waits for the device.
  std::vector<std::int64_t> path_starts(const sluice::cuda::DeviceCall& device, std::span<const PathJob> jobs);

 private:
  struct OnDevice {
    sluice::cuda::Memory words;
    std::int64_t resident_warps = 0;
  };
  const OnDevice& on(const sluice::cuda::DeviceCall& device);
  const Reference* reference_;
  PackedReference packed_;
  sluice::cuda::PerDevice<OnDevice> devices_;
};

}  // namespace sluice::sdtw::cuda
