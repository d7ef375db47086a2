// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sluice/testing/kept_memory.hpp>
#include <utility>

#include "testing/differences.hpp"

namespace sluice::testing {

std::vector<std::string> kept_memory_problems(const StageUnderTest& stage, const ContractSample& sample, const TestBatch& huge) {
  constexpr std::size_t most_rounds = 3, most_rows = 12;
  std::vector<TestBatch> rows;
  if (!sample.sorted_rows) rows.push_back(huge);  // the first of them in every round
  for (const TestBatch& batch : sample.batches)
    for (std::int64_t row = 0; row < batch.rows() && rows.size() <= most_rows; ++row) rows.push_back(batch.rows(row, row + 1));
  const auto run = [&](std::vector<TestBatch> batches) {
    for (std::size_t i = 0; i < batches.size(); ++i) batches[i] = batches[i].with_sequence(i);
    StageRun prepared(stage, std::move(batches));
    prepared.with(sample.parameters);
    for (const auto& [slot, batch] : sample.resources) prepared.resource(slot, batch);
    return prepared.run();
  };
  std::vector<std::vector<std::string>> alone;
  for (const TestBatch& row : rows) {
    const Result result = run({row});
    if (!result.ok()) return {result.message};
    alone.push_back(detail::rows_of(*stage.descriptor, result));
  }

  std::vector<std::size_t> order;
  for (std::size_t i = 0; sample.sorted_rows && i < rows.size(); ++i) order.insert(order.end(), 2, i);
  for (std::size_t round = 0; !sample.sorted_rows && round < most_rounds; ++round) {
    order.push_back(0);
    for (std::size_t i = 1; i < rows.size(); ++i) order.push_back(round % 2 == 0 ? i : rows.size() - i);
    if (round == 0) std::rotate(order.begin() + 1, order.begin() + static_cast<std::ptrdiff_t>(1 + (rows.size() - 1) / 2), order.end());
  }
  std::vector<TestBatch> batches;
  for (const std::size_t i : order) batches.push_back(rows[i]);
  const Result together = run(batches);
  if (!together.ok()) return {together.message};
  const std::vector<std::string> found = detail::rows_of(*stage.descriptor, together);
  std::vector<std::string> problems;
  std::size_t at = 0;
  for (std::size_t turn = 0; turn < order.size(); ++turn)
    for (const std::string& expected : alone[order[turn]])
      if (at >= found.size() || found[at++] != expected)
        problems.push_back((sample.sorted_rows ? "row " + std::to_string(order[turn])
                            : order[turn] == 0 ? std::string("the huge row")
                                               : "row " + std::to_string(order[turn] - 1)) +
                           " comes out otherwise in turn " + std::to_string(turn) + " of an instance than from one of its own");
  return problems;
}

}  // namespace sluice::testing
