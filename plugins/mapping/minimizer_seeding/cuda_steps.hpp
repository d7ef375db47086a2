// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The steps of DeviceSeeding: plain functions over device pointers and a stream. Nothing here allocates, waits or keeps state; what a function
// returns are the errors of its own launches. Arrays with a number in brackets have so many elements.

#include "minimizer_seeding/cuda.hpp"

namespace sluice::minimizer_seeding::cuda {

// ---- From letters to minimizers, of the whole batch one after the other (cuda_sketch.cu)

// Bases that a block decides on; their masks are 64 words.
inline constexpr std::uint32_t tile_bases = 2048;
inline constexpr std::uint32_t tile_masks = tile_bases / 32;
inline std::uint64_t tile_count(std::uint64_t bases) { return (bases + tile_bases - 1) / tile_bases; }
inline std::uint64_t packed_word_count(std::uint64_t bases) { return (bases + 31) / 32 + 2; }

struct Sketch {
  std::uint64_t* packed = nullptr;       // [packed_word_count] 32 bases a word, the first in the lowest bits; reads follow each other without gaps
  std::uint8_t* left_to_host = nullptr;  // [rows] 1: has ambiguous bases, or repeats a minimizer too often
  std::uint32_t* masks = nullptr;        // [tiles * tile_masks] a bit for each base: a minimizer ends there
  std::uint32_t* tile_first = nullptr;   // [tiles + 1] minimizers before each tile; by mark_minimizers: in it
  std::uint32_t* row_first = nullptr;    // [rows + 1] minimizers before each row
  std::uint64_t* hash = nullptr;         // [minimizers]
  std::uint32_t* place = nullptr;        // [minimizers] of the last base in the read << 1 | strand
};

// Sets packed and left_to_host.
cudaError_t pack_reads(const DeviceReads& reads, const Sketch& sketch, cudaStream_t stream);
// Sets masks and tile_first, whose last element becomes 0.
cudaError_t mark_minimizers(const DeviceReads& reads, const DeviceTables& tables, const Sketch& sketch, cudaStream_t stream);
// After tile_first was summed up: sets row_first, hash and place.
cudaError_t gather_minimizers(const DeviceReads& reads, const DeviceTables& tables, const Sketch& sketch, cudaStream_t stream);
// In place, exclusive. bytes = 0 and space = null ask for the bytes of `space`.
cudaError_t sum_up(std::uint32_t* counts, std::uint64_t count, void* space, std::size_t& bytes, cudaStream_t stream);

// ---- From minimizers to seeds (cuda_seeds.cu)

struct MinimizerSeeds {
  std::uint64_t* value = nullptr;         // [minimizers] what the index has; of seeds, at the front of each row's part, after choose_seeds
  std::uint32_t* place = nullptr;         // [minimizers] likewise
  std::uint8_t* state = nullptr;          // [minimizers] likewise: SeedBits
  std::uint32_t* streak_begin = nullptr;  // [minimizers] working memory
  RowSeeds* rows = nullptr;               // [rows]
};
enum SeedBits : std::uint8_t { seed_used = 1, seed_tandem = 2 };

// Sets value.
cudaError_t look_up(const DeviceTables& tables, const Sketch& sketch, std::uint64_t minimizers, const MinimizerSeeds& seeds, cudaStream_t stream);
// Sets left_to_host of rows that repeat a minimizer too often.
cudaError_t find_repeated(const DeviceReads& reads, const SeedingParameters& parameters, const Sketch& sketch, cudaStream_t stream);
// Sets all of seeds; state is 0 everywhere before.
cudaError_t choose_seeds(const DeviceReads& reads, const DeviceTables& tables, const SeedingParameters& parameters, const Sketch& sketch,
                         const MinimizerSeeds& seeds, cudaStream_t stream);

// The used seeds of the rows that the device keeps, one after the other.
struct UsedSeeds {
  const std::uint32_t* row_first = nullptr;  // [rows + 1] seeds before each row
  const std::uint32_t* row_begin = nullptr;  // [rows + 1] anchors before each row
  std::uint64_t* value = nullptr;            // [seeds]
  std::uint32_t* place = nullptr;            // [seeds]
  std::uint8_t* tandem = nullptr;            // [seeds]
  std::uint32_t* row = nullptr;              // [seeds]
  std::uint32_t* begin = nullptr;            // [seeds + 1] anchors before each seed
  std::uint32_t seeds = 0, anchors = 0;
};
cudaError_t list_used(const DeviceReads& reads, const Sketch& sketch, const MinimizerSeeds& seeds, const UsedSeeds& used, cudaStream_t stream);
// column_first: [rows] where rows' seeds begin in the column.
cudaError_t write_seed_positions(const DeviceTables& tables, const UsedSeeds& used, const std::int64_t* column_first, std::uint64_t* column,
                                 cudaStream_t stream);

// ---- From seeds to sorted anchors (cuda_anchors.cu, cuda_order.cu)

// Anchors that a block makes.
inline constexpr std::uint32_t tile_anchors = 1024;

struct Anchors {
  const std::uint32_t* row_first = nullptr;  // [rows + 1] anchors before each row, in the arrays below
  std::uint64_t* key = nullptr;              // [anchors] row, strand, contig and place, in the order of seeds
  std::uint64_t* y = nullptr;                // [anchors] likewise
  std::uint32_t* number = nullptr;           // [anchors] 0, 1, ...
  std::uint64_t* sorted_key = nullptr;       // [anchors]
  std::uint32_t* sorted_number = nullptr;    // [anchors]
  std::uint32_t anchors = 0;
};

// How many anchors the filter keeps: of each tile of tile_anchors in tile_kept, whose last element becomes 0, and of each row in row_kept, which is 0
// before.
cudaError_t count_kept(const DeviceReads& reads, const DeviceTables& tables, const UsedSeeds& used, const DeviceAnchorFilter& filter,
                       std::uint32_t* tile_kept, unsigned long long* row_kept, cudaStream_t stream);
// Sets key, y and number. tile_kept: summed up; null: there is no filter.
cudaError_t make_anchors(const DeviceReads& reads, const DeviceTables& tables, const UsedSeeds& used, const DeviceAnchorFilter& filter,
                         const std::uint32_t* tile_kept, const Anchors& anchors, cudaStream_t stream);
// Sets sorted_key and sorted_number; stable. bytes = 0 and space = null ask for the bytes of `space`.
cudaError_t sort_by_key(const DeviceReads& reads, const DeviceTables& tables, const Anchors& anchors, void* space, std::size_t& bytes,
                        cudaStream_t stream);

// With Ties::minimap2: rows whose equal anchors have an order that a stable sort does not give, by their number of anchors.
inline constexpr int order_classes = 3;
struct TiedRows {
  std::uint32_t most_anchors[order_classes] = {};  // of a row of each class; a row with more than the last is left to the host
  std::uint8_t* tied = nullptr;                    // [rows] 1: in one of the lists below; null: equal anchors come by their y (Ties::place)
  std::uint32_t* list = nullptr;                   // [(order_classes + 1) * rows] rows of each class, and those left to the host
  std::uint32_t* counts = nullptr;                 // [order_classes + 1]
  std::uint32_t* order[2] = {nullptr, nullptr};    // [anchors] working memory: the anchor at each place of its row
  std::uint32_t* place = nullptr;                  // [anchors] the place in the row of each anchor after the passes
};
// most_anchors for a device whose blocks can have so much shared memory.
void set_most_anchors(std::size_t shared_bytes, TiedRows& tied);
// Sets tied, list and counts; all zero before.
cudaError_t find_tied_rows(const DeviceReads& reads, const DeviceTables& tables, const Anchors& anchors, const TiedRows& tied, cudaStream_t stream);
// Sets place, for tied rows.
cudaError_t order_tied_rows(const DeviceReads& reads, const DeviceTables& tables, const Anchors& anchors, const TiedRows& tied, int multiprocessors,
                            cudaStream_t stream);
// column_first: [rows] where rows' anchors begin in the columns.
cudaError_t write_anchors(const DeviceTables& tables, const Anchors& anchors, const TiedRows& tied, const std::int64_t* column_first,
                          std::uint64_t* anchor_x, std::uint64_t* anchor_y, cudaStream_t stream);

}  // namespace sluice::minimizer_seeding::cuda
