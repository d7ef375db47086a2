// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <map>

#include "sdtw/cuda.hpp"
#include "sdtw/cuda_rows.cuh"

namespace sluice::sdtw::cuda {
namespace {

// Rows of a lane for which there is a kernel; a lane may have spare_rows(r) less.
constexpr std::int32_t kernel_rows[] = {4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 66, 68, 70};
constexpr std::int32_t spare_rows(std::int32_t lane_rows) { return lane_rows <= 64 ? 4 : 2; }

constexpr std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t even(std::int64_t value) { return (value + 1) / 2 * 2; }

// Words behind a target's last one: a step reads two words, and the step after it.
constexpr std::int64_t padding_words = 4;

using RowsKernel = void (*)(const Item*, std::int64_t, int, const std::uint32_t*, const std::int16_t*, std::uint64_t*);

template <Rows kind>
RowsKernel kernel_of(std::int32_t lane_rows) {
  switch (lane_rows) {
    case 4:
      return rows_kernel<4, spare_rows(4), kind>;
    case 8:
      return rows_kernel<8, spare_rows(8), kind>;
    case 12:
      return rows_kernel<12, spare_rows(12), kind>;
    case 16:
      return rows_kernel<16, spare_rows(16), kind>;
    case 20:
      return rows_kernel<20, spare_rows(20), kind>;
    case 24:
      return rows_kernel<24, spare_rows(24), kind>;
    case 28:
      return rows_kernel<28, spare_rows(28), kind>;
    case 32:
      return rows_kernel<32, spare_rows(32), kind>;
    case 36:
      return rows_kernel<36, spare_rows(36), kind>;
    case 40:
      return rows_kernel<40, spare_rows(40), kind>;
    case 44:
      return rows_kernel<44, spare_rows(44), kind>;
    case 48:
      return rows_kernel<48, spare_rows(48), kind>;
    case 52:
      return rows_kernel<52, spare_rows(52), kind>;
    case 56:
      return rows_kernel<56, spare_rows(56), kind>;
    case 60:
      return rows_kernel<60, spare_rows(60), kind>;
    case 64:
      return rows_kernel<64, spare_rows(64), kind>;
    case 66:
      return rows_kernel<66, spare_rows(66), kind>;
    case 68:
      return rows_kernel<68, spare_rows(68), kind>;
    case 70:
      return rows_kernel<70, spare_rows(70), kind>;
    default:
      return nullptr;
  }
}

// The best number of stretches of a target: all warps that are to be run, in rounds of as many as run at a time, each with the columns of a stretch
// and those ahead of it that its paths may come from.
std::int64_t stretches_of(std::int64_t columns, std::int64_t rows, std::int64_t warps, std::int64_t resident_warps) {
  std::int64_t best = 1, least_time = divided_up(warps, resident_warps) * columns;
  for (std::int64_t stretches = 2; stretches <= 4096 && columns / stretches >= rows; stretches += std::max<std::int64_t>(1, stretches / 8)) {
    const std::int64_t time = divided_up(warps * stretches, resident_warps) * (divided_up(columns, stretches) + rows);
    if (time < least_time) least_time = time, best = stretches;
  }
  return best;
}

__global__ void copy_paths_kernel(const PathCopy* __restrict__ copies, const std::uint32_t* __restrict__ levels,
                                  const std::int16_t* __restrict__ query, std::uint32_t* path_levels, std::int16_t* path_query) {
  const PathCopy copy = copies[blockIdx.x];
  for (std::int64_t j = threadIdx.x; j < copy.columns; j += blockDim.x)
    path_levels[copy.to_words + j] = both_halves(levels[copy.last_word - j] >> 16 * copy.half & 0xFFFF);
  for (std::int64_t i = threadIdx.x; i < copy.levels; i += blockDim.x) path_query[copy.to_query + i] = query[copy.query + copy.levels - 1 - i];
}

}  // namespace

bool can_be_packed(const Reference& reference) {
  const std::span<const Segment> segments = reference.segments();
  if (segments.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < segments.size(); i += 2)
    if (segments[i].target != segments[i + 1].target || segments[i].size != segments[i + 1].size || segments[i].size >= std::int64_t{1} << 31)
      return false;
  return true;
}

PackedReference pack(const Reference& reference) {
  PackedReference packed;
  const std::span<const std::int16_t> levels = reference.levels();
  for (std::size_t i = 0; i + 1 < reference.segments().size(); i += 2) {
    const Segment &forward = reference.segments()[i], &reverse = reference.segments()[i + 1];
    packed.targets.push_back({static_cast<std::int64_t>(packed.words.size()), forward.size, {forward.begin, reverse.begin}});
    const auto level_of = [&](std::int64_t column) { return static_cast<std::uint32_t>(levels[static_cast<std::size_t>(column)] + squiggle_limit); };
    for (std::int64_t j = 0; j < forward.size; ++j) packed.words.push_back(level_of(reverse.begin + j) << 16 | level_of(forward.begin + j));
    packed.words.resize(static_cast<std::size_t>(even(static_cast<std::int64_t>(packed.words.size())) + padding_words));
  }
  return packed;
}

Shape shape_of(std::int64_t rows) {
  std::int32_t group = 4;
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
      Launch launch{Rows::whole, shape, static_cast<std::int64_t>(schedule.items.size()), 0};
      const std::int64_t warps = divided_up(static_cast<std::int64_t>(same_shape.size()) * shape.group, 32);
      for (const PackedTarget& target : reference.targets) {
        const std::int64_t most = std::int64_t{shape.group} * shape.lane_rows;
        const std::int64_t stretches = stretches_of(target.columns, most, warps, resident_warps);
        for (std::int64_t stretch = 0; stretch < stretches; ++stretch) {
          // Stretches begin at even columns.
          const std::int64_t begin = target.columns * stretch / stretches / 2 * 2;
          const std::int64_t end = stretch + 1 == stretches ? target.columns : target.columns * (stretch + 1) / stretches / 2 * 2;
          const std::int64_t early = std::min(begin, even(most));
          for (const Job* const job : same_shape) {
            const bool ends = job->levels <= first_row + most_rows, resumes = pass > 0 || job->resumes, keeps = !ends || job->keeps;
            const std::int64_t word = target.first_word + begin - early;
            if (resumes || keeps) launch.rows = Rows::stateful;
            schedule.items.push_back({word,
                                      job->query + first_row,
                                      resumes ? job->state[pass % 2] + word : nullptr,
                                      keeps ? job->state[(pass + 1) % 2] + word : nullptr,
                                      static_cast<std::int32_t>(std::min<std::int64_t>(most_rows, job->levels - first_row)),
                                      static_cast<std::int32_t>(end - begin + early),
                                      static_cast<std::int32_t>(early),
                                      ends ? job->result : -1,
                                      {target.first_column[0] + begin - early, target.first_column[1] + begin - early}});
          }
        }
      }
      launch.item_count = static_cast<std::int64_t>(schedule.items.size()) - launch.first_item;
      schedule.launches.push_back(launch);
    }
  }
  return schedule;
}

PathSchedule schedule_paths(const PackedReference& reference, const Reference& columns, std::span<const PathJob> jobs) {
  PathSchedule paths;
  std::map<Shape, std::vector<Item>> by_shape;
  for (const PathJob& job : jobs) {
    const Segment& segment = columns.segment_of(job.hit.column);
    const std::int64_t position = job.hit.column - segment.begin, count = std::min(job.levels, position + 1);
    const auto target = std::find_if(reference.targets.begin(), reference.targets.end(), [&](const PackedTarget& t) {
      return t.first_column[segment.strand == Strand::forward ? 0 : 1] == segment.begin;
    });
    paths.copies.push_back(
        {job.query, job.levels, target->first_word + position, count, segment.strand == Strand::forward ? 0 : 1, paths.query_levels, paths.words});
    by_shape[shape_of(job.levels)].push_back({paths.words,
                                              paths.query_levels,
                                              nullptr,
                                              nullptr,
                                              static_cast<std::int32_t>(job.levels),
                                              static_cast<std::int32_t>(count),
                                              0,
                                              job.result,
                                              {0, -1}});
    paths.query_levels += job.levels;
    paths.words += even(count) + padding_words;
  }
  for (const auto& [shape, items] : by_shape) {
    paths.schedule.launches.push_back(
        {Rows::anchored, shape, static_cast<std::int64_t>(paths.schedule.items.size()), static_cast<std::int64_t>(items.size())});
    paths.schedule.items.insert(paths.schedule.items.end(), items.begin(), items.end());
  }
  return paths;
}

cudaError_t compute(std::span<const Launch> launches, const Item* items, const std::uint32_t* levels, const std::int16_t* query,
                    std::uint64_t* results, cudaStream_t stream) {
  for (const Launch& launch : launches) {
    const RowsKernel kernel = launch.rows == Rows::whole      ? kernel_of<Rows::whole>(launch.shape.lane_rows)
                              : launch.rows == Rows::stateful ? kernel_of<Rows::stateful>(launch.shape.lane_rows)
                                                              : kernel_of<Rows::anchored>(launch.shape.lane_rows);
    if (kernel == nullptr || launch.item_count <= 0) return cudaErrorInvalidValue;
    const std::int64_t blocks = divided_up(launch.item_count * launch.shape.group, 32);
    kernel<<<static_cast<unsigned int>(blocks), 32, 0, stream>>>(items + launch.first_item, launch.item_count, launch.shape.group, levels, query,
                                                                 results);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t copy_paths(const PathCopy* copies, std::int64_t count, const std::uint32_t* levels, const std::int16_t* query, std::uint32_t* path_levels,
                       std::int16_t* path_query, cudaStream_t stream) {
  if (count <= 0) return cudaSuccess;
  copy_paths_kernel<<<static_cast<unsigned int>(count), 128, 0, stream>>>(copies, levels, query, path_levels, path_query);
  return cudaGetLastError();
}

}  // namespace sluice::sdtw::cuda
