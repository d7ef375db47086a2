// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A TOML document as a plain tree with the place of every key and value. Only toml_document.cpp knows the TOML library.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostic.hpp"

namespace sluice {

enum class TomlKind { table, array, string, integer, floating, boolean, date };

struct TomlMember;

struct TomlNode {
  TomlKind kind = TomlKind::table;
  std::string text;  // of a scalar: a string's content, or the canonical form of the rest
  Location where;
  std::vector<TomlMember> members;  // of a table, in file order
  std::vector<TomlNode> items;      // of an array

  bool is_scalar() const { return kind != TomlKind::table && kind != TomlKind::array; }
};

struct TomlMember {
  std::string key;
  Location where;
  TomlNode value;
};

// "a table", "an integer": for messages.
const char* kind_name(TomlKind kind);

// The largest document that is read. The longest shipped pipeline has 5 kB; the bound keeps hostile files from costing seconds.
inline constexpr std::size_t largest_document = 256 * 1024;

// nullopt and one error if the text is not TOML, larger than largest_document, or nested deeper than any pipeline is. Never throws.
std::optional<TomlNode> parse_toml(std::string_view text, const std::string& file, Diagnostics& diagnostics);

}  // namespace sluice
