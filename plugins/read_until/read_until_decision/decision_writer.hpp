// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The sink of decisions.

#include <optional>
#include <sluice/arrow/table_output.hpp>
#include <sluice/hts/join_text.hpp>
#include <sluice/read_until_conditions.hpp>
#include <sluice/squiggle_reference.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <unordered_set>

#include "read_until_decision/decision_line.hpp"

namespace sluice::read_until_decision {

// Writes one line a read, in the order of the reads. Of reads that come in chunks: when the decision is made, or at the last chunk without one.
class DecisionWriter : public hts::JoinsText<> {
 public:
  struct Parameters {
    Path output;
  };
  static void describe(Describe<DecisionWriter>& d);
  DecisionWriter(const Setup& setup, const Parameters& parameters);
  void process(const Call& call, const Batch& in, Output& out);
  void commit(const Call& call, const Batch& in);
  void finish(const Call& call, Output&);
  void save(const Call& call, StateWriter& to);

 private:
  DecisionLine line_of(const Batch& in, std::int64_t row) const;

  SquiggleReferenceView targets_;
  std::span<const std::int64_t> region_start_;  // by target; empty: targets are whole contigs
  std::optional<ReadUntilConditionsView> conditions_;
  bool in_chunks_;
  MoreColumns more_;
  arrow::TableOutput file_;
  Workspaces<std::string> texts_;
  std::unordered_set<std::int32_t> written_;  // channels whose read under way has its line
};

}  // namespace sluice::read_until_decision
