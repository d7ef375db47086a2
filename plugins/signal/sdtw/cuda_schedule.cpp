// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sdtw/cuda_schedule.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace sluice::sdtw::cuda {
namespace {

constexpr std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t even(std::int64_t value) { return (value + 1) / 2 * 2; }

// Words behind a pair's last one: a step reads two words, and the step after it.
constexpr std::int64_t padding_words = 4;

// The best number of stretches of a pair: all warps that are to be run, in rounds of as many as run at a time, each with the columns of a stretch
// and those ahead of it that its paths may come from.
std::int64_t stretches_of(std::int64_t columns, std::int64_t rows, std::int64_t warps, std::int64_t resident_warps) {
  std::int64_t best = 1, least_time = divided_up(warps, resident_warps) * columns;
  for (std::int64_t stretches = 2; stretches <= 4096 && columns / stretches >= rows; stretches += std::max<std::int64_t>(1, stretches / 8)) {
    const std::int64_t time = divided_up(warps * stretches, resident_warps) * (divided_up(columns, stretches) + rows);
    if (time < least_time) least_time = time, best = stretches;
  }
  return best;
}

// Adds the pair's stretches, which begin at even columns, for queries of at most `rows` rows.
void cut_pair(const PackedPair& pair, std::int64_t stretches, std::int64_t rows, Schedule& schedule) {
  for (std::int64_t stretch = 0; stretch < stretches; ++stretch) {
    const std::int64_t begin = pair.columns * stretch / stretches / 2 * 2;
    const std::int64_t end = stretch + 1 == stretches ? pair.columns : pair.columns * (stretch + 1) / stretches / 2 * 2;
    const std::int64_t early = std::min(begin, even(rows)), first = begin - early;
    schedule.stretches.push_back({pair.first_word + first,
                                  static_cast<std::int32_t>(end - first),
                                  static_cast<std::int32_t>(early),
                                  {pair.first_column[0] + first, pair.first_column[1] + first},
                                  {pair.least_column[0], pair.least_column[1]}});
  }
}

// Few queries with stretches of their own are bound by the latency of a query's rows in a lane, not by their cells: they get as many lanes as there
// are. Wide groups also have fewer shapes, each of which is a launch behind the one before.
std::int32_t widest_group(std::size_t queries, std::int64_t resident_warps) {
  std::int32_t widest = least_group;
  while (widest < 32 && static_cast<std::int64_t>(queries) * widest * 2 <= resident_warps * 32) widest *= 2;
  return widest;
}
std::int32_t group_for(std::int64_t levels, std::int32_t widest) {
  std::int32_t group = widest;
  while (group > least_group && group > levels) group /= 2;
  return group;
}
Schedule joined(const std::map<Shape, Schedule>& by_shape, Rows rows) {
  Schedule all;
  for (const auto& [shape, part] : by_shape) {
    const auto before = static_cast<std::int64_t>(all.queries.size()), count = static_cast<std::int64_t>(part.queries.size());
    all.launches.push_back({rows, shape, before, count, before, count});
    all.queries.insert(all.queries.end(), part.queries.begin(), part.queries.end());
    all.stretches.insert(all.stretches.end(), part.stretches.begin(), part.stretches.end());
  }
  return all;
}

}  // namespace

PackedReference pack(const Reference& reference) {
  const std::span<const Segment> segments = reference.segments();
  PackedReference packed;
  packed.segments.resize(segments.size());
  // Pairs of segments that differ least; strands of one target stay together.
  std::vector<std::size_t> order(segments.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return segments[a].size > segments[b].size; });
  const auto level_of = [&](const Segment& segment, std::int64_t column) {
    return static_cast<std::uint32_t>(reference.levels()[static_cast<std::size_t>(segment.begin + std::max<std::int64_t>(0, column))] +
                                      squiggle_limit);
  };
  for (std::size_t i = 0; i < order.size(); i += 2) {
    const bool is_alone = i + 1 == order.size();
    const Segment &longer = segments[order[i]], &other = segments[order[is_alone ? i : i + 1]];
    const std::int64_t repeated = longer.size - other.size;
    PackedPair pair{static_cast<std::int64_t>(packed.words.size()), longer.size, {longer.begin, other.begin - repeated}, {longer.begin, -1}};
    packed.segments[order[i]] = {pair.first_word, 0};
    if (!is_alone) {
      pair.least_column[1] = other.begin;
      packed.segments[order[i + 1]] = {pair.first_word + repeated, 1};
    }
    packed.pairs.push_back(pair);
    for (std::int64_t j = 0; j < longer.size; ++j) packed.words.push_back(level_of(other, j - repeated) << 16 | level_of(longer, j));
    packed.words.resize(static_cast<std::size_t>(even(static_cast<std::int64_t>(packed.words.size())) + padding_words));
  }
  return packed;
}

Shape shape_of(std::int64_t rows, std::int32_t group) {
  while (group < 32 && divided_up(rows, group) > most_lane_rows) group *= 2;
  const std::int64_t needed = divided_up(rows, group);
  for (const std::int32_t lane_rows : kernel_rows)
    if (lane_rows >= needed) return {group, lane_rows};
  return {32, most_lane_rows};
}

Schedule schedule_jobs(const PackedReference& reference, std::span<const Job> jobs, std::int64_t resident_warps) {
  Schedule schedule;
  std::int64_t longest = 0;
  for (const Job& job : jobs) longest = std::max(longest, job.levels);
  for (std::int64_t first_row = 0, pass = 0; first_row < longest; first_row += most_rows, ++pass) {
    std::map<Shape, std::vector<const Job*>> by_shape;
    for (const Job& job : jobs)
      if (job.levels > first_row) by_shape[shape_of(std::min<std::int64_t>(most_rows, job.levels - first_row))].push_back(&job);
    for (const auto& [shape, same_shape] : by_shape) {
      Launch launch{Rows::whole,
                    shape,
                    static_cast<std::int64_t>(schedule.queries.size()),
                    static_cast<std::int64_t>(same_shape.size()),
                    static_cast<std::int64_t>(schedule.stretches.size()),
                    0};
      for (const Job* const job : same_shape) {
        const bool ends = job->levels <= first_row + most_rows, resumes = pass > 0 || job->resumes, keeps = !ends || job->keeps;
        if (resumes || keeps) launch.rows = Rows::stateful;
        schedule.queries.push_back({job->query + first_row, resumes ? job->state[pass % 2] : nullptr, keeps ? job->state[(pass + 1) % 2] : nullptr,
                                    static_cast<std::int32_t>(std::min<std::int64_t>(most_rows, job->levels - first_row)), ends ? job->result : -1});
      }
      const std::int64_t warps = divided_up(launch.query_count * shape.group, 32), most = std::int64_t{shape.group} * shape.lane_rows;
      for (const PackedPair& pair : reference.pairs) cut_pair(pair, stretches_of(pair.columns, most, warps, resident_warps), most, schedule);
      launch.stretch_count = static_cast<std::int64_t>(schedule.stretches.size()) - launch.first_stretch;
      schedule.launches.push_back(launch);
    }
  }
  return schedule;
}

PathSchedule schedule_paths(const PackedReference& reference, const Reference& columns, std::span<const PathJob> jobs, std::int64_t resident_warps) {
  std::vector<PathEnd> ends;
  for (const PathJob& job : jobs) {
    const Segment& segment = columns.segment_of(job.hit.column);
    const std::int64_t position = job.hit.column - segment.begin;
    const PackedSegment& packed = reference.segments[static_cast<std::size_t>(&segment - columns.segments().data())];
    ends.push_back({packed.first_word + position, position + 1, packed.half});
  }
  return schedule_paths(jobs, ends, resident_warps);
}

PathSchedule schedule_paths(std::span<const PathJob> jobs, std::span<const PathEnd> ends, std::int64_t resident_warps) {
  PathSchedule paths;
  const std::int32_t widest = widest_group(jobs.size(), resident_warps);
  std::map<Shape, Schedule> by_shape;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const PathJob& job = jobs[i];
    const std::int64_t count = std::min(job.levels, ends[i].columns);
    paths.copies.push_back({job.query, job.levels, ends[i].word, count, ends[i].half, paths.query_levels, paths.words});
    Schedule& same_shape = by_shape[shape_of(job.levels, group_for(job.levels, widest))];
    same_shape.queries.push_back({paths.query_levels, nullptr, nullptr, static_cast<std::int32_t>(job.levels), job.result});
    same_shape.stretches.push_back({paths.words, static_cast<std::int32_t>(count), 0, {0, 0}, {0, -1}});
    paths.query_levels += job.levels;
    paths.words += even(count) + padding_words;
  }
  paths.schedule = joined(by_shape, Rows::anchored);
  return paths;
}

std::int64_t place_stretches(std::span<OwnStretch> stretches) {
  std::int64_t words = 0;
  for (OwnStretch& stretch : stretches) {
    stretch.word = words;
    stretch.words = even(stretch.columns) + padding_words;
    words += stretch.words;
  }
  return words;
}

Schedule schedule_stretches(std::span<const OwnStretch> stretches, std::span<const Job> jobs, std::int64_t resident_warps) {
  const std::int32_t widest = widest_group(stretches.size(), resident_warps);
  std::map<Shape, Schedule> by_shape;
  for (const OwnStretch& stretch : stretches) {
    const Job& job = jobs[static_cast<std::size_t>(stretch.job)];
    Schedule& same_shape = by_shape[shape_of(job.levels, group_for(job.levels, widest))];
    same_shape.queries.push_back({job.query, nullptr, nullptr, static_cast<std::int32_t>(job.levels), job.result});
    same_shape.stretches.push_back(
        {stretch.word, static_cast<std::int32_t>(stretch.columns), 0, {stretch.first_column, stretch.first_column}, {stretch.first_column, -1}});
  }
  return joined(by_shape, Rows::paired);
}

}  // namespace sluice::sdtw::cuda
