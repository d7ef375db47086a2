// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "testing/differences.hpp"

#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace sluice::testing::detail {

std::vector<std::string> rows_of(const sluice_stage_descriptor& stage, const Result& result) {
  std::vector<std::string> rows;
  std::map<std::pair<std::size_t, std::int64_t>, std::string> failed;
  for (const FailedRow& row : result.failed) failed[{row.batch, row.row}] = row.reason;
  std::set<std::string> inputs;
  for (std::size_t i = 0; i < stage.input.column_count; ++i) inputs.insert(stage.input.columns[i].name);
  for (std::size_t b = 0; b < result.batches.size(); ++b) {
    const TestBatch& batch = result.batches[b];
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      std::string line;
      if (!batch.ok(row)) {
        const auto reason = failed.find({b, row});
        line = reason == failed.end() ? "failed before" : "failed: " + reason->second;
      } else {
        for (const TestBatch::Column& column : batch.contents().columns) {
          if (stage.kind == SLUICE_MAP && inputs.contains(column.name)) continue;
          const std::string_view cell = batch.cell(column, row);
          line += column.name + '=' + std::to_string(cell.size()) + ':';
          line += cell;
        }
      }
      rows.push_back(std::move(line));
    }
  }
  return rows;
}

std::vector<std::string> differences(const sluice_stage_descriptor& stage, const Result& expected, const Result& actual) {
  if (!actual.ok()) return {actual.message};
  const std::vector<std::string> a = rows_of(stage, expected), b = rows_of(stage, actual);
  if (a.size() != b.size()) return {std::to_string(b.size()) + " rows instead of " + std::to_string(a.size())};
  for (std::size_t row = 0; row < a.size(); ++row)
    if (a[row] != b[row]) return {"row " + std::to_string(row) + " differs"};
  std::vector<std::string> found;
  for (const auto& [path, bytes] : expected.files)
    if (!actual.files.contains(path) || actual.files.at(path) != bytes) found.push_back("file '" + path + "' differs");
  if (expected.files.size() != actual.files.size()) found.emplace_back("other files");
  return found;
}

}  // namespace sluice::testing::detail
