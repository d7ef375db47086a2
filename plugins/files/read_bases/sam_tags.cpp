// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/sam_tags.hpp"

#include <htslib/kstring.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <sluice/failure.hpp>

namespace sluice::read_bases {
namespace {

constexpr std::size_t name_bytes = 2, type_at = 2, value_at = 3;

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_tag_name(std::string_view name) {
  return name.size() == name_bytes && is_letter(name[0]) && (is_letter(name[1]) || is_digit(name[1]));
}
// A tab or newline in a value would be another field or record of SAM.
bool is_text(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

// Bytes of a value of fixed size; 0: none has this type.
std::size_t bytes_of(char type) {
  switch (type) {
    case 'A':
    case 'c':
    case 'C':
      return 1;
    case 's':
    case 'S':
      return 2;
    case 'i':
    case 'I':
    case 'f':
      return 4;
    case 'd':
      return 8;
    default:
      return 0;
  }
}

// Bytes of the first of the tags; none: it does not end among them.
std::optional<std::size_t> first_bytes(std::string_view tags) {
  if (tags.size() < value_at + 1) return std::nullopt;
  const char type = tags[type_at];
  std::size_t bytes = value_at;
  if (type == 'Z' || type == 'H') {
    const std::size_t end = tags.find('\0', value_at);
    if (end == std::string_view::npos) return std::nullopt;
    return end + 1;
  }
  if (type == 'B') {
    constexpr std::size_t count_at = value_at + 1, values_at = count_at + 4;
    if (tags.size() < values_at) return std::nullopt;
    const char element = tags[value_at];
    const std::size_t element_bytes = element == 'A' || element == 'd' ? 0 : bytes_of(element);
    std::uint32_t count = 0;
    std::memcpy(&count, tags.data() + count_at, sizeof count);
    if (element_bytes == 0) return std::nullopt;
    bytes = values_at + element_bytes * count;
  } else {
    const std::size_t value = bytes_of(type);
    if (value == 0) return std::nullopt;
    bytes += value;
  }
  if (bytes > tags.size()) return std::nullopt;
  return bytes;
}

bool is_sound(std::string_view tag) {
  if (!is_tag_name(tag.substr(0, name_bytes))) return false;
  const char type = tag[type_at];
  if (type == 'A') return is_text(tag.substr(value_at));
  return (type != 'Z' && type != 'H') || is_text(tag.substr(value_at, tag.size() - value_at - 1));
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

TagState append_tags(std::span<const std::uint8_t> tags, const TagChoice& choice, std::string& taken) {
  std::string_view rest(reinterpret_cast<const char*>(tags.data()), tags.size());
  TagState state = TagState::sound;
  while (!rest.empty()) {
    const std::optional<std::size_t> bytes = first_bytes(rest);
    if (!bytes) return TagState::damaged;
    const std::string_view tag = rest.substr(0, *bytes);
    rest.remove_prefix(*bytes);
    if (!is_sound(tag))
      state = TagState::damaged;
    else if (choice.takes(tag.substr(0, name_bytes)))
      taken += tag;
  }
  return state;
}

CommentTags::CommentTags() : header_(sam_hdr_init()), record_(bam_init1()) {
  if (!header_ || !record_) throw std::bad_alloc();
}

TagState CommentTags::append(std::string_view comment, const TagChoice& choice, std::string& taken) {
  TagState state = TagState::sound;
  while (!comment.empty()) {
    const std::string_view word = comment.substr(0, comment.find('\t'));
    comment.remove_prefix(std::min(word.size() + 1, comment.size()));
    const bool looks_like_a_tag =
        word.size() >= 5 && is_tag_name(word.substr(0, name_bytes)) && word[2] == ':' && is_letter(word[3]) && word[4] == ':';
    if (!looks_like_a_tag || !choice.takes(word.substr(0, name_bytes))) continue;
    if (!append_tag(word, choice, taken)) state = TagState::damaged;
  }
  return state;
}

// HTSlib reads the tag as that of a record without anything else.
bool CommentTags::append_tag(std::string_view word, const TagChoice& choice, std::string& taken) {
  if (word.find('\0') != std::string_view::npos) return false;
  line_.l = 0;
  if (kputs("r\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\t", &line_) < 0 || kputsn(word.data(), word.size(), &line_) < 0) throw std::bad_alloc();
  if (sam_parse1(&line_, header_.get(), record_.get()) < 0) return false;
  return append_tags({bam_get_aux(record_.get()), static_cast<std::size_t>(bam_get_l_aux(record_.get()))}, choice, taken) == TagState::sound;
}

}  // namespace sluice::read_bases
