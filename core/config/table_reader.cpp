// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/table_reader.hpp"

#include <algorithm>
#include <charconv>

namespace sluice {

std::optional<double> bytes_of(const TomlNode& value) {
  double bytes = 0;
  const bool is_number = value.kind == TomlKind::integer || value.kind == TomlKind::floating;
  if (!is_number || std::from_chars(value.text.data(), value.text.data() + value.text.size(), bytes).ec != std::errc()) return std::nullopt;
  return bytes >= 0 && bytes < 1e12 ? std::optional(bytes) : std::nullopt;
}

const TomlMember* TableReader::take(const std::string& key, std::initializer_list<TomlKind> kinds, const char* expected) {
  known_.push_back(key);
  for (const TomlMember& member : table_.members) {
    if (member.key != key) continue;
    if (std::find(kinds.begin(), kinds.end(), member.value.kind) != kinds.end()) return &member;
    error(member.value.where, "'" + key + "' must be " + expected + ", not " + kind_name(member.value.kind));
    return nullptr;
  }
  return nullptr;
}

std::string TableReader::take_string(const std::string& key) {
  const TomlMember* member = take(key, {TomlKind::string}, "a string");
  return member == nullptr ? "" : member->value.text;
}

std::optional<bool> TableReader::take_boolean(const std::string& key) {
  const TomlMember* member = take(key, {TomlKind::boolean}, "true or false");
  return member == nullptr ? std::nullopt : std::optional<bool>(member->value.text == "true");
}

void TableReader::finish() {
  for (const TomlMember& member : table_.members) {
    if (std::find(known_.begin(), known_.end(), member.key) != known_.end()) continue;
    const std::string near = nearest_name(member.key, known_);
    std::string all;
    for (const std::string& key : known_) all += (all.empty() ? "" : ", ") + key;
    error(member.where, "unknown key '" + member.key + "'", near.empty() ? "known here: " + all : "did you mean '" + near + "'?");
  }
}

}  // namespace sluice
