// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a thread is doing for a stage while this lives: one call with one batch. Copies that the thread causes meanwhile are counted for the
// call; profilers see a range of the stage's name; injected faults happen here; and the device's stream has come to rest before it ends.

#include <cstdint>
#include <string>

#include "device/device_stream.hpp"

namespace sluice {

class CallScope {
 public:
  // stream: null on the CPU. bytes_moved: what is copied to and from devices is added there. Throws Failure when this call is to find the
  // device full or gone.
  CallScope(const std::string& stage, std::uint64_t sequence, std::int64_t rows, DeviceStream* stream, std::uint64_t& bytes_moved);
  // A call that has failed may have left work on its stream: nothing of what it used is freed before that is over.
  ~CallScope();
  CallScope(const CallScope&) = delete;

  // That of this thread; null between calls.
  static CallScope* current();
  const std::string& stage() const { return stage_; }
  std::uint64_t sequence() const { return sequence_; }
  std::int64_t rows() const { return rows_; }
  const DeviceStream* stream() const { return stream_; }
  void copied(std::uint64_t bytes) { bytes_moved_ += bytes; }
  // Everything on the stream has happened. Throws Failure, also where this call's kernels are to fail.
  void synchronize();

 private:
  const std::string& stage_;
  const std::uint64_t sequence_;
  const std::int64_t rows_;
  DeviceStream* const stream_;
  std::uint64_t& bytes_moved_;
  bool kernel_fault_ = false, at_rest_ = false;
  CallScope* outer_ = nullptr;
};

// Ranges go to the profiler that this provider knows. Set once, before the first call; null: to nobody.
void show_ranges_with(const sluice_device_provider* provider);

}  // namespace sluice
