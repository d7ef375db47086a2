// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Stages whose columns depend on their parameters and on what arrives (sluice/output_columns.h).

#include <sluice/output_columns.hpp>

#include "config/pipeline.hpp"

namespace sluice {

// The stage with its columns as they are here; null: they are those of its descriptor. Lives as long as the process, as descriptors do; equal ones
// are one. Throws Failure where the stage refuses.
const DecidedStage* decided_here(const ResolvedStage& stage, const ArrivingColumns& in);

}  // namespace sluice
