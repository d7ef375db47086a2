// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "machine/recycled_memory.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace sluice {
namespace {

// Eight sizes for each power of two: a block is at most an eighth larger than asked for, and sizes that differ little share their blocks.
std::size_t block_size(std::size_t bytes) {
  constexpr std::size_t least = 4096;
  const std::size_t step = std::max(least, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

constexpr std::size_t large_page = std::size_t{2} << 20;

void* mapped(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

RecycledMemory::~RecycledMemory() {
  for (const Block& block : kept_) source_.unmake(block.memory, block.bytes);
}

// Nothing leaves it, nor give() and limit(): blocks come back where others end, and from runs that had no memory left.
std::vector<RecycledMemory::Block> RecycledMemory::drop() {
  std::vector<Block> dropped;
  auto end = kept_.begin();
  for (std::uint64_t all = all_bytes_; end != kept_.end() && all > limit_; ++end) all -= end->bytes;
  try {
    if (end != kept_.end()) dropped.assign(kept_.begin(), end);
  } catch (const std::bad_alloc&) {  // no room for a list of some: all of them go
    end = kept_.end();
  }
  if (end == kept_.end())
    dropped.swap(kept_);
  else
    kept_.erase(kept_.begin(), end);
  for (const Block& block : dropped) all_bytes_ -= block.bytes;
  return dropped;
}

RecycledMemory::Block RecycledMemory::take(std::size_t bytes) {
  bytes = block_size(bytes);
  {
    const std::lock_guard lock(mutex_);
    // The smallest that is large enough; of equal ones the one that was used last, which is the one that is still in a cache.
    auto best = kept_.end();
    for (auto block = kept_.begin(); block != kept_.end(); ++block)
      if (block->bytes >= bytes && block->bytes / 2 <= bytes && (best == kept_.end() || block->bytes <= best->bytes)) best = block;
    if (best != kept_.end()) {
      const Block block = *best;
      kept_.erase(best);
      return block;
    }
    // Unused blocks of other sizes stay: making room for one size after the other would be making new blocks all the time.
    if (beyond_ == Beyond::refuses && all_bytes_ + bytes > limit_) return {};
    all_bytes_ += bytes;
  }
  void* const memory = source_.make(bytes);
  if (memory != nullptr) return {memory, bytes};
  const std::lock_guard lock(mutex_);
  all_bytes_ -= bytes;
  return {};
}

void RecycledMemory::give(const Block& block) {
  std::vector<Block> dropped;
  bool is_kept = true;
  {
    const std::lock_guard lock(mutex_);
    try {
      kept_.push_back(block);
    } catch (const std::bad_alloc&) {
      is_kept = false;
      all_bytes_ -= block.bytes;
    }
    dropped = drop();
  }
  if (!is_kept) source_.unmake(block.memory, block.bytes);
  for (const Block& old : dropped) source_.unmake(old.memory, old.bytes);
}

void RecycledMemory::limit(std::uint64_t bytes) {
  std::vector<Block> dropped;
  {
    const std::lock_guard lock(mutex_);
    limit_ = bytes;
    dropped = drop();
  }
  for (const Block& block : dropped) source_.unmake(block.memory, block.bytes);
}

RecycledMemory::Source large_pages() {
  const auto make = [](std::size_t bytes) -> void* {
    if (bytes < large_page) return mapped(bytes);
    auto* const all = static_cast<std::byte*>(mapped(bytes + large_page));
    if (all == nullptr) return nullptr;
    const std::size_t before = (large_page - reinterpret_cast<std::uintptr_t>(all) % large_page) % large_page;
    if (before > 0) ::munmap(all, before);
    if (before < large_page) ::munmap(all + before + bytes, large_page - before);
    ::madvise(all + before, bytes, MADV_HUGEPAGE);  // a wish: kernels without large pages say no
    return all + before;
  };
  return {make, [](void* memory, std::size_t bytes) { ::munmap(memory, bytes); }};
}

void keep_freed_memory() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

}  // namespace sluice
