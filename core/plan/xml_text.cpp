// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "plan/xml_text.hpp"

#include <cstdint>

namespace sluice {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

void append_escaped(std::string& result, std::string_view character) {
  switch (character.front()) {
    case '&':
      result += "&amp;";
      return;
    case '<':
      result += "&lt;";
      return;
    case '>':
      result += "&gt;";
      return;
    case '"':
      result += "&quot;";
      return;
    case '\'':
      result += "&#39;";
      return;
    default:
      result += character;
  }
}

}  // namespace

std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return 0;
  for (std::size_t i = 1; i < bytes; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate_or_beyond = (first == 0xED && byte(1) > 0x9F) || (first == 0xF4 && byte(1) > 0x8F);
  return overlong || surrogate_or_beyond ? 0 : bytes;
}

std::string xml_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const auto first = static_cast<std::uint8_t>(text.front());
    const bool is_control = (first < 0x20 && first != '\n' && first != '\t') || first == 0x7F;
    if (bytes == 0 || is_control)
      result += replacement;
    else
      append_escaped(result, text.substr(0, bytes));
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return result;
}

}  // namespace sluice
