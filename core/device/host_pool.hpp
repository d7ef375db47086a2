// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Page-locked host memory of a device, which copies need no slab for. Locking pages takes longer than filling them, so blocks are used again.

#include <sluice/abi.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace sluice {

// Thread-safe.
class HostPool {
 public:
  // limit_bytes: of all blocks, used or not.
  HostPool(const sluice_device_provider& provider, void* device, std::uint64_t limit_bytes)
      : provider_(provider), device_(device), limit_(limit_bytes) {}
  // Every block has been given back.
  ~HostPool();
  HostPool(const HostPool&) = delete;

  // Null: there is no more, or so little is asked for that it is not worth it.
  void* take(std::size_t bytes);
  void give_back(void* block);
  // Does the memory lie in a block?
  bool holds(const void* memory, std::size_t bytes) const;

 private:
  const sluice_device_provider& provider_;
  void* const device_;
  const std::uint64_t limit_;
  mutable std::mutex mutex_;  // guards everything below
  std::map<const char*, std::size_t> blocks_;
  std::multimap<std::size_t, void*> free_;
  std::uint64_t bytes_ = 0;
};

}  // namespace sluice
