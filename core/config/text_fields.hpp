// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Fields of a line.

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// All of them, empty ones too: one more than there are separators.
std::vector<std::string> text_fields(std::string_view line, char separator);

}  // namespace sluice
