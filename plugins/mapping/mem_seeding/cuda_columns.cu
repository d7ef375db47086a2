// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Before and after the search: from letters to the packed sequence, and from matches to columns.

#include <algorithm>

#include "mem_seeding/cuda.hpp"
#include "mem_seeding/cuda_matches.cuh"

namespace sluice::mem_seeding::cuda {
namespace {

constexpr int warps = block_threads / 32;

__device__ std::uint64_t row_begin(const DeviceReads& reads, std::int64_t row) {
  return static_cast<std::uint64_t>(reads.offsets[row] - reads.first_offset) * reads.strands;
}

// The last row that begins at or before a place; rows > 0.
__device__ std::int64_t row_of(const DeviceReads& reads, std::uint64_t place) {
  std::int64_t low = 0, high = reads.rows;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (row_begin(reads, middle) <= place ? low : high) = middle;
  }
  return low;
}

__device__ bool searched(const DeviceReads& reads, std::int64_t row) {
  return (reads.row_status == nullptr || reads.row_status[row] == 0) && (reads.given_up == nullptr || reads.given_up[row] == 0);
}

// What one place of the sequence holds.
struct Letter {
  std::uint32_t code = 0;  // 0 for ambiguous bases and outside
  bool ambiguous = true;
  bool first_of_strand = true;
};

__device__ Letter letter_at(const DeviceReads& reads, std::uint64_t place, std::int64_t& row) {
  Letter letter;
  if (place >= reads.length) return letter;
  while (row + 1 < reads.rows && row_begin(reads, row + 1) <= place) ++row;
  const std::uint64_t length = static_cast<std::uint64_t>(reads.offsets[row + 1] - reads.offsets[row]), in_row = place - row_begin(reads, row);
  const bool reversed = in_row >= length;
  const std::uint64_t in_read = reversed ? 2 * length - 1 - in_row : in_row;
  const std::uint32_t small = static_cast<unsigned char>(reads.letters[reads.offsets[row] + static_cast<std::int64_t>(in_read)]) | 0x20U;
  letter.first_of_strand = in_row == 0 || in_row == length;
  letter.ambiguous = !(small == 'a' || small == 'c' || small == 'g' || small == 't' || small == 'u') || !searched(reads, row);
  if (letter.ambiguous) return letter;
  // The letters' bits 1 and 2 are 0, 1, 3, 2 for A, C, G, T and U.
  letter.code = (small >> 1 & 3) ^ (small >> 2 & 1);
  if (reversed) letter.code = 3 - letter.code;
  return letter;
}

__device__ std::uint64_t every_second_bit(std::uint32_t bits) {
  std::uint64_t word = bits;
  word = (word | word << 16) & 0x0000FFFF0000FFFFU;
  word = (word | word << 8) & 0x00FF00FF00FF00FFU;
  word = (word | word << 4) & 0x0F0F0F0F0F0F0F0FU;
  word = (word | word << 2) & 0x3333333333333333U;
  return (word | word << 1) & 0x5555555555555555U;
}

// One warp 32 words: each lane reads every 32nd letter, and votes make the words.
__global__ void __launch_bounds__(block_threads) pack_kernel(const DeviceReads reads, std::uint64_t* const packed, std::uint32_t* const edges,
                                                             const std::uint64_t packed_words, const std::uint64_t edge_words) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint64_t first_word = (std::uint64_t{blockIdx.x} * warps + threadIdx.x / 32) * 32;
  if (first_word >= edge_words) return;
  std::int64_t row = row_of(reads, min(first_word * 32, reads.length));
  std::uint32_t ambiguous_before = 1;  // of the base before; the first one is an edge anyhow
  if (first_word > 0) {
    std::int64_t row_before = row_of(reads, min(first_word * 32 - 1, reads.length));
    ambiguous_before = letter_at(reads, first_word * 32 - 1, row_before).ambiguous ? 1 : 0;
  }
  std::uint64_t my_word = 0;
  std::uint32_t my_edges = 0;
  for (std::uint32_t i = 0; i < 32; ++i) {
    const Letter letter = letter_at(reads, (first_word + i) * 32 + lane, row);
    const std::uint32_t low = __ballot_sync(~0U, (letter.code & 1) != 0), high = __ballot_sync(~0U, (letter.code & 2) != 0);
    const std::uint32_t ambiguous = __ballot_sync(~0U, letter.ambiguous), first = __ballot_sync(~0U, letter.first_of_strand);
    if (i == lane) {
      my_word = every_second_bit(__brev(low)) | every_second_bit(__brev(high)) << 1;
      my_edges = first | ambiguous | ambiguous << 1 | ambiguous_before;
    }
    ambiguous_before = ambiguous >> 31;
  }
  const std::uint64_t word = first_word + lane;
  if (word + 1 < packed_words) packed[word + 1] = my_word;
  if (word + 2 < edge_words) edges[word + 2] = my_edges;
  if (word == 0) packed[0] = 0;
  if (word < 2) edges[word] = 0;
}

struct Columns {
  DeviceReads reads;
  DeviceMatches to;

  __device__ void write(std::uint64_t match, std::uint64_t start, std::uint64_t end, std::uint64_t count, std::uint32_t listed,
                        std::uint64_t first_place) const {
    const std::int64_t row = row_of(reads, start);
    const std::uint64_t begin = row_begin(reads, row), length = static_cast<std::uint64_t>(reads.offsets[row + 1] - reads.offsets[row]);
    const bool reversed = start - begin >= length;
    const std::uint64_t strand_begin = reversed ? begin + length : begin;
    if (to.reverse != nullptr) to.reverse[match] = reversed ? 1 : 0;
    if (to.start != nullptr) to.start[match] = static_cast<std::int32_t>(start - strand_begin);
    if (to.end != nullptr) to.end[match] = static_cast<std::int32_t>(end - strand_begin);
    if (to.count != nullptr) to.count[match] = static_cast<std::uint32_t>(count);
    if (to.listed != nullptr) to.listed[match] = listed;
    to.first_place[match] = first_place;
    to.sequence_start[match] = static_cast<std::uint32_t>(start);
  }
};

__global__ void __launch_bounds__(block_threads) write_kernel(const WordSearch search, const Workspace workspace, const Columns columns) {
  __shared__ TileMatches::Storage storage;
  const Tile& tile = workspace.tiles[blockIdx.x];
  TileMatches matches(search, workspace, tile, storage);
  matches.visit_words([&](const TileMatches::Word& word) {
    std::uint64_t match = tile.first_match + word.first_match, place = tile.first_place + word.first_place;
    if (stands_for_many(*word.maximal)) {
      ManyWord& many = workspace.many_words[word.maximal->place];
      many.first_match = match;
      many.first_place = place;
      return;
    }
    search.visit_few(word.maximal, word.count, word.covered,
                     [&](std::uint32_t start, std::uint32_t end, std::uint32_t count, std::uint32_t with_this_end) {
                       const std::uint32_t listed = search.listed(count, with_this_end);
                       columns.write(match++, start, end, count, listed, place);
                       if (listed != 0 && columns.to.places != nullptr) {
                         std::uint32_t* to = columns.to.places + place;
                         for (std::uint32_t i = 0; i < word.count; ++i)
                           if (search.lists(word.maximal[i], start, end)) *to++ = word.maximal[i].place;
                       }
                       place += listed;
                     });
  });
}

// One warp a match of many rows.
__global__ void __launch_bounds__(block_threads) write_many_kernel(const WordSearch search, const Workspace workspace, const Columns columns) {
  const std::uint32_t lane = threadIdx.x % 32;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * warps + threadIdx.x / 32; i < workspace.totals->many_matches;
       i += std::uint64_t{gridDim.x} * warps) {
    const ManyMatch match = workspace.many_matches[i];
    const ManyWord& word = workspace.many_words[match.word];
    const std::uint64_t first_place = word.first_place + match.place_ordinal;
    if (lane == 0)
      columns.write(word.first_match + match.ordinal, match.start, match.end, match.end_row - match.begin_row, match.listed, first_place);
    if (match.listed == 0 || columns.to.places == nullptr) continue;
    const std::uint32_t left = match.begin_longer - match.begin_row, skipped = match.end_longer - match.begin_longer;
    for (std::uint32_t k = lane; k < match.listed; k += 32)
      columns.to.places[first_place + k] = static_cast<std::uint32_t>(search.index.place(match.begin_row + k + (k < left ? 0 : skipped)));
  }
}

__global__ void end_kernel(const DeviceMatches to, const std::uint64_t matches, const std::uint64_t places) { to.first_place[matches] = places; }

__device__ std::uint64_t first_match_at(const DeviceMatches& matches, std::uint64_t count, std::uint64_t place) {
  std::uint64_t low = 0, high = count;
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    if (matches.sequence_start[middle] < place)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

__global__ void __launch_bounds__(block_threads)
    rows_kernel(const DeviceReads reads, const DeviceMatches matches, const std::uint64_t count, const DeviceRows to) {
  const std::int64_t row = std::int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (row > reads.rows) return;
  const std::uint64_t begin = row_begin(reads, row), first = first_match_at(matches, count, begin);
  if (to.match_offsets != nullptr) to.match_offsets[row] = static_cast<std::int64_t>(first);
  if (to.place_offsets != nullptr) to.place_offsets[row] = static_cast<std::int64_t>(matches.first_place[first]);
  if (row == reads.rows) return;
  const std::int64_t length = reads.offsets[row + 1] - reads.offsets[row];
  if (to.read_length != nullptr) {
    // A read that is given up has its length; a row that failed before has none.
    const bool failed = reads.row_status != nullptr && reads.row_status[row] != 0;
    to.read_length[row] = failed ? 0 : static_cast<std::int32_t>(length);
  }
  if (to.too_many == nullptr) return;
  const std::uint64_t second = first_match_at(matches, count, begin + static_cast<std::uint64_t>(length));
  const std::uint64_t behind = first_match_at(matches, count, row_begin(reads, row + 1));
  const std::uint64_t one = matches.first_place[second] - matches.first_place[first],
                      other = matches.first_place[behind] - matches.first_place[second];
  to.too_many[row] = one > max_places || other > max_places ? 1 : 0;
}

}  // namespace

cudaError_t pack_reads(const DeviceReads& reads, std::uint64_t* packed, std::uint32_t* edges, cudaStream_t stream) {
  const std::uint64_t packed_words = ReadStrands::packed_words(reads.length), edge_words = ReadStrands::edge_words(reads.length);
  if (reads.rows == 0) {
    if (const cudaError_t error = cudaMemsetAsync(packed, 0, packed_words * sizeof *packed, stream); error != cudaSuccess) return error;
    return cudaMemsetAsync(edges, 0xFF, edge_words * sizeof *edges, stream);
  }
  const std::uint64_t blocks = (edge_words + block_threads - 1) / block_threads;  // 32 threads 32 words
  pack_kernel<<<static_cast<unsigned>(blocks), block_threads, 0, stream>>>(reads, packed, edges, packed_words, edge_words);
  return cudaGetLastError();
}

cudaError_t write_matches(const WordSearch& search, const Workspace& workspace, const Totals& totals, const DeviceReads& reads,
                          const DeviceMatches& matches, int multiprocessors, cudaStream_t stream) {
  const Columns columns{reads, matches};
  const std::uint64_t tiles = (search.words() + tile_words - 1) / tile_words;
  if (tiles > 0 && totals.maximal_matches > 0) {
    write_kernel<<<static_cast<unsigned>(tiles), block_threads, 0, stream>>>(search, workspace, columns);
    if (totals.many_matches > 0) {
      const std::uint64_t blocks =
          std::min<std::uint64_t>((totals.many_matches + warps - 1) / warps, static_cast<std::uint64_t>(multiprocessors) * 8);
      write_many_kernel<<<static_cast<unsigned>(blocks), block_threads, 0, stream>>>(search, workspace, columns);
    }
  }
  end_kernel<<<1, 1, 0, stream>>>(matches, totals.matches, totals.places);
  return cudaGetLastError();
}

cudaError_t write_rows(const DeviceReads& reads, const DeviceMatches& matches, const Totals& totals, const DeviceRows& rows, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(reads.rows / block_threads + 1);
  rows_kernel<<<blocks, block_threads, 0, stream>>>(reads, matches, totals.matches, rows);
  return cudaGetLastError();
}

}  // namespace sluice::mem_seeding::cuda
