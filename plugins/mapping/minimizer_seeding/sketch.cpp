// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The sketch's kernels, compiled once per instruction set and chosen at run time.

#include "minimizer_seeding/sketch.hpp"

// SSSE3 and the sets above AVX-512's first have nothing that these loops could use.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "minimizer_seeding/sketch.cpp"
#include <hwy/foreach_target.h>

#include <sluice/minimizer_sketch-inl.hpp>

#if HWY_ONCE
namespace sluice {
HWY_EXPORT(kernels);
}
namespace sluice::minimizer_seeding {

SketchKernels sketch_kernels() { return HWY_DYNAMIC_DISPATCH(kernels)(); }

}  // namespace sluice::minimizer_seeding
#endif  // HWY_ONCE
