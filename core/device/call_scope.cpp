// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "device/call_scope.hpp"

#include <sluice/failure.hpp>
#include <utility>

namespace sluice {
namespace {

thread_local CallScope* current_scope = nullptr;

}  // namespace

CallScope::CallScope(const CallScopeName& name, DeviceMemory* device, std::uint64_t& bytes_moved)
    : name_(name), device_(device), bytes_moved_(bytes_moved) {
  range_.emplace(name_.stage + " batch " + std::to_string(name_.sequence) + ", " + std::to_string(name_.rows) + " rows");
  if (device_ != nullptr) {
    if (const auto fault = device_->next_fault()) {
      if (*fault == DeviceFault::memory) throw Failure(SLUICE_ERROR_DEVICE_MEMORY, device_->name() + " has no room (injected)");
      if (*fault == DeviceFault::lost) device_->lose();
      kernel_fault_ = *fault == DeviceFault::kernel;
    }
    device_->throw_if_lost();
    device_->activity().begin_call();
  }
  outer_ = std::exchange(current_scope, this);
}

CallScope::~CallScope() {
  current_scope = outer_;
  if (device_ != nullptr) device_->activity().end_call();
}

CallScope* CallScope::current() { return current_scope; }

bool CallScope::take_kernel_fault() { return std::exchange(kernel_fault_, false); }

}  // namespace sluice
