// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Columns that the CPU reads in a call on a device: where the batch has them on the host, or a copy of the device's.

#include <cstdint>
#include <sluice/cuda.hpp>
#include <span>
#include <vector>

namespace sluice::sdtw::cuda {

template <Element T>
class HostColumn {
 public:
  HostColumn(const sluice::cuda::DeviceCall& device, const Batch& in, const char* name) {
    if (in.find(name)->array == nullptr)
      values_ = copy_ = device.download(device.column<T>(in, name), static_cast<std::size_t>(in.rows()));
    else
      values_ = in.column<T>(name);
  }
  HostColumn(const HostColumn&) = delete;
  T operator[](std::size_t row) const { return values_[row]; }

 private:
  std::vector<T> copy_;
  std::span<const T> values_;
};

template <Element T>
class HostList {
 public:
  HostList(const sluice::cuda::DeviceCall& device, const Batch& in, const char* name) {
    if (in.find(name)->array != nullptr) {
      offsets_ = in.list<T>(name).offsets();
      values_ = in.list<T>(name).values();
      return;
    }
    const sluice::cuda::List<T> list = device.list<T>(in, name);
    offsets_ = offsets_copy_ = device.download(list.offsets, static_cast<std::size_t>(in.rows()) + 1);
    values_ = values_copy_ = device.download(list.values, static_cast<std::size_t>(list.count));
  }
  HostList(const HostList&) = delete;
  std::span<const T> operator[](std::size_t row) const { return values_.subspan(static_cast<std::size_t>(begin(row)), size(row)); }
  // Where the row begins in the values on the device.
  std::int64_t begin(std::size_t row) const { return offsets_[row] - offsets_[0]; }

 private:
  std::size_t size(std::size_t row) const { return static_cast<std::size_t>(offsets_[row + 1] - offsets_[row]); }
  std::vector<std::int64_t> offsets_copy_;
  std::vector<T> values_copy_;
  std::span<const std::int64_t> offsets_;
  std::span<const T> values_;
};

}  // namespace sluice::sdtw::cuda
