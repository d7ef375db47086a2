// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Large blocks of memory that are used again. What a system gives anew it has to clear page by page, which takes four times as long as writing to it
// (a thread of the machine with an H200 fills new pages at 1.8 GB/s, others at 9), and a run writes many times what it holds at one moment.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice {

// Thread-safe. All blocks have come back when it is destroyed.
class RecycledMemory {
 public:
  // Where blocks come from. make: null when there are no more; aligned to 64 bytes.
  struct Source {
    std::function<void*(std::size_t bytes)> make;
    std::function<void(void* block, std::size_t bytes)> unmake;
  };
  // Beyond the limit for all blocks none is kept that nobody uses, and none is made, or none but for immediate use.
  enum class Beyond { makes, refuses };
  RecycledMemory(Source source, std::uint64_t limit, Beyond beyond) : source_(std::move(source)), beyond_(beyond), limit_(limit) {}
  RecycledMemory(const RecycledMemory&) = delete;
  ~RecycledMemory();

  struct Block {
    void* memory = nullptr;
    std::size_t bytes = 0;  // at least what was asked for, at most twice as many
  };
  // Null: there is none, or it would be more than the limit. `bytes` are above 0.
  Block take(std::size_t bytes);
  void give(const Block& block);
  void limit(std::uint64_t bytes);

 private:
  // Takes the longest unused ones out of kept_ until the limit is kept, or none is left.
  std::vector<Block> drop();

  const Source source_;
  const Beyond beyond_;
  std::mutex mutex_;  // guards what follows
  std::uint64_t limit_;
  std::vector<Block> kept_;  // the longest unused one first
  std::uint64_t all_bytes_ = 0;
};

// Ordinary memory in large pages where the system has them, for blocks of hundreds of kilobytes.
RecycledMemory::Source large_pages();

// From now on the C library keeps what is freed, up to blocks of 32 MiB, for the vectors of stages: with devices, whose calls are large, a run would
// otherwise have new pages cleared for each of them.
void keep_freed_memory();

}  // namespace sluice
