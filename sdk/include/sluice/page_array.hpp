// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace sluice {

// A large array on pages of its own: it begins at a page, grows by moving pages instead of copying, is not written to before its owner does (so that
// the threads that fill it touch its pages first), and asks for huge pages, without which a look-up in the table misses the TLB too.
template <class T>
class PageArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PageArray() = default;
  PageArray(PageArray&& other) noexcept
      : values_(std::exchange(other.values_, nullptr)), size_(std::exchange(other.size_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}
  PageArray& operator=(PageArray&& other) noexcept {
    std::swap(values_, other.values_);
    std::swap(size_, other.size_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~PageArray() {
    if (values_ != nullptr) munmap(values_, bytes_);
  }

  // New elements are 0.
  void resize(std::size_t size) {
    const std::size_t needed = (size * sizeof(T) + page - 1) / page * page;
    if (needed > bytes_) reserve(needed);
    size_ = size;
  }
  // As resize, for arrays that grow often.
  void extend(std::size_t size) {
    if (size * sizeof(T) > bytes_) reserve((size + size / 4) * sizeof(T) / page * page + (std::size_t{1} << 20));
    size_ = size;
  }
  T* data() const { return values_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) const { return values_[i]; }
  std::span<T> span() const { return {values_, size_}; }

 private:
  static constexpr std::size_t page = 4096;
  void reserve(std::size_t bytes) {
    void* grown = values_ == nullptr ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                     : mremap(values_, bytes_, bytes, MREMAP_MAYMOVE);
    if (grown == MAP_FAILED) throw std::bad_alloc();
    values_ = static_cast<T*>(grown);
    bytes_ = bytes;
    madvise(values_, bytes_, MADV_HUGEPAGE);  // a wish: kernels without huge pages say no
  }
  T* values_ = nullptr;
  std::size_t size_ = 0, bytes_ = 0;
};

}  // namespace sluice
