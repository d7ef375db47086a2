// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_until_calibration/score_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

namespace sluice::read_until_calibration {
namespace {

// Calls take(cells) for every line of `columns` cells that is no comment; false with `problem` set when a line has another number of cells, or when
// take returns a complaint.
template <std::size_t columns, class Take>
bool for_each_line(std::string_view table, std::string& problem, Take&& take) {
  for (std::size_t number = 1; !table.empty(); ++number) {
    const std::size_t end = std::min(table.find('\n'), table.size());
    std::string_view line = table.substr(0, end);
    table.remove_prefix(std::min(end + 1, table.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    std::array<std::string_view, columns> cells;
    std::size_t count = 0;
    for (bool more = true; more; ++count) {
      const std::size_t tab = std::min(line.find('\t'), line.size());
      if (count < columns) cells[count] = line.substr(0, tab);
      more = tab < line.size();
      line.remove_prefix(std::min(tab + 1, line.size()));
    }
    const std::string complaint =
        count != columns ? std::to_string(count) + " columns instead of " + std::to_string(columns) : std::string(take(cells, number));
    if (!complaint.empty()) return problem = "line " + std::to_string(number) + ": " + complaint, false;
  }
  return true;
}

bool parse_label(std::string_view text, Label& label) {
  label = text == "target" || text == "1" ? Label::target : Label::other;
  return label == Label::target || text == "other" || text == "0";
}

bool parse_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

bool has_both_labels(const PrefixScores& prefix) {
  const auto is = [&](Label label) {
    return std::any_of(prefix.scores.begin(), prefix.scores.end(), [&](const LabelledScore& read) { return read.label == label; });
  };
  return is(Label::target) && is(Label::other);
}

}  // namespace

bool parse_labels(std::string_view table, Labels& labels, std::string& problem) {
  labels.clear();
  return for_each_line<2>(table, problem, [&](const auto& cells, std::size_t number) -> std::string {
    Label label = Label::other;
    if (!parse_label(cells[1], label)) return number == 1 ? std::string() : "'" + std::string(cells[1]) + "' is no label: target or other";
    const auto [at, is_new] = labels.emplace(cells[0], label);
    return is_new || at->second == label ? std::string() : "read '" + std::string(cells[0]) + "' has both labels";
  });
}

std::string_view score_header() { return "#read_id\tlabel\tprefix_bases\tlevels\tscore\n"; }

void append_score_line(std::string& text, std::string_view read_id, Label label, double prefix_bases, std::int32_t levels, double score) {
  fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{:.6f}\n", read_id, label == Label::target ? "target" : "other", prefix_bases, levels,
                 score);
}

std::string without_comments(std::string_view table) {
  std::string text(score_header());
  while (!table.empty()) {
    std::string_view line = table.substr(0, table.find('\n'));
    table.remove_prefix(std::min(line.size() + 1, table.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && line.front() != '#') text.append(line).push_back('\n');
  }
  return text;
}

bool parse_scores(std::string_view table, ScoresByPrefix& scores, std::string& problem) {
  return for_each_line<5>(table, problem, [&](const auto& cells, std::size_t) -> std::string {
    LabelledScore read;
    double bases = 0, levels = 0;
    if (!parse_label(cells[1], read.label)) return "'" + std::string(cells[1]) + "' is no label: target or other";
    if (!parse_number(cells[2], bases) || !parse_number(cells[3], levels) || !parse_number(cells[4], read.score) || levels < 1 ||
        levels > std::numeric_limits<std::int32_t>::max())
      return "a number is missing or out of range";
    PrefixScores& prefix = scores[bases];
    prefix.levels = std::max(prefix.levels, static_cast<std::int32_t>(levels));
    prefix.scores.push_back(read);
    return {};
  });
}

std::string threshold_table(const ScoresByPrefix& scores, double early_error) {
  std::string text = "bases\tlevels\tthreshold\taccept_below\treject_above\ttargets\tothers\trecall\tfalse_positive_rate\tf1\tarea\n";
  for (const auto& [bases, prefix] : scores) {
    if (!has_both_labels(prefix)) continue;
    const RocCurve curve = roc_curve(prefix.scores);
    const ChosenThresholds chosen = choose_thresholds(curve, early_error);
    fmt::format_to(std::back_inserter(text), "{}\t{}\t{:.6f}\t{:.6f}\t{:.6f}\t{}\t{}\t{:.4f}\t{:.4f}\t{:.4f}\t{:.4f}\n", bases, prefix.levels,
                   chosen.best.threshold, chosen.accept.threshold, chosen.reject.threshold, curve.targets, curve.others, chosen.best.recall,
                   chosen.best.false_positive_rate, chosen.best.f1, curve.area);
  }
  return text;
}

std::vector<double> exchanged_prefixes(const ScoresByPrefix& scores) {
  std::vector<double> prefixes;
  for (const auto& [bases, prefix] : scores)
    if (has_both_labels(prefix) && roc_curve(prefix.scores).area < 0.5) prefixes.push_back(bases);
  return prefixes;
}

std::string roc_table(const ScoresByPrefix& scores) {
  std::string text = "bases\tthreshold\trecall\tfalse_positive_rate\tf1\n";
  for (const auto& [bases, prefix] : scores) {
    if (!has_both_labels(prefix)) continue;
    for (const OperatingPoint& point : roc_curve(prefix.scores).points)
      fmt::format_to(std::back_inserter(text), "{}\t{:.6f}\t{:.6f}\t{:.6f}\t{:.6f}\n", bases, point.threshold, point.recall,
                     point.false_positive_rate, point.f1);
  }
  return text;
}

}  // namespace sluice::read_until_calibration
