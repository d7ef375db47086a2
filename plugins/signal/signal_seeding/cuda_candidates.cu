// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_seeding/cuda_candidates.hpp"

namespace sluice::signal_seeding::cuda {
namespace {

constexpr int block_threads = 128;
constexpr int block_warps = block_threads / 32;
constexpr unsigned whole_warp = 0xFFFFFFFFU;

template <class T>
__device__ std::int64_t size_of(const DeviceList<T>& list, std::int64_t row) {
  return list.offsets[row + 1] - list.offsets[row];
}
template <class T>
__device__ const T* row_of(const DeviceList<T>& list, std::int64_t row) {
  return list.values + list.offsets[row];
}

// Sets first_anchor of the row's chains. The rule is chains_are_valid's.
__device__ bool list_first_anchors(const DeviceChains& chains, std::int64_t row, int lane, std::int64_t* first_anchor) {
  const std::int64_t count = size_of(chains.anchor_count, row), anchors = size_of(chains.anchor_x, row);
  if (size_of(chains.score, row) != count || size_of(chains.anchor_y, row) != anchors) return false;
  const std::int32_t* const anchor_count = row_of(chains.anchor_count, row);
  const std::uint64_t* const x = row_of(chains.anchor_x, row);
  std::int64_t before = 0;
  bool fine = true;
  for (std::int64_t tile = 0; tile < count; tile += 32) {
    const std::int64_t mine = tile + lane < count ? anchor_count[tile + lane] : 0;
    if (tile + lane < count && mine < 1) fine = false;
    std::int64_t up_to_mine = mine;
    for (int step = 1; step < 32; step *= 2) {
      const std::int64_t below = __shfl_up_sync(whole_warp, static_cast<long long>(up_to_mine), step);
      if (lane >= step) up_to_mine += below;
    }
    if (tile + lane < count) first_anchor[tile + lane] = before + up_to_mine - mine;
    before += __shfl_sync(whole_warp, static_cast<long long>(up_to_mine), 31);
  }
  for (std::int64_t i = lane; i < anchors; i += 32)
    if (static_cast<std::int64_t>(x[i] >> 32) + 1 >= chains.strands) fine = false;
  __syncwarp();  // first_anchor is read by all lanes
  return __all_sync(whole_warp, fine) != 0 && before == anchors;
}

// In the order in which chains are chosen: the greatest score, the least column, the first in the list.
struct Rank {
  std::int32_t score = 0;
  std::uint64_t x = 0;
  std::int64_t chain = -1;  // -1: none, behind all
};
__device__ bool comes_before(const Rank& a, const Rank& b) {
  if (a.chain < 0 || b.chain < 0) return a.chain >= 0;
  if (a.score != b.score) return a.score > b.score;
  return a.x != b.x ? a.x < b.x : a.chain < b.chain;
}

__global__ void __launch_bounds__(block_threads)
    find_kernel(const DeviceChains chains, const CandidateParameters parameters, std::int64_t* const first_anchors, Candidate* const found,
                std::int32_t* const count_out) {
  __shared__ Candidate sorted_of_warp[block_warps][most_device_chains];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const std::int64_t row = std::int64_t{blockIdx.x} * block_warps + warp;
  if (row >= chains.rows) return;
  if (chains.row_status != nullptr && chains.row_status[row] != 0) {
    if (lane == 0) count_out[row] = 0;
    return;
  }
  std::int64_t* const first_anchor = first_anchors + (chains.anchor_count.offsets[row] - chains.anchor_count.offsets[0]);
  if (!list_first_anchors(chains, row, lane, first_anchor)) {
    if (lane == 0) count_out[row] = bad_chains;
    return;
  }
  const std::int64_t all = size_of(chains.score, row);
  const std::int32_t *const score = row_of(chains.score, row), *const anchor_count = row_of(chains.anchor_count, row);
  const std::uint64_t *const x = row_of(chains.anchor_x, row), *const y = row_of(chains.anchor_y, row);
  const int count = all < parameters.most_chains ? static_cast<int>(all) : parameters.most_chains;
  Candidate mine;  // of lanes below `count`
  Rank last;
  for (int round = 0; round < count; ++round) {
    Rank best;
    for (std::int64_t chain = lane; chain < all; chain += 32) {
      const Rank here{score[chain], x[first_anchor[chain]], chain};
      if ((round == 0 || comes_before(last, here)) && comes_before(here, best)) best = here;
    }
    for (int step = 16; step > 0; step /= 2) {
      Rank other;
      other.score = __shfl_xor_sync(whole_warp, best.score, step);
      other.x = __shfl_xor_sync(whole_warp, static_cast<unsigned long long>(best.x), step);
      other.chain = __shfl_xor_sync(whole_warp, static_cast<long long>(best.chain), step);
      if (comes_before(other, best)) best = other;
    }
    last = best;
    if (lane == round) {
      const std::int64_t first = first_anchor[best.chain], end = first + anchor_count[best.chain] - 1;
      const std::int64_t strand = static_cast<std::int64_t>(x[end] >> 32);
      mine = candidate_around({x[first], y[first], x[end], y[end]}, chains.read_length[row], chains.strand_begin[strand],
                              chains.strand_begin[strand + 1], parameters);
    }
  }
  int place = 0;
  for (int other = 0; other < count; ++other) {
    const std::int64_t begin = __shfl_sync(whole_warp, static_cast<long long>(mine.begin), other);
    const std::int64_t end = __shfl_sync(whole_warp, static_cast<long long>(mine.end), other);
    if (begin < mine.begin || (begin == mine.begin && (end < mine.end || (end == mine.end && other < lane)))) ++place;
  }
  Candidate* const sorted = sorted_of_warp[warp];
  if (lane < count) sorted[place] = mine;
  __syncwarp();
  if (lane != 0) return;
  Candidate* const kept = found + row * parameters.most_chains;
  std::int32_t number = 0;
  for (int i = 0; i < count; ++i) {
    if (number > 0 && are_one(kept[number - 1], sorted[i])) {
      if (sorted[i].end > kept[number - 1].end) kept[number - 1].end = sorted[i].end;
    } else {
      kept[number++] = sorted[i];
    }
  }
  count_out[row] = number;
}

__global__ void __launch_bounds__(block_threads) write_kernel(const std::int64_t rows, const std::int32_t most_chains, const Candidate* const found,
                                                              const std::int64_t* const offsets, std::int64_t* const begin, std::int64_t* const end) {
  const std::int64_t i = std::int64_t{blockIdx.x} * block_threads + threadIdx.x, row = i / most_chains, number = i % most_chains;
  if (row >= rows || number >= offsets[row + 1] - offsets[row]) return;
  begin[offsets[row] + number] = found[i].begin;
  end[offsets[row] + number] = found[i].end;
}

}  // namespace

cudaError_t find_candidates(const DeviceChains& chains, const CandidateParameters& parameters, std::int64_t* first_anchor, Candidate* found,
                            std::int32_t* count, cudaStream_t stream) {
  if (chains.rows == 0) return cudaSuccess;
  find_kernel<<<static_cast<unsigned>((chains.rows + block_warps - 1) / block_warps), block_threads, 0, stream>>>(chains, parameters, first_anchor,
                                                                                                                  found, count);
  return cudaGetLastError();
}

cudaError_t write_candidates(std::int64_t rows, std::int32_t most_chains, const Candidate* found, const std::int64_t* offsets, std::int64_t* begin,
                             std::int64_t* end, cudaStream_t stream) {
  if (rows == 0) return cudaSuccess;
  write_kernel<<<static_cast<unsigned>((rows * most_chains + block_threads - 1) / block_threads), block_threads, 0, stream>>>(
      rows, most_chains, found, offsets, begin, end);
  return cudaGetLastError();
}

}  // namespace sluice::signal_seeding::cuda
