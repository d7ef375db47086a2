// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Loaded before a program (LD_PRELOAD) it lets Highway choose no instruction set above OLDER_PROCESSOR: "avx2" (also where it is not set), "sse4" or
// "x86-64", what every one has. So whole runs can be timed and compared on a newer machine.

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {
const struct OlderProcessor {
  OlderProcessor() {
    const char* const name = std::getenv("OLDER_PROCESSOR");
    const std::string_view highest = name == nullptr ? "avx2" : name;
    constexpr std::int64_t all = HWY_AVX3_DL | HWY_AVX3 | HWY_AVX2 | HWY_SSE4 | HWY_SSSE3;
    hwy::DisableTargets(highest == "x86-64" ? all : highest == "sse4" ? all & ~(HWY_SSE4 | HWY_SSSE3) : HWY_AVX3_DL | HWY_AVX3);
  }
} older_processor;
}  // namespace
