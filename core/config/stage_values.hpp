// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The values of a stage's parameters: named rightly, complete, and of the right type and range.

#include "config/stage_draft.hpp"

namespace sluice {

// Fills `stage.values`, `texts` and `given_by` from the params of `from`, whose type is known.
void fill_values(const ResolvingScope& scope, const Draft& from, ResolvedStage& stage);

// Only the names: for stages that are not made.
void check_parameter_names(const ResolvingScope& scope, const Draft& from);

}  // namespace sluice
