// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Two 16-bit values in a word. A compute capability of 9.0 has one instruction for each of these; the host's forms are for tests.

#include <cstdint>
#include <sluice/minimizer_index.hpp>  // SLUICE_HOST_DEVICE

#ifdef __CUDACC__
#include <cuda_runtime.h>
#endif

namespace sluice::base_alignment::cuda {

using Pair = std::uint32_t;

constexpr Pair pair_of(std::int32_t low, std::int32_t high) {
  return static_cast<std::uint32_t>(low & 0xFFFF) | static_cast<std::uint32_t>(high & 0xFFFF) << 16;
}
constexpr Pair twice(std::int32_t value) { return pair_of(value, value); }

#ifndef __CUDA_ARCH__
namespace host {
constexpr std::int32_t half_of(Pair pair, int half) { return static_cast<std::int16_t>(static_cast<std::uint16_t>(pair >> 16 * half)); }
template <class Rule>
Pair in_halves(Pair a, Pair b, const Rule& rule) {
  return pair_of(rule(half_of(a, 0), half_of(b, 0)), rule(half_of(a, 1), half_of(b, 1)));
}
}  // namespace host
#endif

SLUICE_HOST_DEVICE inline Pair add(Pair a, Pair b) {
#ifdef __CUDA_ARCH__
  return __vadd2(a, b);
#else
  return host::in_halves(a, b, [](std::int32_t x, std::int32_t y) { return x + y; });
#endif
}
SLUICE_HOST_DEVICE inline Pair lower(Pair a, Pair b) {
#ifdef __CUDA_ARCH__
  return __vmins2(a, b);
#else
  return host::in_halves(a, b, [](std::int32_t x, std::int32_t y) { return x < y ? x : y; });
#endif
}
// The higher one of a + b and c.
SLUICE_HOST_DEVICE inline Pair add_higher(Pair a, Pair b, Pair c) {
#ifdef __CUDA_ARCH__
  return __viaddmax_s16x2(a, b, c);
#else
  return host::in_halves(add(a, b), c, [](std::int32_t x, std::int32_t y) { return x > y ? x : y; });
#endif
}
// The lower one of a + b and c.
SLUICE_HOST_DEVICE inline Pair add_lower(Pair a, Pair b, Pair c) {
#ifdef __CUDA_ARCH__
  return __viaddmin_s16x2(a, b, c);
#else
  return lower(add(a, b), c);
#endif
}
// Bytes of b:a by the selector's four nibbles; one with its highest bit set takes the byte's sign eight times.
SLUICE_HOST_DEVICE inline std::uint32_t select_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
#ifdef __CUDA_ARCH__
  std::uint32_t result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector));
  return result;
#else
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t nibble = selector >> 4 * i & 15U;
    std::uint32_t byte = static_cast<std::uint32_t>((std::uint64_t{b} << 32 | a) >> 8 * (nibble & 7U)) & 255U;
    if ((nibble & 8U) != 0) byte = (byte & 128U) != 0 ? 255U : 0U;
    result |= byte << 8 * i;
  }
  return result;
#endif
}

}  // namespace sluice::base_alignment::cuda
