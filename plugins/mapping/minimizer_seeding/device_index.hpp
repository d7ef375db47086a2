// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the stage has on a CUDA device for all its calls there, and the rows of a batch that it does itself.

#include <algorithm>
#include <memory>
#include <mutex>
#include <sluice/cuda.hpp>
#include <sluice/minimizer_index.hpp>
#include <span>
#include <vector>

#include "minimizer_seeding/cuda.hpp"

namespace sluice::minimizer_seeding {

// The tables of an index, and of its contigs what AnchorFilter asks for.
class DeviceIndex {
 public:
  DeviceIndex(const sluice::cuda::DeviceCall& device, const MinimizerIndexView& index, const NameOrder& order, const SeedingParameters& parameters)
      : tables(cuda::table_sizes(index)) {
    copy(device, index.slots, tables.slots);
    copy(device, index.positions, tables.positions);
    filter.strands = parameters.strands;
    filter.diagonal = parameters.diagonal;
    filter.pairs = parameters.pairs;
    std::vector<std::uint32_t> ranks;  // until the device has them
    if (parameters.diagonal == Diagonal::skip || parameters.pairs == Pairs::once) {
      filter.contigs = static_cast<std::uint32_t>(index.contigs());
      for (std::size_t contig = 0; contig < index.contigs(); ++contig) ranks.push_back(order.rank(contig));
      copy(device, std::span<const std::uint32_t>(ranks), filter.contig_rank);
      copy(device, index.contig_length, filter.contig_length);
    }
    device.synchronize();  // other lanes of this device use the index, too
  }
  cuda::DeviceTables tables;
  cuda::DeviceAnchorFilter filter;  // without read_place

 private:
  template <class T>
  void copy(const sluice::cuda::DeviceCall& device, std::span<const T> values, const T*& to) {
    sluice::cuda::Memory memory = device.allocate_array<T>(values.size());
    if (!values.empty())
      sluice::cuda::check(cudaMemcpyAsync(memory.get(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice, device.stream()),
                          "the minimizer index");
    to = memory.as<T>();
    memory_.push_back(std::move(memory));
  }
  std::vector<sluice::cuda::Memory> memory_;
};

// The index on each device; of one in parts the part that was asked for last. Another is made where it is asked for, when no call has the one before
// any more but those that are under way. Thread-safe.
class DeviceIndexes {
 public:
  // make(): called once per device and part; calls on the same device wait for it.
  template <class Make>
  std::shared_ptr<const DeviceIndex> get(int ordinal, std::size_t part, Make&& make) {
    Slot& slot = *slots_.get(ordinal, [] { return std::make_unique<Slot>(); });
    const std::lock_guard lock(slot.mutex);
    if (slot.index == nullptr || slot.part != part) {
      slot.index.reset();  // the room may be needed
      slot.index = std::make_shared<const DeviceIndex>(make());
      slot.part = part;
    }
    return slot.index;
  }

 private:
  struct Slot {
    std::mutex mutex;  // guards what follows
    std::shared_ptr<const DeviceIndex> index;
    std::size_t part = 0;
  };
  sluice::cuda::PerDevice<std::unique_ptr<Slot>> slots_;
};

// Rows that the host did, on their way to the device's columns. Rows without a gap between them are copied together.
class HostRows {
 public:
  struct Row {
    std::int64_t row;
    std::vector<std::uint64_t> seeds, anchor_x, anchor_y;
  };
  void add(Row row) { rows_.push_back(std::move(row)); }

  // Waits.
  void copy(const sluice::cuda::DeviceCall& device, const cuda::ColumnOffsets& offsets, std::uint64_t* seed_position, std::uint64_t* anchor_x,
            std::uint64_t* anchor_y) {
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.row < b.row; });
    for (const auto& [column, part, at] : {Column{seed_position, &Row::seeds, &offsets.seeds}, Column{anchor_x, &Row::anchor_x, &offsets.anchors},
                                           Column{anchor_y, &Row::anchor_y, &offsets.anchors}}) {
      std::vector<std::uint64_t> values;
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        const std::vector<std::uint64_t>& mine = rows_[i].*part;
        const std::int64_t begin = (*at)[static_cast<std::size_t>(rows_[i].row)], end = begin + static_cast<std::int64_t>(mine.size());
        values.insert(values.end(), mine.begin(), mine.end());
        if (i + 1 < rows_.size() && (*at)[static_cast<std::size_t>(rows_[i + 1].row)] == end) continue;
        if (!values.empty())
          sluice::cuda::check(cudaMemcpyAsync(column + end - values.size(), values.data(), values.size() * sizeof(std::uint64_t),
                                              cudaMemcpyHostToDevice, device.stream()),
                              "copy to the device");
        device.synchronize();  // `values` is used again
        values.clear();
      }
    }
  }

 private:
  struct Column {
    std::uint64_t* column;
    std::vector<std::uint64_t> Row::*part;
    const std::vector<std::int64_t>* at;
  };
  std::vector<Row> rows_;
};

}  // namespace sluice::minimizer_seeding
