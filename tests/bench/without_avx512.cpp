// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Loaded before a program (LD_PRELOAD) it lets Highway choose no instruction set above AVX2, so that whole runs can be timed without AVX-512.

#include <hwy/highway.h>
#include <hwy/targets.h>

namespace {
const struct WithoutAvx512 {
  WithoutAvx512() { hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL); }
} without_avx512;
}  // namespace
