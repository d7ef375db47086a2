// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/text_fields.hpp"

#include <algorithm>

namespace sluice {

std::vector<std::string> text_fields(std::string_view line, char separator) {
  std::vector<std::string> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(separator, begin), line.size());
    fields.emplace_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

}  // namespace sluice
