// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// enabled = ...: whether a stage exists.

#include "config/stage_draft.hpp"

namespace sluice {

// true, false, ${x} (given, and not false), or a comparison "A == B", "A != B". What stands around the sign is split before ${...} is
// replaced, so that no value can be taken for a sign; anything else would mean what nobody intended, and is refused.
bool is_enabled(const ResolvingScope& scope, const Draft& about, const WrittenValue& value);

}  // namespace sluice
