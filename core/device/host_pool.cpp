// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "device/host_pool.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

namespace sluice {
namespace {

// Less goes through a stream's slabs as fast.
constexpr std::size_t least_bytes = std::size_t{64} << 10;

}  // namespace

HostPool::~HostPool() {
  for (const auto& [block, bytes] : blocks_) provider_.free_host(device_, const_cast<char*>(block));
}

void* HostPool::take(std::size_t bytes) {
  if (bytes < least_bytes || bytes > limit_) return nullptr;
  // Sizes in steps of an eighth of a power of two, so that a block fits what is a little smaller than what it was made for.
  const std::size_t step = std::bit_floor(bytes) / 8, size = (bytes + step - 1) / step * step;
  const std::lock_guard lock(mutex_);
  if (const auto fits = free_.lower_bound(size); fits != free_.end() && fits->first <= 2 * size) {
    void* block = fits->second;
    free_.erase(fits);
    return block;
  }
  // What nobody uses makes room for what somebody wants.
  while (bytes_ + size > limit_ && !free_.empty()) {
    const auto smallest = free_.begin();
    bytes_ -= smallest->first;
    blocks_.erase(static_cast<const char*>(smallest->second));
    provider_.free_host(device_, smallest->second);
    free_.erase(smallest);
  }
  void* block = nullptr;
  if (bytes_ + size > limit_ || provider_.allocate_host(device_, size, &block) != SLUICE_OK) return nullptr;
  bytes_ += size;
  blocks_.emplace(static_cast<const char*>(block), size);
  return block;
}

void HostPool::give_back(void* block) {
  const std::lock_guard lock(mutex_);
  free_.emplace(blocks_.at(static_cast<const char*>(block)), block);
}

bool HostPool::holds(const void* memory, std::size_t bytes) const {
  const auto* begin = static_cast<const char*>(memory);
  const std::lock_guard lock(mutex_);
  auto block = blocks_.upper_bound(begin);
  if (block == blocks_.begin()) return false;
  block = std::prev(block);
  return begin + bytes <= block->first + block->second;
}

}  // namespace sluice
