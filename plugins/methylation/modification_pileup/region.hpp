// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The region of a run: contig, contig:first-last (from 1, both inclusive), either end left out, or {contig}:first-last.

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace sluice::modification_pileup {

struct Interval {
  std::int64_t begin = 0, end = std::numeric_limits<std::int64_t>::max();  // end-exclusive
};

class Region {
 public:
  explicit Region(const std::string& text) : text_(text) {
    std::size_t colon = text.rfind(':');
    if (text.starts_with('{')) {
      const std::size_t close = text.find('}');
      name_ = text.substr(1, close - 1);
      colon = close != std::string::npos && text.substr(close + 1, 1) == ":" ? close + 1 : std::string::npos;
    } else {
      name_ = text.substr(0, colon);
    }
    if (colon == std::string::npos) return;
    std::string range = text.substr(colon + 1);
    std::erase(range, ',');
    const std::size_t dash = range.find('-');
    std::int64_t first = 1;
    parse(std::string_view(range).substr(0, dash), first);
    interval_.begin = first - 1;
    if (dash != std::string::npos) parse(std::string_view(range).substr(dash + 1), interval_.end);
  }
  // What of a contig is wanted. Names may have colons: one that is the whole text is meant as a whole.
  Interval of(std::string_view contig) const {
    if (text_.empty() || contig == text_) return {};
    return contig == name_ ? interval_ : Interval{0, 0};
  }

 private:
  static void parse(std::string_view digits, std::int64_t& number) {
    std::int64_t parsed = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), parsed).ec == std::errc() && parsed > 0) number = parsed;
  }
  std::string text_, name_;
  Interval interval_;
};

}  // namespace sluice::modification_pileup
