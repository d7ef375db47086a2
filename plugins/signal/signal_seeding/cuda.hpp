// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Seeds of the signal of whole reads on a CUDA device: the anchors of seeding.hpp, to the bit.
//
//   DeviceSeeding seeding(reads, tables, parameters, launch);
//   anchors = seeding.find(read_length);    how many there are; waits
//   seeding.write(offsets, x, y);           the columns
//
// A block cuts a read into events; a warp looks up the runs that end with an event; all anchors of the batch are sorted by read, column and event,
// and those stay that have a neighbour in a chain.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "signal_seeding/seeding.hpp"

namespace sluice::signal_seeding::cuda {

// A list column of normalised samples on the device.
struct DeviceReads {
  std::int64_t rows = 0;
  const std::int64_t* offsets = nullptr;  // rows + 1, in samples
  const std::int16_t* samples = nullptr;
  const std::uint16_t* row_status = nullptr;  // per row; only rows with 0 are looked at; null: all
  std::int64_t first_offset = 0;              // offsets[0]
  std::int64_t total = 0;                     // samples of all rows
  std::int64_t longest = 0;                   // samples of one row
};

// The parts of an index that seeding reads, on the device.
struct DeviceTables {
  SeedForm form;
  double columns_per_event = 1;
  std::int64_t strands = 0;                    // with the end of the last
  const Symbol* symbols = nullptr;             // SymbolTable
  const std::uint64_t* block_begin = nullptr;  // these as in SquiggleIndexView
  const std::uint32_t* bucket_begin = nullptr;
  const std::uint32_t* entry = nullptr;
  const std::uint8_t* entry_high = nullptr;     // null: there are none
  const std::uint64_t* seed_present = nullptr;  // null: not known
  const std::int64_t* strand_begin = nullptr;   // [strands]
};

// Anchors of a batch before those alone are left out: more are refused.
inline constexpr std::uint64_t most_batch_anchors = std::uint64_t{1} << 31;

// Where work goes, and where its memory comes from: allocate(bytes) gives device memory that lasts until the stream is done with it.
struct Launch {
  cudaStream_t stream = nullptr;
  int multiprocessors = 1;
  std::function<void*(std::size_t)> allocate;
  std::function<void(const char*)> queued;  // may be empty; called with the name of each step that was put on the stream, for timings
};

// Throws Failure, as sluice::cuda::check does.
class DeviceSeeding {
 public:
  DeviceSeeding(const DeviceReads& reads, const DeviceTables& tables, const SeedingParameters& parameters, Launch launch);
  ~DeviceSeeding();
  DeviceSeeding(const DeviceSeeding&) = delete;
  DeviceSeeding& operator=(const DeviceSeeding&) = delete;

  // Writes the column read_length. Waits.
  std::int64_t find(std::int32_t* read_length);
  // After find: offsets (rows + 1) and both lists, in device memory. Does not wait.
  void write(std::int64_t* offsets, std::uint64_t* anchor_x, std::uint64_t* anchor_y);

  std::uint64_t found() const;  // anchors before those alone were left out; after find

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::signal_seeding::cuda
