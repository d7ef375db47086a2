// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Text in pieces as gzip, for files whose name asks for it.

#include <filesystem>
#include <functional>
#include <string>

namespace sluice {

// Of a name that ends in .gz the pieces of one gzip member, else `next` itself. "" is the end of both. The same text gives the same bytes.
std::function<std::string()> packed_by_name(const std::filesystem::path& file, std::function<std::string()> next);

}  // namespace sluice
