// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A decision as a line of a table.

#include <cstdint>
#include <string>
#include <string_view>

#include "read_until_decision/decision.hpp"

namespace sluice::read_until_decision {

struct DecisionLine {
  std::string_view read_id;
  Decision decision = Decision::wait;
  double score = 0;
  double threshold = 0;
  std::string_view target;  // empty: none
  bool is_reverse = false;
  std::int64_t start = 0, end = 0;  // k-mers on the contig's forward strand, end exclusive
  std::int32_t prefix_samples = 0;
  std::string_view action, condition;  // where the table has them
  std::int32_t channel = 0;            // from 1, as MinKNOW numbers them
};

// Columns behind those of every table: what is done with the read; of reads in chunks also the condition and the channel.
enum class MoreColumns : std::uint8_t { none, action, action_and_channel };

// Tab-separated, with line end.
std::string decision_header(MoreColumns more);
// score and threshold with six decimals; without a target: . for score, threshold, target, strand, start and end.
void append_decision_line(std::string& text, const DecisionLine& line, MoreColumns more);

}  // namespace sluice::read_until_decision
