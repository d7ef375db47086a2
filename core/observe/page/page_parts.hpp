// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The files of this folder, and the library that draws the charts, as they were when the program was built (embed.cmake).

#include <string_view>

namespace sluice::page_parts {

std::string_view html();
std::string_view style();
std::string_view script();
std::string_view library();

}  // namespace sluice::page_parts
