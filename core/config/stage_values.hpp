// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The values of a stage's parameters: named rightly, complete, and of the right type and range.

#include <string>

#include "config/stage_draft.hpp"

namespace sluice {

// Fills `stage.values`, `texts` and `given_by` from the params of `from`, whose type is known.
void fill_values(const ResolvingScope& scope, const Draft& from, ResolvedStage& stage);

// What a stage says of its parameters, in the names that they have where they were given: "max_intron" is "--max-intron-len". Names of one word stay,
// as they are words of the sentence, too.
std::string in_given_names(const ResolvedStage& stage, std::string text);

// Only the names: for stages that are not made.
void check_parameter_names(const ResolvingScope& scope, const Draft& from);

}  // namespace sluice
