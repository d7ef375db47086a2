// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Memory of columns with guards on both sides: what a stage writes outside of a block is found.

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace sluice::testing::detail {

// Blocks are aligned to 64 bytes and filled with 0xA5. A guard of 2 KiB lies in front of each, one of 2 to 64 KiB, as long as the block, behind it.
// AddressSanitizer, where it is, does not let anybody touch them. ThreadSanitizer sees nothing of this file, whose lock would else order what the
// calls of a stage do, and hide their races. [thread-safe]
class GuardedMemory {
 public:
  struct Damage {
    const void* block;
    std::string text;  // "24 bytes of memory: ..."
  };

  GuardedMemory() = default;
  GuardedMemory(const GuardedMemory&) = delete;

  void* allocate(std::size_t bytes);  // null: there is no more
  // What was written outside of it, "" if nothing.
  std::string free(void* block);
  // The same of the blocks that are there, each told once.
  std::vector<Damage> damages();
  std::size_t blocks() const { return count_; }

 private:
  struct Header;
  class Lock;
  Header* first_ = nullptr;
  std::atomic<std::size_t> count_{0};
  std::atomic_flag locked_ = ATOMIC_FLAG_INIT;  // guards first_ and the links
};

}  // namespace sluice::testing::detail
