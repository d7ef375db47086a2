// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <sluice/testing/result.hpp>
#include <stdexcept>
#include <string>

namespace sluice::testing {

const TestBatch& Result::batch() const {
  if (batches.size() != 1) throw std::runtime_error("expected one batch, got " + std::to_string(batches.size()) + (ok() ? "" : ": " + message));
  return batches.front();
}

std::int64_t Result::rows() const {
  std::int64_t total = 0;
  for (const TestBatch& batch : batches) total += batch.rows();
  return total;
}

const Result& Result::expect_rows(std::int64_t expected) const {
  if (!ok()) throw std::runtime_error("the stage failed: " + message);
  if (!problems.empty()) throw std::runtime_error("the stage broke its contract: " + problems.front());
  std::int64_t fine = 0;
  for (const TestBatch& batch : batches)
    for (std::int64_t row = 0; row < batch.rows(); ++row) fine += batch.ok(row) ? 1 : 0;
  if (fine != expected) throw std::runtime_error("expected " + std::to_string(expected) + " rows, got " + std::to_string(fine));
  return *this;
}

bool Result::logged(std::string_view part) const {
  return std::any_of(log.begin(), log.end(), [&](const LogLine& line) { return line.message.find(part) != std::string::npos; });
}

}  // namespace sluice::testing
