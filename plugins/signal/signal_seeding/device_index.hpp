// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the stage has on a CUDA device for all its calls there: the index.

#include <sluice/cuda.hpp>
#include <span>
#include <vector>

#include "signal_seeding/cuda.hpp"

namespace sluice::signal_seeding {

class DeviceIndex {
 public:
  DeviceIndex(const sluice::cuda::DeviceCall& device, const Seeding& seeding) {
    const SquiggleIndexView& index = seeding.index;
    tables.form = index.form;
    tables.columns_per_event = index.columns_per_event;
    tables.strands = static_cast<std::int64_t>(index.strand_begin.size());
    // Room for all before the first copy: an index that does not fit says so at once.
    const Copy copies[] = {place(device, index.entry, tables.entry),
                           place(device, index.entry_high, tables.entry_high),
                           place(device, index.bucket_begin, tables.bucket_begin),
                           place(device, index.block_begin, tables.block_begin),
                           place(device, index.seed_present, tables.seed_present),
                           place(device, index.strand_begin, tables.strand_begin),
                           place(device, std::span<const Symbol>(seeding.symbols), tables.symbols)};
    for (const Copy& copy : copies)
      if (copy.bytes > 0) sluice::cuda::copy_to_device(copy.to, copy.from, copy.bytes, device.stream());
    device.synchronize();  // other lanes of this device use the index, too
  }
  cuda::DeviceTables tables;

 private:
  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  template <class T>
  Copy place(const sluice::cuda::DeviceCall& device, std::span<const T> values, const T*& to) {
    if (values.empty()) return {nullptr, nullptr, 0};
    T* const on_device = memory_.emplace_back(device.allocate_array<T>(values.size())).template as<T>();
    to = on_device;
    return {on_device, values.data(), values.size_bytes()};
  }
  std::vector<sluice::cuda::Memory> memory_;
};

}  // namespace sluice::signal_seeding
