// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "observe/account.hpp"
#include "observe/bottleneck.hpp"
#include "observe/quantity.hpp"
#include "observe/report.hpp"
#include "observe/result_figures.hpp"

namespace sluice {
namespace {

std::string losses_text(const PathAccount& account) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, account.losses.size()); ++i) {
    const Loss& loss = account.losses[i];
    text += (text.empty() ? "" : ", ") + loss.stage + ": " + loss.reason + " " + count_text(loss.rows);
  }
  if (account.losses.size() > most) text += ", and " + count_text(account.losses.size() - most, "reason") + " more in the report";
  return text;
}

std::string account_line(const PathAccount& account) {
  std::string line = "  " + account.source + " -> " + account.end + ": " + count_text(account.read, account.noun);
  if (account.outcomes.empty()) line += ", " + count_text(account.written) + " written";
  for (const auto& [name, outcome] : account.outcomes) line += ", " + count_text(outcome.good) + " " + name;
  if (account.filtered > 0) line += ", " + count_text(account.filtered) + " filtered";
  if (account.failed > 0) line += ", " + count_text(account.failed) + " failed (" + percent_text(account.failed_fraction()) + ")";
  if (account.unfinished > 0) line += ", " + count_text(account.unfinished) + " unfinished";
  if (!account.losses.empty()) line += "; " + losses_text(account);
  if (!account.adds_up) line += " [the counts do not add up: please report this]";
  return line;
}

// "cuda:0 NVIDIA H200: busy 43 % of the run; events 61 %, align 97 % of the work; 1.2 GiB there, 210 MiB back, peak 3.1 GiB"
std::string device_line(const DeviceStatistics& device, const RunStatistics& s) {
  std::string line = "  " + device.name + " " + device.model + ": ";
  if (device.calls == 0) return line + "not used";
  line += "busy " + percent_text(utilisation(device, s)) + " of the run";
  const char* separator = "; ";
  for (const StageStatistics& stage : s.stages) {
    double here = 0, all = 0;
    for (const ImplementationStatistics& i : stage.implementations) {
      all += i.work;
      if (i.device == device.name) here += i.work;
    }
    if (here <= 0) continue;
    line += separator + stage.name + " " + percent_text(here / all);
    separator = ", ";
  }
  if (separator[0] == ',') line += " of the work";
  line += "; " + bytes_text(static_cast<double>(device.bytes_to_device)) + " there, " + bytes_text(static_cast<double>(device.bytes_to_host)) +
          " back, peak " + bytes_text(static_cast<double>(device.memory_peak));
  if (device.faults.memory > 0) line += "; " + count_text(device.faults.memory, "call") + " out of memory";
  if (device.faults.kernel > 0) line += "; " + count_text(device.faults.kernel, "kernel error");
  if (device.faults.lost > 0) line += "; lost in the middle";
  return line;
}

// "  cells: decision_latency 12 ms at the median, 41 ms at the 99th percentile, at most 80 ms (51,200 values)"
std::string quantity_line(const StageStatistics& stage, const std::string& name, const DistributionStatistics& values) {
  const bool seconds = name.ends_with("latency") || name.ends_with("seconds");
  const auto text = [&](double value) {
    if (!seconds) return fmt::format("{:.4g}", value);
    return value < 1 ? fmt::format("{:.3g} ms", value * 1e3) : duration_text(value);
  };
  return "  " + stage.name + ": " + name + " " + text(values.p50) + " at the median, " + text(values.p99) + " at the 99th percentile, at most " +
         text(values.maximum) + " (" + count_text(values.count) + ")";
}

// "  paf: mapped bases 176,543 bases (98.01 %), identity 94.12 %, coverage 12.4x"; "" of a stage that says nothing in one number.
std::string results_line(const StageStatistics& stage) {
  std::string text;
  for (const ResultFigure& figure : result_figures(stage))
    if (const std::string one = figure_text(figure); !one.empty()) text += (text.empty() ? "  " + stage.name + ": " : ", ") + one;
  return text;
}

// "  reads: 180,123 bases, N50 3,456, longest 9,123"
std::string lengths_line(const StageStatistics& stage) {
  const LengthStatistics& lengths = stage.lengths;
  return "  " + stage.name + ": " + count_text(lengths.total, lengths.unit) + ", N50 " + count_text(static_cast<std::uint64_t>(lengths.n50)) +
         ", longest " + count_text(lengths.maximum);
}

std::string deadline_line(const StageStatistics& stage) {
  return "  " + stage.name + ": " + count_text(stage.late_batches) + " of " + count_text(stage.batches_with_deadline) +
         " batches were written after their deadline";
}

// " of 60 reads (60 unmapped)": what the regroup that gave nothing had, and where it went. "" behind a source.
std::string what_was_regrouped(const std::string& regroup, const std::vector<PathAccount>& accounts, const RunStatistics& statistics) {
  const auto before = std::find_if(accounts.begin(), accounts.end(), [&](const PathAccount& account) { return account.end == regroup; });
  if (before == accounts.end()) return "";
  PathAccount told = *before;
  for (const StageStatistics& stage : statistics.stages)
    if (stage.name == regroup)
      for (const auto& [reason, rows] : stage.accounted)
        if (rows > 0) told.losses.push_back({stage.name, reason, rows});
  return " of " + count_text(told.read, told.noun) + (told.losses.empty() ? "" : " (" + losses_text(told) + ")");
}

}  // namespace

std::string emptiness_text(const RunResult& result, const Plan& plan) {
  std::string text;
  const std::vector<PathAccount> accounts = account_of(plan, result.statistics, ending_of(result));
  for (const PathAccount& account : accounts) {
    if (!account.is_empty()) continue;
    text += (text.empty() ? "'" : "; '") + account.end + "': ";
    if (account.read == 0)
      text += "there were no " + account.noun + "s" + what_was_regrouped(account.source, accounts, result.statistics);
    else if (account.written == 0)
      text += "0 of " + count_text(account.read, account.noun) + " written" + (account.losses.empty() ? "" : " (" + losses_text(account) + ")");
    else
      for (const auto& [name, outcome] : account.outcomes) text += "0 of " + count_text(outcome.total, account.noun) + " " + name;
  }
  return text;
}

std::vector<std::string> summary_lines(const RunResult& result, const Plan& plan) {
  const RunStatistics& s = result.statistics;
  std::vector<std::string> lines;
  std::string head = std::string(state_name(result.state)) + " in " + duration_text(s.elapsed_seconds);
  for (const StageStatistics& stage : s.stages) {
    double work = 0;
    for (const ImplementationStatistics& i : stage.implementations) work += i.work;
    if (stage.role == "source" && work > 0 && s.elapsed_seconds > 0) head += ", " + rate_text(work / s.elapsed_seconds, stage.work_unit);
  }
  head += ", " + std::to_string(s.threads) + (s.threads == 1 ? " thread" : " threads") + ", " + duration_text(s.cpu_seconds) +
          " of CPU time, peak memory " + bytes_text(static_cast<double>(s.resident_peak));
  lines.push_back(std::move(head));
  if (result.state != RunState::failed)
    for (const PathAccount& account : account_of(plan, s, ending_of(result))) lines.push_back(account_line(account));
  std::vector<std::string> results;
  for (const StageStatistics& stage : s.stages)
    if (std::string line = results_line(stage); !line.empty()) results.push_back(std::move(line));
  for (const StageStatistics& stage : s.stages)
    if (!results.empty() && stage.role == "source" && stage.lengths.rows > 0) lines.push_back(lengths_line(stage));
  lines.insert(lines.end(), results.begin(), results.end());
  for (const StageStatistics& stage : s.stages) {
    for (const auto& [name, values] : stage.quantities) lines.push_back(quantity_line(stage, name, values));
    if (stage.batches_with_deadline > 0) lines.push_back(deadline_line(stage));
  }
  for (const DeviceStatistics& device : s.devices) lines.push_back(device_line(device, s));
  for (const std::string& output : s.outputs)
    if (output != "-" && !output.starts_with("/dev/")) lines.push_back("  " + output);
  return lines;
}

}  // namespace sluice
