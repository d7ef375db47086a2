// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a run of a stage gave, and what it did wrong.

#include <cstdint>
#include <map>
#include <sluice/testing/test_batch.hpp>
#include <string>
#include <string_view>
#include <utility>
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
  std::map<std::string, std::vector<double>> quantities;                    // what was observed, by name
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> outcomes;  // good rows and all, by name
  std::vector<LogLine> log;
  std::map<std::string, std::string> files;      // path as the stage gave it -> bytes, of every file that was closed
  std::map<std::string, std::uint64_t> headers;  // of these files: bytes of the header, see header_of_file in abi.h
  std::vector<std::string> problems;             // what the stage did that a host would refuse or regret

  bool ok() const { return status == SLUICE_OK; }
  // The only batch; an error when there are several or none.
  const TestBatch& batch() const;
  std::int64_t rows() const;
  // Throws unless the run succeeded without problems and gave this many rows that did not fail.
  const Result& expect_rows(std::int64_t expected) const;
  bool logged(std::string_view part) const;
};

}  // namespace sluice::testing
