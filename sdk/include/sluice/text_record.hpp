// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Numbers and texts in one text without control characters, as positions are: each with its length in front.

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <sluice/failure.hpp>
#include <string>
#include <string_view>
#include <system_error>

namespace sluice {

class TextRecordWriter {
 public:
  void text(std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    std::string plain;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 32 && c != '%')
        plain += c;
      else
        plain.append({'%', digits[byte >> 4], digits[byte & 15]});
    }
    text_.append(std::to_string(plain.size())).append(":").append(plain);
  }
  void number(std::integral auto number) { text(std::to_string(number)); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// What was written, in its order. Throws Failure::usage: the text is none that a TextRecordWriter has made.
class TextRecordReader {
 public:
  explicit TextRecordReader(std::string_view text) : rest_(text) {}
  std::string text() {
    const std::string_view plain = next();
    std::string text;
    for (std::size_t at = 0; at < plain.size(); ++at) {
      unsigned byte = 0;
      if (plain[at] != '%') {
        text += plain[at];
      } else if (at + 2 < plain.size() && std::from_chars(&plain[at + 1], &plain[at] + 3, byte, 16).ec == std::errc()) {
        text += static_cast<char>(byte);
        at += 2;
      } else {
        fail();
      }
    }
    return text;
  }
  template <std::integral Number>
  Number number() {
    Number number{};
    if (!parse(next(), number)) fail();
    return number;
  }
  bool at_end() const { return rest_.empty(); }
  [[noreturn]] static void fail() {
    throw Failure::usage("this is no position in an input that is followed", "begin at a position that the same stage said");
  }

 private:
  std::string_view next() {
    const std::size_t colon = rest_.find(':');
    std::size_t bytes = 0;
    if (colon == std::string_view::npos || !parse(rest_.substr(0, colon), bytes) || bytes > rest_.size() - colon - 1) fail();
    const std::string_view text = rest_.substr(colon + 1, bytes);
    rest_.remove_prefix(colon + 1 + bytes);
    return text;
  }
  template <class Number>
  static bool parse(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
  }
  std::string_view rest_;
};

}  // namespace sluice
