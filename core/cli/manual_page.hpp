// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// sluice(1), made from what the commands say of their options, so that it can't say anything else.

#include <string>

namespace sluice::cli {

// In the language of man(7).
std::string manual_page(const std::string& version);

}  // namespace sluice::cli
