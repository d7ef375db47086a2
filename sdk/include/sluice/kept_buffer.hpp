// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Memory that a stage keeps from one row to the next, so that the usual row allocates nothing, and gives back after a row that needed far more.
// Memory, size and room are one value: they grow, are given back and are moved together, also where an allocation fails.
//
//   KeptBuffer<std::uint8_t> steps;
//   steps.clear();                              // of a new row: empty, the memory stays
//   std::uint8_t* next = steps.append(count);   // grows; what is there stays
//   steps.give_back_beyond(64 << 20);           // behind the row: as if new, if it holds more bytes than that
//
// A workspace that holds several buffers is given back as a whole (Workspaces::Lease::discard); it should not free some of its members.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace sluice {

// Elements are not initialised. They begin on a cache line, so that vectors may be loaded aligned. Not thread-safe. What throws is std::bad_alloc,
// and then the buffer is as it was, or empty.
template <class T>
class KeptBuffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  static constexpr std::size_t alignment = std::max<std::size_t>(64, alignof(T));

  T* data() { return held_.memory.get(); }
  const T* data() const { return held_.memory.get(); }
  std::size_t size() const { return held_.size; }
  bool empty() const { return held_.size == 0; }
  // Elements that there is memory for, and the bytes of that.
  std::size_t room() const { return held_.room; }
  std::size_t bytes() const { return held_.room * sizeof(T); }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  std::span<T> span() { return {data(), size()}; }
  std::span<const T> span() const { return {data(), size()}; }

  // Empty; the memory stays.
  void clear() { held_.size = 0; }
  // So many elements in the place of what was there, of any value. `spare`: as many behind them may be written, too. Grows to exactly that.
  T* start(std::size_t count, std::size_t spare = 0) {
    if (const std::size_t needed = count + spare; needed > held_.room) {
      held_ = Held();  // first, so that the old and the new memory are never held together
      held_ = Held(needed);
    }
    held_.size = count;
    return data();
  }
  // So many more elements of any value behind those that are there: where they begin. Grows by half at least.
  T* append(std::size_t count, std::size_t spare = 0) {
    reserve(held_.size + count + spare);
    T* const added = data() + held_.size;
    held_.size += count;
    return added;
  }
  void append(std::span<const T> values) {
    if (!values.empty()) std::memcpy(append(values.size()), values.data(), values.size_bytes());
  }
  // Room for so many elements; what is there stays. Grows by half at least.
  void reserve(std::size_t count) {
    if (count <= held_.room) return;
    Held larger(std::max(count, held_.room + held_.room / 2));
    if (held_.size > 0) std::memcpy(larger.memory.get(), data(), held_.size * sizeof(T));
    larger.size = held_.size;
    held_ = std::move(larger);
  }
  // So many of the elements that there is memory for count from now on: some were taken away at the end, or written behind it.
  void set_size(std::size_t size) { held_.size = size; }
  // As if new, if the memory is larger than this.
  void give_back_beyond(std::size_t bytes_to_keep) {
    if (bytes() > bytes_to_keep) held_ = Held();
  }

 private:
  struct Free {
    void operator()(T* memory) const { ::operator delete (static_cast<void*>(memory), std::align_val_t{alignment}); }
  };
  struct Held {
    Held() = default;
    explicit Held(std::size_t elements)
        : memory(static_cast<T*>(elements > static_cast<std::size_t>(-1) / sizeof(T)
                                     ? throw std::bad_alloc()
                                     : ::operator new (elements * sizeof(T), std::align_val_t{alignment}))),
          room(elements) {}
    Held(Held&& other) noexcept : memory(std::move(other.memory)), size(std::exchange(other.size, 0)), room(std::exchange(other.room, 0)) {}
    Held& operator=(Held&& other) noexcept {
      memory = std::move(other.memory);
      size = std::exchange(other.size, 0);
      room = std::exchange(other.room, 0);
      return *this;
    }
    std::unique_ptr<T, Free> memory;
    std::size_t size = 0, room = 0;
  };
  Held held_;
};

}  // namespace sluice
