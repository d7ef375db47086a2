// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How large batches should be where a device's calls cost something however small they are.

#include "sched/policy.hpp"

namespace sluice {

// As large as makes the constant a twentieth of a device's call, where a device is faster than the CPU; otherwise `usual`.
BatchSize grown_batch(const View& view, double usual, double largest);

}  // namespace sluice
