// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_until_decision/decision_line.hpp"

#include <fmt/format.h>

#include <iterator>

namespace sluice::read_until_decision {

std::string decision_header(MoreColumns more) {
  std::string names = "read_id\tdecision\tscore\tthreshold\ttarget\tstrand\tstart\tend\tprefix_samples";
  if (more != MoreColumns::none) names += "\taction";
  if (more == MoreColumns::action_and_channel) names += "\tcondition\tchannel";
  return names + "\n";
}

void append_decision_line(std::string& text, const DecisionLine& line, MoreColumns more) {
  const char* decision = line.decision == Decision::accept ? "accept" : line.decision == Decision::reject ? "reject" : "wait";
  const auto out = std::back_inserter(text);
  if (line.target.empty())
    fmt::format_to(out, "{}\t{}\t.\t.\t.\t.\t.\t.\t{}", line.read_id, decision, line.prefix_samples);
  else
    fmt::format_to(out, "{}\t{}\t{:.6f}\t{:.6f}\t{}\t{}\t{}\t{}\t{}", line.read_id, decision, line.score, line.threshold, line.target,
                   line.is_reverse ? '-' : '+', line.start, line.end, line.prefix_samples);
  if (more != MoreColumns::none) fmt::format_to(out, "\t{}", line.action);
  if (more == MoreColumns::action_and_channel) fmt::format_to(out, "\t{}\t{}", line.condition, line.channel);
  text += '\n';
}

}  // namespace sluice::read_until_decision
