// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// From seeds to anchors. Positions of all seeds are dealt out, one to a thread, so that frequent seeds delay nobody.

#include <bit>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>

#include "minimizer_seeding/cuda_batch.cuh"

namespace sluice::minimizer_seeding::cuda {
namespace {

constexpr int rounds = static_cast<int>(tile_anchors) / block_threads;

// A position of a seed, which may become an anchor.
struct Candidate {
  std::uint32_t row = 0;
  std::uint64_t key = 0, y = 0;
  bool kept = false;
};

// As AnchorFilter of seeding.cpp. Sets the self flag in y.
__device__ bool is_kept(const DeviceAnchorFilter& filter, std::uint64_t position, std::uint32_t row, std::int32_t length, std::uint32_t seed_place,
                        bool same_strand, std::uint64_t& y) {
  const std::uint64_t contig = position >> 32;
  if ((filter.diagonal == Diagonal::skip || filter.pairs == Pairs::once) && contig < filter.contigs) {
    const NameOrder::Place name = filter.read_place[row];
    const std::uint32_t rank = filter.contig_rank[contig];
    if (filter.diagonal == Diagonal::skip && name.found && rank == name.rank && filter.contig_length[contig] == length) {
      if (static_cast<std::uint32_t>(position) >> 1 == seed_place >> 1) return false;
      if (same_strand) y |= self_flag;
    }
    if (filter.pairs == Pairs::once && rank < name.rank) return false;
  }
  return filter.strands == Strands::both || (filter.strands == Strands::forward_only) == same_strand;
}

__device__ Candidate candidate_of(const DeviceReads& reads, const DeviceTables& tables, const UsedSeeds& used, const DeviceAnchorFilter& filter,
                                  std::uint32_t seed, std::uint32_t ordinal) {
  Candidate candidate;
  const std::uint64_t value = used.value[seed];
  const std::uint64_t position = (value & many_positions) == 0 ? value : tables.positions[((value & ~many_positions) >> 27) + ordinal];
  const std::uint32_t place = used.place[seed];
  candidate.row = used.row[seed];
  const std::int32_t length = row_length(reads, candidate.row);
  const std::uint64_t opposite = (position ^ place) & 1;
  const std::uint32_t last = place >> 1;
  const std::uint32_t on_strand = opposite == 0 ? last : static_cast<std::uint32_t>(length) - (last + 1 - tables.k) - 1;
  candidate.y = std::uint64_t{tables.k} << 32 | on_strand | (used.tandem[seed] != 0 ? tandem_flag : 0);
  candidate.key = AnchorKeys(tables).key(candidate.row, opposite, position >> 32, (position & 0xFFFFFFFFU) >> 1);
  candidate.kept = is_kept(filter, position, candidate.row, length, place, opposite == 0, candidate.y);
  return candidate;
}

// Candidates number blockIdx.x * tile_anchors + round * block_threads + threadIdx.x, for `rounds` rounds: visit(round, candidate).
template <class Visit>
__device__ void visit_tile(const DeviceReads& reads, const DeviceTables& tables, const UsedSeeds& used, const DeviceAnchorFilter& filter,
                           std::uint32_t (&begins)[tile_anchors], const Visit& visit) {
  __shared__ std::uint32_t seed_at[2];
  const std::uint32_t tile_begin = blockIdx.x * tile_anchors, tile_last = min(tile_begin + tile_anchors, used.anchors) - 1;
  // The seed of a place: the last that begins there or before. Seeds without positions (Absent::seed) begin where the next one does.
  const auto seed_of = [](const std::uint32_t* begin, std::uint32_t seeds, std::uint32_t place) {
    std::uint32_t low = 0, high = seeds;
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      (begin[middle] <= place ? low : high) = middle;
    }
    return low;
  };
  if (threadIdx.x < 2) seed_at[threadIdx.x] = seed_of(used.begin, used.seeds, threadIdx.x == 0 ? tile_begin : tile_last);
  __syncthreads();
  const std::uint32_t first = seed_at[0], seeds = seed_at[1] - first + 1;
  const std::uint32_t* tile_seeds = used.begin + first;
  if (seeds <= tile_anchors) {
    for (std::uint32_t i = threadIdx.x; i < seeds; i += block_threads) begins[i] = tile_seeds[i];
    tile_seeds = begins;
  }
  __syncthreads();
#pragma unroll
  for (int round = 0; round < rounds; ++round) {
    const std::uint32_t at = tile_begin + static_cast<std::uint32_t>(round) * block_threads + threadIdx.x;
    Candidate candidate;
    if (at < used.anchors) {
      const std::uint32_t seed = seed_of(tile_seeds, seeds, at);
      candidate = candidate_of(reads, tables, used, filter, first + seed, at - tile_seeds[seed]);
    }
    visit(round, candidate);
  }
}

__global__ void __launch_bounds__(block_threads)
    count_kernel(const DeviceReads reads, const DeviceTables tables, const UsedSeeds used, const DeviceAnchorFilter filter, std::uint32_t* tile_kept,
                 unsigned long long* row_kept) {
  __shared__ std::uint32_t begins[tile_anchors];
  __shared__ std::uint32_t kept;
  if (threadIdx.x == 0) kept = 0;
  __syncthreads();
  visit_tile(reads, tables, used, filter, begins, [&](int, const Candidate& candidate) {
    // Neighbours are mostly of one row.
    const unsigned peers = __match_any_sync(whole_warp, candidate.row);
    const unsigned all = __ballot_sync(whole_warp, candidate.kept);
    const int lane = static_cast<int>(threadIdx.x % 32);
    if (lane == __ffs(static_cast<int>(peers)) - 1 && (peers & all) != 0)
      atomicAdd(&row_kept[candidate.row], static_cast<unsigned long long>(__popc(peers & all)));
    if (lane == 0) atomicAdd(&kept, static_cast<std::uint32_t>(__popc(all)));
  });
  __syncthreads();
  if (threadIdx.x == 0) {
    tile_kept[blockIdx.x] = kept;
    if (blockIdx.x == gridDim.x - 1) tile_kept[gridDim.x] = 0;
  }
}

__device__ void write_candidate(const Anchors& anchors, std::uint32_t to, const Candidate& candidate) {
  anchors.key[to] = candidate.key;
  anchors.y[to] = candidate.y;
  anchors.number[to] = to;
}

__global__ void __launch_bounds__(block_threads)
    make_kernel(const DeviceReads reads, const DeviceTables tables, const UsedSeeds used, const DeviceAnchorFilter filter, const Anchors anchors) {
  __shared__ std::uint32_t begins[tile_anchors];
  visit_tile(reads, tables, used, filter, begins, [&](int round, const Candidate& candidate) {
    if (candidate.kept)
      write_candidate(anchors, blockIdx.x * tile_anchors + static_cast<std::uint32_t>(round) * block_threads + threadIdx.x, candidate);
  });
}

__global__ void __launch_bounds__(block_threads)
    make_kept_kernel(const DeviceReads reads, const DeviceTables tables, const UsedSeeds used, const DeviceAnchorFilter filter,
                     const std::uint32_t* tile_kept, const Anchors anchors) {
  using Scan = cub::BlockScan<std::uint32_t, block_threads>;
  __shared__ std::uint32_t begins[tile_anchors];
  __shared__ typename Scan::TempStorage storage;
  std::uint32_t to = tile_kept[blockIdx.x];
  visit_tile(reads, tables, used, filter, begins, [&](int, const Candidate& candidate) {
    std::uint32_t before = 0, here = 0;
    Scan(storage).ExclusiveSum(candidate.kept ? 1U : 0U, before, here);
    __syncthreads();
    if (candidate.kept) write_candidate(anchors, to + before, candidate);
    to += here;
  });
}

__global__ void __launch_bounds__(block_threads) write_kernel(const AnchorKeys keys, const Anchors anchors, const TiedRows tied,
                                                              const std::int64_t* column_first, std::uint64_t* anchor_x, std::uint64_t* anchor_y) {
  const std::uint32_t i = blockIdx.x * block_threads + threadIdx.x;
  if (i >= anchors.anchors) return;
  const std::uint64_t key = anchors.sorted_key[i];
  const std::uint32_t row = keys.row(key), begin = anchors.row_first[row], number = anchors.sorted_number[i];
  std::uint32_t to = i - begin;
  const bool by_place = tied.tied == nullptr;
  if (by_place || tied.tied[row] != 0) {
    const std::uint32_t end = anchors.row_first[row + 1];
    std::uint32_t first = i, behind = i + 1;
    while (first > begin && anchors.sorted_key[first - 1] == key) --first;
    while (behind < end && anchors.sorted_key[behind] == key) ++behind;
    if (behind - first > 1) {
      const auto order = [&](std::uint32_t anchor) { return by_place ? anchors.y[anchor] : tied.place[anchor]; };
      const std::uint64_t mine = order(number);
      to = first - begin;
      for (std::uint32_t other = first; other < behind; ++other) {
        const std::uint64_t theirs = order(anchors.sorted_number[other]);
        to += theirs < mine || (theirs == mine && other < i) ? 1 : 0;
      }
    }
  }
  const std::int64_t column = column_first[row] + to;
  anchor_x[column] = keys.x(key);
  anchor_y[column] = anchors.y[number];
}

}  // namespace

cudaError_t count_kept(const DeviceReads& reads, const DeviceTables& tables, const UsedSeeds& used, const DeviceAnchorFilter& filter,
                       std::uint32_t* tile_kept, unsigned long long* row_kept, cudaStream_t stream) {
  if (used.anchors == 0) return cudaSuccess;
  count_kernel<<<blocks_for(used.anchors, tile_anchors), block_threads, 0, stream>>>(reads, tables, used, filter, tile_kept, row_kept);
  return cudaGetLastError();
}

cudaError_t make_anchors(const DeviceReads& reads, const DeviceTables& tables, const UsedSeeds& used, const DeviceAnchorFilter& filter,
                         const std::uint32_t* tile_kept, const Anchors& anchors, cudaStream_t stream) {
  if (used.anchors == 0) return cudaSuccess;
  const unsigned tiles = blocks_for(used.anchors, tile_anchors);
  if (tile_kept == nullptr)
    make_kernel<<<tiles, block_threads, 0, stream>>>(reads, tables, used, filter, anchors);
  else
    make_kept_kernel<<<tiles, block_threads, 0, stream>>>(reads, tables, used, filter, tile_kept, anchors);
  return cudaGetLastError();
}

cudaError_t sort_by_key(const DeviceReads& reads, const DeviceTables& tables, const Anchors& anchors, void* space, std::size_t& bytes,
                        cudaStream_t stream) {
  const int bits = static_cast<int>(AnchorKeys(tables).bits_below_row()) + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(reads.rows)));
  return cub::DeviceRadixSort::SortPairs(space, bytes, anchors.key, anchors.sorted_key, anchors.number, anchors.sorted_number,
                                         static_cast<std::int64_t>(anchors.anchors), 0, bits < 64 ? bits : 64, stream);
}

cudaError_t write_anchors(const DeviceTables& tables, const Anchors& anchors, const TiedRows& tied, const std::int64_t* column_first,
                          std::uint64_t* anchor_x, std::uint64_t* anchor_y, cudaStream_t stream) {
  if (anchors.anchors == 0) return cudaSuccess;
  write_kernel<<<blocks_for(anchors.anchors, block_threads), block_threads, 0, stream>>>(AnchorKeys(tables), anchors, tied, column_first, anchor_x,
                                                                                         anchor_y);
  return cudaGetLastError();
}

}  // namespace sluice::minimizer_seeding::cuda
