// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/page_text.hpp"

#include "plan/xml_text.hpp"

namespace sluice {

std::string json_for_script(std::string_view json) {
  std::string result;
  for (const char character : json) character == '<' ? result += "\\u003c" : result += character;
  return result;
}

std::string shortened(std::string_view text, std::size_t most) {
  std::size_t at = 0, characters = 0, kept = 0;
  while (at < text.size()) {
    if (characters + 3 <= most) kept = at;
    if (characters == most) return std::string(text.substr(0, kept)) + "...";
    const std::size_t bytes = character_bytes(text.substr(at));
    at += bytes == 0 ? 1 : bytes;
    ++characters;
  }
  return std::string(text);
}

}  // namespace sluice
