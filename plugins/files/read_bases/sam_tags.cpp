// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/sam_tags.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <sluice/failure.hpp>
#include <sluice/hts/basecaller_tags.hpp>
#include <sluice/hts/tag_walk.hpp>
#include <system_error>

namespace sluice::read_bases {
namespace {

using hts::first_tag_bytes, hts::tag_name_bytes, hts::tag_type_at, hts::tag_value_at;

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_tag_name(std::string_view name) { return name.size() == tag_name_bytes && is_letter(name[0]) && (is_letter(name[1]) || is_digit(name[1])); }
// A tab or newline in a value would be another field or record of SAM.
bool is_text(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

bool is_sound(std::string_view tag) {
  if (!is_tag_name(tag.substr(0, tag_name_bytes))) return false;
  const char type = tag[tag_type_at];
  if (type == 'A') return is_text(tag.substr(tag_value_at));
  return (type != 'Z' && type != 'H') || is_text(tag.substr(tag_value_at, tag.size() - tag_value_at - 1));
}

template <class Value>
void append_as(std::string& bytes, Value value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof value);
}

// The whole text as a number.
template <class Number>
std::optional<Number> parse(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

// In the smallest type that holds it, as HTSlib does.
bool append_integer(std::string_view text, std::string& tag) {
  const std::optional<std::int64_t> number = parse<std::int64_t>(text);
  const auto append = [&](char type, auto value) {
    tag += type;
    append_as(tag, value);
    return true;
  };
  if (!number || *number < std::numeric_limits<std::int32_t>::min() || *number > std::numeric_limits<std::uint32_t>::max()) return false;
  if (*number < std::numeric_limits<std::int16_t>::min()) return append('i', static_cast<std::int32_t>(*number));
  if (*number < std::numeric_limits<std::int8_t>::min()) return append('s', static_cast<std::int16_t>(*number));
  if (*number < 0) return append('c', static_cast<std::int8_t>(*number));
  if (*number <= std::numeric_limits<std::uint8_t>::max()) return append('C', static_cast<std::uint8_t>(*number));
  if (*number <= std::numeric_limits<std::uint16_t>::max()) return append('S', static_cast<std::uint16_t>(*number));
  return append('I', static_cast<std::uint32_t>(*number));
}

bool append_float(std::string_view text, std::string& tag) {
  const std::optional<double> number = parse<double>(text);
  if (number) append_as(tag, static_cast<float>(*number));
  return number.has_value();
}

template <class Element>
bool append_element(std::string_view text, std::string& tag) {
  const std::optional<std::int64_t> number = parse<std::int64_t>(text);
  if (!number || *number < std::numeric_limits<Element>::min() || *number > std::numeric_limits<Element>::max()) return false;
  append_as(tag, static_cast<Element>(*number));
  return true;
}
bool append_element(char type, std::string_view text, std::string& tag) {
  switch (type) {
    case 'c':
      return append_element<std::int8_t>(text, tag);
    case 'C':
      return append_element<std::uint8_t>(text, tag);
    case 's':
      return append_element<std::int16_t>(text, tag);
    case 'S':
      return append_element<std::uint16_t>(text, tag);
    case 'i':
      return append_element<std::int32_t>(text, tag);
    case 'I':
      return append_element<std::uint32_t>(text, tag);
    default:
      return type == 'f' && append_float(text, tag);
  }
}

// "C,8,200"
bool append_list(std::string_view text, std::string& tag) {
  if (text.empty()) return false;
  const char type = text[0];
  tag += 'B';
  tag += type;
  const std::size_t count_at = tag.size();
  std::uint32_t count = 0;
  append_as(tag, count);
  for (text.remove_prefix(1); !text.empty(); ++count) {
    if (text[0] != ',') return false;
    const std::string_view number = text.substr(1, text.find(',', 1) - 1);
    text.remove_prefix(number.size() + 1);
    if (!append_element(type, number, tag)) return false;
  }
  std::memcpy(tag.data() + count_at, &count, sizeof count);
  return std::string_view("cCsSiIf").find(type) != std::string_view::npos;
}

// Type and value of a tag in SAM. False: it is none; what is appended is then anything.
bool append_value(char type, std::string_view text, std::string& tag) {
  if (!is_text(text)) return false;
  if (type == 'i') return append_integer(text, tag);
  if (type == 'B') return append_list(text, tag);
  tag += type;
  if (type == 'f') return append_float(text, tag);
  tag += text;
  if (type == 'A') return text.size() == 1;
  tag += '\0';
  return type == 'Z' || (type == 'H' && text.size() % 2 == 0 && text.find_first_not_of("0123456789ABCDEFabcdef") == std::string_view::npos);
}

}  // namespace

TagChoice::TagChoice(std::string_view text) : all_(text == "all") {
  if (all_ || text == "none") return;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    if (!is_tag_name(name))
      throw Failure::usage("keep_tags: '" + std::string(name) + "' is no name of a tag", "give all, none, or names as MM,ML,RG");
    names_.emplace(name);
    begin = end + 1;
  }
}

const TagChoice& of_basecallers() {
  static const TagChoice choice(hts::basecaller_tag_names);
  return choice;
}

TagState append_tags(std::span<const std::uint8_t> tags, const TagChoice& choice, std::string& taken) {
  std::string_view rest(reinterpret_cast<const char*>(tags.data()), tags.size());
  TagState state = TagState::sound;
  while (!rest.empty()) {
    const std::optional<std::size_t> bytes = first_tag_bytes(rest);
    if (!bytes) return TagState::damaged;
    const std::string_view tag = rest.substr(0, *bytes);
    rest.remove_prefix(*bytes);
    if (!is_sound(tag))
      state = TagState::damaged;
    else if (choice.takes(tag.substr(0, tag_name_bytes)))
      taken += tag;
  }
  return state;
}

TagState append_comment_tags(std::string_view comment, const TagChoice& choice, std::string& taken) {
  TagState state = TagState::sound;
  while (!comment.empty()) {
    const std::string_view word = comment.substr(0, comment.find('\t'));
    comment.remove_prefix(std::min(word.size() + 1, comment.size()));
    const bool looks_like_a_tag =
        word.size() >= 5 && is_tag_name(word.substr(0, tag_name_bytes)) && word[2] == ':' && is_letter(word[3]) && word[4] == ':';
    if (!looks_like_a_tag || !choice.takes(word.substr(0, tag_name_bytes))) continue;
    const std::size_t before = taken.size();
    taken += word.substr(0, tag_name_bytes);
    if (append_value(word[3], word.substr(5), taken)) continue;
    taken.resize(before);
    state = TagState::damaged;
  }
  return state;
}

}  // namespace sluice::read_bases
