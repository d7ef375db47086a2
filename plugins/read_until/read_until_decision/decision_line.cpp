// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_until_decision/decision_line.hpp"

#include <fmt/format.h>

#include <iterator>

namespace sluice::read_until_decision {

std::string_view decision_header() { return "read_id\tdecision\tscore\tthreshold\ttarget\tstrand\tstart\tend\tprefix_samples\n"; }

void append_decision_line(std::string& text, const DecisionLine& line) {
  const char* decision = line.decision == Decision::accept ? "accept" : line.decision == Decision::reject ? "reject" : "wait";
  const auto out = std::back_inserter(text);
  if (line.target.empty())
    fmt::format_to(out, "{}\t{}\t.\t.\t.\t.\t.\t.\t{}\n", line.read_id, decision, line.prefix_samples);
  else
    fmt::format_to(out, "{}\t{}\t{:.6f}\t{:.6f}\t{}\t{}\t{}\t{}\t{}\n", line.read_id, decision, line.score, line.threshold, line.target,
                   line.is_reverse ? '-' : '+', line.start, line.end, line.prefix_samples);
}

}  // namespace sluice::read_until_decision
