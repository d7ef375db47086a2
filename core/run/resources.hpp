// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What all batches of a run share: a reference, an index, a pore model.

#include <vector>

#include "batch/batch.hpp"

namespace sluice {

class RunContext;

// Makes the resource batches of a plan, in order. Empty after a failure (the run has been told) or an interrupt.
std::vector<BatchHandle> make_resources(RunContext& run);

}  // namespace sluice
