// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Definition 2 and supermaximal matches of a batch of reads on a CUDA device; word_search.hpp says how.
//
//   pack_reads     the reads as one packed sequence
//   find_matches   the maximal matches of all words, and how many matches and places come of them
//   (the caller copies Totals to the host and waits; if they exceed Capacity it calls find_matches again with more)
//   write_matches  the columns
//
// Plain functions over device pointers and a stream. Nothing here allocates, waits or keeps state; what a function returns are the errors of its own
// launches.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "mem_seeding/word_search.hpp"

namespace sluice::mem_seeding::cuda {

// A text column on the device.
struct DeviceReads {
  std::int64_t rows = 0;
  const std::int64_t* offsets = nullptr;  // rows + 1, in bytes of `letters`
  const char* letters = nullptr;
  const std::uint16_t* row_status = nullptr;  // per row; only rows with 0 are searched; null: all
  const std::uint8_t* given_up = nullptr;     // per row, likewise
  std::int64_t first_offset = 0;              // offsets[0]
  std::uint32_t strands = 2;                  // 2: each read and its reverse complement; 1: the read
  std::uint64_t length = 0;                   // bases of all strands, at most ReadStrands::most_bases
};

struct Capacity {
  std::uint64_t maximal_matches = 0;  // looked at, before most are dropped: occurrences of words
  std::uint64_t many_words = 0;       // words of more than few_rows rows; less than 2^32
  std::uint64_t many_matches = 0;     // of these words; less than 2^32
  bool holds(const struct Totals& totals) const;
};

struct Totals {
  std::uint64_t words_present;    // of the words that were looked up
  std::uint64_t maximal_matches;  // with those that were dropped
  std::uint64_t many_words;
  std::uint64_t many_matches;
  std::uint64_t matches;  // these two hold only if the capacity was enough
  std::uint64_t places;
};
inline bool Capacity::holds(const Totals& totals) const {
  return totals.maximal_matches <= maximal_matches && totals.many_words <= many_words && totals.many_matches <= many_matches;
}

// A word of many rows. Its place among the maximal matches is held by one that ends at 0 and has the word's number as its place.
struct ManyWord {
  std::uint32_t from;
  std::uint32_t matches;
  std::uint32_t greatest_end;
  std::uint64_t places;
  std::uint64_t first_match, first_place;  // set by write_matches
};
struct ManyMatch {
  std::uint32_t word, ordinal;
  std::uint32_t start, end;
  std::uint32_t begin_row, end_row;
  std::uint32_t begin_longer, end_longer;  // rows that are not listed
  std::uint32_t listed;
  std::uint64_t place_ordinal;
};

// Words that a thread block looks up together.
inline constexpr std::uint32_t tile_words = 2048;
struct Tile {
  std::uint64_t first_maximal;  // in maximal_matches, where its matches lie in the order of words, then rows
  std::uint32_t maximal;
  std::uint32_t covered;  // greatest end of the matches of earlier tiles
  std::uint64_t first_match, first_place;
};

struct Workspace {
  Totals* totals = nullptr;
  Tile* tiles = nullptr;
  MaximalMatch* maximal_matches = nullptr;
  ManyWord* many_words = nullptr;
  ManyMatch* many_matches = nullptr;
  Capacity capacity;
};
// Parts of memory of workspace_bytes, 256-byte aligned.
std::size_t workspace_bytes(std::uint64_t words, const Capacity& capacity);
Workspace workspace_in(void* memory, std::uint64_t words, const Capacity& capacity);

// `packed`: packed_words(length) words; `edges`: edge_words(length).
cudaError_t pack_reads(const DeviceReads& reads, std::uint64_t* packed, std::uint32_t* edges, cudaStream_t stream);

// Of `search`, all pointers are to device memory.
cudaError_t find_matches(const WordSearch& search, const Workspace& workspace, int multiprocessors, cudaStream_t stream);

// Columns that nobody wants are null. Matches are in the order of rows, then strands, then starts, then ends.
struct DeviceMatches {
  std::uint8_t* reverse = nullptr;
  std::int32_t* start = nullptr;
  std::int32_t* end = nullptr;
  std::uint32_t* count = nullptr;
  std::uint32_t* listed = nullptr;
  std::uint32_t* places = nullptr;
  std::uint64_t* first_place = nullptr;     // per match, and one more; needed
  std::uint32_t* sequence_start = nullptr;  // per match: from the first base of the batch; needed
};
cudaError_t write_matches(const WordSearch& search, const Workspace& workspace, const Totals& totals, const DeviceReads& reads,
                          const DeviceMatches& matches, int multiprocessors, cudaStream_t stream);

// After write_matches. rows + 1 offsets of the matches' and of the places' lists; the reads' lengths, 0 where they are not searched; and in
// `too_many` 1 where a strand has more than max_places places. Each may be null.
struct DeviceRows {
  std::int64_t* match_offsets = nullptr;
  std::int64_t* place_offsets = nullptr;
  std::int32_t* read_length = nullptr;
  std::uint8_t* too_many = nullptr;
};
cudaError_t write_rows(const DeviceReads& reads, const DeviceMatches& matches, const Totals& totals, const DeviceRows& rows, cudaStream_t stream);

}  // namespace sluice::mem_seeding::cuda
