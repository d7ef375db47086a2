// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The columns of a table that is made as text: their names, and what their cells are.

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::arrow {

struct TableColumn {
  std::string name;
  std::string type;     // as columns of batches: i8 to f64, utf8, or a list<> of them, whose items are joined with commas
  std::string missing;  // what the text has where there is no value; beside that, an empty cell of a number is none
  bool is_tag = false;  // stands behind the other columns as NAME:type:value, or not at all, as in PAF
  // Of utf8: \xF8, \xF9 and \xFA, which UTF-8 does not have, stand for the tabs, newlines and carriage returns that a line cannot have in a cell.
  bool has_stand_ins = false;

  bool is_list() const { return type.starts_with("list<"); }
  // Of a cell, or of a list's items.
  std::string_view element() const { return is_list() ? std::string_view(type).substr(5, type.size() - 6) : std::string_view(type); }
};
using TableSchema = std::vector<TableColumn>;

// Names from a header line, or from what would be one; a type for each.
inline TableSchema table_schema(std::string_view header, const std::vector<std::string_view>& types) {
  TableSchema schema;
  for (const std::string_view type : types) {
    const std::size_t end = std::min(header.find_first_of("\t\n"), header.size());
    schema.push_back({.name = std::string(header.substr(0, end)), .type = std::string(type)});
    header.remove_prefix(std::min(end + 1, header.size()));
    if (schema.back().name.empty()) throw std::logic_error("a table has more types than columns");
  }
  if (header.find_first_not_of("\t\n") != std::string_view::npos) throw std::logic_error("a table has more columns than types");
  return schema;
}

inline TableColumn tag_column(std::string_view name, std::string_view type) {
  return {.name = std::string(name), .type = std::string(type), .is_tag = true};
}

}  // namespace sluice::arrow
