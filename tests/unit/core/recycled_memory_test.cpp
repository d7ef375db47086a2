// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "machine/recycled_memory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using sluice::RecycledMemory;

namespace {

// Counts what it gives out, and has no more than `most` bytes.
struct Counted {
  std::uint64_t now = 0, made = 0, most = ~std::uint64_t{0};
  RecycledMemory::Source source() {
    return {[this](std::size_t bytes) -> void* {
              if (now + bytes > most) return nullptr;
              now += bytes;
              ++made;
              return std::malloc(bytes);
            },
            [this](void* memory, std::size_t bytes) {
              now -= bytes;
              std::free(memory);
            }};
  }
};

constexpr std::size_t mib = std::size_t{1} << 20;

}  // namespace

TEST_CASE("a block that came back is given out again, also for less, down to half of it") {
  Counted counted;
  {
    RecycledMemory memory(counted.source(), 64 * mib, RecycledMemory::Beyond::makes);
    const RecycledMemory::Block first = memory.take(5 * mib);
    memory.give(first);
    CHECK(memory.take(3 * mib).memory == first.memory);
    CHECK(counted.made == 1);
    const RecycledMemory::Block second = memory.take(3 * mib);
    CHECK(second.memory != first.memory);
    memory.give(first);
    memory.give(second);
    const RecycledMemory::Block fitting = memory.take(3 * mib - 5000);
    CHECK(fitting.memory == second.memory);
    memory.give(fitting);
    const RecycledMemory::Block small = memory.take(mib);
    CHECK(counted.made == 3);
    memory.give(small);
  }
  CHECK(counted.now == 0);
}

TEST_CASE("beyond the limit nothing is kept that nobody uses, the longest unused goes first") {
  Counted counted;
  RecycledMemory memory(counted.source(), 10 * mib, RecycledMemory::Beyond::makes);
  const RecycledMemory::Block old = memory.take(4 * mib), young = memory.take(8 * mib);
  memory.give(old);
  memory.give(young);
  CHECK(counted.now == 8 * mib);
  CHECK(memory.take(8 * mib).memory == young.memory);
  const RecycledMemory::Block more = memory.take(5 * mib);
  CHECK(more.memory != nullptr);
  memory.give(young);
  CHECK(counted.now == 5 * mib);
  memory.give(more);
  CHECK(counted.now == 5 * mib);
  memory.limit(0);
  CHECK(counted.now == 0);
}

TEST_CASE("all blocks together stay below the limit") {
  Counted counted;
  RecycledMemory memory(counted.source(), 16 * mib, RecycledMemory::Beyond::refuses);
  const RecycledMemory::Block used = memory.take(8 * mib), unused = memory.take(8 * mib);
  CHECK(memory.take(mib).memory == nullptr);
  memory.give(unused);
  CHECK(memory.take(mib).memory == nullptr);
  CHECK(memory.take(5 * mib).memory == unused.memory);
  CHECK(memory.take(17 * mib).memory == nullptr);
  CHECK(counted.now == 16 * mib);
  memory.give(unused);
  memory.give(used);
}

TEST_CASE("a source without memory is asked again later") {
  Counted counted;
  counted.most = 4 * mib;
  RecycledMemory memory(counted.source(), 8 * mib, RecycledMemory::Beyond::refuses);
  const RecycledMemory::Block first = memory.take(4 * mib);
  CHECK(memory.take(4 * mib).memory == nullptr);
  counted.most = 8 * mib;
  const RecycledMemory::Block second = memory.take(4 * mib);
  CHECK(second.memory != nullptr);
  memory.give(first);
  memory.give(second);
}

TEST_CASE("blocks of many threads are never shared") {
  RecycledMemory memory(sluice::large_pages(), 32 * mib, RecycledMemory::Beyond::makes);
  std::vector<std::thread> threads;
  std::vector<int> faults(4, 0);
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      std::mt19937 random(static_cast<unsigned>(thread));
      std::deque<std::pair<RecycledMemory::Block, std::size_t>> held;
      for (int turn = 0; turn < 400; ++turn) {
        if (held.size() < 4) {
          const std::size_t bytes = std::size_t{262144} + random() % (6 * mib);
          const RecycledMemory::Block block = memory.take(bytes);
          faults[static_cast<std::size_t>(thread)] += reinterpret_cast<std::uintptr_t>(block.memory) % 64 != 0 || block.bytes < bytes;
          auto* const at = static_cast<unsigned char*>(block.memory);
          at[0] = at[bytes / 2] = at[block.bytes - 1] = static_cast<unsigned char>(thread + 1);
          held.push_back({block, bytes});
        } else {
          const auto [block, bytes] = held.front();
          const auto* const at = static_cast<const unsigned char*>(block.memory);
          for (const std::size_t i : {std::size_t{0}, bytes / 2, block.bytes - 1}) faults[static_cast<std::size_t>(thread)] += at[i] != thread + 1;
          held.pop_front();
          memory.give(block);
        }
      }
      for (const auto& [block, bytes] : held) memory.give(block);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(faults == std::vector<int>(4, 0));
}
