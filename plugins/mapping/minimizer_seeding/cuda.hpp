// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Seeding of a batch of reads on a CUDA device.
//
//   DeviceSeeding seeding(reads, tables, parameters, launch);
//   rows = seeding.find_seeds();          what each read has; reads that are better done by find_anchors() are left to the host
//   seeding.choose_anchors(filter, rows)  only with a filter: the anchors that it keeps
//   left = seeding.write(...)             the columns, with gaps for the reads that are left to the host; some more of these
//
// For an index without homopolymer compression and with an odd k. Left to the host are reads with ambiguous bases, reads that may repeat one of their
// minimizers more often than q_occ_frac allows, and, by write(), reads with equal anchors that have more than most_ordered_anchors, unless ties are
// broken by place.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "minimizer_seeding/seeding.hpp"

namespace sluice::minimizer_seeding::cuda {

// A text column on the device.
struct DeviceReads {
  std::int64_t rows = 0;
  const std::int64_t* offsets = nullptr;  // rows + 1, in bytes of `letters`
  const char* letters = nullptr;
  const std::uint16_t* row_status = nullptr;   // per row; only rows with 0 are looked at; null: all
  std::int64_t first_offset = 0;               // offsets[0]
  std::uint64_t bases = 0;                     // of all rows, at most most_bases
  const std::uint8_t* takes_absent = nullptr;  // per row, 1: Absent::seed, 0: Absent::no_seed, as seeding.hpp has them; null: 0 for all
};
// Longer batches are refused: places in a batch are numbers of 32 bits.
inline constexpr std::uint64_t most_bases = std::uint64_t{1} << 31;
inline constexpr std::uint64_t most_batch_anchors = std::uint64_t{1} << 31;
// A read with more anchors, some of them equal, is left to the host: the digits of all have to fit a multiprocessor's shared memory.
inline constexpr std::uint32_t most_ordered_anchors = 180224;

// The parts of an index that seeding reads, on the device.
struct DeviceTables {
  const std::uint64_t* slots = nullptr;
  const std::uint64_t* positions = nullptr;
  std::uint64_t home_lines = 0;
  std::uint32_t k = 0, w = 0;
  std::uint32_t contig_bits = 0, place_bits = 0;  // that contigs and places on them need
};
// contig_bits and place_bits of an index. A row's number, the strand and these have to fit 64 bits.
DeviceTables table_sizes(const MinimizerIndexView& index);
inline constexpr std::uint32_t most_place_bits = 44;
// Whether the device can seed with this index.
bool seeds_on_device(const MinimizerIndexView& index);

// What SeedingParameters ask of single anchors, on the device. Names are compared by NameOrder's ranks.
struct DeviceAnchorFilter {
  Strands strands = Strands::both;
  Diagonal diagonal = Diagonal::keep;
  Pairs pairs = Pairs::both;
  std::uint32_t contigs = 0;
  const std::uint32_t* contig_rank = nullptr;    // of each contig's name
  const std::int32_t* contig_length = nullptr;   // of each contig
  const NameOrder::Place* read_place = nullptr;  // of each read's name
  bool keeps_all() const { return strands == Strands::both && diagonal == Diagonal::keep && pairs == Pairs::both; }
};

struct RowSeeds {
  enum class By : std::uint8_t { device, host, nobody };  // nobody: the row failed before
  std::uint64_t anchors = 0;                              // before any filter, until choose_anchors
  std::uint32_t seeds = 0;                                // used
  std::int32_t repeat_length = 0;
  By by = By::device;
};

// Where work goes, and where its memory comes from: allocate(bytes) gives device memory that lasts until the stream is done with it.
struct Launch {
  cudaStream_t stream = nullptr;
  int multiprocessors = 1;
  std::size_t block_shared_bytes = 99 << 10;  // that a block may ask for
  std::function<void*(std::size_t)> allocate;
  std::function<void(const char*)> queued;  // may be empty; called with the name of each step that was put on the stream, for timings
};

// Where a batch's columns lie: for each row, and one more, where its part begins. On the host.
struct ColumnOffsets {
  std::vector<std::int64_t> seeds, anchors;
};

// Throws Failure, as sluice::cuda::check does.
class DeviceSeeding {
 public:
  DeviceSeeding(const DeviceReads& reads, const DeviceTables& tables, const SeedingParameters& parameters, Launch launch);
  ~DeviceSeeding();
  DeviceSeeding(const DeviceSeeding&) = delete;
  DeviceSeeding& operator=(const DeviceSeeding&) = delete;

  // Waits for the device.
  std::vector<RowSeeds> find_seeds();
  // After find_seeds; meanwhile `rows` may have become By::host or By::nobody. Sets the anchors of the device's rows to those that the filter keeps.
  // Waits.
  void choose_anchors(const DeviceAnchorFilter& filter, std::vector<RowSeeds>& rows);
  // Writes the device's rows into device memory: seed positions, the anchors' x and their y. Returns the rows that are left to the host after all,
  // each with as many seeds and anchors as `rows` says, ascending. Waits.
  std::vector<std::int64_t> write(const std::vector<RowSeeds>& rows, const ColumnOffsets& offsets, std::uint64_t* seed_position,
                                  std::uint64_t* anchor_x, std::uint64_t* anchor_y);

  std::uint64_t minimizers() const;
  std::uint64_t tied_rows() const;  // whose equal anchors were put in order on the device; after write

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::minimizer_seeding::cuda
