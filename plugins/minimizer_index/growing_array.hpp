// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace sluice::minimizer_index {

// Numbers that grow in place: realloc moves pages of large arrays instead of copying them, and nothing is zeroed, so that the threads that fill an array are
// the ones that touch its pages first.
template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept
      : values_(std::exchange(other.values_, nullptr)), size_(std::exchange(other.size_, 0)), capacity_(std::exchange(other.capacity_, 0)) {}
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    std::swap(values_, other.values_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~GrowingArray() { std::free(values_); }

  // New elements hold anything.
  void resize(std::size_t size) {
    if (size > capacity_) reserve(size);
    size_ = size;
  }
  // As resize, for arrays that grow often.
  void extend(std::size_t size) {
    if (size > capacity_) reserve(size + size / 4 + 1024);
    size_ = size;
  }
  T* data() const { return values_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) const { return values_[i]; }
  std::span<T> span() const { return {values_, size_}; }

 private:
  void reserve(std::size_t capacity) {
    void* grown = std::realloc(values_, capacity * sizeof(T));
    if (grown == nullptr) throw std::bad_alloc();
    values_ = static_cast<T*>(grown);
    capacity_ = capacity;
  }
  T* values_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace sluice::minimizer_index
