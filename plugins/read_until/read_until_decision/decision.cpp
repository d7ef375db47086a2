// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_until_decision/decision.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <sluice/squiggle_reference.hpp>

namespace sluice::read_until_decision {
namespace {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const std::size_t end = std::min(line.find('\t'), line.size());
    cells.push_back(line.substr(0, end));
    if (end == line.size()) return cells;
    line.remove_prefix(end + 1);
  }
}

bool parse_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

double between(double low, double high, double share) { return low < 0 || high < 0 ? -1 : low + (high - low) * share; }

}  // namespace

Thresholds Thresholds::constant(double threshold) {
  Thresholds thresholds;
  thresholds.rows_ = {{0, threshold}};
  return thresholds;
}

bool Thresholds::parse(std::string_view table, Thresholds& thresholds, std::string& problem) {
  thresholds.rows_.clear();
  const auto fail = [&](std::size_t line, const std::string& what) { return problem = "line " + std::to_string(line) + ": " + what, false; };
  std::vector<std::string_view> names;
  const auto cell = [&](const std::vector<std::string_view>& cells, std::string_view name) -> std::optional<std::string_view> {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) return std::nullopt;
    return cells[static_cast<std::size_t>(at - names.begin())];
  };
  for (std::size_t number = 1; !table.empty(); ++number) {
    const std::string_view line = take_line(table);
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string_view> cells = cells_of(line);
    if (names.empty()) {
      names = cells;
      for (const char* needed : {"levels", "threshold"})
        if (!cell(cells, needed)) return fail(number, std::string("there is no column '") + needed + "'");
      continue;
    }
    if (cells.size() != names.size()) return fail(number, std::to_string(cells.size()) + " columns instead of " + std::to_string(names.size()));
    Threshold row;
    double levels = 0;
    if (!parse_number(*cell(cells, "levels"), levels) || levels < 0 || levels > 1e9 || levels != std::floor(levels))
      return fail(number, "'" + std::string(*cell(cells, "levels")) + "' is no number of levels");
    row.levels = static_cast<std::int64_t>(levels);
    for (const auto& [name, value] :
         {std::pair{"threshold", &row.threshold}, {"accept_below", &row.accept_below}, {"reject_above", &row.reject_above}}) {
      const auto text = cell(cells, name);
      if (text && !parse_number(*text, *value)) return fail(number, "'" + std::string(*text) + "' is no number");
    }
    if (!thresholds.rows_.empty() && row.levels <= thresholds.rows_.back().levels) return fail(number, "the numbers of levels do not ascend");
    thresholds.rows_.push_back(row);
  }
  return !thresholds.rows_.empty() || fail(1, "there is no threshold in it");
}

Threshold Thresholds::at(std::int64_t levels) const {
  const auto above =
      std::upper_bound(rows_.begin(), rows_.end(), levels, [](std::int64_t length, const Threshold& row) { return length < row.levels; });
  Threshold result = above == rows_.begin() ? *above : *std::prev(above);
  result.levels = levels;
  if (above == rows_.begin() || above == rows_.end()) return result;
  const Threshold& below = *std::prev(above);
  const double share = static_cast<double>(levels - below.levels) / static_cast<double>(above->levels - below.levels);
  result.threshold = below.threshold + (above->threshold - below.threshold) * share;
  result.accept_below = between(below.accept_below, above->accept_below, share);
  result.reject_above = between(below.reject_above, above->reject_above, share);
  return result;
}

double score_per_level(std::int64_t score, std::int32_t levels) {
  return levels <= 0 ? 0 : static_cast<double>(score) / (static_cast<double>(levels) * squiggle_steps);
}

Decision decide(double score, std::int32_t levels, Prefix prefix, const Threshold& threshold, BeforeWhole before_whole, std::int32_t minimum_levels) {
  if (levels < std::max(1, minimum_levels)) return Decision::wait;
  if (prefix == Prefix::whole) return score <= threshold.threshold ? Decision::accept : Decision::reject;
  if (before_whole == BeforeWhole::wait) return Decision::wait;
  if (threshold.accept_below >= 0 && score <= threshold.accept_below) return Decision::accept;
  if (threshold.reject_above >= 0 && score > threshold.reject_above) return Decision::reject;
  return Decision::wait;
}

}  // namespace sluice::read_until_decision
