// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a run of a stage gave, and what it did wrong.

#include <algorithm>
#include <cstdint>
#include <map>
#include <sluice/testing/test_batch.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::testing {

struct FailedRow {
  std::size_t batch;  // index into Result::batches
  std::int64_t row;
  std::string reason;  // its code
  bool operator==(const FailedRow&) const = default;
};
struct LogLine {
  sluice_log_level level;
  std::string message;
};
struct Account {
  std::uint64_t count = 0;
  std::vector<std::string> names;
};

struct Result {
  sluice_status status = SLUICE_OK;         // the first that was not SLUICE_OK; of making the instance or of a call
  std::string message, remedy;              // of that status
  std::vector<TestBatch> batches;           // maps and sinks: one per input with its columns and the new ones; else what was emitted
  std::vector<FailedRow> failed;            // by this stage
  std::map<std::string, Account> accounts;  // by reason code: inputs that never became rows
  std::map<std::string, double> counters;
  std::vector<LogLine> log;
  std::map<std::string, std::string> files;  // path as the stage gave it -> bytes, of every file that was closed
  std::vector<std::string> problems;         // what the stage did that a host would refuse or regret

  bool ok() const { return status == SLUICE_OK; }
  // The only batch; an error when there are several or none.
  const TestBatch& batch() const {
    if (batches.size() != 1) throw std::runtime_error("expected one batch, got " + std::to_string(batches.size()) + (ok() ? "" : ": " + message));
    return batches.front();
  }
  std::int64_t rows() const {
    std::int64_t total = 0;
    for (const TestBatch& batch : batches) total += batch.rows();
    return total;
  }
  // Throws unless the run succeeded without problems and gave this many rows that did not fail.
  const Result& expect_rows(std::int64_t expected) const {
    if (!ok()) throw std::runtime_error("the stage failed: " + message);
    if (!problems.empty()) throw std::runtime_error("the stage broke its contract: " + problems.front());
    std::int64_t fine = 0;
    for (const TestBatch& batch : batches)
      for (std::int64_t row = 0; row < batch.rows(); ++row) fine += batch.ok(row) ? 1 : 0;
    if (fine != expected) throw std::runtime_error("expected " + std::to_string(expected) + " rows, got " + std::to_string(fine));
    return *this;
  }
  bool logged(std::string_view part) const {
    return std::any_of(log.begin(), log.end(), [&](const LogLine& line) { return line.message.find(part) != std::string::npos; });
  }
};

}  // namespace sluice::testing
