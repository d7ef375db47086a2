// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A batch's anchors, scores and predecessors on the host, for what comes after the scores.

#include <algorithm>
#include <cstdint>
#include <sluice/cuda.hpp>
#include <span>

#include "chaining/chaining.hpp"
#include "chaining/cuda.hpp"

namespace sluice::chaining::cuda {

// Page-locked memory: the device copies into it at full speed and without keeping a thread busy. Locking pages takes about 0.3 ms for a MiB, so it is
// kept.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() { cudaFreeHost(memory_); }
  // What it held is lost if it has to grow.
  void make_room(std::size_t bytes) {
    if (bytes <= bytes_) return;
    cudaFreeHost(memory_);
    memory_ = nullptr;
    bytes_ = 0;
    sluice::cuda::check(cudaHostAlloc(&memory_, bytes + bytes / 4, cudaHostAllocPortable), "cudaHostAlloc");
    bytes_ = bytes + bytes / 4;
  }
  std::byte* data() const { return static_cast<std::byte*>(memory_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

class BatchCopy {
 public:
  // Takes the anchors from the host if the batch has them there, else starts to copy them on `stream`.
  void begin(const Batch& in, const DeviceRows& rows, std::int64_t y_count, cudaStream_t stream) {
    const auto row_count = static_cast<std::size_t>(rows.anchors.rows), count = static_cast<std::size_t>(rows.anchors.count);
    const bool on_host = std::ranges::all_of(std::initializer_list<const char*>{"anchor_x", "anchor_y", "read_length"},
                                             [&](const char* name) { return in.find(name)->array != nullptr; });
    const std::size_t from_device = on_host ? 0 : 8 * (count + static_cast<std::size_t>(y_count) + 2 * (row_count + 1)) + 4 * row_count;
    memory_.make_room(from_device + 8 * count);
    std::byte* at = memory_.data();
    const auto copy = [&]<class T>(const T* values, std::size_t n) -> const T* {
      T* const to = reinterpret_cast<T*>(at);
      at += n * sizeof(T);
      if (n != 0) sluice::cuda::check(cudaMemcpyAsync(to, values, n * sizeof(T), cudaMemcpyDeviceToHost, stream), "copy to the host");
      return to;
    };
    if (on_host) {
      const auto x = in.list<std::uint64_t>("anchor_x"), y = in.list<std::uint64_t>("anchor_y");
      x_offsets_ = x.offsets().data();
      y_offsets_ = y.offsets().data();
      x_ = x.values().data() - x_offsets_[0];
      y_ = y.values().data() - y_offsets_[0];
      read_length_ = in.column<std::int32_t>("read_length").data();
    } else {
      x_ = copy(rows.anchors.x, count);
      y_ = copy(rows.anchors.y, static_cast<std::size_t>(y_count));
      x_offsets_ = copy(rows.anchors.offsets, row_count + 1);
      y_offsets_ = copy(rows.y_offsets, row_count + 1);
    }
    score_ = reinterpret_cast<std::int32_t*>(at);
    predecessor_ = score_ + count;
    at += 8 * count;
    if (!on_host) read_length_ = copy(rows.read_length, row_count);
  }
  // Starts to copy the scores.
  void finish(const DeviceScores& scores, std::int64_t count, cudaStream_t stream) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(std::int32_t);
    if (bytes == 0) return;
    sluice::cuda::check(cudaMemcpyAsync(score_, scores.score, bytes, cudaMemcpyDeviceToHost, stream), "copy to the host");
    sluice::cuda::check(cudaMemcpyAsync(predecessor_, scores.predecessor, bytes, cudaMemcpyDeviceToHost, stream), "copy to the host");
  }

  // When the copies are done.
  std::size_t anchor_count(std::size_t row) const { return static_cast<std::size_t>(x_offsets_[row + 1] - x_offsets_[row]); }
  Anchors anchors(std::size_t row) const { return {part(x_, x_offsets_, row), part(y_, y_offsets_, row)}; }
  std::int32_t read_length(std::size_t row) const { return read_length_[row]; }
  AnchorScores scores(std::size_t row) const {
    const auto from = static_cast<std::size_t>(x_offsets_[row] - x_offsets_[0]);
    return {{score_ + from, anchor_count(row)}, {predecessor_ + from, anchor_count(row)}};
  }
  std::size_t bytes() const { return memory_.bytes(); }

 private:
  static std::span<const std::uint64_t> part(const std::uint64_t* values, const std::int64_t* offsets, std::size_t row) {
    return {values + offsets[row], static_cast<std::size_t>(offsets[row + 1] - offsets[row])};
  }
  PinnedMemory memory_;
  const std::int64_t *x_offsets_ = nullptr, *y_offsets_ = nullptr;
  const std::uint64_t *x_ = nullptr, *y_ = nullptr;
  const std::int32_t* read_length_ = nullptr;
  std::int32_t *score_ = nullptr, *predecessor_ = nullptr;
};

}  // namespace sluice::chaining::cuda
