// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What to check when most rows are lost for one reason: the likely cause, from the reason's code.

#include <string_view>

namespace sluice {

// A sentence that ends a hint: "are the signal files those of these reads? ..."; "" if the reason has no likely cause of its own.
std::string_view advice_for(std::string_view reason);

}  // namespace sluice
