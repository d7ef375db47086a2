// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Event alignment of many rows: one warp a row. All lanes of a warp do the same in a row's walk (record_walk.hpp), on the same values; on a segment
// each lane has k-mers of its own (cuda_lane.hpp). Warps take rows from a queue.

#include <algorithm>
#include <sluice/cuda/warp.cuh>
#include <utility>
#include <vector>

#include "event_alignment/cuda.hpp"
#include "event_alignment/cuda_lane.hpp"
#include "event_alignment/record_walk.hpp"

namespace sluice::event_alignment::cuda {
namespace {

using sluice::cuda::whole_warp;

constexpr std::size_t kAlignment = 256;
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

constexpr int kThreads = kWarpsPerBlock * kLanes;
constexpr std::int64_t kUsualRows = 1024;    // 128 bytes of choices each: 132 kB a warp
constexpr std::uint32_t kStalledWarps = 64;  // 8.4 MB each
constexpr std::int64_t kChunkSteps = 32;     // of choices that a warp brings into shared memory at once

struct Workspace {
  std::uint32_t* next;     // of the queue
  AlignedBlock* blocks;    // those of a row begin at cigar_offsets[row] + row; a block of length 0 ends a stretch
  std::uint32_t* choices;  // of a warp: choice_words()
};

std::size_t block_count(const Rows& rows) { return static_cast<std::size_t>(rows.cigar_operations) + rows.count; }
__host__ __device__ std::int64_t choice_words(std::int64_t most_rows) { return (most_rows + kLanes) * kLanes; }

Workspace divide(void* memory, const Rows& rows) {
  auto* at = static_cast<std::byte*>(memory);
  Workspace workspace{};
  workspace.next = reinterpret_cast<std::uint32_t*>(at);
  at += kAlignment;
  workspace.blocks = reinterpret_cast<AlignedBlock*>(at);
  at += aligned(sizeof(AlignedBlock) * block_count(rows));
  workspace.choices = reinterpret_cast<std::uint32_t*>(at);
  return workspace;
}

// Reads choices from shared memory, a chunk of steps at a time. Every lane copies what it has written itself.
struct ChoiceReader {
  const std::uint32_t* choices;
  std::uint32_t (*chunk)[kLanes];
  int lane;
  mutable std::int64_t begin;  // of the chunk; steps never ascend

  __device__ std::uint32_t operator()(std::int64_t step, int of_lane) const {
    if (step < begin) {
      begin = step >= kChunkSteps - 1 ? step - (kChunkSteps - 1) : 0;
      __syncwarp();
      for (std::int64_t i = begin; i <= step; ++i) chunk[i - begin][lane] = choices[i * kLanes + lane];
      __syncwarp();
    }
    return chunk[step - begin][of_lane];
  }
};

// One row of a batch, and the warp that aligns it.
struct RowWarp {
  int lane;
  const char* contig;
  const float* event_mean;  // of the row
  std::int64_t events;
  bool reverse;
  const Model& model;
  event_hmm::ReadScaling scaling;
  event_hmm::Transitions transitions;
  bool has_transitions;
  std::uint32_t* choices;  // of the warp
  std::uint32_t (*chunk)[kLanes];
  Paths path;  // of the row
  mutable std::int64_t written;

  __device__ void write(std::int64_t at, std::int64_t event, std::int64_t position, State state) const {
    if (at >= events) return;
    path.event[at] = static_cast<std::int32_t>(event);
    path.position[at] = static_cast<std::int32_t>(position);
    path.state[at] = static_cast<std::uint8_t>(state);
  }

  // As segment_ranks in event_alignment.cpp.
  __device__ std::uint32_t rank(const char* kmer) const {
    std::uint32_t result = 0;
    for (std::uint32_t i = 0; i < model.k; ++i) {
      const char letter = kmer[i];
      const std::uint32_t code = letter == 'C' ? 1U : letter == 'G' ? 2U : letter == 'T' ? 3U : 0U;
      result = reverse ? result | (3U - code) << (2 * i) : result << 2U | code;
    }
    return result;
  }

  // Gives the lane its k-mers; whether quotients may come from reciprocals.
  template <int kColumns>
  __device__ bool load_levels(Lane<kColumns>& cells, const char* sequence, int columns) const {
    bool by_reciprocal = true;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int column = lane * kColumns + c;
      cells.level[c] = {};
      if (column < columns) {
        const float4 level = model.levels[rank(sequence + column)];
        cells.level[c] = lane_level(event_hmm::scale_level(level.x, level.y, level.z, scaling));
      }
      by_reciprocal = by_reciprocal && may_use_reciprocal(cells.level[c]);
    }
    return __all_sync(whole_warp, by_reciprocal) != 0;
  }

  // Fills the segment's choices; whether its last cell can be reached.
  template <int kColumns>
  __device__ bool fill(const SegmentPlace& segment, int columns) const {
    Lane<kColumns> cells;
    const bool by_reciprocal = load_levels(cells, contig + segment.position, columns);
    cells.begin(lane);
    return by_reciprocal ? run<true>(cells, segment, columns) : run<false>(cells, segment, columns);
  }

  template <bool kByReciprocal, int kColumns>
  __device__ bool run(Lane<kColumns>& cells, const SegmentPlace& segment, int columns) const {
    const int last_lane = (columns - 1) / kColumns, last_row = static_cast<int>(segment.rows) - 1, step_of_event = static_cast<int>(segment.step);
    const float* const first = event_mean + segment.first_event;
    // Before its first row and behind its last one a lane looks at events that change nothing.
    const auto event_of = [&](int row) { return first[(row < 0 ? 0 : row < last_row ? row : last_row) * step_of_event]; };
    float event = event_of(-lane);
    for (int step = 0; step <= last_row + last_lane; ++step) {
      const float next_event = event_of(step + 1 - lane);
      const Passing own = cells.passing();
      Passing left{__shfl_up_sync(whole_warp, own.match, 1), __shfl_up_sync(whole_warp, own.bad_out, 1), __shfl_up_sync(whole_warp, own.skip, 1)};
      if (lane == 0) left = {};
      choices[step * kLanes + lane] = cells.template advance<kByReciprocal>(event, left, transitions);
      event = next_event;
    }
    float last = event_hmm::kMinusInfinity;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      if (c == (columns - 1) % kColumns) last = cells.best[c];
    }
    return __shfl_sync(whole_warp, last, last_lane) > event_hmm::kMinusInfinity;
  }

  // Finds the path of a segment and keeps its part: rows 1 .. kept.
  template <int kColumns>
  __device__ SegmentEnd align(const SegmentPlace& segment) const {
    const int columns = static_cast<int>(segment.length) - static_cast<int>(model.k) + 1;
    const std::int64_t kept = segment.is_last || segment.rows - 1 < kSegmentOutputs ? segment.rows - 1 : kSegmentOutputs;
    const std::int64_t last_position = segment.position + columns - 1;
    if (!has_transitions) {
      for (std::int64_t row = 1 + lane; row <= kept; row += kLanes)
        write(written + row - 1, segment.first_event + row * segment.step, last_position, State::match);
      written += kept;
      return {kept, segment.first_event + kept * segment.step, last_position};
    }
    const std::int64_t last_event = segment.first_event + (segment.rows - 1) * segment.step;
    if (!fill<kColumns>(segment, columns)) {
      if (lane == 0) write(written, last_event, last_position, State::match);
      ++written;
      return {1, last_event, last_position};
    }
    SegmentEnd end{kept, segment.first_event + kept * segment.step, segment.position};
    const ChoiceReader reader{choices, chunk, lane, segment.rows + kLanes};
    walk_back<kColumns>(segment.rows, columns, reader, [&](std::int64_t row, int column, State state) {
      if (row < 1 || row > kept) return;
      if (row == kept) end.position = segment.position + column;
      if (lane == 0) write(written + row - 1, segment.first_event + row * segment.step, segment.position + column, state);
    });
    __syncwarp();
    written += kept;
    return end;
  }
};

// As is_base_to_event_map in event_alignment.cpp, by one warp.
__device__ bool is_base_to_event_map(std::span<const std::int32_t> first_event, std::int64_t events, int lane) {
  std::int32_t before = -1;
  for (std::size_t begin = 0; begin < first_event.size(); begin += kLanes) {
    const std::size_t at = begin + static_cast<std::size_t>(lane);
    const std::int32_t event = at < first_event.size() ? first_event[at] : -1;
    const unsigned present = __ballot_sync(whole_warp, event != -1);
    const unsigned lower = present & ((1U << lane) - 1U);
    const std::int32_t of_lower = __shfl_sync(whole_warp, event, lower == 0 ? 0 : 31 - __clz(static_cast<int>(lower)));
    const std::int32_t previous = lower == 0 ? before : of_lower;
    const bool wrong = event != -1 && (event <= previous || event >= events);
    if (__any_sync(whole_warp, wrong) != 0) return false;
    const std::int32_t last = __shfl_sync(whole_warp, event, present == 0 ? 0 : 31 - __clz(static_cast<int>(present)));
    if (present != 0) before = last;
  }
  return true;
}

__device__ bool are_usable(const float* event_mean, std::int64_t events, int lane) {
  bool usable = true;
  for (std::int64_t i = lane; i < events; i += kLanes) usable = usable && event_hmm::is_usable(event_mean[i]);
  return __all_sync(whole_warp, usable) != 0;
}

// As align_events in event_alignment.cpp, check by check.
template <int kColumns>
__device__ RecordStatus align_row(const Rows& rows, std::uint32_t row, const Reference& reference, const Model& model, const Settings& settings,
                                  std::int64_t most_rows, AlignedBlock* blocks, std::uint32_t* choices, std::uint32_t (*chunk)[kLanes],
                                  const Paths& paths, std::int64_t& written) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::int64_t contig_begin = reference.contig_begin[rows.contig[row]];
  const std::int64_t contig_length = reference.contig_begin[rows.contig[row] + 1] - contig_begin;
  const std::int64_t start = rows.ref_start[row], end = rows.ref_end[row];
  if (start < 0 || end < start || end > contig_length) return RecordStatus::outside_contig;

  const event_hmm::ReadScaling scaling{rows.scale[row], rows.shift[row], rows.var[row], rows.log_var[row]};
  if (!model.extremes.are_usable_with(scaling)) return RecordStatus::not_finite;
  const std::int64_t first = rows.event_offsets[row], events = rows.event_offsets[row + 1] - first;
  const std::int64_t map_begin = rows.map_offsets[row];
  const std::span<const std::int32_t> map{rows.first_event + map_begin, static_cast<std::size_t>(rows.map_offsets[row + 1] - map_begin)};
  const std::int64_t read_length = rows.bases_offsets[row + 1] - rows.bases_offsets[row];
  constexpr std::int64_t most = 0x7FFFFFFF;
  if (read_length < model.k || read_length > most || static_cast<std::int64_t>(map.size()) != read_length - model.k + 1 || events > most ||
      !is_base_to_event_map(map, events, lane)) {
    return RecordStatus::bad_base_to_event_map;
  }
  if (!are_usable(rows.event_mean + first, events, lane)) return RecordStatus::not_finite;

  const bool reverse = rows.is_reverse[row] != 0;
  const Walk walk{
      contig_length,    start, read_length, model.k, reverse ? Strand::reverse : Strand::forward, map, settings.hard_clips, settings.clip_start,
      settings.clip_end};
  const std::int64_t cigar_begin = rows.cigar_offsets[row];
  std::size_t listed = 0;
  const auto add = [&](const AlignedBlock& block) {
    if (lane == 0) blocks[listed] = block;
    ++listed;
  };
  const RecordStatus status = list_aligned_bases(
      walk, {rows.cigar + cigar_begin, static_cast<std::size_t>(rows.cigar_offsets[row + 1] - cigar_begin)}, add, [&] { add(AlignedBlock{}); });
  if (status != RecordStatus::ok) return status;
  __syncwarp();

  const auto transitions = event_hmm::make_transitions(rows.events_per_base[row], settings.events_per_base);
  if (!transitions && !stays_in_last_kmer(rows.events_per_base[row], settings.events_per_base)) return RecordStatus::bad_events_per_base;
  const RowWarp warp{lane,
                     reference.bases + contig_begin,
                     rows.event_mean + first,
                     events,
                     reverse,
                     model,
                     scaling,
                     transitions ? *transitions : event_hmm::Transitions{},
                     transitions.has_value(),
                     choices,
                     chunk,
                     {paths.event + first, paths.position + first, paths.state + first, nullptr, nullptr},
                     0};
  for (std::size_t begin = 0; begin < listed;) {
    std::size_t stretch_end = begin;
    while (blocks[stretch_end].length != 0) ++stretch_end;
    const RecordStatus walked = walk_segments(walk, AlignedBases({blocks + begin, stretch_end - begin}), most_rows,
                                              [&](const SegmentPlace& segment) { return warp.template align<kColumns>(segment); });
    if (walked != RecordStatus::ok) return walked;
    begin = stretch_end + 1;
  }
  written = warp.written;
  return written > events ? RecordStatus::bad_base_to_event_map : RecordStatus::ok;
}

template <int kColumns>
__global__ void __launch_bounds__(kThreads) align_kernel(Rows rows, const std::uint32_t* order, std::uint32_t count, Reference reference, Model model,
                                                         Settings settings, std::int64_t most_rows, Workspace workspace, Paths paths) {
  __shared__ std::uint32_t chunks[kWarpsPerBlock][kChunkSteps][kLanes];
  const std::uint32_t warp = threadIdx.x / kLanes;
  const bool first_lane = threadIdx.x % kLanes == 0;
  std::uint32_t* const choices = workspace.choices + (blockIdx.x * std::int64_t{kWarpsPerBlock} + warp) * choice_words(most_rows);
  while (true) {
    std::uint32_t next = 0;
    if (first_lane) next = atomicAdd(workspace.next, 1U);
    next = __shfl_sync(whole_warp, next, 0);
    if (next >= count) return;
    const std::uint32_t row = order[next];
    std::int64_t written = 0;
    const RecordStatus status = align_row<kColumns>(rows, row, reference, model, settings, most_rows,
                                                    workspace.blocks + rows.cigar_offsets[row] + row, choices, chunks[warp], paths, written);
    if (first_lane) {
      paths.status[row] = status;
      paths.count[row] = status == RecordStatus::ok ? written : 0;
    }
    __syncwarp();
  }
}

constexpr int kGatherThreads = 128;

__global__ void __launch_bounds__(kGatherThreads) gather_kernel(Rows rows, Paths paths, const std::int64_t* offsets, Paths to) {
  for (std::uint32_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const std::int64_t from = rows.event_offsets[row], begin = offsets[row], count = offsets[row + 1] - begin;
    for (std::int64_t i = threadIdx.x; i < count; i += kGatherThreads) {
      to.event[begin + i] = paths.event[from + i];
      to.position[begin + i] = paths.position[from + i];
      to.state[begin + i] = paths.state[from + i];
    }
  }
}

// A lane has three k-mers where that is enough for a segment's.
bool three_columns_are_enough(std::uint32_t k) { return kMaximumColumns - k + 1 <= 3 * kLanes; }

std::uint32_t whole_blocks(std::uint32_t warps) { return (warps + kWarpsPerBlock - 1) / kWarpsPerBlock * kWarpsPerBlock; }

}  // namespace

std::size_t reference_bytes(std::span<const std::string_view> contigs) {
  std::size_t bases = 0;
  for (const std::string_view contig : contigs) bases += contig.size();
  return aligned(bases) + sizeof(std::int64_t) * (contigs.size() + 1);
}

cudaError_t upload_reference(std::span<const std::string_view> contigs, void* memory, cudaStream_t stream, Reference& reference) {
  auto* const bases = static_cast<char*>(memory);
  std::vector<std::int64_t> begin{0};
  for (const std::string_view contig : contigs) begin.push_back(begin.back() + static_cast<std::int64_t>(contig.size()));
  for (std::size_t i = 0; i < contigs.size(); ++i) {
    if (contigs[i].empty()) continue;
    const cudaError_t error = cudaMemcpyAsync(bases + begin[i], contigs[i].data(), contigs[i].size(), cudaMemcpyHostToDevice, stream);
    if (error != cudaSuccess) return error;
  }
  auto* const contig_begin = reinterpret_cast<std::int64_t*>(bases + aligned(static_cast<std::size_t>(begin.back())));
  const cudaError_t error = cudaMemcpyAsync(contig_begin, begin.data(), begin.size() * sizeof(std::int64_t), cudaMemcpyHostToDevice, stream);
  if (error != cudaSuccess) return error;
  reference = {bases, contig_begin};
  return cudaStreamSynchronize(stream);
}

std::size_t model_bytes(const CheckedModel& model) { return sizeof(float4) * model.view().level_mean.size(); }

cudaError_t upload_model(const CheckedModel& model, void* memory, cudaStream_t stream, Model& on_device) {
  if (!model.extremes().is_model) return cudaErrorInvalidValue;
  const KmerModelView& view = model.view();
  std::vector<float4> levels(view.level_mean.size());
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = make_float4(view.level_mean[i], view.level_stdv[i], view.log_level_stdv[i], 0.0F);
  if (const cudaError_t error = cudaMemcpyAsync(memory, levels.data(), model_bytes(model), cudaMemcpyHostToDevice, stream); error != cudaSuccess)
    return error;
  on_device = {static_cast<const float4*>(memory), view.k, model.extremes()};
  return cudaStreamSynchronize(stream);
}

Plan plan_usual(std::uint32_t rows, std::uint32_t k) {
  int device = 0, processors = 1, blocks = 1;
  const void* const kernel =
      three_columns_are_enough(k) ? reinterpret_cast<const void*>(align_kernel<3>) : reinterpret_cast<const void*>(align_kernel<4>);
  // A device that does not answer gets one block on each of its processors, or one in all: fewer warps are slower, not wrong.
  if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, 0) != cudaSuccess) {
    cudaGetLastError();
  }
  const auto at_once = static_cast<std::uint32_t>(std::max(processors, 1)) * static_cast<std::uint32_t>(std::max(blocks, 1)) * kWarpsPerBlock;
  return {kUsualRows, std::min(at_once, whole_blocks(rows))};
}

Plan plan_stalled(std::uint32_t rows) { return {kMaximumSegmentEvents, std::min(kStalledWarps, whole_blocks(rows))}; }

std::size_t workspace_bytes(const Rows& rows, const Plan& plan) {
  return kAlignment + aligned(sizeof(AlignedBlock) * block_count(rows)) +
         sizeof(std::uint32_t) * static_cast<std::size_t>(choice_words(plan.most_rows)) * plan.warps;
}

cudaError_t align_rows(const Rows& rows, const std::uint32_t* order, std::uint32_t count, const Reference& reference, const Model& model,
                       const Settings& settings, const Plan& plan, void* workspace, const Paths& paths, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const Workspace divided = divide(workspace, rows);
  if (const cudaError_t error = cudaMemsetAsync(divided.next, 0, sizeof(std::uint32_t), stream); error != cudaSuccess) return error;
  const std::uint32_t blocks = plan.warps / kWarpsPerBlock;
  if (three_columns_are_enough(model.k)) {
    align_kernel<3><<<blocks, kThreads, 0, stream>>>(rows, order, count, reference, model, settings, plan.most_rows, divided, paths);
  } else {
    align_kernel<4><<<blocks, kThreads, 0, stream>>>(rows, order, count, reference, model, settings, plan.most_rows, divided, paths);
  }
  return cudaGetLastError();
}

cudaError_t gather_paths(const Rows& rows, const Paths& paths, const std::int64_t* offsets, const Paths& to, cudaStream_t stream) {
  if (rows.count == 0) return cudaSuccess;
  gather_kernel<<<std::min(rows.count, 65535U), kGatherThreads, 0, stream>>>(rows, paths, offsets, to);
  return cudaGetLastError();
}

}  // namespace sluice::event_alignment::cuda
