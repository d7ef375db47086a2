// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <sluice/minimizer_sketch.hpp>

namespace sluice::minimizer_index {

// The sketch's kernels for the processor at hand.
SketchKernels sketch_kernels();

}  // namespace sluice::minimizer_index
