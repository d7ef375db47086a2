// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which reads are targets, for the enrichment in the report.

#include <string>
#include <string_view>
#include <unordered_set>

namespace sluice::flow_cell_simulator {

// Reads a table: one line per read, columns divided by tabs, the read id first. With `column` the first line names the columns, and a read is a
// target if its value there is neither empty nor 0, no, false or other. Without, a column `label` says so, or the second of two columns that holds
// target and other (the labels of read_until_calibration); and in any other table every read is a target. Throws Failure::input with the line's
// number when a line has too few columns.
class ReadLabels {
 public:
  ReadLabels() = default;
  // `name` is the file's, for messages.
  ReadLabels(std::string_view table, const std::string& column, const std::string& name);
  bool is_target(std::string_view read_id) const { return targets_.contains(std::string(read_id)); }
  std::size_t targets() const { return targets_.size(); }

 private:
  std::unordered_set<std::string> targets_;
};

}  // namespace sluice::flow_cell_simulator
