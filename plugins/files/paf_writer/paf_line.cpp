// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "paf_writer/paf_line.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace sluice::paf_writer {
namespace {

void append_integer(std::string& text, std::int32_t value) {
  std::array<char, 12> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text.append(digits.data(), end);
}

void append_column(std::string& text, std::int32_t value) {
  text += '\t';
  append_integer(text, value);
}

void append_tag(std::string& text, std::string_view name_and_type, std::int32_t value) {
  text += name_and_type;
  append_integer(text, value);
}

void append_read(std::string& text, const PafRead& read) {
  text += read.id;
  append_column(text, read.length);
}

}  // namespace

void append_divergence(std::string& text, float value) {
  if (value == 0) {
    text += '0';
    return;
  }
  // The product is exact (24 + 14 bits), so the only rounding is the one to an integer, half to even, which is what printf does with the exact value.
  auto ten_thousandths = static_cast<std::int32_t>(std::nearbyint(static_cast<double>(value) * 10000.0));
  std::array<char, 6> digits;
  for (std::size_t place = 6; place-- > 2; ten_thousandths /= 10) digits[place] = static_cast<char>('0' + ten_thousandths % 10);
  digits[1] = '.';
  digits[0] = static_cast<char>('0' + ten_thousandths);
  text.append(digits.data(), digits.size());
}

void append_hit(std::string& text, const PafRead& read, const PafHit& hit) {
  append_read(text, read);
  append_column(text, hit.query_start);
  append_column(text, hit.query_end);
  text += hit.reverse ? "\t-\t" : "\t+\t";
  text += hit.target;
  for (const std::int32_t value : {hit.target_length, hit.target_start, hit.target_end, hit.matches, hit.block, hit.mapping_quality})
    append_column(text, value);
  if (hit.alignment) {
    overlap::tags::append_scores(text, hit.alignment->of);
  } else {
    text += hit.primary ? "\ttp:A:P" : "\ttp:A:S";
    append_tag(text, "\tcm:i:", hit.anchors);
    append_tag(text, "\ts1:i:", hit.score);
    if (hit.second_score >= 0) append_tag(text, "\ts2:i:", hit.second_score);
    if (hit.divergence >= 0 && hit.divergence <= 1) {
      text += "\tdv:f:";
      append_divergence(text, hit.divergence);
    }
  }
  append_tag(text, "\trl:i:", read.repeat_length);
  if (hit.alignment) {
    if (hit.alignment->with_cigar) {
      text += "\tcg:Z:";
      overlap::tags::append_cigar(text, hit.alignment->of.cigar);
    }
    overlap::tags::append_text(text, hit.alignment->text, hit.alignment->of);
  }
  text += '\n';
}

void append_no_hit(std::string& text, const PafRead& read) {
  append_read(text, read);
  text += "\t0\t0\t*\t*\t0\t0\t0\t0\t0\t0";
  append_tag(text, "\trl:i:", read.repeat_length);
  text += '\n';
}

}  // namespace sluice::paf_writer
