// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The three kernels of an alignment, and how a batch is laid out for them. Bands are filled (cuda_fill.cuh) and paths walked back along
// (cuda_walk_back.cuh) by kernels of their own: together they do not fit into the instruction caches, which cost more than one kernel's wait for the
// other's last reads.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "abea/cuda.hpp"
#include "abea/cuda_fill.cuh"
#include "abea/cuda_walk_back.cuh"
#include "abea/narrow_arithmetic.hpp"
#include "abea/transitions.hpp"

namespace sluice::abea::cuda {
namespace {

constexpr int warps_per_block = 4;
constexpr std::int64_t largest_band_count = std::int64_t{std::numeric_limits<std::int32_t>::max()} - 1024;

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

// Levels lie before traces: the traces have the size that is left.
struct WorkspaceLayout {
  std::size_t facts, waypoints, levels;
  explicit constexpr WorkspaceLayout(std::size_t read_count)
      : facts(256), waypoints(facts + aligned(read_count * sizeof(ReadFacts))), levels(waypoints + read_count * warp_lanes * sizeof(Waypoint)) {}
};

// Traces are addressed from the end of the levels, which trace_begin already counts.
Workspace workspace_of(const DeviceWork& work) {
  auto* const base = static_cast<std::byte*>(work.workspace);
  const WorkspaceLayout layout(static_cast<std::size_t>(work.read_count));
  return {reinterpret_cast<unsigned long long*>(base), reinterpret_cast<ReadFacts*>(base + layout.facts),
          reinterpret_cast<Waypoint*>(base + layout.waypoints), reinterpret_cast<Level*>(base + layout.levels),
          reinterpret_cast<std::uint16_t*>(base + layout.levels)};
}

CommonTransitions common_transitions() {
  const Transitions any = transitions(2, 1);
  return {any.skip, any.trim, round_to_odd(any.skip)};
}

struct Extremes {
  std::uint32_t lowest, highest;
};

__device__ void widen(Extremes& shared, float lowest, float highest) {
  const std::uint32_t low = __reduce_min_sync(whole_warp, order_of(lowest));
  const std::uint32_t high = __reduce_max_sync(whole_warp, order_of(highest));
  if (threadIdx.x % warp_lanes == 0) {
    atomicMin(&shared.lowest, low);
    atomicMax(&shared.highest, high);
  }
}

constexpr int prepare_threads = 128;

__global__ void __launch_bounds__(prepare_threads)
    prepare_kernel(const ReadPlan* reads, Workspace workspace, DeviceBatch batch, DeviceModel model, DeviceAlignments alignments) {
  __shared__ Extremes means, stdvs, peaks;
  __shared__ int faults[3];  // a rank beyond the model, a level that is NaN, an event that is not moderate
  const std::int64_t index = blockIdx.x;
  const ReadPlan read = reads[index];
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  if (thread == 0) {
    means = stdvs = peaks = {order_of(infinity), order_of(-infinity)};
    faults[0] = faults[1] = faults[2] = 0;
  }
  __syncthreads();
  AlignmentStatus status = read.status;
  if (status == AlignmentStatus::ok) {
    const float scale = batch.scale[read.row];
    const float shift = batch.shift[read.row];
    float lowest_mean = infinity, highest_mean = -infinity, lowest_stdv = infinity, highest_stdv = -infinity, lowest_peak = infinity,
          highest_peak = -infinity;
    bool beyond = false;
    bool unordered = false;
    Level* const levels = workspace.levels + read.level_begin;
    for (std::int32_t kmer = thread; kmer < read.kmer_count; kmer += prepare_threads) {
      const std::uint32_t rank = batch.kmer_ranks[read.kmer_begin + kmer];
      Level level = no_level;
      if (rank < model.row_count) {
        level.mean = __fadd_rn(__fmul_rn(scale, model.level_mean[rank]), shift);
        level.stdv = model.level_stdv[rank];
        level.inverse_stdv = __fdiv_rn(1.0F, level.stdv);
        level.peak = __fsub_rn(log_normal_constant, model.log_level_stdv[rank]);
      } else {
        beyond = true;
      }
      levels[kmer] = level;
      unordered |= !(level.mean == level.mean && level.stdv == level.stdv && level.peak == level.peak);
      lowest_mean = fminf(lowest_mean, level.mean);
      highest_mean = fmaxf(highest_mean, level.mean);
      lowest_stdv = fminf(lowest_stdv, level.stdv);
      highest_stdv = fmaxf(highest_stdv, level.stdv);
      lowest_peak = fminf(lowest_peak, level.peak);
      highest_peak = fmaxf(highest_peak, level.peak);
    }
    if (thread < spare_levels) levels[read.kmer_count + thread] = no_level;
    bool immoderate = false;
    for (std::int32_t event = thread; event < read.event_count; event += prepare_threads) {
      const float mean = batch.event_means[read.event_begin + event];
      immoderate |= !(mean > -0x1p20F && mean < 0x1p20F);
    }
    widen(means, lowest_mean, highest_mean);
    widen(stdvs, lowest_stdv, highest_stdv);
    widen(peaks, lowest_peak, highest_peak);
    if (beyond) faults[0] = 1;
    if (unordered) faults[1] = 1;
    if (immoderate) faults[2] = 1;
    __syncthreads();
    if (faults[0] != 0) status = AlignmentStatus::kmer_outside_model;
  }
  if (status != AlignmentStatus::ok) {
    for (std::int32_t kmer = thread; kmer < read.kmer_count; kmer += prepare_threads) {
      alignments.first_event[read.kmer_begin + kmer] = -1;
      alignments.last_event[read.kmer_begin + kmer] = -1;
    }
  }
  if (thread != 0) return;
  ReadFacts facts{};
  facts.ranges = {value_of_order(means.lowest),  value_of_order(means.highest), value_of_order(stdvs.lowest),
                  value_of_order(stdvs.highest), value_of_order(peaks.lowest),  value_of_order(peaks.highest)};
  facts.levels_are_moderate = faults[1] == 0 && faults[2] == 0 && levels_fit(facts.ranges);
  workspace.facts[index] = facts;
  alignments.status[read.row] = status;
  alignments.events_per_base[read.row] = 0.0;
  alignments.reports[read.row] = AlignmentReport{0.0, 0, -1, 0, 0, 0, 0, 0};
}

template <FillForm form, NarrowLoop loop, int blocks>
__global__ void __launch_bounds__(warps_per_block* warp_lanes, blocks)
    fill_kernel(const ReadPlan* __restrict__ reads, std::int64_t read_count, Workspace workspace, CommonTransitions common,
                const float* __restrict__ event_means, DeviceAlignments alignments) {
  __shared__ alignas(16) WarpStage stages[warps_per_block];
  WarpStage& stage = stages[threadIdx.x / warp_lanes];
  while (true) {
    unsigned long long next = 0;
    if (threadIdx.x % warp_lanes == 0) next = atomicAdd(workspace.next_read, 1ULL);
    const auto index = static_cast<std::int64_t>(__shfl_sync(whole_warp, next, 0));
    if (index >= read_count) return;
    const ReadPlan& plan = reads[index];
    if (alignments.status[plan.row] != AlignmentStatus::ok) continue;
    const ReadFacts& facts = workspace.facts[index];
    const ReadInput read{plan.event_count,
                         plan.kmer_count,
                         plan.event_count + plan.kmer_count + 2,
                         workspace.levels + plan.level_begin,
                         event_means + plan.event_begin,
                         workspace.traces + plan.trace_begin * row_lanes,
                         facts.levels_are_moderate};
    AlignmentReport report{};
    fill_read<form, loop>(plan, facts, common, read, stage, workspace.waypoints + index * warp_lanes, report);
    if (threadIdx.x % warp_lanes == 0) alignments.reports[plan.row] = report;
    __syncwarp();
  }
}

// Walkers wait for memory: as many as there is room for.
constexpr int walking_blocks = 9;

__global__ void __launch_bounds__(warps_per_block* warp_lanes, walking_blocks)
    path_kernel(const ReadPlan* __restrict__ reads, std::int64_t read_count, AlignmentLimits limits, Workspace workspace,
                const float* __restrict__ event_means, DeviceAlignments alignments) {
  const std::int64_t index = std::int64_t{blockIdx.x} * warps_per_block + threadIdx.x / warp_lanes;
  if (index >= read_count) return;
  const ReadPlan& plan = reads[index];
  if (alignments.status[plan.row] != AlignmentStatus::ok) return;
  AlignmentReport report = alignments.reports[plan.row];
  trace_back(plan, limits, workspace.facts[index].levels_are_moderate, workspace.levels + plan.level_begin, event_means + plan.event_begin,
             workspace.traces + plan.trace_begin * row_lanes, workspace.waypoints + index * warp_lanes, alignments, report);
}

template <FillForm form, NarrowLoop loop, int blocks>
cudaError_t launch(const DeviceWork& work, const DeviceBatch& batch, const DeviceAlignments& alignments, cudaStream_t stream) {
  int device = 0;
  int multiprocessors = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  if (const cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device); error != cudaSuccess) return error;
  const std::int64_t useful = (work.read_count + warps_per_block - 1) / warps_per_block;
  const auto grid = static_cast<unsigned int>(std::min<std::int64_t>(std::int64_t{multiprocessors} * blocks, useful));
  fill_kernel<form, loop, blocks><<<grid, warps_per_block * warp_lanes, 0, stream>>>(work.reads, work.read_count, workspace_of(work),
                                                                                     common_transitions(), batch.event_means, alignments);
  return cudaGetLastError();
}

template <FillForm form, NarrowLoop loop>
cudaError_t launch(const DeviceWork& work, const DeviceBatch& batch, const DeviceAlignments& alignments, cudaStream_t stream,
                   int warps_per_multiprocessor) {
  if (warps_per_multiprocessor >= 24) return launch<form, loop, 6>(work, batch, alignments, stream);
  if (warps_per_multiprocessor >= 20) return launch<form, loop, 5>(work, batch, alignments, stream);
  return launch<form, loop, 4>(work, batch, alignments, stream);
}

}  // namespace

BatchPlan plan_batch(std::span<const std::int64_t> event_offsets, std::span<const std::int64_t> kmer_offsets, const KmerModelView& model,
                     const AlignmentLimits& limits, std::span<const std::uint16_t> row_status, std::size_t workspace_limit) {
  BatchPlan plan;
  const std::size_t rows = event_offsets.empty() || event_offsets.size() != kmer_offsets.size() ? 0 : event_offsets.size() - 1;
  const bool model_is_valid =
      model.k > 0 && model.level_stdv.size() == model.level_mean.size() && model.log_level_stdv.size() == model.level_mean.size();
  plan.reads.resize(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    ReadPlan& read = plan.reads[row];
    read = {};
    read.row = static_cast<std::int64_t>(row);
    read.event_begin = event_offsets[row];
    read.kmer_begin = kmer_offsets[row];
    const std::int64_t event_count = std::max<std::int64_t>(0, event_offsets[row + 1] - event_offsets[row]);
    const std::int64_t kmer_count = std::max<std::int64_t>(0, kmer_offsets[row + 1] - kmer_offsets[row]);
    if (row < row_status.size() && row_status[row] != 0) {
      read.status = AlignmentStatus::output_size_mismatch;
    } else if (!model_is_valid) {
      read.status = AlignmentStatus::invalid_model;
    } else if (kmer_count == 0) {
      read.status = AlignmentStatus::too_few_kmers;
    } else if (event_count == 0) {
      read.status = AlignmentStatus::no_events;
    } else if (event_count > largest_band_count || kmer_count > largest_band_count - event_count) {
      read.status = AlignmentStatus::read_too_long;
    } else if (static_cast<float>(event_count) / static_cast<float>(static_cast<std::size_t>(kmer_count) + model.k - 1) >=
               limits.max_events_per_base) {
      read.status = AlignmentStatus::too_many_events_per_base;
    }
    read.kmer_count = static_cast<std::int32_t>(std::min<std::int64_t>(kmer_count, std::numeric_limits<std::int32_t>::max()));
    if (read.status != AlignmentStatus::ok) continue;
    read.event_count = static_cast<std::int32_t>(event_count);
    BandFillInput input{};
    input.ranges = {0.0F, 0.0F, 1.0F, 1.0F, -1.0F, -1.0F};  // those of the levels are checked on the device
    input.events_are_moderate = true;
    input.log_probability = transitions(static_cast<std::size_t>(event_count), static_cast<std::size_t>(kmer_count));
    const NarrowTransitions narrow = narrow_transitions(input);
    read.stay = input.log_probability.stay;
    read.step = input.log_probability.step;
    read.narrow_possible = narrow.possible;
    read.narrow_stay = narrow.stay;
    read.narrow_step = narrow.step;
    read.lowest_exact_score = narrow.lowest_exact_score;
  }
  const auto bands = [](const ReadPlan& read) { return std::int64_t{read.event_count} + read.kmer_count; };
  std::sort(plan.reads.begin(), plan.reads.end(),
            [&](const ReadPlan& a, const ReadPlan& b) { return bands(a) != bands(b) ? bands(a) > bands(b) : a.row < b.row; });

  const auto level_count = [](const ReadPlan& read) {
    return read.status == AlignmentStatus::ok ? (std::int64_t{read.kmer_count} + spare_levels + 7) / 8 * 8 : 0;
  };
  const auto trace_rows = [&](const ReadPlan& read) {
    return read.status == AlignmentStatus::ok ? (bands(read) + 2 + bands_per_row - 1) / bands_per_row : 0;
  };
  const auto level_bytes = static_cast<std::int64_t>(sizeof(Level));
  for (std::size_t first = 0; first < rows;) {
    std::size_t end = first;
    std::size_t bytes = 0;
    std::int64_t levels = 0, traces = 0;
    for (; end < rows; ++end) {
      const std::int64_t more_levels = levels + level_count(plan.reads[end]), more_traces = traces + trace_rows(plan.reads[end]);
      const std::size_t more_bytes =
          WorkspaceLayout(end + 1 - first).levels + static_cast<std::size_t>(more_levels * level_bytes + more_traces * row_bytes);
      if (end > first && more_bytes > workspace_limit) break;
      plan.reads[end].level_begin = levels;
      plan.reads[end].trace_begin = traces;
      levels = more_levels;
      traces = more_traces;
      bytes = more_bytes;
    }
    for (std::size_t i = first; i < end; ++i) plan.reads[i].trace_begin += levels * level_bytes / row_bytes;
    plan.parts.push_back({first, end - first});
    plan.workspace_bytes = std::max(plan.workspace_bytes, bytes);
    first = end;
  }
  return plan;
}

cudaError_t prepare_levels(const DeviceWork& work, const DeviceBatch& batch, const DeviceModel& model, const DeviceAlignments& alignments,
                           cudaStream_t stream) {
  if (work.read_count <= 0) return cudaSuccess;
  if (work.read_count > std::numeric_limits<std::int32_t>::max()) return cudaErrorInvalidValue;
  prepare_kernel<<<static_cast<unsigned int>(work.read_count), prepare_threads, 0, stream>>>(work.reads, workspace_of(work), batch, model,
                                                                                             alignments);
  return cudaGetLastError();
}

cudaError_t fill_bands(const DeviceWork& work, const DeviceBatch& batch, const DeviceAlignments& alignments, cudaStream_t stream, FillForm form,
                       NarrowLoop loop, int warps) {
  if (work.read_count <= 0) return cudaSuccess;
  if (const cudaError_t error = cudaMemsetAsync(work.workspace, 0, sizeof(unsigned long long), stream); error != cudaSuccess) return error;
  switch (form) {
    case FillForm::mixed:
      if (loop == NarrowLoop::by_twos) return launch<FillForm::mixed, NarrowLoop::by_twos>(work, batch, alignments, stream, warps);
      return launch<FillForm::mixed, NarrowLoop::by_ones>(work, batch, alignments, stream, warps);
    case FillForm::checked:
      return launch<FillForm::checked, NarrowLoop::by_ones>(work, batch, alignments, stream, warps);
    case FillForm::wide:
      return launch<FillForm::wide, NarrowLoop::by_ones>(work, batch, alignments, stream, warps);
  }
  return cudaErrorInvalidValue;
}

cudaError_t find_paths(const DeviceWork& work, const DeviceBatch& batch, const DeviceAlignments& alignments, cudaStream_t stream) {
  if (work.read_count <= 0) return cudaSuccess;
  const auto grid = static_cast<unsigned int>((work.read_count + warps_per_block - 1) / warps_per_block);
  path_kernel<<<grid, warps_per_block * warp_lanes, 0, stream>>>(work.reads, work.read_count, work.limits, workspace_of(work), batch.event_means,
                                                                 alignments);
  return cudaGetLastError();
}

cudaError_t align_batch(const DeviceWork& work, const DeviceBatch& batch, const DeviceModel& model, const DeviceAlignments& alignments,
                        cudaStream_t stream) {
  if (const cudaError_t error = prepare_levels(work, batch, model, alignments, stream); error != cudaSuccess) return error;
  if (const cudaError_t error = fill_bands(work, batch, alignments, stream); error != cudaSuccess) return error;
  return find_paths(work, batch, alignments, stream);
}

}  // namespace sluice::abea::cuda
