// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Large blocks of memory that are used again. What a system gives anew it has to clear page by page, which takes five times as long as writing to it
// (1.8 against 9 GB/s a thread on the machine with an H200), and a run writes many times what it holds at one moment.

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
  // kept: bytes of blocks that nobody uses, at most; all: of all blocks, at most.
  struct Limits {
    std::uint64_t kept, all = ~std::uint64_t{0};
  };
  RecycledMemory(Source source, Limits limits) : source_(std::move(source)), limits_(limits) {}
  RecycledMemory(const RecycledMemory&) = delete;
  ~RecycledMemory();

  struct Block {
    void* memory = nullptr;
    std::size_t bytes = 0;  // at least what was asked for, at most twice as many
  };
  // Null: there is none, or it would be more than the limit. `bytes` are above 0.
  Block take(std::size_t bytes);
  void give(const Block& block);
  void limit(Limits limits);

 private:
  // Takes the longest unused ones out of kept_ until no more than `most` bytes are in it.
  std::vector<Block> drop_to(std::uint64_t most);

  const Source source_;
  std::mutex mutex_;  // guards what follows
  Limits limits_;
  std::vector<Block> kept_;  // the longest unused one first
  std::uint64_t kept_bytes_ = 0, all_bytes_ = 0;
};

// Ordinary memory in large pages where the system has them, for blocks of hundreds of kilobytes.
RecycledMemory::Source large_pages();

// From now on the C library keeps what is freed, up to blocks of 32 MiB, for the vectors of stages: with devices, whose calls are large, a run would
// otherwise have new pages cleared for each of them.
void keep_freed_memory();

}  // namespace sluice
