// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/result_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <tuple>

#include "observe/quantity.hpp"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

constexpr char separator = '\x1f', event_separator = '\x1e';
constexpr std::size_t most_squiggles = 3;
// In the order of FigureKind of the SDK.
constexpr std::array<const char*, 9> kinds = {"total", "share", "mean", "histogram", "table", "along", "depth", "shares", "squiggles"};

std::vector<std::string_view> fields_of(std::string_view text, char between = separator) {
  std::vector<std::string_view> fields;
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(text.find(between, at), text.size());
    fields.push_back(text.substr(at, end - at));
    if (end == text.size()) return fields;
    at = end + 1;
  }
}

template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// Kind, title, unit, width, meaning.
std::optional<ResultFigure> described(const std::vector<std::string_view>& fields) {
  std::size_t kind = 0;
  ResultFigure figure;
  if (fields.size() != 5 || !parse(fields[0].substr(1), kind) || kind >= kinds.size()) return std::nullopt;
  if (!parse(fields[3], figure.width) || !(figure.width > 0)) return std::nullopt;
  figure.kind = kinds[kind];
  figure.title = fields[1], figure.unit = fields[2], figure.meaning = fields[4];
  return figure;
}

void add_part(double& part, double& whole, std::string_view which, double amount) {
  if (which == "amount" || which == "part" || which == "sum") part += amount;
  if (which == "whole" || which == "number") whole += amount;
}

// "1,2,3,": each number has a comma behind it. Nothing: it is not so.
std::optional<ResultSquiggle> squiggle_of(const std::vector<std::string_view>& fields) {
  ResultSquiggle squiggle;
  if (fields.size() != 6 || !parse(fields[2], squiggle.first) || !parse(fields[3], squiggle.step)) return std::nullopt;
  squiggle.read = fields[1];
  for (const std::string_view text : fields_of(fields[4], ',')) {
    if (text.empty()) continue;
    if (!parse(text, squiggle.samples.emplace_back())) return std::nullopt;
  }
  for (const std::string_view text : fields_of(fields[5], event_separator)) {
    if (text.empty()) continue;
    const std::vector<std::string_view> parts = fields_of(text, ',');
    ResultSquiggle::Event event;
    if (parts.size() < 4 || !parse(parts[0], event.begin) || !parse(parts[1], event.end) || !parse(parts[2], event.level)) return std::nullopt;
    event.label = text.substr(static_cast<std::size_t>(parts[3].data() - text.data()));
    squiggle.events.push_back(std::move(event));
  }
  return squiggle;
}

// Counters come sorted, so the two of a window lie beside each other.
void add_amount(ResultFigure& figure, const std::vector<std::string_view>& fields, double amount) {
  if (figure.kind == "histogram") {
    std::int64_t index = 0;
    if (fields.size() == 1 && parse(fields[0], index)) figure.classes[index] += amount;
  } else if (figure.kind == "table") {
    ResultRow row;
    if (fields.size() != 3 || !parse(fields[2], row.length)) return;
    row.name = fields[1], row.amount = amount;
    figure.rows.push_back(row);
  } else if (figure.kind == "squiggles") {
    if (figure.squiggles.size() == most_squiggles) return;
    if (auto squiggle = squiggle_of(fields)) figure.squiggles.push_back(std::move(*squiggle));
  } else if (figure.kind == "shares") {
    if (fields.size() != 3) return;
    if (figure.rows.empty() || figure.rows.back().name != fields[1]) figure.rows.push_back({std::string(fields[1])});
    add_part(figure.rows.back().amount, figure.rows.back().length, fields[2], amount);
  } else if (figure.kind == "along" || figure.kind == "depth") {
    ResultWindow window;
    if (fields.size() != 5 || !parse(fields[2], window.begin) || !parse(fields[3], window.end)) return;
    window.sequence = fields[1];
    if (figure.kind == "depth") window.whole = window.end - window.begin;
    const bool is_same = !figure.windows.empty() && figure.windows.back().sequence == window.sequence && figure.windows.back().begin == window.begin;
    if (!is_same) figure.windows.push_back(window);
    add_part(figure.windows.back().part, figure.windows.back().whole, fields[4], amount);
  } else if (fields.size() == 1) {
    add_part(figure.part, figure.whole, fields[0], amount);
  }
}

std::uint64_t whole_number(double amount) { return amount > 0 && amount < 9e18 ? static_cast<std::uint64_t>(amount) : 0; }

// Six significant digits.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

Json tree_of(const ResultFigure& figure) {
  Json tree = {{"title", figure.title}, {"kind", figure.kind}, {"unit", figure.unit}, {"meaning", figure.meaning}};
  const auto value = value_of(figure);
  tree["value"] = value ? Json(rounded(*value)) : Json();
  if (figure.kind == "total") {
    tree["amount"] = whole_number(figure.part);
  } else if (figure.kind == "share" || figure.kind == "mean") {
    tree["part"] = whole_number(figure.part), tree["whole"] = whole_number(figure.whole);
  } else if (figure.kind == "histogram") {
    Json classes = Json::array();
    for (const auto& [index, number] : figure.classes) classes.push_back({index, whole_number(number)});
    const auto median = median_of(figure);
    tree["median"] = median ? Json(rounded(*median)) : Json();
    tree["width"] = figure.width, tree["classes"] = classes;
  } else if (figure.kind == "table" || figure.kind == "shares") {
    Json rows = Json::array();
    for (const ResultRow& row : figure.rows)
      rows.push_back({{"name", row.name}, {"amount", whole_number(row.amount)}, {"length", whole_number(row.length)}});
    tree["rows"] = rows;
  } else if (figure.kind == "along" || figure.kind == "depth") {
    Json windows = Json::array();
    for (const ResultWindow& w : figure.windows)
      windows.push_back({w.sequence, whole_number(w.begin), whole_number(w.end), whole_number(w.part), whole_number(w.whole)});
    tree["windows"] = windows;
  } else if (figure.kind == "squiggles") {
    Json squiggles = Json::array();
    for (const ResultSquiggle& squiggle : figure.squiggles) {
      Json events = Json::array();
      for (const ResultSquiggle::Event& event : squiggle.events) events.push_back(Json::array({event.begin, event.end, event.level, event.label}));
      squiggles.push_back(
          {{"read", squiggle.read}, {"first", squiggle.first}, {"step", squiggle.step}, {"samples", squiggle.samples}, {"events", events}});
    }
    tree["squiggles"] = squiggles;
  }
  return tree;
}

// A report comes from a file: what is not there, or of another type, is nothing.
double number_in(const Json& tree, const char* key, double otherwise = 0) {
  const auto found = tree.find(key);
  return found != tree.end() && found->is_number() ? found->get<double>() : otherwise;
}
std::string text_in(const Json& tree, const char* key) {
  const auto found = tree.find(key);
  return found != tree.end() && found->is_string() ? found->get<std::string>() : "";
}
const Json& list_in(const Json& tree, const char* key) {
  static const Json none = Json::array();
  const auto found = tree.find(key);
  return found != tree.end() && found->is_array() ? *found : none;
}
double element(const Json& list, std::size_t i) { return i < list.size() && list[i].is_number() ? list[i].get<double>() : 0; }

ResultFigure figure_in(const Json& tree) {
  ResultFigure figure;
  figure.kind = text_in(tree, "kind"), figure.title = text_in(tree, "title");
  figure.unit = text_in(tree, "unit"), figure.meaning = text_in(tree, "meaning");
  figure.width = number_in(tree, "width", 1);
  figure.part = number_in(tree, figure.kind == "total" ? "amount" : "part"), figure.whole = number_in(tree, "whole");
  for (const Json& one : list_in(tree, "classes"))
    if (one.is_array()) figure.classes[static_cast<std::int64_t>(element(one, 0))] += element(one, 1);
  for (const Json& one : list_in(tree, "rows"))
    if (one.is_object()) figure.rows.push_back({text_in(one, "name"), number_in(one, "amount"), number_in(one, "length")});
  for (const Json& one : list_in(tree, "windows"))
    if (one.is_array() && !one.empty() && one[0].is_string())
      figure.windows.push_back({one[0].get<std::string>(), element(one, 1), element(one, 2), element(one, 3), element(one, 4)});
  for (const Json& one : list_in(tree, "squiggles")) {
    if (!one.is_object()) continue;
    ResultSquiggle squiggle;
    squiggle.read = text_in(one, "read");
    squiggle.first = static_cast<std::int64_t>(number_in(one, "first")), squiggle.step = static_cast<std::int64_t>(number_in(one, "step", 1));
    const Json& samples = list_in(one, "samples");
    for (std::size_t i = 0; i < samples.size(); ++i) squiggle.samples.push_back(static_cast<std::int32_t>(element(samples, i)));
    for (const Json& event : list_in(one, "events"))
      if (event.is_array() && event.size() == 4 && event[3].is_string())
        squiggle.events.push_back({static_cast<std::int64_t>(element(event, 0)), static_cast<std::int64_t>(element(event, 1)),
                                   static_cast<std::int32_t>(element(event, 2)), event[3].get<std::string>()});
    figure.squiggles.push_back(std::move(squiggle));
  }
  return figure;
}

void add(ResultFigure& sum, const ResultFigure& more) {
  sum.part += more.part, sum.whole += more.whole;
  for (const auto& [index, number] : more.classes) sum.classes[index] += number;
  for (const ResultRow& row : more.rows) {
    const auto same = std::find_if(sum.rows.begin(), sum.rows.end(), [&](const ResultRow& one) { return one.name == row.name; });
    if (same == sum.rows.end())
      sum.rows.push_back(row);
    else
      same->amount += row.amount, same->length += sum.kind == "shares" ? row.length : 0;
  }
  for (const ResultSquiggle& squiggle : more.squiggles)
    if (sum.squiggles.size() < most_squiggles) sum.squiggles.push_back(squiggle);
  for (const ResultWindow& window : more.windows) {
    const auto same = std::find_if(sum.windows.begin(), sum.windows.end(),
                                   [&](const ResultWindow& one) { return one.sequence == window.sequence && one.begin == window.begin; });
    if (same == sum.windows.end())
      sum.windows.push_back(window);
    else
      same->part += window.part, same->whole += sum.kind == "depth" ? 0 : window.whole;
  }
}

std::string number_text(double value) {
  if (value >= 1000) return count_text(static_cast<std::uint64_t>(std::llround(value)));
  return fmt::format("{}", std::round(value * 100) / 100);
}
std::string with_unit(const std::string& text, const std::string& unit) {
  if (unit.empty()) return text;
  return unit == "x" ? text + "x" : text + " " + unit;
}

}  // namespace

std::vector<ResultFigure> result_figures(const StageCounts& stage) {
  std::map<std::string_view, ResultFigure> by_order;
  const auto each = [&](const auto& body) {
    for (const auto& [name, amount] : stage.counters) {
      if (name.empty() || name.front() != separator) continue;
      std::vector<std::string_view> fields = fields_of(std::string_view(name).substr(1));
      if (fields.size() < 2) continue;
      const std::string_view order = fields.front();
      fields.erase(fields.begin());
      body(order, fields, amount);
    }
  };
  const auto describes = [](const std::vector<std::string_view>& fields) { return fields.front().starts_with('='); };
  each([&](std::string_view order, const std::vector<std::string_view>& fields, double) {
    if (!describes(fields)) return;
    if (auto figure = described(fields)) by_order.emplace(order, std::move(*figure));
  });
  each([&](std::string_view order, const std::vector<std::string_view>& fields, double amount) {
    if (const auto found = by_order.find(order); found != by_order.end() && !describes(fields)) add_amount(found->second, fields, amount);
  });
  std::vector<ResultFigure> figures;
  for (auto& [order, figure] : by_order) figures.push_back(std::move(figure));
  return figures;
}

std::map<std::string, double> plain_counters(const StageCounts& stage) {
  std::map<std::string, double> counters;
  for (const auto& [name, amount] : stage.counters)
    if (name.empty() || name.front() != separator) counters.emplace(name, amount);
  return counters;
}

std::optional<double> value_of(const ResultFigure& figure) {
  double part = figure.part, whole = figure.whole;
  if (figure.kind == "total") return part;
  if (figure.kind == "histogram") return std::nullopt;
  for (const ResultRow& row : figure.rows) part += row.amount, whole += row.length;
  for (const ResultWindow& window : figure.windows) part += window.part, whole += window.whole;
  if (whole <= 0) return std::nullopt;
  return part / whole;
}

std::optional<double> median_of(const ResultFigure& figure) {
  double all = 0, before = 0;
  for (const auto& [index, number] : figure.classes) all += number;
  for (const auto& [index, number] : figure.classes)
    if (before += number; number > 0 && 2 * before >= all) return static_cast<double>(index) * figure.width;
  return std::nullopt;
}

std::string figure_text(const ResultFigure& figure) {
  const auto value = value_of(figure);
  if (!value || !figure.windows.empty() || figure.kind == "shares") return "";
  if (figure.kind == "total") return count_text(whole_number(*value)) + " " + figure.title;
  if (figure.kind != "share") return figure.title + " " + with_unit(number_text(*value), figure.unit);
  const std::string share = fmt::format("{:.2f} %", 100 * *value);
  return figure.title + " " + (figure.unit.empty() ? share : count_text(whole_number(figure.part)) + " (" + share + ")");
}

Json figures_tree(const std::vector<ResultFigure>& figures) {
  Json list = Json::array();
  for (const ResultFigure& figure : figures) list.push_back(tree_of(figure));
  return list;
}

void add_figures(Json& sum, const Json& more) {
  if (!sum.is_array()) sum = Json::array();
  if (!more.is_array()) return;
  for (const Json& one : more) {
    if (!one.is_object()) continue;
    ResultFigure added = figure_in(one);
    const auto same = std::find_if(sum.begin(), sum.end(),
                                   [&](const Json& tree) { return text_in(tree, "title") == added.title && text_in(tree, "kind") == added.kind; });
    if (same == sum.end()) {
      sum.push_back(tree_of(added));
      continue;
    }
    ResultFigure figure = figure_in(*same);
    add(figure, added);
    *same = tree_of(figure);
  }
}

}  // namespace sluice
