// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Fields of a line, and numbers in them.

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace sluice::methylation_table_reader {

// Calls visit(index, field) for each tab-separated field; returns their number.
template <class Visit>
std::size_t split(std::string_view line, Visit&& visit) {
  std::size_t index = 0;
  for (;;) {
    const std::size_t tab = line.find('\t');
    visit(index++, line.substr(0, tab));
    if (tab == std::string_view::npos) return index;
    line.remove_prefix(tab + 1);
  }
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

inline std::string wrong(const char* column, std::string_view text) {
  return std::string(column) + " can't be '" + std::string(text.substr(0, 60)) + "'";
}

}  // namespace sluice::methylation_table_reader
