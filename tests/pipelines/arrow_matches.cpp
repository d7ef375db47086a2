// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Whether an Arrow or a Parquet file holds what a table as text does: its names, and each of its cells.
//   arrow_matches TABLE.arrow|TABLE.parquet TABLE [NAMES]   NAMES: "-": the text has no line of names
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "unit/arrow_table.hpp"
#include "unit/parquet_table.hpp"

namespace {

std::string file_of(const char* path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(std::string("cannot read ") + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string_view> cells_of(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(separator, begin), line.size());
    cells.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return cells;
}

// As the reader writes it: the shortest text of the same number.
std::string canonical(std::string_view cell, std::string_view type) {
  const std::string text(cell);
  if (type == "utf8") return text;
  if (type.starts_with("list<")) {
    std::string items;
    for (const std::string_view item : cells_of(cell, ','))
      if (!item.empty()) items += (items.empty() ? "" : ",") + canonical(item, type.substr(5, type.size() - 6));
    return items;
  }
  if (text.empty() || text == ".") return "(none)";
  char digits[400];
  if (type == "f32") return {digits, std::to_chars(digits, digits + sizeof digits, std::strtof(text.c_str(), nullptr)).ptr};
  if (type == "f64") return {digits, std::to_chars(digits, digits + sizeof digits, std::strtod(text.c_str(), nullptr)).ptr};
  return text;
}

int compare(const char* arrow, const char* text, bool has_names) {
  const std::string bytes = file_of(arrow);
  const sluice::testing::ArrowTable table = bytes.starts_with("PAR1") ? sluice::testing::read_parquet(bytes) : sluice::testing::read_arrow(bytes);
  const std::string file = file_of(text);
  std::size_t row = 0;
  std::string_view rest = file;
  for (bool is_first = has_names; !rest.empty(); is_first = false) {
    const std::size_t end = rest.find('\n');
    std::vector<std::string_view> cells = cells_of(rest.substr(0, end), '\t');
    rest.remove_prefix(end + 1);
    while (cells.size() > table.names.size() && cells.back().empty()) cells.pop_back();
    if (is_first) {
      if (!std::equal(cells.begin(), cells.end(), table.names.begin(), table.names.end())) return std::printf("%s: other names\n", arrow), 1;
      continue;
    }
    if (row == table.rows.size()) return std::printf("%s: fewer than the rows of %s\n", arrow, text), 1;
    for (std::size_t column = 0; column < table.names.size(); ++column) {
      std::string expected = "(none)";
      if (!has_names && table.names[column].size() == 2) {  // a tag
        for (const std::string_view cell : cells)
          if (cell.starts_with(table.names[column] + ":")) expected = canonical(cell.substr(5), table.types[column]);
      } else {
        expected = canonical(cells.at(column), table.types[column]);
      }
      if (table.rows[row][column] == expected) continue;
      return std::printf("%s: row %zu, %s: %s in place of %s\n", arrow, row, table.names[column].c_str(), table.rows[row][column].c_str(),
                         expected.c_str()),
             1;
    }
    ++row;
  }
  if (row != table.rows.size()) return std::printf("%s: more than the rows of %s\n", arrow, text), 1;
  std::printf("%s: %zu rows in %zu pieces, %zu columns\n", arrow, row, table.batch_rows.size(), table.names.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) return 2;
    return compare(argv[1], argv[2], argc == 3);
  } catch (const std::exception& error) {
    std::printf("%s: %s\n", argv[1], error.what());
    return 1;
  }
}
