// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/multiqc.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "observe/account.hpp"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& tree) { return tree.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

// The way of the rows that were read: the first from a source to a sink.
const PathAccount* main_path(const std::vector<PathAccount>& paths) {
  const auto path = std::find_if(paths.begin(), paths.end(), [](const PathAccount& one) { return one.read > 0 && one.ends_in_sink; });
  return path != paths.end() ? &*path : paths.empty() ? nullptr : &paths.front();
}

const StageStatistics* with_lengths(const RunStatistics& statistics) {
  const auto stage =
      std::find_if(statistics.stages.begin(), statistics.stages.end(), [](const StageStatistics& one) { return one.lengths.rows > 0; });
  return stage != statistics.stages.end() ? &*stage : nullptr;
}

}  // namespace

std::string multiqc_fates(const RunResult& result, const Plan& plan, const std::string& sample) {
  const std::vector<PathAccount> paths = account_of(plan, result.statistics, ending_of(result));
  Json fates = Json::object();
  if (const PathAccount* path = main_path(paths)) {
    fates["Came out"] = path->written;
    for (const Loss& loss : path->losses) fates[loss.stage + ": " + loss.reason] = loss.rows;
    if (path->unfinished > 0) fates["Under way at the end"] = path->unfinished;
  }
  return text_of(
      {{"id", "sluice_fates"},
       {"section_name", "Fates of reads (sluice)"},
       {"description", "What became of the reads that each run of sluice was given; what did not come out, by the stage and the reason."},
       {"plot_type", "bargraph"},
       {"pconfig",
        {{"id", "sluice_fates_plot"}, {"title", "sluice: Fates of reads"}, {"ylab", "Reads"}, {"cpswitch_counts_label", "Number of reads"}}},
       {"data", {{sample, fates}}}});
}

std::string multiqc_general(const RunResult& result, const Plan& plan, const std::string& sample) {
  const RunStatistics& s = result.statistics;
  const std::vector<PathAccount> paths = account_of(plan, s, ending_of(result));
  Json columns = Json::array(), values = Json::object();
  const auto add = [&](const std::string& key, const std::string& title, const std::string& description, const Json& value, const char* format,
                       const char* suffix) {
    columns.push_back({{key, {{"namespace", "sluice"}, {"title", title}, {"description", description}, {"format", format}, {"suffix", suffix}}}});
    values[key] = value;
  };
  if (const PathAccount* path = main_path(paths)) {
    add("sluice_read", "Reads", "Reads that went in", path->read, "{:,.0f}", "");
    add("sluice_out", "Came out", "Part of them that came out, in percent",
        path->read > 0 ? std::round(1e4 * static_cast<double>(path->written) / static_cast<double>(path->read)) / 1e2 : 0.0, "{:,.1f}", "%");
    add("sluice_failed", "Failed", "Part of them that failed, in percent", std::round(1e4 * path->failed_fraction()) / 1e2, "{:,.1f}", "%");
  }
  if (const StageStatistics* stage = with_lengths(s)) {
    const std::string& unit = stage->lengths.unit;
    add("sluice_n50_" + unit, "N50 (" + unit + "s)", "Half of all " + unit + "s are in reads at least as long",
        static_cast<std::uint64_t>(stage->lengths.n50), "{:,.0f}", "");
    add("sluice_total_" + unit, "M" + unit + "s", "Length of all reads, in millions of " + unit + "s",
        std::round(static_cast<double>(stage->lengths.total) / 1e3) / 1e3, "{:,.1f}", "");
  }
  add("sluice_seconds", "Seconds", "From start to end of the run", std::round(10 * s.elapsed_seconds) / 10, "{:,.1f}", "");
  return text_of({{"id", "sluice_general"}, {"plot_type", "generalstats"}, {"pconfig", columns}, {"data", {{sample, values}}}});
}

std::string multiqc_lengths(const RunResult& result, const std::string& sample) {
  const StageStatistics* stage = with_lengths(result.statistics);
  if (stage == nullptr) return "";
  // Classes of a tenth, so that runs of few reads are no comb.
  constexpr double step = 1.1;
  Json points = Json::array();  // pairs: MultiQC sorts keys as text
  std::map<long, std::uint64_t> rows;
  for (const auto& [length, count] : stage->lengths.classes)
    if (length >= 1) rows[std::lround(std::floor(std::log(length) / std::log(step)))] += count;
  for (const auto& [power, count] : rows) points.push_back(Json::array({std::lround(std::pow(step, static_cast<double>(power) + 0.5)), count}));
  return text_of({{"id", "sluice_lengths"},
                  {"section_name", "Lengths of reads (sluice)"},
                  {"description", "How many reads are how long; each point stands for lengths within a tenth of each other."},
                  {"plot_type", "linegraph"},
                  {"pconfig",
                   {{"id", "sluice_lengths_plot"},
                    {"title", "sluice: Lengths of reads"},
                    {"xlab", "Length (" + stage->lengths.unit + "s)"},
                    {"ylab", "Reads"},
                    {"xlog", true},
                    {"ymin", 0}}},
                  {"data", {{sample, points}}}});
}

}  // namespace sluice
