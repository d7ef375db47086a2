// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/multiqc.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "observe/account.hpp"
#include "observe/result_figures.hpp"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& tree) { return tree.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

// The way of the rows that were read: the first from a source to a sink.
const PathAccount* main_path(const std::vector<PathAccount>& paths) {
  const auto path = std::find_if(paths.begin(), paths.end(), [](const PathAccount& one) { return one.read > 0 && one.ends_in_sink; });
  return path != paths.end() ? &*path : paths.empty() ? nullptr : &paths.front();
}

// What a user calls the rows, several of them: "reads", and where a title begins with it.
std::string plural(const std::string& noun) { return noun + "s"; }
std::string title(const std::string& noun) {
  std::string text = plural(noun);
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}
// MultiQC puts what has one id on one plot: rows of other kinds have another.
std::string id_of(const std::string& what, const std::string& noun) {
  std::string id = "sluice_" + what + (noun == "read" ? "" : "_" + noun);
  std::replace(id.begin(), id.end(), ' ', '_');
  return id;
}
std::string row_noun(const PathAccount* path) { return path == nullptr || path->noun.empty() ? "row" : path->noun; }
std::string row_noun(const StageStatistics& stage) { return stage.row_noun.empty() || stage.row_noun == "*" ? "row" : stage.row_noun; }

const StageStatistics* with_lengths(const RunStatistics& statistics) {
  const auto stage =
      std::find_if(statistics.stages.begin(), statistics.stages.end(), [](const StageStatistics& one) { return one.lengths.rows > 0; });
  return stage != statistics.stages.end() ? &*stage : nullptr;
}

// What MultiQC can take for an id.
std::string slug_of(const std::string& title) {
  std::string slug;
  for (const char letter : title)
    slug += std::isalnum(static_cast<unsigned char>(letter)) != 0 ? static_cast<char>(std::tolower(static_cast<unsigned char>(letter))) : '_';
  return slug;
}

// [x, y] of each class, those between and beside them too, or window; windows of several sequences one behind the other.
Json points_of(const ResultFigure& figure) {
  Json points = Json::array();
  std::int64_t next = figure.classes.empty() ? 0 : figure.classes.begin()->first - 1;
  constexpr std::int64_t widest_gap = 1000;  // that is filled
  const auto put = [&](std::int64_t index, double number) { points.push_back({static_cast<double>(index) * figure.width, number}); };
  for (const auto& [index, number] : figure.classes) {
    for (next = std::max(next, index - widest_gap); next < index; ++next) put(next, 0);
    put(next++, number);
  }
  if (!figure.classes.empty()) put(next, 0);
  double before = 0;
  const ResultWindow* last = nullptr;
  for (const ResultWindow& window : figure.windows) {
    if (last != nullptr && last->sequence != window.sequence) before += last->end;
    last = &window;
    const double scale = figure.unit == "%" ? 100 : 1;
    if (window.whole > 0)
      points.push_back({std::round(before + (window.begin + window.end) / 2), std::round(1e4 * scale * window.part / window.whole) / 1e4});
  }
  return points;
}

// Those that come to one number, for the table of all runs: title, text under it, value, format, unit behind it.
struct ResultColumn {
  std::string title, meaning;
  double value = 0;
  const char* format = "{:,.2f}";
  std::string suffix;
};
std::vector<ResultColumn> result_columns(const RunStatistics& statistics) {
  std::vector<ResultColumn> columns;
  for (const StageStatistics& stage : statistics.stages)
    for (const ResultFigure& figure : result_figures(stage)) {
      const std::optional<double> value = value_of(figure);
      if (!value || !figure.windows.empty() || figure.kind == "shares") continue;
      ResultColumn column{figure.title, figure.meaning, std::round(*value * 1e4) / 1e4, "{:,.2f}", figure.unit == "x" ? "x" : ""};
      if (figure.kind == "share") column.value = std::round(*value * 1e6) / 1e4, column.suffix = "%";
      if (figure.kind == "total") column.format = "{:,.0f}";
      columns.push_back(std::move(column));
    }
  return columns;
}

}  // namespace

std::string multiqc_fates(const RunResult& result, const Plan& plan, const std::string& sample) {
  const std::vector<PathAccount> paths = account_of(plan, result.statistics, ending_of(result));
  const PathAccount* const path = main_path(paths);
  const std::string noun = row_noun(path), rows = plural(noun), id = id_of("fates", noun);
  Json fates = Json::object();
  if (path != nullptr) {
    fates["Came out"] = path->written;
    for (const Loss& loss : path->losses) fates[loss.stage + ": " + loss.reason] = loss.rows;
    if (path->unfinished > 0) fates["In flight at the end"] = path->unfinished;
  }
  return text_of(
      {{"id", id},
       {"section_name", "Fates of " + rows + " (sluice)"},
       {"description", "What became of the " + rows + " that each run of sluice was given; what did not come out, by the stage and the reason."},
       {"plot_type", "bargraph"},
       {"pconfig",
        {{"id", id + "_plot"}, {"title", "sluice: Fates of " + rows}, {"ylab", title(noun)}, {"cpswitch_counts_label", "Number of " + rows}}},
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
    const std::string noun = row_noun(path);
    add(noun == "read" ? "sluice_read" : "sluice_" + noun, title(noun), title(noun) + " that went in", path->read, "{:,.0f}", "");
    add("sluice_out", "Came out", "Part of them that came out, in percent",
        path->read > 0 ? std::round(1e4 * static_cast<double>(path->written) / static_cast<double>(path->read)) / 1e2 : 0.0, "{:,.1f}", "%");
    add("sluice_failed", "Failed", "Part of them that failed, in percent", std::round(1e4 * path->failed_fraction()) / 1e2, "{:,.1f}", "%");
  }
  if (const StageStatistics* stage = with_lengths(s)) {
    const std::string &unit = stage->lengths.unit, rows = plural(row_noun(*stage));
    add("sluice_n50_" + unit, "N50 (" + unit + "s)", "Half of all " + unit + "s are in " + rows + " at least as long",
        static_cast<std::uint64_t>(stage->lengths.n50), "{:,.0f}", "");
    add("sluice_total_" + unit, "M" + unit + "s", "Length of all " + rows + ", in millions of " + unit + "s",
        std::round(static_cast<double>(stage->lengths.total) / 1e3) / 1e3, "{:,.1f}", "");
  }
  for (const ResultColumn& column : result_columns(s)) {
    std::string heading = column.title;
    if (!heading.empty()) heading.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(heading.front())));
    add("sluice_" + slug_of(column.title), heading, column.meaning, column.value, column.format, column.suffix.c_str());
  }
  add("sluice_seconds", "Seconds", "From start to end of the run", std::round(10 * s.elapsed_seconds) / 10, "{:,.1f}", "");
  return text_of({{"id", "sluice_general"}, {"plot_type", "generalstats"}, {"pconfig", columns}, {"data", {{sample, values}}}});
}

std::vector<std::pair<std::string, std::string>> multiqc_results(const RunResult& result, const std::string& sample) {
  std::vector<std::pair<std::string, std::string>> sections;
  for (const StageStatistics& stage : result.statistics.stages)
    for (const ResultFigure& figure : result_figures(stage)) {
      const Json points = points_of(figure);
      if (points.empty()) continue;
      const std::string slug = slug_of(figure.title), id = "sluice_" + slug;
      const bool along = !figure.windows.empty();
      std::string heading = figure.title;
      if (!heading.empty()) heading.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(heading.front())));
      sections.emplace_back(slug, text_of({{"id", id},
                                           {"section_name", heading + " (sluice)"},
                                           {"description", figure.meaning + "."},
                                           {"plot_type", "linegraph"},
                                           {"pconfig",
                                            {{"id", id + "_plot"},
                                             {"title", "sluice: " + heading},
                                             {"xlab", along ? "Position (bases)" : heading + (figure.unit.empty() ? "" : " (" + figure.unit + ")")},
                                             {"ylab", along ? figure.unit == "%" ? "%" : "Depth" : "Number"},
                                             {"ymin", 0}}},
                                           {"data", {{sample, points}}}}));
    }
  return sections;
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
  const std::string noun = row_noun(*stage), id = id_of("lengths", noun);
  return text_of({{"id", id},
                  {"section_name", "Lengths of " + plural(noun) + " (sluice)"},
                  {"description", "How many " + plural(noun) + " are how long; each point is for lengths within a tenth of each other."},
                  {"plot_type", "linegraph"},
                  {"pconfig",
                   {{"id", id + "_plot"},
                    {"title", "sluice: Lengths of " + plural(noun)},
                    {"xlab", "Length (" + stage->lengths.unit + "s)"},
                    {"ylab", title(noun)},
                    {"xlog", true},
                    {"ymin", 0}}},
                  {"data", {{sample, points}}}});
}

}  // namespace sluice
