// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cub/device/device_scan.cuh>
#include <sluice/cuda.hpp>
#include <sluice/cuda/warp.cuh>

#include "read_correction/cuda.hpp"
#include "read_correction/window_vote.hpp"

namespace sluice::read_correction::cuda {
namespace {

using sluice::cuda::check;
using sluice::cuda::whole_warp;

constexpr int row_threads = 256;
constexpr int warps_of_block = 4;
constexpr int block_threads = warps_of_block * sluice::cuda::warp_lanes;
// Of all letters of a window: their places have 31 bits.
constexpr std::int64_t most_letters = std::int64_t{1} << 30;

// A team, as window_vote.hpp wants it.
class Warp {
 public:
  __device__ std::uint32_t rank() const { return threadIdx.x % sluice::cuda::warp_lanes; }
  __device__ static constexpr std::uint32_t size() { return sluice::cuda::warp_lanes; }
  __device__ void sync() { __syncwarp(); }
  __device__ bool any(bool flag) { return __any_sync(whole_warp, flag) != 0; }
  __device__ std::uint32_t ballot(bool flag) { return __ballot_sync(whole_warp, flag); }
  __device__ std::uint32_t sum(std::uint32_t value) { return __reduce_add_sync(whole_warp, value); }
  __device__ std::uint32_t sum_before(std::uint32_t value, std::uint32_t& total) {
    const std::uint32_t sum = sluice::cuda::inclusive_sum_over_warp(value, static_cast<int>(rank()));
    total = from(sum, size() - 1);
    return sum - value;
  }
  template <class T>
  __device__ T from(T value, std::uint32_t rank) {
    return __shfl_sync(whole_warp, value, static_cast<int>(rank));
  }
};

// Of a warp, in its part of the scratch.
struct MemoryLayout {
  std::size_t planes, ballots, texts, bytes;
};
constexpr MemoryLayout layout_of(std::int32_t columns) {
  const auto room = static_cast<std::size_t>(columns);
  MemoryLayout layout{};
  layout.planes = VoteMemory::cell_bytes(room, sluice::cuda::warp_lanes);
  layout.ballots = layout.planes + LetterPlanes::all_words(columns) * sluice::cuda::warp_lanes * sizeof(std::uint32_t);
  layout.texts = layout.ballots + VoteMemory::ballot_words(room) * sizeof(std::uint32_t);
  layout.bytes = (layout.texts + 2 * room + 255) / 256 * 256;
  return layout;
}
__device__ VoteMemory memory_of_warp(std::byte* scratch, const MemoryLayout& layout, std::int32_t columns) {
  std::byte* const memory = scratch + (std::size_t{blockIdx.x} * warps_of_block + threadIdx.x / sluice::cuda::warp_lanes) * layout.bytes;
  return {columns, reinterpret_cast<std::uint32_t*>(memory + layout.planes), memory, reinterpret_cast<std::uint32_t*>(memory + layout.ballots),
          reinterpret_cast<char*>(memory + layout.texts)};
}

__device__ std::int64_t size_of(const std::int64_t* offsets, std::int64_t row) { return offsets[row + 1] - offsets[row]; }

__device__ Outcome outcome_of(const DeviceWindows& windows, const VoteRules& rules, std::int64_t row) {
  if (windows.row_status != nullptr && windows.row_status[row] != 0) return Outcome::absent;
  const std::int64_t total = size_of(windows.text_offsets, row), sequences = size_of(windows.sequence_offsets, row);
  const std::int64_t qualities = windows.quality_offsets == nullptr ? 0 : size_of(windows.quality_offsets, row);
  std::int64_t letters = 0;
  for (std::int64_t s = windows.sequence_offsets[row]; s < windows.sequence_offsets[row + 1]; ++s) {
    if (windows.length[s] < 0) return Outcome::bad;
    letters += windows.length[s];
  }
  if (letters != total || (qualities != 0 && qualities != total)) return Outcome::bad;
  const std::int64_t bases = size_of(windows.consensus_offsets, row);
  if (windows.is_polished[row] == 0 || sequences < 2 || rules.rounds == 0 || bases == 0) return Outcome::kept;
  return sequences > most_voters || letters > most_letters || room_of(bases) > most_columns ? Outcome::left : Outcome::voted;
}

// A thread a window.
__global__ void __launch_bounds__(row_threads) plan_kernel(DeviceWindows windows, VoteRules rules, DeviceVotes votes, VotePlan* plan) {
  const std::int64_t row = std::int64_t{blockIdx.x} * row_threads + threadIdx.x;
  if (row >= windows.count) return;
  const Outcome outcome = outcome_of(windows, rules, row);
  const std::int64_t bases = size_of(windows.consensus_offsets, row);
  if (outcome == Outcome::voted) {
    atomicAdd(&plan->windows, 1U);
    atomicMax(&plan->columns, static_cast<std::int32_t>(room_of(bases)));
  }
  votes.outcome[row] = outcome;
  votes.text[row + 1] = outcome == Outcome::kept ? bases : 0;
  if (votes.sites == nullptr) return;
  votes.sites[row + 1] = 0;
  votes.site_letters[row + 1] = 0;
}

struct Job {
  DeviceWindows windows;
  VoteRules rules;
  VotePlan plan;
  VoteScratch scratch;
  DeviceVotes votes;
  MemoryLayout layout;
};

__device__ WindowSequences sequences_of(const DeviceWindows& windows, std::int64_t row) {
  const bool has_qualities = windows.quality_offsets != nullptr && size_of(windows.quality_offsets, row) > 0;
  return {windows.letters + windows.text_offsets[row], has_qualities ? windows.qualities + windows.quality_offsets[row] : nullptr,
          windows.length + windows.sequence_offsets[row], static_cast<std::uint32_t>(size_of(windows.sequence_offsets, row))};
}

// The next window for the warp.
__device__ std::int64_t next_turn(Warp& warp, std::uint32_t* turn) {
  std::uint32_t taken = 0;
  if (warp.rank() == 0) taken = atomicAdd(turn, 1U);
  return warp.from(taken, 0);
}

__device__ void copy_letters(const Warp& warp, char* to, const char* from, std::int64_t letters) {
  for (std::int64_t i = warp.rank(); i < letters; i += Warp::size()) to[i] = from[i];
}

__global__ void __launch_bounds__(block_threads) cast_kernel(const __grid_constant__ Job job) {
  Warp warp;
  const VoteMemory memory = memory_of_warp(job.scratch.memory, job.layout, job.plan.columns);
  for (std::int64_t row = next_turn(warp, job.scratch.turn); row < job.windows.count; row = next_turn(warp, job.scratch.turn)) {
    if (job.votes.outcome[row] != Outcome::voted) continue;
    const WindowSequences sequences = sequences_of(job.windows, row);
    WindowVote<Warp> vote(warp, sequences, memory, job.windows.consensus + job.windows.consensus_offsets[row],
                          static_cast<std::int32_t>(size_of(job.windows.consensus_offsets, row)));
    bool fits = vote.refine(job.rules.rounds);
    std::int32_t sites = 0;
    if (fits && job.rules.wants_sites) sites = vote.find_sites(job.votes.site_mask + row * static_cast<std::int64_t>(mask_words(job.plan)));
    fits = fits && sites >= 0;
    if (fits) copy_letters(warp, job.votes.room + row * job.plan.columns, vote.consensus(), vote.columns());
    warp.sync();  // memory and outcome are used again
    if (warp.rank() != 0) continue;
    if (!fits) {
      job.votes.outcome[row] = Outcome::left;
      continue;
    }
    job.votes.text[row + 1] = vote.columns();
    if (!job.rules.wants_sites) continue;
    job.votes.sites[row + 1] = sites;
    job.votes.site_letters[row + 1] = std::int64_t{sites} * sequences.count;
  }
}

__global__ void __launch_bounds__(block_threads) write_kernel(const __grid_constant__ Job job, const __grid_constant__ WrittenVotes written) {
  Warp warp;
  for (std::int64_t row = next_turn(warp, job.scratch.turn); row < job.windows.count; row = next_turn(warp, job.scratch.turn)) {
    const Outcome outcome = job.votes.outcome[row];
    if (outcome != Outcome::kept && outcome != Outcome::voted) continue;
    const char* const text =
        outcome == Outcome::kept ? job.windows.consensus + job.windows.consensus_offsets[row] : job.votes.room + row * job.plan.columns;
    const std::int64_t letters = size_of(job.votes.text, row);
    copy_letters(warp, written.text + job.votes.text[row], text, letters);
    const std::int64_t sites = job.votes.sites == nullptr ? 0 : size_of(job.votes.sites, row);
    if (sites == 0) continue;
    const VoteMemory memory = memory_of_warp(job.scratch.memory, job.layout, job.plan.columns);
    WindowVote<Warp> vote(warp, sequences_of(job.windows, row), memory, text, static_cast<std::int32_t>(letters));
    vote.write_sites(job.votes.site_mask + row * static_cast<std::int64_t>(mask_words(job.plan)), static_cast<std::int32_t>(sites),
                     written.site_places + job.votes.sites[row], written.site_letters + job.votes.site_letters[row]);
    warp.sync();
  }
}

unsigned int blocks_for(std::int64_t count, int per_block) { return static_cast<unsigned int>((count + per_block - 1) / per_block); }

Job job_of(const DeviceWindows& windows, const VoteRules& rules, const VotePlan& plan, const VoteScratch& scratch, const DeviceVotes& votes) {
  return {windows, rules, plan, scratch, votes, layout_of(std::max(plan.columns, 1))};
}

}  // namespace

VotePlan plan_votes(const DeviceWindows& windows, const VoteRules& rules, const DeviceVotes& votes, cudaStream_t stream, const Allocate& allocate) {
  VotePlan plan;
  for (std::int64_t* const counts : {votes.text, votes.sites, votes.site_letters})
    if (counts != nullptr) check(cudaMemsetAsync(counts, 0, sizeof(std::int64_t), stream), "cudaMemsetAsync");
  if (windows.count == 0) return plan;
  auto* const there = static_cast<VotePlan*>(allocate(sizeof(VotePlan)));
  check(cudaMemsetAsync(there, 0, sizeof(VotePlan), stream), "cudaMemsetAsync");
  plan_kernel<<<blocks_for(windows.count, row_threads), row_threads, 0, stream>>>(windows, rules, votes, there);
  check(cudaGetLastError(), "plan_kernel");
  sluice::cuda::copy_to_host(&plan, there, sizeof plan, stream);
  return plan;
}

VoteScratch make_scratch(const DeviceWindows& windows, const VotePlan& plan, int device, std::size_t most_bytes, const Allocate& allocate) {
  VoteScratch scratch;
  if (windows.count == 0) return scratch;
  int multiprocessors = 0, of_multiprocessor = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_multiprocessor, cast_kernel, block_threads, 0), "occupancy");
  const auto resident = static_cast<unsigned int>(multiprocessors * std::max(1, of_multiprocessor));
  scratch.turn = static_cast<std::uint32_t*>(allocate(sizeof(std::uint32_t)));
  scratch.blocks = std::min(resident, blocks_for(windows.count, warps_of_block));
  if (plan.windows == 0) return scratch;  // nothing but copies
  const std::size_t of_block = layout_of(plan.columns).bytes * warps_of_block;
  scratch.blocks = static_cast<unsigned int>(std::clamp<std::size_t>(most_bytes / of_block, 1, scratch.blocks));
  while (scratch.memory == nullptr) {
    try {
      scratch.memory = static_cast<std::byte*>(allocate(scratch.blocks * of_block));
    } catch (const Failure& failure) {
      // The run's quota of the device, or what others have left of it.
      if (failure.status() != SLUICE_ERROR_DEVICE_MEMORY || scratch.blocks == 1) throw;
      scratch.blocks /= 2;
    }
  }
  return scratch;
}

void cast_votes(const DeviceWindows& windows, const VoteRules& rules, const VotePlan& plan, const VoteScratch& scratch, const DeviceVotes& votes,
                cudaStream_t stream) {
  if (plan.windows == 0) return;
  check(cudaMemsetAsync(scratch.turn, 0, sizeof(std::uint32_t), stream), "cudaMemsetAsync");
  cast_kernel<<<scratch.blocks, block_threads, 0, stream>>>(job_of(windows, rules, plan, scratch, votes));
  check(cudaGetLastError(), "cast_kernel");
}

void place_votes(const DeviceWindows& windows, const DeviceVotes& votes, cudaStream_t stream, const Allocate& allocate) {
  if (windows.count == 0) return;
  std::size_t bytes = 0;
  check(cub::DeviceScan::InclusiveSum(nullptr, bytes, votes.text, votes.text, windows.count + 1, stream), "DeviceScan");
  void* const space = allocate(bytes);
  for (std::int64_t* const counts : {votes.text, votes.sites, votes.site_letters})
    if (counts != nullptr) check(cub::DeviceScan::InclusiveSum(space, bytes, counts, counts, windows.count + 1, stream), "DeviceScan");
}

void write_votes(const DeviceWindows& windows, const VotePlan& plan, const VoteScratch& scratch, const DeviceVotes& votes,
                 const WrittenVotes& written, cudaStream_t stream) {
  if (windows.count == 0) return;
  check(cudaMemsetAsync(scratch.turn, 0, sizeof(std::uint32_t), stream), "cudaMemsetAsync");
  write_kernel<<<scratch.blocks, block_threads, 0, stream>>>(job_of(windows, {}, plan, scratch, votes), written);
  check(cudaGetLastError(), "write_kernel");
}

}  // namespace sluice::read_correction::cuda
