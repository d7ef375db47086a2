// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What stages found, in figures, read back from their counters (sluice/result_figures.hpp), for everything that shows them.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "record/statistics.hpp"

namespace sluice {

struct ResultRow {
  std::string name;
  double amount = 0, length = 0;
};

struct ResultWindow {
  std::string sequence;
  double begin = 0, end = 0, part = 0, whole = 0;
};

struct ResultSquiggle {
  struct Event {
    std::int64_t begin = 0, end = 0;  // samples
    std::int32_t level = 0;           // tenths of pA
    std::string label;
  };
  std::string read;
  std::int64_t first = 0, step = 1;
  std::vector<std::int32_t> samples;  // tenths of pA
  std::vector<Event> events;
};

struct ResultFigure {
  std::string kind;  // "total", "share", "mean", "histogram", "table", "along", "depth", "shares", "squiggles"
  std::string title, unit, meaning;
  double width = 1;
  double part = 0, whole = 0;              // total: part is the amount; mean: the sum and of how many
  std::map<std::int64_t, double> classes;  // histogram: by index
  std::vector<ResultRow> rows;
  std::vector<ResultWindow> windows;
  std::vector<ResultSquiggle> squiggles;
};

// In the stage's order. What is no figure that its stage has described is left out.
std::vector<ResultFigure> result_figures(const StageCounts& stage);
// The stage's other counters.
std::map<std::string, double> plain_counters(const StageCounts& stage);

// The one number that the figure comes to: the total, part of the whole, mean, amount per length in all. None: there is none, or nothing to divide
// by.
std::optional<double> value_of(const ResultFigure& figure);
// The middle one of a histogram's values: the start of its class.
std::optional<double> median_of(const ResultFigure& figure);
// "identity 94.12 %". "": the figure has no one number.
std::string figure_text(const ResultFigure& figure);

nlohmann::ordered_json figures_tree(const std::vector<ResultFigure>& figures);
// Adds what `more` holds to `sum`, both from figures_tree().
void add_figures(nlohmann::ordered_json& sum, const nlohmann::ordered_json& more);

}  // namespace sluice
