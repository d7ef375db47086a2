// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// From letters to minimizers. Every k-mer is decided by its neighbours' hashes (neighbour_rule.hpp), which a block has in shared memory.

#include <cub/block/block_scan.cuh>
#include <cub/device/device_scan.cuh>

#include "minimizer_seeding/cuda_batch.cuh"
#include "minimizer_seeding/neighbour_rule.hpp"

namespace sluice::minimizer_seeding::cuda {
namespace {

constexpr std::uint32_t most_neighbours = 254;  // on each side, w being at most 255

__device__ std::uint64_t every_second_bit(std::uint32_t bits) {
  std::uint64_t word = bits;
  word = (word | word << 16) & 0x0000FFFF0000FFFFU;
  word = (word | word << 8) & 0x00FF00FF00FF00FFU;
  word = (word | word << 4) & 0x0F0F0F0F0F0F0F0FU;
  word = (word | word << 2) & 0x3333333333333333U;
  return (word | word << 1) & 0x5555555555555555U;
}

// One warp 32 words: each lane reads every 32nd letter, and votes make the words.
__global__ void __launch_bounds__(block_threads) pack_kernel(const DeviceReads reads, const Sketch sketch, const std::uint64_t words) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint64_t first_word = (std::uint64_t{blockIdx.x} * block_warps + threadIdx.x / 32) * 32;
  if (first_word >= words) return;
  const char* const letters = reads.letters + reads.first_offset;
  std::uint64_t my_word = 0;
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint64_t place = (first_word + i) * 32 + lane;
    std::uint32_t code = 0;
    if (place < reads.bases) {
      const std::uint32_t small = static_cast<unsigned char>(letters[place]) | 0x20U;
      // The letters' bits 1 and 2 are 0, 1, 3, 2 for A, C, G, T and U.
      if (small == 'a' || small == 'c' || small == 'g' || small == 't' || small == 'u')
        code = (small >> 1 & 3) ^ (small >> 2 & 1);
      else
        sketch.left_to_host[row_of(reads, place, 0, reads.rows)] = 1;
    }
    const std::uint32_t low = __ballot_sync(whole_warp, (code & 1) != 0), high = __ballot_sync(whole_warp, (code & 2) != 0);
    if (i == lane) my_word = every_second_bit(low) | every_second_bit(high) << 1;
  }
  if (first_word + lane < words) sketch.packed[first_word + lane] = my_word;
}

struct Kmer {
  std::uint64_t hash;
  std::uint32_t strand;
};

// The k-mer whose first base is at `first`.
__device__ Kmer kmer_at(const std::uint64_t* packed, std::uint64_t first, std::uint32_t k) {
  const std::uint32_t shift = 2 * (first % 32);
  std::uint64_t bases = packed[first / 32] >> shift;
  if (shift != 0) bases |= packed[first / 32 + 1] << (64 - shift);
  const std::uint64_t mask = (std::uint64_t{1} << 2 * k) - 1;
  const std::uint64_t bits = __brevll(bases);
  const std::uint64_t forward = ((bits >> 1 & 0x5555555555555555U) | (bits & 0x5555555555555555U) << 1) >> (64 - 2 * k);
  const std::uint64_t reverse = ~bases & mask;
  const bool is_reverse = forward >= reverse;
  return {minimizer_hash(is_reverse ? reverse : forward, mask), is_reverse ? 1U : 0U};
}

// Rows of a tile's first and last base, in shared memory.
struct TileRows {
  std::int64_t first, last;
  __device__ std::int64_t of(const DeviceReads& reads, std::uint64_t place) const { return row_of(reads, place, first, last + 1); }
};
__device__ void find_tile_rows(const DeviceReads& reads, std::uint64_t tile_begin, TileRows& rows) {
  if (threadIdx.x == 0) rows.first = row_of(reads, tile_begin, 0, reads.rows);
  if (threadIdx.x == 32) rows.last = row_of(reads, min(tile_begin + tile_bases, reads.bases) - 1, 0, reads.rows);
}

__global__ void __launch_bounds__(block_threads)
    mark_kernel(const DeviceReads reads, const std::uint32_t k, const std::int32_t w, const Sketch sketch) {
  __shared__ std::uint64_t hashes[tile_bases + 2 * most_neighbours];
  __shared__ TileRows rows;
  __shared__ std::uint32_t marked;
  const auto tile_begin = static_cast<std::int64_t>(std::uint64_t{blockIdx.x} * tile_bases);
  if (threadIdx.x == 0) marked = 0;
  find_tile_rows(reads, static_cast<std::uint64_t>(tile_begin), rows);
  // Hash of the k-mer that ends at tile_begin - (w - 1) + i. K-mers across the ends of reads get one, too, which nobody asks for.
  const std::int64_t first_last_base = tile_begin - (w - 1), bases = static_cast<std::int64_t>(reads.bases);
  const std::int32_t wanted = static_cast<std::int32_t>(tile_bases) + 2 * (w - 1);
  for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x); i < wanted; i += block_threads) {
    const std::int64_t first_base = first_last_base + i + 1 - static_cast<std::int64_t>(k);
    if (first_base >= 0 && first_last_base + i < bases) hashes[i] = kmer_at(sketch.packed, static_cast<std::uint64_t>(first_base), k).hash;
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < tile_bases; i += block_threads) {
    const std::int64_t place = tile_begin + i;
    bool is_marked = false;
    if (place < bases) {
      const std::int64_t row = rows.of(reads, static_cast<std::uint64_t>(place));
      const auto element = static_cast<std::int32_t>(place - static_cast<std::int64_t>(row_begin(reads, row))) - static_cast<std::int32_t>(k - 1);
      if (element >= 0 && row_is_wanted(reads, row) && sketch.left_to_host[row] == 0) {
        const std::int32_t at = w - 1 + static_cast<std::int32_t>(i);
        const auto hash_at = [&](std::int32_t e) { return hashes[at + (e - element)]; };
        is_marked = is_minimizer(hash_at, element, row_length(reads, row) - static_cast<std::int32_t>(k - 1), w);
      }
    }
    const std::uint32_t mask = __ballot_sync(whole_warp, is_marked);
    if (threadIdx.x % 32 == 0) {
      sketch.masks[std::uint64_t{blockIdx.x} * tile_masks + i / 32] = mask;
      atomicAdd(&marked, static_cast<std::uint32_t>(__popc(mask)));
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    sketch.tile_first[blockIdx.x] = marked;
    if (blockIdx.x == gridDim.x - 1) sketch.tile_first[gridDim.x] = 0;
  }
}

__global__ void __launch_bounds__(block_threads) gather_kernel(const DeviceReads reads, const std::uint32_t k, const Sketch sketch) {
  using Scan = cub::BlockScan<std::uint32_t, block_threads>;
  __shared__ typename Scan::TempStorage storage;
  __shared__ std::uint32_t masks[tile_masks], before[tile_masks];
  __shared__ TileRows rows;
  const std::uint64_t tile_begin = std::uint64_t{blockIdx.x} * tile_bases;
  find_tile_rows(reads, tile_begin, rows);
  const std::uint32_t mask = threadIdx.x < tile_masks ? sketch.masks[std::uint64_t{blockIdx.x} * tile_masks + threadIdx.x] : 0;
  std::uint32_t marked_before = 0;
  Scan(storage).ExclusiveSum(static_cast<std::uint32_t>(__popc(mask)), marked_before);
  if (threadIdx.x < tile_masks) {
    masks[threadIdx.x] = mask;
    before[threadIdx.x] = marked_before;
  }
  __syncthreads();
  const std::uint32_t first = sketch.tile_first[blockIdx.x], lane = threadIdx.x % 32;
  for (std::uint32_t i = threadIdx.x; i < tile_bases; i += block_threads) {
    if ((masks[i / 32] >> lane & 1) == 0) continue;
    const std::uint64_t place = tile_begin + i;
    const Kmer kmer = kmer_at(sketch.packed, place + 1 - k, k);
    const std::uint32_t to = first + before[i / 32] + static_cast<std::uint32_t>(__popc(masks[i / 32] & ((1U << lane) - 1)));
    sketch.hash[to] = kmer.hash;
    sketch.place[to] = static_cast<std::uint32_t>(place - row_begin(reads, rows.of(reads, place))) << 1 | kmer.strand;
  }
}

__global__ void __launch_bounds__(block_threads) row_first_kernel(const DeviceReads reads, const Sketch sketch, const std::uint64_t tiles) {
  const std::int64_t row = std::int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (row > reads.rows) return;
  const std::uint64_t place = row_begin(reads, row), tile = place / tile_bases;
  std::uint32_t minimizers = sketch.tile_first[tile];
  if (tile < tiles) {
    const std::uint32_t* const masks = sketch.masks + tile * tile_masks;
    const std::uint32_t in_tile = place % tile_bases;
    for (std::uint32_t i = 0; i < in_tile / 32; ++i) minimizers += static_cast<std::uint32_t>(__popc(masks[i]));
    minimizers += static_cast<std::uint32_t>(__popc(masks[in_tile / 32] & ((1U << in_tile % 32) - 1)));
  }
  sketch.row_first[row] = minimizers;
}

}  // namespace

cudaError_t pack_reads(const DeviceReads& reads, const Sketch& sketch, cudaStream_t stream) {
  const cudaError_t error = cudaMemsetAsync(sketch.left_to_host, 0, static_cast<std::size_t>(reads.rows), stream);
  if (error != cudaSuccess) return error;
  const std::uint64_t words = packed_word_count(reads.bases);
  pack_kernel<<<blocks_for(words, block_threads), block_threads, 0, stream>>>(reads, sketch, words);  // 32 threads 32 words
  return cudaGetLastError();
}

cudaError_t mark_minimizers(const DeviceReads& reads, const DeviceTables& tables, const Sketch& sketch, cudaStream_t stream) {
  const auto tiles = static_cast<unsigned>(tile_count(reads.bases));
  mark_kernel<<<tiles, block_threads, 0, stream>>>(reads, tables.k, static_cast<std::int32_t>(tables.w), sketch);
  return cudaGetLastError();
}

cudaError_t gather_minimizers(const DeviceReads& reads, const DeviceTables& tables, const Sketch& sketch, cudaStream_t stream) {
  const std::uint64_t tiles = tile_count(reads.bases);
  if (tiles > 0) gather_kernel<<<static_cast<unsigned>(tiles), block_threads, 0, stream>>>(reads, tables.k, sketch);
  row_first_kernel<<<blocks_for(static_cast<std::uint64_t>(reads.rows) + 1, block_threads), block_threads, 0, stream>>>(reads, sketch, tiles);
  return cudaGetLastError();
}

cudaError_t sum_up(std::uint32_t* counts, std::uint64_t count, void* space, std::size_t& bytes, cudaStream_t stream) {
  return cub::DeviceScan::ExclusiveSum(space, bytes, counts, counts, static_cast<std::int64_t>(count), stream);
}

}  // namespace sluice::minimizer_seeding::cuda
