// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Subsequence DTW on a GPU: scores, columns and path starts equal the CPU's on random input, whole and in chunks; timings of a lambda-sized and of a
// 5 Mb reference. The amount is the number of queries of the timed input.

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "kernel_check.hpp"
#include "sdtw/cuda.hpp"
#include "sdtw/search.hpp"

namespace {

using namespace sluice::sdtw;
namespace device = sluice::sdtw::cuda;
using sluice::gpu_test::DeviceArray;
using sluice::gpu_test::require;
using Levels = std::vector<std::int16_t>;

int problems = 0;

Levels random_levels(std::size_t size, std::mt19937_64& random, int kind) {
  Levels levels(size);
  std::normal_distribution<double> normal(0.0, 16.0);
  for (std::int16_t& level : levels) {
    if (kind == 0)
      level = static_cast<std::int16_t>(std::clamp(normal(random), -63.0, 63.0));
    else if (kind == 1)
      level = static_cast<std::int16_t>(random() % 3);
    else
      level = random() % 2 == 0 ? std::int16_t{-63} : std::int16_t{63};
  }
  return levels;
}
Levels random_levels(std::size_t size, std::mt19937_64& random) { return random_levels(size, random, static_cast<int>(random() % 3)); }

// Of DNA both strands of a contig are targets, of direct RNA one.
enum class Strands : std::uint8_t { both, one };

Reference random_reference(std::size_t targets, std::size_t longest, std::mt19937_64& random, Strands strands = Strands::both) {
  Reference reference;
  for (std::size_t i = 0; i < targets; ++i) {
    const std::size_t size = 1 + random() % longest;
    const bool is_forward = random() % 4 > 0;
    const Levels forward = strands == Strands::both || is_forward ? random_levels(size, random) : Levels();
    const Levels reverse = strands == Strands::both || !is_forward ? random_levels(size, random) : Levels();
    reference.add_target(forward, reverse);
  }
  return reference;
}

std::int64_t resident_warps() {
  cudaDeviceProp properties{};
  require(cudaGetDeviceProperties(&properties, 0), "device properties");
  return properties.multiProcessorCount * std::int64_t{12};
}

struct DeviceSchedule {
  explicit DeviceSchedule(const device::Schedule& schedule) : launches(schedule.launches), queries(schedule.queries), stretches(schedule.stretches) {
    for (const device::Launch& launch : launches) items += launch.items();
  }
  cudaError_t compute(const std::uint32_t* levels, const std::int16_t* query, std::uint64_t* results) const {
    return device::compute(launches, queries.data(), stretches.data(), levels, query, results, nullptr);
  }
  std::vector<device::Launch> launches;
  std::int64_t items = 0;

 private:
  DeviceArray<device::QueryRows> queries;
  DeviceArray<device::TargetStretch> stretches;
};

// Everything of one batch of queries on the device.
struct Batch {
  Batch(const device::PackedReference& packed, const std::vector<Levels>& queries) : results(queries.size()), words(packed.words) {
    Levels all;
    for (const Levels& query : queries) {
      jobs.push_back({static_cast<std::int64_t>(all.size()), static_cast<std::int64_t>(query.size()), static_cast<std::int32_t>(jobs.size())});
      all.insert(all.end(), query.begin(), query.end());
      if (static_cast<std::int64_t>(query.size()) <= device::most_rows) continue;
      for (auto& state : jobs.back().state) {
        states.push_back(std::make_unique<DeviceArray<std::uint32_t>>(packed.words.size(), sluice::gpu_test::Contents::poison));
        state = states.back()->data();
      }
    }
    levels = std::make_unique<DeviceArray<std::int16_t>>(all);
  }
  void run(const DeviceSchedule& schedule) {
    results.fill_bytes(0xFF);
    require(schedule.compute(words.data(), levels->data(), results.data()), "compute");
  }
  std::vector<device::Job> jobs;
  std::vector<std::unique_ptr<DeviceArray<std::uint32_t>>> states;
  std::unique_ptr<DeviceArray<std::int16_t>> levels;
  DeviceArray<std::uint64_t> results;
  DeviceArray<std::uint32_t> words;
};

void find_paths(Batch& batch, const device::PathSchedule& paths, const DeviceSchedule& schedule, const device::PathCopy* copies, std::uint32_t* words,
                std::int16_t* query, std::uint64_t* results) {
  require(device::copy_paths(copies, static_cast<std::int64_t>(paths.copies.size()), batch.words.data(), words, query, nullptr), "copy_paths");
  require(schedule.compute(words, query, results), "compute paths");
}

void expect(bool fine, const char* what, std::size_t query, std::size_t size, const Hit& hit, const Hit& expected) {
  if (fine) return;
  if (++problems <= 10)
    std::printf("FAILED: %s: query %zu of %zu levels: score %lld column %lld, expected %lld %lld\n", what, query, size,
                static_cast<long long>(hit.score), static_cast<long long>(hit.column), static_cast<long long>(expected.score),
                static_cast<long long>(expected.column));
}

void check_whole(const Reference& reference, const std::vector<Levels>& queries, std::int64_t warps, const char* what) {
  const device::PackedReference packed = device::pack(reference);
  Batch batch(packed, queries);
  const DeviceSchedule schedule(device::schedule_jobs(packed, batch.jobs, warps));
  batch.run(schedule);
  const std::vector<std::uint64_t> results = batch.results.download();
  const Search search(reference, {});
  std::vector<SearchResult> expected(queries.size());
  sluice::gpu_test::in_parallel(queries.size(), [&](std::size_t i) {
    Workspace workspace;
    expected[i] = search.find(queries[i], Search::PathStart::wanted, workspace);
  });
  std::vector<device::PathJob> path_jobs;
  std::size_t exact = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const Hit hit = device::hit_of(results[i]);
    if (expected[i].hit.score >= device::ceiling) {
      expect(hit.score >= device::ceiling, what, i, queries[i].size(), hit, expected[i].hit);
      continue;
    }
    expect(hit == expected[i].hit, what, i, queries[i].size(), hit, expected[i].hit);
    ++exact;
    if (queries[i].size() <= static_cast<std::size_t>(device::most_rows) && hit == expected[i].hit)
      path_jobs.push_back({batch.levels->data() + batch.jobs[i].query, batch.jobs[i].levels, hit, static_cast<std::int32_t>(i)});
  }
  const device::PathSchedule paths = device::schedule_paths(packed, reference, path_jobs, warps);
  const DeviceSchedule path_schedule(paths.schedule);
  const DeviceArray<device::PathCopy> copies(paths.copies);
  DeviceArray<std::uint32_t> path_words(static_cast<std::size_t>(paths.words), sluice::gpu_test::Contents::poison);
  DeviceArray<std::int16_t> path_query(static_cast<std::size_t>(paths.query_levels));
  batch.results.fill_bytes(0xFF);
  find_paths(batch, paths, path_schedule, copies.data(), path_words.data(), path_query.data(), batch.results.data());
  const std::vector<std::uint64_t> starts = batch.results.download();
  for (const device::PathJob& job : path_jobs) {
    const auto i = static_cast<std::size_t>(job.result);
    const Hit start = device::hit_of(starts[i]);
    expect(start.score == job.hit.score && job.hit.column - start.column == expected[i].first_column, "path start", i, queries[i].size(), start,
           {job.hit.score, job.hit.column - expected[i].first_column});
  }
  std::printf("%s: %zu queries, %zu within 16 bits, %lld items in %zu launches: %d problems\n", what, queries.size(), exact,
              static_cast<long long>(schedule.items), schedule.launches.size(), problems);
}

// Queries in stretches of their own: as a reference of these alone has them.
void check_stretches(std::size_t queries, std::size_t longest, std::int64_t warps, std::mt19937_64& random, const char* what) {
  const Levels strand = random_levels(20000, random);
  Levels all, own_levels;
  std::vector<device::Job> jobs;
  std::vector<device::OwnStretch> own;
  std::vector<Levels> levels;
  std::vector<SearchResult> expected;
  for (std::size_t i = 0; i < queries; ++i) {
    levels.push_back(random_levels(1 + random() % (i % 5 == 0 ? 2240 : 400), random, static_cast<int>(i % 3)));
    jobs.push_back({static_cast<std::int64_t>(all.size()), static_cast<std::int64_t>(levels[i].size()), static_cast<std::int32_t>(i)});
    all.insert(all.end(), levels[i].begin(), levels[i].end());
    Reference stretches;
    std::vector<std::int64_t> begins;
    std::size_t at = random() % 100;
    for (std::size_t count = 1 + random() % 6; count > 0; --count) {
      const std::size_t columns = std::min<std::size_t>(1 + random() % longest, strand.size() - at);
      const Levels stretch(strand.begin() + static_cast<std::ptrdiff_t>(at), strand.begin() + static_cast<std::ptrdiff_t>(at + columns));
      own.push_back({static_cast<std::int64_t>(own_levels.size()), static_cast<std::int64_t>(columns), static_cast<std::int64_t>(at), 0, 0,
                     static_cast<std::int32_t>(i)});
      own_levels.insert(own_levels.end(), stretch.begin(), stretch.end());
      stretches.add_target(stretch, {});
      begins.push_back(static_cast<std::int64_t>(at));
      at += columns + random() % 50;
      if (at >= strand.size()) break;
    }
    Workspace workspace;
    SearchResult& result = expected.emplace_back(Search(stretches, {}).find(levels[i], Search::PathStart::wanted, workspace));
    const Segment& segment = stretches.segment_of(result.hit.column);
    const std::int64_t shift = begins[static_cast<std::size_t>(segment.target)] - segment.begin;
    result.hit.column += shift;
    result.first_column += shift;
  }
  const std::int64_t word_count = device::place_stretches(own);
  DeviceArray<std::uint32_t> words(static_cast<std::size_t>(word_count), sluice::gpu_test::Contents::poison);
  const DeviceArray<device::OwnStretch> on_device(own);
  const DeviceArray<std::int16_t> stretch_levels(own_levels), query(all);
  require(device::spread_stretches(on_device.data(), static_cast<std::int64_t>(own.size()), stretch_levels.data(), words.data(), nullptr),
          "spread_stretches");
  const DeviceSchedule schedule(device::schedule_stretches(own, jobs, warps));
  DeviceArray<std::uint64_t> results(queries);
  results.fill_bytes(0xFF);
  require(schedule.compute(words.data(), query.data(), results.data()), "compute");
  const std::vector<std::uint64_t> found = results.download();
  std::vector<device::PathJob> path_jobs;
  std::vector<device::PathEnd> ends;
  for (const device::OwnStretch& stretch : own) {
    const auto i = static_cast<std::size_t>(stretch.job);
    const Hit hit = device::hit_of(found[i]);
    if (hit.score >= device::ceiling || hit.column < stretch.first_column || hit.column >= stretch.first_column + stretch.columns) continue;
    ends.push_back({stretch.word + hit.column - stretch.first_column, hit.column - stretch.first_column + 1, 0});
    path_jobs.push_back({query.data() + jobs[i].query, jobs[i].levels, hit, static_cast<std::int32_t>(i)});
  }
  const device::PathSchedule paths = device::schedule_paths(path_jobs, ends, warps);
  const DeviceSchedule path_schedule(paths.schedule);
  const DeviceArray<device::PathCopy> copies(paths.copies);
  DeviceArray<std::uint32_t> path_words(static_cast<std::size_t>(paths.words), sluice::gpu_test::Contents::poison);
  DeviceArray<std::int16_t> path_query(static_cast<std::size_t>(paths.query_levels));
  results.fill_bytes(0xFF);
  require(
      device::copy_paths(copies.data(), static_cast<std::int64_t>(paths.copies.size()), words.data(), path_words.data(), path_query.data(), nullptr),
      "copy_paths");
  require(path_schedule.compute(path_words.data(), path_query.data(), results.data()), "compute paths");
  const std::vector<std::uint64_t> starts = results.download();
  std::size_t exact = 0;
  for (std::size_t i = 0; i < queries; ++i) {
    const Hit hit = device::hit_of(found[i]);
    if (expected[i].hit.score >= device::ceiling) {
      expect(hit.score >= device::ceiling, what, i, levels[i].size(), hit, expected[i].hit);
      continue;
    }
    ++exact;
    expect(hit == expected[i].hit, what, i, levels[i].size(), hit, expected[i].hit);
    const Hit start = device::hit_of(starts[i]);
    expect(hit.column - start.column == expected[i].first_column, "path start in a stretch", i, levels[i].size(), start, expected[i].hit);
  }
  std::printf("%s: %zu queries, %zu within 16 bits, %zu stretches: %d problems\n", what, queries, exact, own.size(), problems);
}

void check_streams(const Reference& reference, std::size_t channels, int chunks, std::int64_t warps, std::mt19937_64& random) {
  const device::PackedReference packed = device::pack(reference);
  const Search search(reference, {});
  const DeviceArray<std::uint32_t> words(packed.words);
  std::vector<Levels> so_far(channels);
  std::vector<std::unique_ptr<DeviceArray<std::uint32_t>>> states;
  for (std::size_t i = 0; i < 2 * channels; ++i)
    states.push_back(std::make_unique<DeviceArray<std::uint32_t>>(packed.words.size(), sluice::gpu_test::Contents::poison));
  std::vector<int> current(channels, 0);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    Levels all;
    std::vector<device::Job> jobs;
    for (std::size_t c = 0; c < channels; ++c) {
      const Levels levels = random_levels(1 + random() % (chunk % 3 == 2 ? 3000 : 300), random, static_cast<int>(c % 2));
      device::Job job{static_cast<std::int64_t>(all.size()), static_cast<std::int64_t>(levels.size()), static_cast<std::int32_t>(c)};
      job.state[0] = states[2 * c + static_cast<std::size_t>(current[c])]->data();
      job.state[1] = states[2 * c + static_cast<std::size_t>(1 - current[c])]->data();
      job.resumes = chunk > 0;
      job.keeps = true;
      current[c] ^= device::state_after(job.levels);
      jobs.push_back(job);
      all.insert(all.end(), levels.begin(), levels.end());
      so_far[c].insert(so_far[c].end(), levels.begin(), levels.end());
    }
    const DeviceArray<std::int16_t> query(all);
    const DeviceSchedule schedule(device::schedule_jobs(packed, jobs, warps));
    DeviceArray<std::uint64_t> results(channels);
    results.fill_bytes(0xFF);
    require(schedule.compute(words.data(), query.data(), results.data()), "compute");
    const std::vector<std::uint64_t> hits = results.download();
    std::vector<SearchResult> expected(channels);
    sluice::gpu_test::in_parallel(channels, [&](std::size_t c) {
      Workspace workspace;
      expected[c] = search.find(so_far[c], Search::PathStart::unwanted, workspace);
    });
    for (std::size_t c = 0; c < channels; ++c) {
      const Hit hit = device::hit_of(hits[c]);
      expect(expected[c].hit.score >= device::ceiling ? hit.score >= device::ceiling : hit == expected[c].hit, "stream", c, so_far[c].size(), hit,
             expected[c].hit);
    }
  }
  std::printf("%zu streams of %d chunks: %d problems\n", channels, chunks, problems);
}

void time_whole(const char* what, std::size_t columns, std::size_t levels, std::size_t count, int runs, std::mt19937_64& random) {
  Reference reference;
  reference.add_target(random_levels(columns, random, 0), random_levels(columns, random, 0));
  std::vector<Levels> queries(count);
  for (Levels& query : queries) query = random_levels(levels, random, 0);
  const device::PackedReference packed = device::pack(reference);
  Batch batch(packed, queries);
  const DeviceSchedule schedule(device::schedule_jobs(packed, batch.jobs, resident_warps()));
  const double milliseconds = sluice::gpu_test::median_milliseconds(runs, [&] { batch.run(schedule); });
  const double cells = 2.0 * static_cast<double>(columns) * static_cast<double>(levels) * static_cast<double>(count);
  std::printf("TIME %s: %zu queries of %zu levels, %zu columns: %.3f ms, %.2f Tcells/s, %.0f decisions/s (%zu items, group %d, %d rows a lane)\n",
              what, count, levels, 2 * columns, milliseconds, cells / milliseconds * 1e-9, static_cast<double>(count) / milliseconds * 1e3,
              static_cast<std::size_t>(schedule.items), schedule.launches[0].shape.group, schedule.launches[0].shape.lane_rows);
  const std::vector<std::uint64_t> results = batch.results.download();
  std::vector<device::PathJob> path_jobs;
  for (std::size_t i = 0; i < count; ++i)
    path_jobs.push_back({batch.levels->data() + batch.jobs[i].query, batch.jobs[i].levels, device::hit_of(results[i]), static_cast<std::int32_t>(i)});
  const device::PathSchedule paths = device::schedule_paths(packed, reference, path_jobs, resident_warps());
  const DeviceSchedule path_schedule(paths.schedule);
  const DeviceArray<device::PathCopy> copies(paths.copies);
  DeviceArray<std::uint32_t> path_words(static_cast<std::size_t>(paths.words));
  DeviceArray<std::int16_t> path_query(static_cast<std::size_t>(paths.query_levels));
  const double path_milliseconds = sluice::gpu_test::median_milliseconds(
      runs, [&] { find_paths(batch, paths, path_schedule, copies.data(), path_words.data(), path_query.data(), batch.results.data()); });
  std::printf("TIME %s: their path starts: %.3f ms; together %.0f decisions/s\n", what, path_milliseconds,
              static_cast<double>(count) / (milliseconds + path_milliseconds) * 1e3);
}

// Direct RNA: transcripts of 200 to 5,000 bases, one strand each.
void time_transcripts(std::size_t transcripts, std::size_t levels, std::size_t count, int runs, std::mt19937_64& random) {
  Reference reference;
  for (std::size_t i = 0; i < transcripts; ++i) reference.add_target(random_levels(200 + random() % 4801, random, 0), {});
  std::vector<Levels> queries(count);
  for (Levels& query : queries) query = random_levels(levels, random, 0);
  const device::PackedReference packed = device::pack(reference);
  Batch batch(packed, queries);
  const DeviceSchedule schedule(device::schedule_jobs(packed, batch.jobs, resident_warps()));
  const double milliseconds = sluice::gpu_test::median_milliseconds(runs, [&] { batch.run(schedule); });
  const double cells = static_cast<double>(reference.columns()) * static_cast<double>(levels) * static_cast<double>(count);
  std::printf("TIME transcripts, one strand: %zu queries of %zu levels, %lld columns of %zu transcripts: %.3f ms, %.2f Tcells/s, %.0f decisions/s\n",
              count, levels, static_cast<long long>(reference.columns()), transcripts, milliseconds, cells / milliseconds * 1e-9,
              static_cast<double>(count) / milliseconds * 1e3);
}

void time_streams(std::size_t columns, std::size_t levels, std::size_t channels, int runs, std::mt19937_64& random) {
  Reference reference;
  reference.add_target(random_levels(columns, random, 0), random_levels(columns, random, 0));
  const device::PackedReference packed = device::pack(reference);
  DeviceArray<std::uint32_t> states(2 * channels * packed.words.size());
  states.fill_bytes(0);
  const DeviceArray<std::uint32_t> words(packed.words);
  const DeviceArray<std::int16_t> query(random_levels(levels * channels, random, 0));
  std::vector<device::Job> jobs(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    jobs[c] = {static_cast<std::int64_t>(c * levels), static_cast<std::int64_t>(levels), static_cast<std::int32_t>(c)};
    for (std::size_t s = 0; s < 2; ++s) jobs[c].state[s] = states.data() + (2 * c + s) * packed.words.size();
    jobs[c].resumes = jobs[c].keeps = true;
  }
  const DeviceSchedule schedule(device::schedule_jobs(packed, jobs, resident_warps()));
  DeviceArray<std::uint64_t> results(channels);
  const double milliseconds = sluice::gpu_test::median_milliseconds(runs, [&] {
    results.fill_bytes(0xFF);
    require(schedule.compute(words.data(), query.data(), results.data()), "compute");
  });
  const double cells = 2.0 * static_cast<double>(columns) * static_cast<double>(levels) * static_cast<double>(channels);
  std::printf("TIME chunks: %zu channels x %zu levels, %zu columns: %.3f ms, %.2f Tcells/s (%zu items, group %d, %d rows a lane)\n", channels, levels,
              2 * columns, milliseconds, cells / milliseconds * 1e-9, static_cast<std::size_t>(schedule.items), schedule.launches[0].shape.group,
              schedule.launches[0].shape.lane_rows);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const sluice::gpu_test::CommandLine command = sluice::gpu_test::parse_command_line(argument_count, arguments, 12672);
  std::mt19937_64 random(1);
  using sluice::gpu_test::Extent;
  if (command.checks != Extent::none) {
    const bool full = command.checks == Extent::full;
    std::vector<Levels> queries;
    for (std::size_t length = 1; length <= (full ? 5000U : 300U); length += length < 300 ? 1 : 1 + random() % 60)
      queries.push_back(random_levels(length, random));
    check_whole(random_reference(1, 1, random), queries, 1584, "one column");
    check_whole(random_reference(3, 50, random), queries, 1584, "short targets");
    check_whole(random_reference(2, full ? 20000 : 1500, random), queries, 1584, "two targets");
    check_whole(random_reference(1, full ? 50000 : 1500, random), queries, 40000, "cut into stretches");
    for (const std::int64_t warps : {1, 100, 200}) check_whole(random_reference(1, 1500, random), queries, warps, "paths of 4, 8 and 16 lanes");
    check_whole(random_reference(9, full ? 3000 : 700, random, Strands::one), queries, 1584, "one strand, nine targets");
    check_whole(random_reference(1, full ? 20000 : 1500, random, Strands::one), queries, 40000, "one strand, cut into stretches");
    check_streams(random_reference(7, 500, random, Strands::one), full ? 100 : 20, full ? 9 : 3, 1584, random);
    check_streams(random_reference(2, full ? 20000 : 2000, random, Strands::one), 10, full ? 9 : 3, 40000, random);
    check_stretches(full ? 2000 : 100, 3000, 1584, random, "stretches of their own");
    check_stretches(full ? 500 : 40, 40, 100000, random, "short stretches of their own");
    check_streams(random_reference(2, 500, random), full ? 100 : 20, full ? 9 : 3, 1584, random);
    check_streams(random_reference(1, full ? 20000 : 2000, random), 10, full ? 9 : 3, 40000, random);
  }
  if (command.amount > 0) {
    const auto count = static_cast<std::size_t>(command.amount);
    time_whole("lambda", 48497, 2222, count, command.runs, random);
    time_whole("lambda, levels of two samples", 48497, 1111, 2 * count, command.runs, random);
    time_whole("lambda, levels of four samples", 48497, 555, 4 * count, command.runs, random);
    time_whole("lambda, 500 queries", 48497, 2222, 500, command.runs, random);
    time_whole("5 Mb", 5000000, 555, count / 24, command.runs, random);
    time_transcripts(200, 555, 4 * count, command.runs, random);
    time_streams(48497, 400, 51200, command.runs, random);
    time_streams(48497, 100, 51200, command.runs, random);
    time_streams(48497, 100, 512, command.runs, random);
    time_streams(5000000, 100, 512, command.runs, random);
  }
  return problems == 0 ? 0 : 1;
}
