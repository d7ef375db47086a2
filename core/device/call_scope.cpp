// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "device/call_scope.hpp"

#include <atomic>
#include <sluice/failure.hpp>
#include <utility>

namespace sluice {
namespace {

thread_local CallScope* current_scope = nullptr;
std::atomic<const sluice_device_provider*> profiler{nullptr};

}  // namespace

void show_ranges_with(const sluice_device_provider* provider) { profiler = provider; }

CallScope::CallScope(const std::string& stage, std::uint64_t sequence, std::int64_t rows, DeviceStream* stream, std::uint64_t& bytes_moved)
    : stage_(stage), sequence_(sequence), rows_(rows), stream_(stream), bytes_moved_(bytes_moved) {
  if (stream_ != nullptr) {
    Device& device = stream_->device();
    if (const auto fault = device.next_fault()) {
      if (*fault == DeviceFault::memory) throw Failure(SLUICE_ERROR_DEVICE_MEMORY, device.name() + " has no room (injected)");
      if (*fault == DeviceFault::lost) device.lose();
      kernel_fault_ = *fault == DeviceFault::kernel;
    }
    stream_->enter();
    device.activity().begin_call();
  }
  if (const sluice_device_provider* ranges = profiler)
    ranges->begin_range((stage + " batch " + std::to_string(sequence) + ", " + std::to_string(rows) + " rows").c_str());
  outer_ = std::exchange(current_scope, this);
}

CallScope::~CallScope() {
  if (stream_ != nullptr && !at_rest_) stream_->settle();
  current_scope = outer_;
  if (const sluice_device_provider* ranges = profiler) ranges->end_range();
  if (stream_ != nullptr) stream_->device().activity().end_call();
}

CallScope* CallScope::current() { return current_scope; }

void CallScope::synchronize() {
  if (stream_ == nullptr) return;
  stream_->synchronize();
  at_rest_ = true;
  if (kernel_fault_) throw Failure(SLUICE_ERROR_DEVICE_KERNEL, stream_->device().name() + ": a kernel failed (injected)");
}

}  // namespace sluice
