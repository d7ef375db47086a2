// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Text from anywhere (names of files and reads) as part of HTML or SVG.

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

// For the content of an element or a quoted attribute; what is not UTF-8, and control characters, become U+FFFD.
std::string xml_text(std::string_view text);
// Bytes of the UTF-8 character at the beginning of `text`, which is not empty; 0: there is none.
std::size_t character_bytes(std::string_view text);

}  // namespace sluice
