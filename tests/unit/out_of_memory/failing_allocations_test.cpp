// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "unit/out_of_memory/failing_allocations.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace {

std::atomic<bool> armed{false};
std::atomic<long> counted{0}, first_failing{0},
    end_failing{0};  // the last two are written while not armed, but threads of the last run may still ask

bool fails() {
  if (!armed.load(std::memory_order_acquire)) return false;
  const long number = counted.fetch_add(1, std::memory_order_relaxed);
  return number >= first_failing && number < end_failing;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (fails()) throw std::bad_alloc();
  bytes = std::max<std::size_t>(bytes, 1);
  void* const memory =
      alignment <= alignof(std::max_align_t) ? std::malloc(bytes) : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* allocate_or_null(std::size_t bytes, std::size_t alignment) noexcept {
  try {
    return allocate(bytes, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

constexpr std::size_t usual = alignof(std::max_align_t);
constexpr std::size_t number_of(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace

// Not inlined, or GCC would see that what `new` gave is given to `free`, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return allocate(bytes, usual); }
void* operator new[](std::size_t bytes) { return allocate(bytes, usual); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return allocate(bytes, number_of(alignment)); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return allocate(bytes, number_of(alignment)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes, usual); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes, usual); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace sluice::testing_memory {

FailingAllocations::FailingAllocations(long first, long count) {
  counted = 0;
  first_failing = first;
  end_failing = first + count;
  armed.store(true, std::memory_order_release);
}
FailingAllocations::~FailingAllocations() { armed = false; }
bool FailingAllocations::have_failed() const { return counted > first_failing; }

TEST_CASE("Allocations fail when they are told to, and no others") {
  // What the test itself says allocates, too: so only bits are kept until it is over.
  const auto succeeds = [] {
    try {
      ::operator delete(::operator new(sizeof(long)));  // called as functions: these no compiler leaves out
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  };
  bool succeeded[4] = {}, failed_before = true, failed_after = false;
  {
    const FailingAllocations failing(1, 2);
    failed_before = failing.have_failed();
    for (bool& one : succeeded) one = succeeds();
    failed_after = failing.have_failed();
  }
  CHECK(succeeded[0]);
  CHECK_FALSE(succeeded[1]);
  CHECK_FALSE(succeeded[2]);
  CHECK(succeeded[3]);
  CHECK_FALSE(failed_before);
  CHECK(failed_after);
}

}  // namespace sluice::testing_memory
