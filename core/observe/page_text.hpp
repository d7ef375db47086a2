// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Text from anywhere (names of files and reads) as part of a page.

#include <string>
#include <string_view>

namespace sluice {

// JSON for a script element: no <, so that nothing in it ends the element or begins a comment.
std::string json_for_script(std::string_view json);
// At most so many characters, with ... where some are missing.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace sluice
