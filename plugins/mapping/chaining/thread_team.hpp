// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The steps of device_*.hpp are written for a team of threads: a block or a warp of a device, or one thread of the host, which is how tests compare
// them with the CPU's functions. What a team offers, all of it called by all of its threads:
//
//   rank(), size()             this thread's number, and how many there are
//   sync()                     memory written by any is seen by all
//   any(flag)                  whether a thread says so
//   union_of(bits)             of all threads' bits
//   sum_before(value, total)   of the threads of lower ranks, and of all
//   add(memory, value)         the value before, though others add as well (by one thread)
//   lower(memory, value)       the lowest of all that are given (by one thread)
//   warp()                     the part of the team that this thread is in, a Warp; such parts work side by side
//   lap(phase)                 a phase ends here, for those who measure
//   most_threads, most_parts   at compile time
//
// and a part, which is a team as well, beside it
//
//   part(), parts()            its number, and how many there are
//   from(value, rank)          the value of that thread
//   first(flag)                the lowest rank that says so, or size()
//   lowest(value), highest(value)

#include <cstddef>
#include <cstdint>
#include <sluice/minimizer_index.hpp>  // SLUICE_HOST_DEVICE

namespace sluice::chaining {

// Of a row, for measurements.
enum class Phase : std::uint8_t { list_ends, sort_ends, walk, sort_chains, write_chains, sort_anchors, short_joins, long_joins };
inline constexpr std::size_t phases = 8;

class LoneThread {
 public:
  static constexpr std::uint32_t most_threads = 1, most_parts = 1;
  using Warp = LoneThread;
  std::uint32_t rank() const { return 0; }
  std::uint32_t size() const { return 1; }
  std::uint32_t part() const { return 0; }
  std::uint32_t parts() const { return 1; }
  LoneThread& warp() { return *this; }
  void sync() {}
  void lap(Phase) {}
  bool any(bool flag) { return flag; }
  std::uint64_t union_of(std::uint64_t bits) { return bits; }
  std::uint32_t sum_before(std::uint32_t value, std::uint32_t& total) {
    total = value;
    return 0;
  }
  std::uint32_t add(std::uint32_t* memory, std::uint32_t value) {
    const std::uint32_t before = *memory;
    *memory += value;
    return before;
  }
  void lower(std::uint32_t* memory, std::uint32_t value) {
    if (value < *memory) *memory = value;
  }
  template <class T>
  T from(T value, std::uint32_t) {
    return value;
  }
  std::uint32_t first(bool flag) { return flag ? 0 : 1; }
  template <class T>
  T lowest(T value) {
    return value;
  }
  template <class T>
  T highest(T value) {
    return value;
  }
};

}  // namespace sluice::chaining
