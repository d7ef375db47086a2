// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Random numbers that are a function of (seed, read, purpose, counter): the same bytes whatever thread or batch makes a read, and on
// every machine. No std:: distribution is used anywhere in the simulator: those differ between standard libraries.

#include <cstdint>

namespace sluice::simulate_signal {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection of 64 bits in which every input bit flips about half of the output.
constexpr std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

// What a stream of numbers is used for. Numbers of different purposes never depend on how many of another were drawn.
enum class Purpose : std::uint64_t {
  placement = 1,
  molecule,
  errors,
  qualities,
  dwell,
  noise,
  calibration,
  site,
  reference,
  repeat_family,
  repeat_copy,
  tandem_repeat,
  adapter,
  tail,
  split,
  channel,
  end_reason,
  open_pore
};

class RandomStream {
 public:
  constexpr RandomStream(std::uint64_t seed, std::uint64_t index, Purpose purpose)
      : key_(mix(mix(mix(seed + golden) + index * golden) + static_cast<std::uint64_t>(purpose) * golden)) {}

  constexpr std::uint64_t next() { return mix(key_ + golden * ++counter_); }
  constexpr std::uint32_t next32() { return static_cast<std::uint32_t>(next() >> 32U); }
  // Uniform in (0, 1): never 0, never 1.
  constexpr double uniform() { return (static_cast<double>(next() >> 12U) + 0.5) * 0x1p-52; }
  // Uniform in [0, bound) for bound >= 1; the bias is below bound / 2^64.
  constexpr std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t value = next();
    const std::uint64_t value_high = value >> 32U, value_low = value & 0xFFFFFFFFU;
    const std::uint64_t bound_high = bound >> 32U, bound_low = bound & 0xFFFFFFFFU;
    // The high half of the 128-bit product, from 32-bit halves.
    const std::uint64_t low = value_low * bound_low;
    const std::uint64_t middle = value_high * bound_low + (low >> 32U);
    const std::uint64_t other = value_low * bound_high + (middle & 0xFFFFFFFFU);
    return value_high * bound_high + (middle >> 32U) + (other >> 32U);
  }

 private:
  static constexpr std::uint64_t golden = 0x9E3779B97F4A7C15U;  // 2^64 / golden ratio, odd
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace sluice::simulate_signal
