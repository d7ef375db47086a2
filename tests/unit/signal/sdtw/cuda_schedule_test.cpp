// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What the host has a device do, done here cell by cell: hits and path starts are those of the definition, whichever strands the targets have.
#include "sdtw/cuda_schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <vector>

namespace {

using namespace sluice::sdtw;
using Levels = std::vector<std::int16_t>;

constexpr std::int64_t unreachable = std::int64_t{1} << 40;

Levels random_levels(std::size_t size, std::mt19937_64& random) {
  Levels levels(size);
  const std::int64_t kinds[] = {127, 3, 2};
  const std::int64_t kind = kinds[random() % 3];
  for (std::int16_t& level : levels)
    level = static_cast<std::int16_t>(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(kind)) - kind / 2);
  return levels;
}

// Lowers the results to the hits, as cuda.hpp's compute does.
void compute(const cuda::Schedule& schedule, const std::vector<std::uint32_t>& words, const Levels& levels, std::vector<std::uint64_t>& results) {
  const auto compute_item = [&](cuda::Rows rows, const cuda::QueryRows& query, const cuda::TargetStretch& stretch) {
    for (int half = 0; half < 2; ++half) {
      const auto half_of = [&](std::uint32_t word) { return static_cast<std::int64_t>(word >> 16 * half & 0xFFFF); };
      std::vector<std::int64_t> above(static_cast<std::size_t>(stretch.columns), rows == cuda::Rows::anchored ? unreachable : 0);
      if (query.state_in != nullptr)
        for (std::size_t j = 0; j < above.size(); ++j) above[j] = half_of(query.state_in[static_cast<std::size_t>(stretch.word) + j]);
      for (std::int32_t i = 0; i < query.rows; ++i) {
        std::int64_t above_left = rows == cuda::Rows::anchored && i == 0 ? 0 : unreachable;
        for (std::size_t j = 0; j < above.size(); ++j) {
          const std::int64_t level = half_of(words[static_cast<std::size_t>(stretch.word) + j]) - sluice::squiggle_limit;
          const std::int64_t cell = std::min(above[j], above_left) + std::abs(level - levels[static_cast<std::size_t>(query.query + i)]);
          above_left = above[j];
          above[j] = cell;
        }
      }
      if (query.state_out != nullptr)
        for (auto j = static_cast<std::size_t>(stretch.early_columns); j < above.size(); ++j) {
          std::uint32_t& word = query.state_out[static_cast<std::size_t>(stretch.word) + j];
          const auto kept = static_cast<std::uint32_t>(std::min<std::int64_t>(above[j], cuda::ceiling));
          word = half == 0 ? (word & 0xFFFF0000U) | kept : (word & 0xFFFFU) | kept << 16;
        }
      if (query.result < 0 || stretch.least_column[half] < 0) continue;
      const auto best = std::ranges::min_element(above);
      const std::int64_t column = cuda::found_column(stretch, half, static_cast<std::int32_t>(best - above.begin()));
      std::uint64_t& result = results[static_cast<std::size_t>(query.result)];
      result = std::min(result, static_cast<std::uint64_t>(*best) << cuda::column_bits | static_cast<std::uint64_t>(column));
    }
  };
  for (const cuda::Launch& launch : schedule.launches)
    for (std::int64_t item = 0; item < launch.items(); ++item) {
      const bool anchored = launch.rows == cuda::Rows::anchored;
      const std::int64_t query = anchored ? item : item % launch.query_count, stretch = anchored ? item : item / launch.query_count;
      compute_item(launch.rows, schedule.queries[static_cast<std::size_t>(launch.first_query + query)],
                   schedule.stretches[static_cast<std::size_t>(launch.first_stretch + stretch)]);
    }
}

// As cuda.hpp's copy_paths.
void copy_paths(const cuda::PathSchedule& paths, const std::vector<std::uint32_t>& words, std::vector<std::uint32_t>& path_words,
                Levels& path_levels) {
  for (const cuda::PathCopy& copy : paths.copies) {
    for (std::int64_t j = 0; j < copy.columns; ++j) {
      const std::uint32_t level = words[static_cast<std::size_t>(copy.last_word - j)] >> 16 * copy.half & 0xFFFF;
      path_words[static_cast<std::size_t>(copy.to_words + j)] = level << 16 | level;
    }
    std::reverse_copy(copy.query, copy.query + copy.levels, path_levels.begin() + copy.to_query);
  }
}

enum class Strands : std::uint8_t { both, forward, reverse, any };

Reference random_reference(std::size_t targets, std::size_t longest, Strands strands, std::mt19937_64& random) {
  Reference reference;
  for (std::size_t i = 0; i < targets; ++i) {
    const std::size_t size = 1 + random() % longest;
    const Strands here = strands == Strands::any ? static_cast<Strands>(random() % 3) : strands;
    const Levels forward = here == Strands::reverse ? Levels() : random_levels(size, random);
    reference.add_target(forward, here == Strands::forward ? Levels() : random_levels(size, random));
  }
  return reference;
}

// Queries of any length, each whole.
void check_whole(const Reference& reference, std::span<const Levels> queries, std::int64_t resident_warps) {
  const cuda::PackedReference packed = cuda::pack(reference);
  Levels all;
  std::vector<cuda::Job> jobs;
  std::vector<std::vector<std::uint32_t>> states;
  states.reserve(2 * queries.size());
  for (const Levels& query : queries) {
    jobs.push_back({static_cast<std::int64_t>(all.size()), static_cast<std::int64_t>(query.size()), static_cast<std::int32_t>(jobs.size())});
    all.insert(all.end(), query.begin(), query.end());
    for (std::uint32_t*& state : jobs.back().state) state = states.emplace_back(packed.words.size(), 0xABCDABCDU).data();
  }
  std::vector<std::uint64_t> results(queries.size(), cuda::no_result);
  compute(cuda::schedule_jobs(packed, jobs, resident_warps), packed.words, all, results);
  std::vector<cuda::PathJob> path_jobs;
  ScalarRows scalar(reference, {});
  std::vector<std::int64_t> first_column(queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    scalar.restart();
    scalar.advance(queries[i]);
    const Hit expected = scalar.best(), hit = cuda::hit_of(results[i]);
    CAPTURE(queries[i].size());
    if (expected.score >= std::int64_t{cuda::ceiling}) {
      CHECK(hit.score >= std::int64_t{cuda::ceiling});
      continue;
    }
    CHECK(hit == expected);
    if (jobs[i].levels > cuda::most_rows) continue;
    first_column[i] = scalar.first_column(expected.column);
    path_jobs.push_back({all.data() + jobs[i].query, jobs[i].levels, expected, static_cast<std::int32_t>(i)});
  }
  const cuda::PathSchedule paths = cuda::schedule_paths(packed, reference, path_jobs, resident_warps);
  std::vector<std::uint32_t> path_words(static_cast<std::size_t>(paths.words));
  Levels path_levels(static_cast<std::size_t>(paths.query_levels));
  copy_paths(paths, packed.words, path_words, path_levels);
  std::ranges::fill(results, cuda::no_result);
  compute(paths.schedule, path_words, path_levels, results);
  for (const cuda::PathJob& job : path_jobs) {
    const auto i = static_cast<std::size_t>(job.result);
    const Hit start = cuda::hit_of(results[i]);
    CAPTURE(queries[i].size());
    CHECK(start.score == job.hit.score);
    CHECK(job.hit.column - start.column == first_column[i]);
  }
}

}  // namespace

TEST_CASE("a device's schedule gives the hits and path starts of the definition, of targets with one strand or two") {
  std::mt19937_64 random(1);
  for (const Strands strands : {Strands::both, Strands::forward, Strands::reverse, Strands::any}) {
    for (const std::size_t targets : {1, 2, 3, 8}) {
      const Reference reference = random_reference(targets, targets == 3 ? 1 : 700, strands, random);
      std::vector<Levels> queries;
      for (const std::size_t size : {1, 2, 7, 40, 90, 333}) queries.push_back(random_levels(size, random));
      for (const std::int64_t resident_warps : {1, 100, 40'000}) check_whole(reference, queries, resident_warps);
    }
  }
}

TEST_CASE("a device's schedule takes queries of more rows than a warp has by their states") {
  std::mt19937_64 random(2);
  for (const Strands strands : {Strands::both, Strands::any}) {
    const Reference reference = random_reference(4, 300, strands, random);
    Levels long_query(5000, 0);
    for (std::size_t i = 0; i < long_query.size(); ++i) long_query[i] = static_cast<std::int16_t>(random() % 9);
    check_whole(reference, std::vector<Levels>{long_query, random_levels(2240, random), random_levels(2241, random)}, 40'000);
  }
}

TEST_CASE("a device's schedule resumes streams where they were, of targets with one strand or two") {
  std::mt19937_64 random(3);
  for (const Strands strands : {Strands::both, Strands::forward, Strands::any}) {
    const Reference reference = random_reference(5, 1500, strands, random);
    const cuda::PackedReference packed = cuda::pack(reference);
    ScalarRows scalar(reference, {});
    std::vector<std::uint32_t> states[2] = {std::vector<std::uint32_t>(packed.words.size(), 0xABCDABCDU),
                                            std::vector<std::uint32_t>(packed.words.size(), 0xABCDABCDU)};
    int last_row = 0;
    for (int chunk = 0; chunk < 6; ++chunk) {
      Levels levels(chunk == 3 ? 2500 : 1 + random() % 200);
      for (std::int16_t& level : levels) level = static_cast<std::int16_t>(random() % 9);
      cuda::Job job{0, static_cast<std::int64_t>(levels.size()), 0, {states[last_row].data(), states[1 - last_row].data()}, chunk > 0, true};
      last_row ^= cuda::state_after(job.levels);
      std::vector<std::uint64_t> results(1, cuda::no_result);
      compute(cuda::schedule_jobs(packed, std::span(&job, 1), 40'000), packed.words, levels, results);
      scalar.advance(levels);
      const Hit expected = scalar.best(), hit = cuda::hit_of(results[0]);
      CAPTURE(chunk);
      if (expected.score < std::int64_t{cuda::ceiling})
        CHECK(hit == expected);
      else
        CHECK(hit.score >= std::int64_t{cuda::ceiling});
    }
  }
}

TEST_CASE("strands that no other is like in length cost a device no more than the longer one of their pair") {
  std::mt19937_64 random(4);
  Reference reference;
  for (const std::size_t size : {10, 900, 12, 880, 5}) reference.add_target(random_levels(size, random), {});
  const cuda::PackedReference packed = cuda::pack(reference);
  REQUIRE(packed.pairs.size() == 3);
  CHECK(packed.pairs[0].columns == 900);
  CHECK(packed.pairs[0].least_column[1] == reference.segments()[3].begin);
  CHECK(packed.pairs[0].first_column[1] == reference.segments()[3].begin - 20);
  CHECK(packed.pairs[1].columns == 12);
  CHECK(packed.pairs[2].columns == 5);
  CHECK(packed.pairs[2].least_column[1] == -1);
}
