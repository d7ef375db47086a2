// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Event alignment of many rows: one warp a row. All lanes of a warp do the same in a row's walk (record_walk.hpp), on the same values; on a segment
// each lane has k-mers of its own (cuda_lane.hpp). Warps take rows from a queue.

#include <algorithm>
#include <vector>

#include "event_alignment/cuda.hpp"
#include "event_alignment/cuda_record.cuh"

namespace sluice::event_alignment::cuda {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

constexpr int kThreads = kWarpsPerBlock * kLanes;
constexpr int kBlocksPerProcessor = 4;      // so that a thread has 128 registers
constexpr std::int64_t kUsualWhole = 1024;  // rows of a segment that is kept whole, 50 of them at a time: quadratic
constexpr std::int64_t kStalledSteps = kMaximumSegmentEvents + kLanes;
constexpr std::uint32_t kStalledWarps = 64;  // with 8.4 MB of choices each

struct Workspace {
  AlignedBlock* blocks;    // those of a row begin at cigar_offsets[row] + row; a block of length 0 ends a stretch
  CheckedRow* checked;     // by place in the order
  Chunk* chunks;           // those of all rows, in the order
  std::uint32_t* choices;  // of a warp: choice_words()
};

std::size_t block_count(const Rows& rows) { return static_cast<std::size_t>(rows.cigar_operations) + rows.count; }
__host__ __device__ std::int64_t choice_words() { return kStalledSteps * kLanes; }

// The parts of the workspace, and the bytes of all of them.
std::size_t divide(std::byte* memory, const Rows& rows, std::uint32_t count, const Plan& plan, Workspace& workspace) {
  std::byte* at = memory;
  const auto take = [&at]<class T>(T*& part, std::size_t size) {
    part = reinterpret_cast<T*>(at);
    at += aligned(size * sizeof(T));
  };
  take(workspace.blocks, block_count(rows));
  take(workspace.checked, count);
  take(workspace.chunks, plan.chunks);
  take(workspace.choices, static_cast<std::size_t>(choice_words()) * plan.stalled_warps);
  return static_cast<std::size_t>(at - memory);
}

// The place of a row in `order` that this warp has; `count` is what there is.
__device__ std::uint32_t warp_of_grid() { return blockIdx.x * kWarpsPerBlock + threadIdx.x / kLanes; }

__device__ AlignedBlock* blocks_of(const Workspace& workspace, const Rows& rows, std::uint32_t row) {
  return workspace.blocks + rows.cigar_offsets[row] + row;
}

__global__ void __launch_bounds__(kThreads) check_kernel(Rows rows, const std::uint32_t* order, std::uint32_t count, Reference reference, Model model,
                                                         Settings settings, Workspace workspace) {
  const std::uint32_t place = warp_of_grid();
  if (place >= count) return;
  const CheckedRow checked = check_row(rows, order[place], reference, model, settings, blocks_of(workspace, rows, order[place]));
  if (threadIdx.x % kLanes == 0) workspace.checked[place] = checked;
}

template <int kColumns>
__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor)
    chunk_kernel(Rows rows, const std::uint32_t* order, std::uint32_t count, const std::uint32_t* chunk_begin, Reference reference, Model model,
                 Settings settings, Workspace workspace, Paths paths) {
  __shared__ std::uint32_t words[kWarpsPerBlock][kUsualSteps * kLanes];
  const std::uint32_t chunk = warp_of_grid();
  if (chunk >= chunk_begin[count]) return;
  std::uint32_t low = 0, high = count;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (chunk_begin[middle] <= chunk ? low : high) = middle;
  }
  const std::uint32_t row = order[low];
  const CheckedRow checked = workspace.checked[low];
  if (checked.status != RecordStatus::ok) return;
  const auto warp = RowWarp<kColumns>::of(rows, row, checked, reference, model, settings, paths, {words[threadIdx.x / kLanes], kUsualSteps});
  const Chunk filled = warp.fill_chunk(chunk - chunk_begin[low], checked, blocks_of(workspace, rows, row));
  if (threadIdx.x % kLanes == 0) workspace.chunks[chunk] = filled;
}

// Joins the chunks of rows; without any (chunk_begin is null) it walks them from their beginning.
template <int kColumns, bool kSharedRoom>
__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor)
    align_kernel(Rows rows, const std::uint32_t* order, std::uint32_t count, const std::uint32_t* chunk_begin, Reference reference, Model model,
                 Settings settings, std::int64_t most_whole, Workspace workspace, Paths paths) {
  __shared__ std::uint32_t words[kSharedRoom ? kWarpsPerBlock : 1][kSharedRoom ? kUsualSteps * kLanes : 1];
  const ChoiceRoom room = kSharedRoom ? ChoiceRoom{words[threadIdx.x / kLanes], kUsualSteps}
                                      : ChoiceRoom{workspace.choices + warp_of_grid() * choice_words(), kStalledSteps};
  for (std::uint32_t place = warp_of_grid(); place < count; place += gridDim.x * kWarpsPerBlock) {
    const std::uint32_t row = order[place];
    const CheckedRow checked = workspace.checked[place];
    WalkState end{{}, 0, checked.status, true};
    if (checked.status == RecordStatus::ok) {
      const auto warp = RowWarp<kColumns>::of(rows, row, checked, reference, model, settings, paths, room);
      std::span<const Chunk> chunks;
      if (chunk_begin != nullptr) chunks = {workspace.chunks + chunk_begin[place], chunk_begin[place + 1] - chunk_begin[place]};
      end = warp.align(checked, blocks_of(workspace, rows, row), chunks, most_whole);
      if (end.status == RecordStatus::ok && end.written > warp.segments.events) end.status = RecordStatus::bad_base_to_event_map;
    }
    if (threadIdx.x % kLanes == 0) {
      paths.status[row] = end.status;
      paths.count[row] = end.status == RecordStatus::ok ? end.written : 0;
    }
    __syncwarp();
  }
}

constexpr unsigned kGatherThreads = 128;
constexpr unsigned kGatherBlocks = 16;  // a row

__global__ void __launch_bounds__(kGatherThreads) gather_kernel(Rows rows, Paths paths, const std::int64_t* offsets, Paths to) {
  for (std::uint32_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const std::int64_t from = rows.event_offsets[row], begin = offsets[row], count = offsets[row + 1] - begin;
    for (std::int64_t i = blockIdx.y * kGatherThreads + threadIdx.x; i < count; i += gridDim.y * kGatherThreads) {
      to.event[begin + i] = paths.event[from + i];
      to.position[begin + i] = paths.position[from + i];
      to.state[begin + i] = paths.state[from + i];
    }
  }
}

// A lane has three k-mers where that is enough for a segment's.
bool three_columns_are_enough(std::uint32_t k) { return kMaximumColumns - k + 1 <= 3 * kLanes; }

std::uint32_t whole_blocks(std::uint32_t warps) { return (warps + kWarpsPerBlock - 1) / kWarpsPerBlock; }

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

Plan plan_usual(std::span<const std::uint32_t> chunk_begin) { return {chunk_begin.back(), 0}; }

Plan plan_stalled(std::uint32_t rows) { return {0, std::min(kStalledWarps, whole_blocks(rows) * kWarpsPerBlock)}; }

std::vector<std::uint32_t> chunks_of(std::span<const std::uint32_t> order, std::span<const std::int64_t> event_offsets) {
  std::vector<std::uint32_t> begin{0};
  for (const std::uint32_t row : order) {
    const std::int64_t events = event_offsets[row + 1] - event_offsets[row];
    begin.push_back(begin.back() + static_cast<std::uint32_t>((events + kChunkEvents - 1) / kChunkEvents));
  }
  return begin;
}

std::size_t workspace_bytes(const Rows& rows, std::uint32_t count, const Plan& plan) {
  Workspace workspace{};
  return divide(nullptr, rows, count, plan, workspace);
}

namespace {

template <int kColumns>
cudaError_t align_rows_by(const Rows& rows, const std::uint32_t* order, std::uint32_t count, const std::uint32_t* chunk_begin,
                          const Reference& reference, const Model& model, const Settings& settings, const Plan& plan, const Workspace& workspace,
                          const Paths& paths, cudaStream_t stream) {
  check_kernel<<<whole_blocks(count), kThreads, 0, stream>>>(rows, order, count, reference, model, settings, workspace);
  if (plan.stalled_warps > 0) {
    align_kernel<kColumns, false><<<plan.stalled_warps / kWarpsPerBlock, kThreads, 0, stream>>>(rows, order, count, nullptr, reference, model,
                                                                                                settings, kMaximumSegmentEvents, workspace, paths);
    return cudaGetLastError();
  }
  if (plan.chunks > 0) {
    chunk_kernel<kColumns>
        <<<whole_blocks(plan.chunks), kThreads, 0, stream>>>(rows, order, count, chunk_begin, reference, model, settings, workspace, paths);
  }
  align_kernel<kColumns, true>
      <<<whole_blocks(count), kThreads, 0, stream>>>(rows, order, count, chunk_begin, reference, model, settings, kUsualWhole, workspace, paths);
  return cudaGetLastError();
}

}  // namespace

cudaError_t align_rows(const Rows& rows, const std::uint32_t* order, std::uint32_t count, const std::uint32_t* chunk_begin,
                       const Reference& reference, const Model& model, const Settings& settings, const Plan& plan, void* memory, const Paths& paths,
                       cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  Workspace workspace{};
  divide(static_cast<std::byte*>(memory), rows, count, plan, workspace);
  const auto align = three_columns_are_enough(model.k) ? align_rows_by<3> : align_rows_by<4>;
  return align(rows, order, count, chunk_begin, reference, model, settings, plan, workspace, paths, stream);
}

cudaError_t gather_paths(const Rows& rows, const Paths& paths, const std::int64_t* offsets, const Paths& to, cudaStream_t stream) {
  if (rows.count == 0) return cudaSuccess;
  gather_kernel<<<dim3(std::min(rows.count, 65535U), kGatherBlocks), kGatherThreads, 0, stream>>>(rows, paths, offsets, to);
  return cudaGetLastError();
}

}  // namespace sluice::event_alignment::cuda
