// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once

#include <string_view>

namespace sluice {

// What programs on Windows put in front of UTF-8. It is no part of the text.
inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

}  // namespace sluice
