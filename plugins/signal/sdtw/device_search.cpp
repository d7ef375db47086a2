// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sdtw/device_search.hpp"

#include <algorithm>

namespace sluice::sdtw::cuda {

using sluice::cuda::check, sluice::cuda::DeviceCall, sluice::cuda::Memory;

namespace {

// Warps that a multiprocessor runs at a time with the rows of a long query in its registers.
constexpr std::int64_t warps_of_multiprocessor = 12;
// Queries of more than most_rows levels are computed together as long as their states take no more than this.
constexpr std::size_t most_state_bytes = std::size_t{4} << 30;
// Queries times pairs of segments of one schedule, so that a launch has no more blocks than a device can count.
constexpr std::size_t most_items = std::size_t{1} << 22;

Memory no_results(const DeviceCall& device, std::size_t count) {
  Memory results = device.allocate_array<std::uint64_t>(count);
  check(cudaMemsetAsync(results.get(), 0xFF, results.bytes(), device.stream()), "cudaMemsetAsync");
  return results;
}

std::int64_t resident_warps_of(const DeviceCall& device) {
  int multiprocessors = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device.ordinal()), "cudaDeviceGetAttribute");
  return multiprocessors * warps_of_multiprocessor;
}

// First column i is that of the path of the job with result i.
std::vector<std::int64_t> starts_of(const DeviceCall& device, std::span<const PathJob> jobs, const PathSchedule& paths, const std::uint32_t* words) {
  const Memory results = no_results(device, jobs.size());
  const Memory queries = device.upload(paths.schedule.queries), stretches = device.upload(paths.schedule.stretches);
  const Memory copies = device.upload(paths.copies);
  const Memory path_words = device.allocate_array<std::uint32_t>(static_cast<std::size_t>(paths.words));
  const Memory query = device.allocate_array<std::int16_t>(static_cast<std::size_t>(paths.query_levels));
  check(copy_paths(copies.as<PathCopy>(), static_cast<std::int64_t>(jobs.size()), words, path_words.as<std::uint32_t>(), query.as<std::int16_t>(),
                   device.stream()),
        "copies of paths");
  check(compute(paths.schedule.launches, queries.as<QueryRows>(), stretches.as<TargetStretch>(), path_words.as<std::uint32_t>(),
                query.as<std::int16_t>(), results.as<std::uint64_t>(), device.stream()),
        "rows of paths");
  const std::vector<std::uint64_t> columns = device.download(results.as<std::uint64_t>(), jobs.size());
  std::vector<std::int64_t> starts(jobs.size());
  for (const PathJob& job : jobs) {
    const auto i = static_cast<std::size_t>(job.result);
    starts[i] = job.hit.column - hit_of(columns[i]).column;
  }
  return starts;
}

}  // namespace

std::vector<SearchResult> search_stretches(const DeviceCall& device, std::span<const Job> jobs, const std::int16_t* levels,
                                           std::vector<OwnStretch> stretches, const std::vector<std::int16_t>& stretch_levels,
                                           Search::PathStart start) {
  if (jobs.empty()) return {};
  const std::int64_t resident_warps = resident_warps_of(device);
  const Memory words = device.allocate_array<std::uint32_t>(static_cast<std::size_t>(place_stretches(stretches)));
  const Memory own = device.upload(stretches), own_levels = device.upload(stretch_levels);
  check(spread_stretches(own.as<OwnStretch>(), static_cast<std::int64_t>(stretches.size()), own_levels.as<std::int16_t>(), words.as<std::uint32_t>(),
                         device.stream()),
        "levels of candidates");
  const Memory results = no_results(device, jobs.size());
  const Schedule schedule = schedule_stretches(stretches, jobs, resident_warps);
  const Memory queries = device.upload(schedule.queries), scheduled = device.upload(schedule.stretches);
  check(compute(schedule.launches, queries.as<QueryRows>(), scheduled.as<TargetStretch>(), words.as<std::uint32_t>(), levels,
                results.as<std::uint64_t>(), device.stream()),
        "rows of sdtw");
  const std::vector<std::uint64_t> found = device.download(results.as<std::uint64_t>(), jobs.size());
  std::vector<SearchResult> all(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) all[i].hit = hit_of(found[i]);
  if (start == Search::PathStart::unwanted) return all;
  std::vector<PathJob> paths;
  std::vector<PathEnd> ends;
  std::vector<std::size_t> result_of_path;
  for (const OwnStretch& stretch : stretches) {
    const Job& job = jobs[static_cast<std::size_t>(stretch.job)];
    const Hit& hit = all[static_cast<std::size_t>(job.result)].hit;
    if (!is_exact(hit) || hit.column < stretch.first_column || hit.column >= stretch.first_column + stretch.columns) continue;
    const std::int64_t position = hit.column - stretch.first_column;
    ends.push_back({stretch.word + position, position + 1, 0});
    result_of_path.push_back(static_cast<std::size_t>(job.result));
    paths.push_back({levels + job.query, job.levels, hit, static_cast<std::int32_t>(paths.size())});
  }
  if (paths.empty()) return all;
  const std::vector<std::int64_t> starts = starts_of(device, paths, schedule_paths(paths, ends, resident_warps), words.as<std::uint32_t>());
  for (std::size_t i = 0; i < paths.size(); ++i) all[result_of_path[i]].first_column = starts[i];
  return all;
}

const DeviceSearch::OnDevice& DeviceSearch::on(const DeviceCall& device) {
  return devices_.get(device.ordinal(), [&] {
    OnDevice made{device.upload(packed_.words), resident_warps_of(device)};
    device.synchronize();  // other lanes of this device use it, too
    return made;
  });
}

std::vector<Hit> DeviceSearch::find(const DeviceCall& device, std::span<const Job> jobs, const std::int16_t* levels) {
  if (jobs.empty()) return {};
  const OnDevice& reference = on(device);
  const Memory results = no_results(device, jobs.size());
  const auto state_bytes = static_cast<std::size_t>(state_words(packed_)) * sizeof(std::uint32_t);
  for (std::size_t first = 0; first < jobs.size();) {
    std::vector<Job> together;
    std::vector<Memory> states;
    std::size_t scheduled = 0;
    for (; first + together.size() < jobs.size(); together.push_back(jobs[first + together.size()])) {
      const Job& job = jobs[first + together.size()];
      scheduled += packed_.pairs.size() * static_cast<std::size_t>(1 + job.levels / most_rows);
      if (scheduled > most_items && !together.empty()) break;
      if (job.levels <= most_rows || job.state[0] != nullptr) continue;
      if (!together.empty() && (states.size() + 2) * state_bytes > most_state_bytes) break;
      for (int i = 0; i < 2; ++i) states.push_back(device.allocate(state_bytes));
    }
    first += together.size();
    auto state = states.begin();
    for (Job& job : together)
      if (job.levels > most_rows && job.state[0] == nullptr)
        for (std::uint32_t*& array : job.state) array = (state++)->as<std::uint32_t>();
    const Schedule schedule = schedule_jobs(packed_, together, reference.resident_warps);
    const Memory queries = device.upload(schedule.queries), stretches = device.upload(schedule.stretches);
    check(compute(schedule.launches, queries.as<QueryRows>(), stretches.as<TargetStretch>(), reference.words.as<std::uint32_t>(), levels,
                  results.as<std::uint64_t>(), device.stream()),
          "rows of sdtw");
  }
  std::vector<Hit> hits(jobs.size());
  const std::vector<std::uint64_t> found = device.download(results.as<std::uint64_t>(), jobs.size());
  std::transform(found.begin(), found.end(), hits.begin(), hit_of);
  return hits;
}

std::vector<std::int64_t> DeviceSearch::path_starts(const DeviceCall& device, std::span<const PathJob> jobs) {
  if (jobs.empty()) return {};
  const OnDevice& reference = on(device);
  return starts_of(device, jobs, schedule_paths(packed_, *reference_, jobs, reference.resident_warps), reference.words.as<std::uint32_t>());
}

}  // namespace sluice::sdtw::cuda
