// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "flow_cell_simulator/flow_cell_report.hpp"

#include <fmt/format.h>

#include <cmath>

namespace sluice::flow_cell_simulator {

void FlowCellReport::write(double now, std::uint64_t rounds_behind) const {
  const FlowCellCounts c = model_.counts(now);
  const auto count = [&](const char* name, double value) {
    if (value != 0) call_.count(name, value);
  };
  const auto whole = [&](const char* name, std::uint64_t value) { count(name, static_cast<double>(value)); };
  whole("reads", c.reads), whole("accepted", c.accepted), whole("rejected", c.rejected), whole("ended_undecided", c.ended);
  whole("late_decisions", c.late), whole("given_up", c.given_up), whole("failed_in_pipeline", c.not_decided), whole("starved", c.starved);
  whole("rounds_behind", rounds_behind);
  count("flow_cell_seconds", now);
  count("sequenced_bases", std::round(c.sequenced_seconds * cell_.bases_per_second));
  if (now > 0) count("pore_occupancy", c.sequenced_seconds / (now * cell_.channels));
  if (c.accepted + c.rejected > 0)
    count("decision_bases", c.decision_seconds / static_cast<double>(c.accepted + c.rejected) * cell_.bases_per_second);
  whole("ejections_withheld", c.withheld);
  if (c.reads == 0) return;
  // Of several conditions the sums would mix what is wanted with what is not.
  if (conditions() > 1) write_conditions(now);
  if (conditions() == 1 && cell_.has_labels) {
    write_targets("", wanted(0), c, cell_.channels, now);
    count("target_bases_without_read_until", std::round(without_read_until(c, cell_.channels, now) * cell_.bases_per_second));
  }
  if (cell_.target_bases <= 0 || c.accepted + c.rejected == 0) return;
  const SequencingEstimate e = estimate_sequencing(observed(c, cell_.channels));
  count("model_hours_without", e.hours_without), count("model_hours_with", e.hours_with), count("model_enrichment", e.enrichment);
  count("model_cost_without", e.cost_without), count("model_cost_with", e.cost_with);
  call_.info(fmt::format("{:.3g}-fold coverage of {:.0f} bases takes {:.3g} hours without Read Until and {:.3g} with it ({:.2f} times faster)",
                         cell_.coverage, cell_.target_bases, e.hours_without, e.hours_with, e.enrichment));
}

double FlowCellReport::without_read_until(const FlowCellCounts& c, std::int32_t channels, double now) const {
  const double cycle = cell_.capture_seconds + c.read_seconds / static_cast<double>(c.reads);
  return now * channels / cycle * c.target_read_seconds / static_cast<double>(c.reads);
}

Wanted FlowCellReport::wanted(std::size_t condition) const {
  const bool depletes = conditions_ && conditions_->select(static_cast<std::int64_t>(condition)) == Select::deplete;
  return depletes ? Wanted::others : Wanted::targets;
}

void FlowCellReport::write_targets(const std::string& before, Wanted wanted, const FlowCellCounts& c, std::int32_t channels, double now) const {
  const auto count = [&](const char* name, double value) {
    if (value != 0) call_.count((before + name).c_str(), value);
  };
  const SequencingConditions conditions = observed(c, channels);
  // The model's targets are the reads that are wanted.
  const std::uint64_t other_reads = c.reads - c.target_reads;
  const double other_seconds = c.sequenced_seconds - c.target_seconds;
  const bool as_labelled = wanted == Wanted::targets;
  count("target_reads", static_cast<double>(as_labelled ? c.target_reads : other_reads));
  count("target_bases", std::round((as_labelled ? c.target_seconds : other_seconds) * cell_.bases_per_second));
  count("other_bases", std::round((as_labelled ? other_seconds : c.target_seconds) * cell_.bases_per_second));
  count("recall", conditions.recall);
  count("false_positive_rate", conditions.false_positive_rate);
  const double without = without_read_until(c, channels, now);
  if (without > 0) count("enrichment", c.target_seconds / without);
}

void FlowCellReport::write_conditions(double now) const {
  for (std::size_t i = 0; i < conditions(); ++i) {
    const FlowCellCounts c = model_.counts(now, i);
    const std::int32_t channels = model_.channels_of(i);
    const std::string before = std::string(conditions_->name(static_cast<std::int64_t>(i))) + ": ";
    const auto count = [&](const char* name, double value) { call_.count((before + name).c_str(), value); };
    count("channels", channels);
    count("reads", static_cast<double>(c.reads));
    count("accepted", static_cast<double>(c.accepted)), count("rejected", static_cast<double>(c.rejected));
    count("sequenced_bases", std::round(c.sequenced_seconds * cell_.bases_per_second));
    if (c.reads == 0) continue;
    if (cell_.has_labels) write_targets(before, wanted(i), c, channels, now);
    if (c.accepted + c.rejected > 0) count("model_enrichment", estimate_sequencing(observed(c, channels)).enrichment);
  }
}

SequencingConditions FlowCellReport::observed(const FlowCellCounts& c, std::int32_t channels) const {
  SequencingConditions s;
  s.channels = channels;
  s.capture_seconds = cell_.capture_seconds, s.ejection_seconds = cell_.ejection_seconds;
  s.bases_per_second = cell_.bases_per_second;
  s.target_bases = cell_.target_bases, s.coverage = cell_.coverage, s.cost_per_hour = cell_.cost_per_hour;
  const auto share = [](double part, double of) { return of > 0 ? part / of : 0.0; };
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  s.decision_seconds = share(c.decision_seconds, number(c.accepted + c.rejected));
  const std::uint64_t targets = cell_.has_labels ? c.target_reads : c.accepted;
  const double target_seconds = cell_.has_labels ? c.target_read_seconds : c.accepted_read_seconds;
  s.target_share = share(number(targets), number(cell_.has_labels ? c.reads : c.accepted + c.rejected));
  s.target_read_seconds = share(target_seconds, number(targets));
  s.other_read_seconds = share(c.read_seconds - target_seconds, number(c.reads - targets));
  if (cell_.has_labels) {
    s.recall = share(number(c.accepted_targets), number(c.accepted_targets + c.rejected_targets));
    const std::uint64_t accepted_others = c.accepted - c.accepted_targets, rejected_others = c.rejected - c.rejected_targets;
    s.false_positive_rate = share(number(accepted_others), number(accepted_others + rejected_others));
  }
  return s;
}

}  // namespace sluice::flow_cell_simulator
