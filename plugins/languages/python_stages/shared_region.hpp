// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Memory that this process and a worker see.

#include <cstddef>
#include <cstdint>

namespace sluice::python {

// An anonymous file of fixed size, mapped here. The other side can't shrink it under our hands: it is sealed.
class SharedRegion {
 public:
  // Throws Failure::memory where there is no room.
  explicit SharedRegion(std::size_t bytes);
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;

  std::uint8_t* data() const { return static_cast<std::uint8_t*>(data_); }
  std::size_t bytes() const { return bytes_; }
  int descriptor() const { return descriptor_; }
  std::int64_t number() const { return number_; }  // what the worker calls it; never used twice

 private:
  const std::size_t bytes_;
  const std::int64_t number_;
  int descriptor_ = -1;
  void* data_ = nullptr;
};

}  // namespace sluice::python
