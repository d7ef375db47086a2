// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The search: from words to maximal matches, and how many matches these are. cuda_columns.cu has what is before and after.

#include <cub/block/block_scan.cuh>

#include "mem_seeding/cuda.hpp"
#include "mem_seeding/cuda_matches.cuh"

namespace sluice::mem_seeding::cuda {
namespace {

constexpr int warps = block_threads / 32;
constexpr int words_per_thread = tile_words / block_threads;
constexpr std::uint32_t many_flag = 0x8000;  // of a word's number in the tile, which has 11 bits

__device__ unsigned long long* counter(std::uint64_t& number) { return reinterpret_cast<unsigned long long*>(&number); }

// One block a tile. Words are looked up in the bits of the k-mers that occur, which lie in the second-level cache; those that do are gathered in
// shared memory, and then their occurrences are dealt out to all threads, so that no thread waits for another one's longer work; what is left of them
// is written without gaps. The block's loads in flight are one or two per thread at any time.
__global__ void __launch_bounds__(block_threads, 6) find_kernel(const WordSearch search, const Workspace workspace, const std::uint64_t words) {
  using Scan = cub::BlockScan<std::uint32_t, block_threads>;
  __shared__ typename Scan::TempStorage scan;
  __shared__ std::uint32_t counted[warps * words_per_thread];
  __shared__ std::uint32_t first_occurrence[tile_words];
  __shared__ std::uint32_t first_row[tile_words];
  __shared__ std::uint16_t number[tile_words];
  __shared__ std::uint64_t first_maximal;
  const std::uint32_t thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  const std::uint64_t first_word = std::uint64_t{blockIdx.x} * tile_words;

  bool present[words_per_thread];
#pragma unroll
  for (int i = 0; i < words_per_thread; ++i) {
    const std::uint64_t word = first_word + i * block_threads + thread, from = word * search.step;
    present[i] = word < words && search.reads.unbroken(from, search.word) && search.index.word_present(search.word_at(from), search.word);
  }
  std::uint32_t votes[words_per_thread];
#pragma unroll
  for (int i = 0; i < words_per_thread; ++i) {
    votes[i] = __ballot_sync(~0U, present[i]);
    if (lane == 0) counted[i * warps + warp] = __popc(votes[i]);
  }
  __syncthreads();
  std::uint32_t before = thread < warps * words_per_thread ? counted[thread] : 0, words_present = 0;
  Scan(scan).ExclusiveSum(before, before, words_present);
  if (thread < warps * words_per_thread) counted[thread] = before;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < words_per_thread; ++i)
    if (present[i])
      number[counted[i * warps + warp] + __popc(votes[i] & ((1U << lane) - 1))] = static_cast<std::uint16_t>(i * block_threads + thread);
  __syncthreads();

  for (std::uint32_t i = thread; i < words_present; i += block_threads) {
    const std::uint64_t from = (first_word + number[i]) * search.step;
    const FmRows rows = search.index.word_rows(search.word_at(from), search.word);
    first_row[i] = static_cast<std::uint32_t>(rows.begin);
    std::uint32_t count = static_cast<std::uint32_t>(rows.count());
    if (count > few_rows) {
      const std::uint64_t many = atomicAdd(counter(workspace.totals->many_words), 1ULL);
      if (many < workspace.capacity.many_words) workspace.many_words[many].from = static_cast<std::uint32_t>(from);
      first_row[i] = static_cast<std::uint32_t>(many);
      number[i] |= many_flag;
      count = 1;
    }
    first_occurrence[i] = count;
  }
  __syncthreads();
  std::uint32_t counts[words_per_thread], occurrences = 0;
#pragma unroll
  for (int i = 0; i < words_per_thread; ++i) {
    const std::uint32_t at = thread * words_per_thread + i;
    counts[i] = at < words_present ? first_occurrence[at] : 0;
  }
  Scan(scan).ExclusiveSum(counts, counts, occurrences);
#pragma unroll
  for (int i = 0; i < words_per_thread; ++i) first_occurrence[thread * words_per_thread + i] = counts[i];
  if (thread == 0) {
    atomicAdd(counter(workspace.totals->words_present), static_cast<unsigned long long>(words_present));
    first_maximal = atomicAdd(counter(workspace.totals->maximal_matches), static_cast<unsigned long long>(occurrences));
  }
  __syncthreads();

  std::uint32_t found = 0;
  if (first_maximal + occurrences <= workspace.capacity.maximal_matches) {
    MaximalMatch* const to = workspace.maximal_matches + first_maximal;
    for (std::uint32_t first = 0; first < occurrences; first += block_threads) {
      const std::uint32_t occurrence = first + thread;
      MaximalMatch match;
      bool is_match = false;
      if (occurrence < occurrences) {
        std::uint32_t low = 0, high = words_present;
        while (high - low > 1) {
          const std::uint32_t middle = (low + high) / 2;
          (first_occurrence[middle] <= occurrence ? low : high) = middle;
        }
        const std::uint32_t in_tile = number[low];
        const std::uint64_t from = (first_word + (in_tile & ~many_flag)) * search.step;
        if ((in_tile & many_flag) != 0) {
          match = {static_cast<std::uint32_t>(from), 0, first_row[low]};
          is_match = true;
        } else {
          is_match = search.extend(from, std::uint64_t{first_row[low]} + (occurrence - first_occurrence[low]), match);
        }
      }
      const std::uint32_t vote = __ballot_sync(~0U, is_match);
      __syncthreads();
      if (lane == 0) counted[warp] = __popc(vote);
      __syncthreads();
      std::uint32_t rank = found + __popc(vote & ((1U << lane) - 1));
      for (std::uint32_t i = 0; i < warps; ++i) {
        if (i < warp) rank += counted[i];
        found += counted[i];
      }
      if (is_match) to[rank] = match;
    }
  }
  if (thread == 0) {
    Tile& tile = workspace.tiles[blockIdx.x];
    tile.first_maximal = first_maximal;
    tile.maximal = found;
  }
}

// One thread a word of many rows.
__global__ void __launch_bounds__(block_threads) many_kernel(const WordSearch search, const Workspace workspace) {
  const std::uint64_t words = min(workspace.totals->many_words, workspace.capacity.many_words);
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; i < words; i += std::uint64_t{gridDim.x} * block_threads) {
    ManyWord& word = workspace.many_words[i];
    std::uint32_t matches = 0, greatest_end = 0;
    std::uint64_t places = 0;
    search.visit_many(word.from, [&](std::uint64_t start, std::uint64_t end, FmRows rows, FmRows longer) {
      const std::uint32_t listed = search.listed(rows.count(), rows.count() - longer.count());
      const std::uint64_t number = atomicAdd(counter(workspace.totals->many_matches), 1ULL);
      if (listed == rows.count()) longer = {rows.end, rows.end};
      if (number < workspace.capacity.many_matches)
        workspace.many_matches[number] = {static_cast<std::uint32_t>(i),
                                          matches,
                                          static_cast<std::uint32_t>(start),
                                          static_cast<std::uint32_t>(end),
                                          static_cast<std::uint32_t>(rows.begin),
                                          static_cast<std::uint32_t>(rows.end),
                                          static_cast<std::uint32_t>(longer.begin),
                                          static_cast<std::uint32_t>(longer.end),
                                          listed,
                                          places};
      ++matches;
      places += listed;
      greatest_end = max(greatest_end, static_cast<std::uint32_t>(end));
    });
    word.matches = matches;
    word.greatest_end = greatest_end;
    word.places = places;
  }
}

// One warp a tile: the greatest end of its own matches.
__global__ void __launch_bounds__(block_threads) greatest_end_kernel(const Workspace workspace, const std::uint32_t tiles) {
  const std::uint32_t number = blockIdx.x * warps + threadIdx.x / 32;
  if (number >= tiles) return;
  Tile& tile = workspace.tiles[number];
  std::uint32_t end = 0;
  for (std::uint32_t i = threadIdx.x % 32; i < tile.maximal; i += 32)
    end = max(end, end_of(workspace.maximal_matches[tile.first_maximal + i], workspace));
  end = __reduce_max_sync(~0U, end);
  if (threadIdx.x % 32 == 0) tile.covered = end;
}

// The scans over all tiles take one block: they are a 2048th of the words.
constexpr int scan_threads = 512;
constexpr int tiles_per_thread = 4;

__global__ void __launch_bounds__(scan_threads) cover_kernel(Tile* const tiles, const std::uint32_t count) {
  using Scan = cub::BlockScan<std::uint32_t, scan_threads>;
  __shared__ typename Scan::TempStorage scan;
  std::uint32_t covered = 0;
  for (std::uint32_t first = 0; first < count; first += scan_threads * tiles_per_thread) {
    std::uint32_t ends[tiles_per_thread], greatest = 0;
    for (int i = 0; i < tiles_per_thread; ++i) {
      const std::uint32_t tile = first + threadIdx.x * tiles_per_thread + i;
      ends[i] = tile < count ? tiles[tile].covered : 0;
    }
    Scan(scan).ExclusiveScan(ends, ends, 0U, ::cuda::maximum<>{}, greatest);
    for (int i = 0; i < tiles_per_thread; ++i) {
      const std::uint32_t tile = first + threadIdx.x * tiles_per_thread + i;
      if (tile < count) tiles[tile].covered = max(covered, ends[i]);
    }
    covered = max(covered, greatest);
    __syncthreads();
  }
}

__global__ void __launch_bounds__(scan_threads) add_up_kernel(Tile* const tiles, const std::uint32_t count, Totals* const totals) {
  using Scan = cub::BlockScan<std::uint64_t, scan_threads>;
  __shared__ typename Scan::TempStorage scan;
  std::uint64_t all_matches = 0, all_places = 0;
  const auto add_up = [&](std::uint32_t first, std::uint64_t Tile::*number, std::uint64_t& all) {
    std::uint64_t numbers[tiles_per_thread], sum = 0;
    for (int i = 0; i < tiles_per_thread; ++i) {
      const std::uint32_t tile = first + threadIdx.x * tiles_per_thread + i;
      numbers[i] = tile < count ? tiles[tile].*number : 0;
    }
    Scan(scan).ExclusiveSum(numbers, numbers, sum);
    for (int i = 0; i < tiles_per_thread; ++i) {
      const std::uint32_t tile = first + threadIdx.x * tiles_per_thread + i;
      if (tile < count) tiles[tile].*number = all + numbers[i];
    }
    all += sum;
    __syncthreads();
  };
  for (std::uint32_t first = 0; first < count; first += scan_threads * tiles_per_thread) {
    add_up(first, &Tile::first_match, all_matches);
    add_up(first, &Tile::first_place, all_places);
  }
  if (threadIdx.x == 0) totals->matches = all_matches, totals->places = all_places;
}

__global__ void __launch_bounds__(block_threads) count_kernel(const WordSearch search, const Workspace workspace) {
  __shared__ TileMatches::Storage storage;
  TileMatches matches(search, workspace, workspace.tiles[blockIdx.x], storage);
  matches.visit_words([](const TileMatches::Word&) {});
  if (threadIdx.x != 0) return;
  workspace.tiles[blockIdx.x].first_match = matches.matches();
  workspace.tiles[blockIdx.x].first_place = matches.places();
}

constexpr std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
std::uint32_t tiles_of(std::uint64_t words) { return static_cast<std::uint32_t>((words + tile_words - 1) / tile_words); }

}  // namespace

std::size_t workspace_bytes(std::uint64_t words, const Capacity& capacity) {
  return rounded(sizeof(Totals)) + rounded(tiles_of(words) * sizeof(Tile)) + rounded(capacity.maximal_matches * sizeof(MaximalMatch)) +
         rounded(capacity.many_words * sizeof(ManyWord)) + rounded(capacity.many_matches * sizeof(ManyMatch));
}

Workspace workspace_in(void* memory, std::uint64_t words, const Capacity& capacity) {
  auto* at = static_cast<std::byte*>(memory);
  const auto take = [&]<class T>(T*& part, std::size_t count) {
    part = reinterpret_cast<T*>(at);
    at += rounded(count * sizeof(T));
  };
  Workspace workspace;
  take(workspace.totals, 1);
  take(workspace.tiles, tiles_of(words));
  take(workspace.maximal_matches, capacity.maximal_matches);
  take(workspace.many_words, capacity.many_words);
  take(workspace.many_matches, capacity.many_matches);
  workspace.capacity = capacity;
  return workspace;
}

cudaError_t find_matches(const WordSearch& search, const Workspace& workspace, int multiprocessors, cudaStream_t stream) {
  const std::uint64_t words = search.words();
  const std::uint32_t tiles = tiles_of(words);
  if (const cudaError_t error = cudaMemsetAsync(workspace.totals, 0, sizeof(Totals), stream); error != cudaSuccess) return error;
  if (tiles == 0) return cudaSuccess;
  find_kernel<<<tiles, block_threads, 0, stream>>>(search, workspace, words);
  many_kernel<<<multiprocessors * 8, block_threads, 0, stream>>>(search, workspace);
  greatest_end_kernel<<<(tiles + warps - 1) / warps, block_threads, 0, stream>>>(workspace, tiles);
  cover_kernel<<<1, scan_threads, 0, stream>>>(workspace.tiles, tiles);
  count_kernel<<<tiles, block_threads, 0, stream>>>(search, workspace);
  add_up_kernel<<<1, scan_threads, 0, stream>>>(workspace.tiles, tiles, workspace.totals);
  return cudaGetLastError();
}

}  // namespace sluice::mem_seeding::cuda
