// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/output_figures.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <system_error>

#include "config/text_fields.hpp"

namespace sluice {
namespace {

constexpr std::uintmax_t largest_file = std::uintmax_t{4} << 20;
constexpr std::size_t most_values = 40, most_rows = 30, most_columns = 16, most_curves = 8, most_curve_points = 200, shortest_curve = 3;

std::optional<std::string> small_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || std::filesystem::file_size(path, error) > largest_file || error) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void read_object(const std::string& text, OutputFigures& figures) {
  const auto tree = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!tree.is_object()) return;
  for (const auto& [name, value] : tree.items()) {
    if (figures.values.size() == most_values) return;
    if (value.is_string())
      figures.values.emplace_back(name, value.get<std::string>());
    else if (value.is_number() || value.is_boolean())
      figures.values.emplace_back(name, value.dump());
  }
}

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// Every n-th point, and the last.
void thin(std::vector<std::pair<double, double>>& points) {
  const std::size_t step = (points.size() + most_curve_points - 1) / most_curve_points;
  if (step <= 1) return;
  std::vector<std::pair<double, double>> kept;
  for (std::size_t i = 0; i < points.size(); i += step) kept.push_back(points[i]);
  kept.push_back(points.back());
  points = std::move(kept);
}

void read_table(const std::string& text, OutputFigures& figures) {
  std::istringstream stream(text);
  std::string line;
  if (!std::getline(stream, line) || line.empty()) return;
  if (line.front() == '#') line.erase(0, 1);
  const std::vector<std::string> header = text_fields(line, '\t');
  if (header.size() < 2) return;
  const auto place = [&](const char* name) { return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin()); };
  const std::size_t recall = place("recall"), false_positives = place("false_positive_rate");
  const bool has_rates = recall < header.size() && false_positives < header.size();
  bool is_small = header.size() <= most_columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<Curve> curves;
  while (std::getline(stream, line) && (is_small || has_rates)) {
    std::vector<std::string> cells = text_fields(line, '\t');
    if (cells.size() != header.size()) return;
    is_small = is_small && rows.size() < most_rows &&
               std::all_of(cells.begin(), cells.end(), [](const std::string& cell) { return number_in(cell).has_value(); });
    if (has_rates) {
      const auto x = number_in(cells[false_positives]), y = number_in(cells[recall]);
      const std::string name = header.front() + " " + cells.front();
      if (x && y && (curves.empty() || curves.back().name != name)) curves.push_back({name, {}});
      if (x && y) curves.back().points.emplace_back(*x, *y);
    }
    if (is_small) rows.push_back(std::move(cells));
  }
  std::erase_if(curves, [](const Curve& curve) { return curve.points.size() < shortest_curve; });
  if (curves.size() > most_curves) curves.resize(most_curves);
  for (Curve& curve : curves) {
    std::sort(curve.points.begin(), curve.points.end());
    thin(curve.points);
  }
  if (is_small && curves.empty() && !rows.empty()) figures.columns = header, figures.rows = std::move(rows);
  figures.roc = std::move(curves);
}

}  // namespace

std::vector<OutputFigures> figures_of(const std::vector<std::string>& outputs) {
  std::vector<OutputFigures> result;
  for (const std::string& path : outputs) {
    if (!path.ends_with(".json") && !path.ends_with(".tsv")) continue;
    const std::optional<std::string> text = small_file(path);
    if (!text) continue;
    OutputFigures figures;
    figures.path = path;
    path.ends_with(".json") ? read_object(*text, figures) : read_table(*text, figures);
    if (!figures.values.empty() || !figures.rows.empty() || !figures.roc.empty()) result.push_back(std::move(figures));
  }
  return result;
}

}  // namespace sluice
