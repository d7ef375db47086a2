// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The kernels of an alignment, and how a batch is laid out for them. Filling the bands (cuda_fill.cuh) fills the instruction caches: what else is to
// be done is short (cuda_walk_back.cuh) or done by kernels of its own (cuda_paths.cuh).

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sluice/methods/abea/narrow_arithmetic.hpp>
#include <sluice/methods/abea/transitions.hpp>

#include "abea/cuda.hpp"
#include "abea/cuda_fill.cuh"
#include "abea/cuda_paths.cuh"
#include "abea/cuda_walk_back.cuh"

namespace sluice::abea::cuda {
namespace {

constexpr int warps_per_block = 4;  // of the kernels behind filling
constexpr int filling_warps = 20;   // on a multiprocessor
constexpr std::int64_t largest_band_count = std::int64_t{std::numeric_limits<std::int32_t>::max()} - 1024;

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

// Traces have the room that is left.
struct WorkspaceLayout {
  std::size_t facts, waypoints, sums, segment_reads, codes, levels, traces;
  explicit constexpr WorkspaceLayout(const BatchPart& part)
      : facts(0),
        waypoints(facts + aligned(static_cast<std::size_t>(part.read_count) * sizeof(ReadFacts))),
        sums(waypoints + static_cast<std::size_t>(part.read_count) * warp_lanes * sizeof(Waypoint)),
        segment_reads(sums + aligned(static_cast<std::size_t>(part.read_count) * sizeof(PathSums))),
        codes(segment_reads + aligned(static_cast<std::size_t>(part.segment_count) * sizeof(std::int32_t))),
        levels(codes + aligned(static_cast<std::size_t>(part.level_count) * sizeof(std::uint32_t))),
        traces(levels + aligned(static_cast<std::size_t>(part.level_count) * sizeof(Level))) {}
};

Workspace workspace_of(const DeviceWork& work) {
  auto* const base = static_cast<std::byte*>(work.workspace);
  const WorkspaceLayout layout(work.part);
  return {reinterpret_cast<ReadFacts*>(base + layout.facts),     reinterpret_cast<Waypoint*>(base + layout.waypoints),
          reinterpret_cast<PathSums*>(base + layout.sums),       reinterpret_cast<std::int32_t*>(base + layout.segment_reads),
          reinterpret_cast<std::uint32_t*>(base + layout.codes), reinterpret_cast<Level*>(base + layout.levels),
          reinterpret_cast<std::uint32_t*>(base + layout.traces)};
}

__host__ __device__ constexpr std::int32_t segments_of(std::int32_t kmer_count) { return (kmer_count - 1) / segment_kmers + 1; }

CommonTransitions common_transitions() {
  const Transitions any = transitions(2, 1);
  return {any.skip, any.trim};
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
  if (read.status == AlignmentStatus::ok) {
    for (std::int32_t segment = thread; segment < segments_of(read.kmer_count); segment += prepare_threads)
      workspace.segment_reads[read.segment_begin + segment] = static_cast<std::int32_t>(index);
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
  workspace.sums[index] = no_sums;
  alignments.status[read.row] = status;
  alignments.events_per_base[read.row] = 0.0;
  alignments.reports[read.row] = AlignmentReport{0.0, 0, -1, 0, 0, 0, 0, 0};
}

// Walks back along the path of a read with filled bands, by one warp.
__device__ __forceinline__ void find_path(const ReadPlan& plan, std::int64_t index, const Workspace& workspace, std::int32_t end_event) {
  Waypoint* const waypoints = workspace.waypoints + index * warp_lanes;
  const Waypoint begin = walk_read(plan, end_event, workspace.traces + plan.trace_begin * row_lanes, waypoints, workspace.codes + plan.level_begin);
  if (threadIdx.x % warp_lanes == 0) waypoints[warp_lanes - 1] = begin;
}

// A block is a warp and a read: the next read begins wherever a place on a multiprocessor becomes free.
template <FillForm form, bool guided>
__global__ void __launch_bounds__(warp_lanes, filling_warps)
    fill_kernel(const ReadPlan* __restrict__ reads, Workspace workspace, CommonTransitions common, const float* __restrict__ event_means,
                const std::uint32_t* __restrict__ guides, DeviceAlignments alignments) {
  __shared__ alignas(16) WarpStage stage;
  const std::int64_t index = blockIdx.x;
  const ReadPlan& plan = reads[index];
  if (alignments.status[plan.row] != AlignmentStatus::ok || (plan.guide_begin >= 0) != guided) return;
  const ReadFacts& facts = workspace.facts[index];
  const ReadInput read{plan.event_count,
                       plan.kmer_count,
                       plan.event_count + plan.kmer_count + 2,
                       workspace.levels + plan.level_begin,
                       event_means + plan.event_begin,
                       workspace.traces + plan.trace_begin * row_lanes,
                       facts.levels_are_moderate};
  AlignmentReport report{};
  fill_read<form, guided>(plan, facts, common, read, stage, workspace.waypoints + index * warp_lanes, Guide{guides + (guided ? plan.guide_begin : 0)},
                          report);
  if (threadIdx.x == 0) alignments.reports[plan.row] = report;
  __syncwarp();
  if (report.end_event >= 0) find_path(plan, index, workspace, report.end_event);
}

__device__ __forceinline__ PathInput path_of(const ReadPlan& plan, std::int64_t index, const Workspace& workspace,
                                             const float* __restrict__ event_means, std::int32_t end_event) {
  return {end_event,
          plan.kmer_count,
          workspace.waypoints[index * warp_lanes + warp_lanes - 1],
          workspace.codes + plan.level_begin,
          workspace.levels + plan.level_begin,
          event_means + plan.event_begin,
          workspace.facts[index].levels_are_moderate};
}

__global__ void __launch_bounds__(warps_per_block* warp_lanes)
    sum_kernel(const ReadPlan* __restrict__ reads, std::int64_t segment_count, Workspace workspace, const float* __restrict__ event_means,
               DeviceAlignments alignments) {
  const std::int64_t segment = std::int64_t{blockIdx.x} * warps_per_block + threadIdx.x / warp_lanes;
  if (segment >= segment_count) return;
  const std::int32_t index = workspace.segment_reads[segment];
  const ReadPlan& plan = reads[index];
  if (alignments.status[plan.row] != AlignmentStatus::ok) return;
  const std::int32_t end_event = alignments.reports[plan.row].end_event;
  if (end_event < 0) return;
  sum_segment(path_of(plan, index, workspace, event_means, end_event), static_cast<std::int32_t>(segment - plan.segment_begin),
              alignments.first_event + plan.kmer_begin, alignments.last_event + plan.kmer_begin, workspace.sums[index]);
}

__global__ void __launch_bounds__(warps_per_block* warp_lanes)
    conclude_kernel(const ReadPlan* __restrict__ reads, std::int64_t read_count, AlignmentLimits limits, Workspace workspace,
                    const float* __restrict__ event_means, DeviceAlignments alignments) {
  const std::int64_t index = std::int64_t{blockIdx.x} * warps_per_block + threadIdx.x / warp_lanes;
  if (index >= read_count) return;
  const ReadPlan& plan = reads[index];
  if (alignments.status[plan.row] != AlignmentStatus::ok) return;
  AlignmentReport report = alignments.reports[plan.row];
  __syncwarp();
  conclude_read(plan, path_of(plan, index, workspace, event_means, report.end_event), workspace.sums[index], limits, alignments, report);
}

constexpr unsigned int blocks_of(std::int64_t warps) { return static_cast<unsigned int>((warps + warps_per_block - 1) / warps_per_block); }

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
    read.guide_begin = -1;
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
    read.away_stay = narrow.stay - transition_quantum;
    read.away_step = narrow.step - transition_quantum;
    read.narrow_skip = round_to_odd(input.log_probability.skip);
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
  // Levels and traces decide: the rest is small, and the same for each read but for the last bit.
  const auto bytes_of = [&](const BatchPart& part, std::int64_t rows_of_traces) {
    return aligned(WorkspaceLayout(part).traces + static_cast<std::size_t>(rows_of_traces * row_bytes));
  };
  for (std::size_t first = 0; first < rows;) {
    BatchPart part{static_cast<std::int64_t>(first), 0, 0, 0};
    std::int64_t part_rows = 0;
    for (std::size_t i = first; i < rows; ++i) {
      ReadPlan& read = plan.reads[i];
      const std::int64_t segments = read.status == AlignmentStatus::ok ? segments_of(read.kmer_count) : 0;
      const BatchPart longer{part.first_read, part.read_count + 1, part.segment_count + segments, part.level_count + level_count(read)};
      const std::int64_t more_rows = part_rows + trace_rows(read);
      if (part.read_count > 0 && (bytes_of(longer, more_rows) > workspace_limit || longer.segment_count > largest_band_count)) break;
      read.segment_begin = static_cast<std::int32_t>(part.segment_count);
      read.level_begin = part.level_count;
      read.trace_begin = part_rows;
      part = longer;
      part_rows = more_rows;
    }
    plan.parts.push_back(part);
    plan.workspace_bytes = std::max(plan.workspace_bytes, bytes_of(part, part_rows));
    first += static_cast<std::size_t>(part.read_count);
  }
  return plan;
}

cudaError_t prepare_levels(const DeviceWork& work, const DeviceBatch& batch, const DeviceModel& model, const DeviceAlignments& alignments,
                           cudaStream_t stream) {
  if (work.part.read_count <= 0) return cudaSuccess;
  if (work.part.read_count > std::numeric_limits<std::int32_t>::max()) return cudaErrorInvalidValue;
  prepare_kernel<<<static_cast<unsigned int>(work.part.read_count), prepare_threads, 0, stream>>>(work.reads, workspace_of(work), batch, model,
                                                                                                  alignments);
  return cudaGetLastError();
}

cudaError_t fill_bands(const DeviceWork& work, const DeviceBatch& batch, const DeviceAlignments& alignments, cudaStream_t stream, FillForm form) {
  if (work.part.read_count <= 0) return cudaSuccess;
  if (work.part.read_count > std::numeric_limits<std::int32_t>::max()) return cudaErrorInvalidValue;
  const auto launch = [&](auto kernel) {
    kernel<<<static_cast<unsigned int>(work.part.read_count), warp_lanes, 0, stream>>>(work.reads, workspace_of(work), common_transitions(),
                                                                                       batch.event_means, batch.guides, alignments);
    return cudaGetLastError();
  };
  const bool is_wide = form == FillForm::wide;
  if (const cudaError_t error = launch(is_wide ? fill_kernel<FillForm::wide, false> : fill_kernel<FillForm::mixed, false>); error != cudaSuccess)
    return error;
  if (batch.guides == nullptr) return cudaSuccess;
  return launch(is_wide ? fill_kernel<FillForm::wide, true> : fill_kernel<FillForm::mixed, true>);
}

cudaError_t sum_paths(const DeviceWork& work, const DeviceBatch& batch, const DeviceAlignments& alignments, cudaStream_t stream) {
  if (work.part.segment_count > 0) {
    sum_kernel<<<blocks_of(work.part.segment_count), warps_per_block * warp_lanes, 0, stream>>>(work.reads, work.part.segment_count,
                                                                                                workspace_of(work), batch.event_means, alignments);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  }
  if (work.part.read_count <= 0) return cudaSuccess;
  conclude_kernel<<<blocks_of(work.part.read_count), warps_per_block * warp_lanes, 0, stream>>>(work.reads, work.part.read_count, work.limits,
                                                                                                workspace_of(work), batch.event_means, alignments);
  return cudaGetLastError();
}

cudaError_t align_batch(const BatchPlan& plan, const ReadPlan* reads, void* workspace, const AlignmentLimits& limits, const DeviceBatch& batch,
                        const DeviceModel& model, const DeviceAlignments& alignments, cudaStream_t stream, FillForm form) {
  for (const BatchPart& part : plan.parts) {
    const DeviceWork work{reads + part.first_read, part, limits, workspace};
    if (const cudaError_t error = prepare_levels(work, batch, model, alignments, stream); error != cudaSuccess) return error;
    if (const cudaError_t error = fill_bands(work, batch, alignments, stream, form); error != cudaSuccess) return error;
    if (const cudaError_t error = sum_paths(work, batch, alignments, stream); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace sluice::abea::cuda
