// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sdtw/device_states.hpp"

#include <algorithm>

namespace sluice::sdtw::cuda {
namespace {

constexpr std::size_t fewest_states = 16;                        // that are allocated together
constexpr std::size_t most_bytes = std::size_t{1} << 30;         // that are, unless one state needs more
constexpr std::size_t alignment = 256;                           // bytes: the widest access of a warp
constexpr double share_of_device = 0.7;                          // of its memory, at most
constexpr std::size_t least_bytes_left = std::size_t{64} << 20;  // for items, results and paths of calls

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

bool DeviceStates::take(const sluice::cuda::DeviceCall& device, State& state) {
  if (free_.empty() && (is_full_ || !grow(device))) {
    is_full_ = true;
    return false;
  }
  state = free_.back();
  free_.pop_back();
  return true;
}

void DeviceStates::clear() {
  free_.clear();
  memory_.clear();
  states_ = 0;
  is_full_ = false;
}

bool DeviceStates::grow(const sluice::cuda::DeviceCall& device) {
  const std::size_t row_bytes = aligned(words_ * sizeof(std::uint32_t)), query_bytes = aligned(std::size_t{most_rows} * sizeof(std::int16_t));
  const std::size_t state_bytes = 2 * row_bytes + query_bytes;
  const std::size_t count = std::clamp<std::size_t>(std::max(fewest_states, states_), 1, std::max<std::size_t>(1, most_bytes / state_bytes));
  std::size_t free_bytes = 0, total_bytes = 0;
  sluice::cuda::check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  if (static_cast<double>((states_ + count) * state_bytes) > share_of_device * static_cast<double>(total_bytes)) return false;
  try {
    sluice::cuda::Memory memory = device.allocate(count * state_bytes);
    // As much again must be left for calls.
    const sluice::cuda::Memory left = device.allocate(std::max(least_bytes_left, count * state_bytes));
    auto* at = memory.as<std::byte>();
    for (std::size_t i = 0; i < count; ++i, at += state_bytes)
      free_.push_back({{reinterpret_cast<std::uint32_t*>(at), reinterpret_cast<std::uint32_t*>(at + row_bytes)},
                       reinterpret_cast<std::int16_t*>(at + 2 * row_bytes)});
    memory_.push_back(std::move(memory));
  } catch (const Failure& failure) {
    if (failure.status() != SLUICE_ERROR_DEVICE_MEMORY) throw;
    return false;
  }
  states_ += count;
  return true;
}

}  // namespace sluice::sdtw::cuda
