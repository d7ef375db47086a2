// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a file's name ends with, in any case of letters.

#include <algorithm>
#include <string_view>

namespace sluice {

// `ending` in lower case: ".gz".
inline bool has_ending(std::string_view path, std::string_view ending) {
  if (path.size() < ending.size()) return false;
  path.remove_prefix(path.size() - ending.size());
  return std::equal(path.begin(), path.end(), ending.begin(), [](char c, char lower) { return (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) == lower; });
}

}  // namespace sluice
