// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How score_windows shares out work.

#include <cstdint>

namespace sluice::chaining::cuda {

// Longer runs are a task each; shorter ones are chained by the warp that has the stretch of this many anchors where they begin.
constexpr std::uint32_t small_run_anchors = 256;
constexpr std::uint32_t stretch_anchors = 128;

}  // namespace sluice::chaining::cuda
