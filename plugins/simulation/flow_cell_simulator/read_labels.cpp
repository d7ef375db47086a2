// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "flow_cell_simulator/read_labels.hpp"

#include <algorithm>
#include <optional>
#include <sluice/failure.hpp>
#include <vector>

namespace sluice::flow_cell_simulator {
namespace {

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

bool says_no(std::string_view value) { return value.empty() || value == "0" || value == "no" || value == "false" || value == "other"; }

}  // namespace

ReadLabels::ReadLabels(std::string_view table, const std::string& column, const std::string& name) {
  std::optional<std::size_t> wanted;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < table.size();) {
    const std::size_t end = std::min(table.find('\n', begin), table.size());
    std::string_view line = table.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::vector<std::string_view> fields = fields_of(line);
    if (column.empty() && number == 1) {
      const auto label = std::find(fields.begin(), fields.end(), "label");
      if (label != fields.end()) {
        wanted = static_cast<std::size_t>(label - fields.begin());
        continue;
      }
      if (fields.size() == 2 && (fields[1] == "target" || fields[1] == "other")) wanted = 1;
    }
    if (column.empty() && !wanted) {
      targets_.emplace(fields.front());
      continue;
    }
    if (!wanted) {
      const auto found = std::find(fields.begin(), fields.end(), column);
      if (found == fields.end())
        throw Failure::input("labels '" + name + "' have no column '" + column + "' in their first line", "name one of the table's columns");
      wanted = static_cast<std::size_t>(found - fields.begin());
      continue;
    }
    if (fields.size() <= *wanted)
      throw Failure::input(
          "labels '" + name + "', line " + std::to_string(number) + ": there is no column '" + (column.empty() ? "label" : column) + "'",
          "give every read a value, tabs between columns");
    if (!says_no(fields[*wanted])) targets_.emplace(fields.front());
  }
}

}  // namespace sluice::flow_cell_simulator
