// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "testing/guarded_memory.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

// Of AddressSanitizer's run-time library, where the program has one.
extern "C" {
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* address, std::size_t bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* address, std::size_t bytes);
}

namespace sluice::testing::detail {

// At the beginning of the guard in front of a block.
struct GuardedMemory::Header {
  std::size_t bytes = 0;
  Header *previous = nullptr, *next = nullptr;
  bool is_told = false;
};

class GuardedMemory::Lock {
 public:
  explicit Lock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) ::sched_yield();
  }
  ~Lock() { flag_.clear(std::memory_order_release); }
  Lock(const Lock&) = delete;

 private:
  std::atomic_flag& flag_;
};

namespace {

constexpr std::size_t alignment = 64, front = 2048, header_bytes = 64, largest = std::size_t{64} << 10;
constexpr unsigned char guard_byte = 0x5A;

std::size_t behind(std::size_t bytes) { return std::clamp(bytes, front, largest); }

void close(unsigned char* block, std::size_t bytes) {
  if (__asan_poison_memory_region == nullptr) return;
  __asan_poison_memory_region(block - front + header_bytes, front - header_bytes);
  __asan_poison_memory_region(block + bytes, behind(bytes));
}
void open(unsigned char* block, std::size_t bytes) {
  if (__asan_unpoison_memory_region == nullptr) return;
  __asan_unpoison_memory_region(block - front, front);
  __asan_unpoison_memory_region(block + bytes, behind(bytes));
}

std::string damage(const unsigned char* block, std::size_t bytes) {
  const auto is_other = [](unsigned char byte) { return byte != guard_byte; };
  const unsigned char* const end = block + bytes;
  const unsigned char* const after = std::find_if(end, end + behind(bytes), is_other);
  if (after != end + behind(bytes))
    return std::to_string(bytes) + " bytes of memory: what lies behind them was overwritten, at byte " + std::to_string(after - block) + " first";
  const unsigned char* const before = std::find_if(block - front + header_bytes, block, is_other);
  if (before == block) return {};
  return std::to_string(bytes) + " bytes of memory: what lies in front of them was overwritten, at byte " + std::to_string(before - block) + " first";
}

}  // namespace

void* GuardedMemory::allocate(std::size_t bytes) {
  static_assert(sizeof(Header) <= header_bytes);
  const std::size_t all = front + bytes + behind(bytes);
  if (all < bytes) return nullptr;
  auto* const memory = static_cast<unsigned char*>(::operator new (all, std::align_val_t{alignment}, std::nothrow));
  if (memory == nullptr) return nullptr;
  unsigned char* const block = memory + front;
  std::memset(memory, guard_byte, front);
  std::memset(block, 0xA5, bytes);
  std::memset(block + bytes, guard_byte, behind(bytes));
  auto* const header = new (memory) Header{bytes};
  close(block, bytes);
  const Lock lock(locked_);
  header->next = first_;
  if (first_ != nullptr) first_->previous = header;
  first_ = header;
  ++count_;
  return block;
}

std::string GuardedMemory::free(void* memory) {
  auto* const block = static_cast<unsigned char*>(memory);
  auto* const header = reinterpret_cast<Header*>(block - front);
  {
    const Lock lock(locked_);
    (header->previous == nullptr ? first_ : header->previous->next) = header->next;
    if (header->next != nullptr) header->next->previous = header->previous;
    --count_;
  }
  open(block, header->bytes);
  std::string text = header->is_told ? std::string() : damage(block, header->bytes);
  ::operator delete (header, std::align_val_t{alignment});
  return text;
}

std::vector<GuardedMemory::Damage> GuardedMemory::damages() {
  std::vector<Damage> found;
  const Lock lock(locked_);
  for (Header* header = first_; header != nullptr; header = header->next) {
    auto* const block = reinterpret_cast<unsigned char*>(header) + front;
    open(block, header->bytes);
    if (std::string text = damage(block, header->bytes); !text.empty() && !std::exchange(header->is_told, true))
      found.push_back({block, std::move(text)});
    close(block, header->bytes);
  }
  return found;
}

}  // namespace sluice::testing::detail
