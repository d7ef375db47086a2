// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/report_page.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>
#include <utility>

#include "observe/history_tree.hpp"
#include "observe/output_figures.hpp"
#include "observe/page/page_parts.hpp"
#include "observe/page_text.hpp"
#include "observe/plan_notes.hpp"
#include "observe/quantity.hpp"
#include "observe/report_tree.hpp"
#include "observe/scheduling_words.hpp"
#include "plan/xml_text.hpp"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

// How much of what a run says is shown: names as long as somebody likes, thousands of files, hundreds of reasons.
struct Limits {
  std::size_t letters, elements, examples;
};
constexpr std::array<Limits, 4> limits = {{{600, 200, 20}, {300, 100, 8}, {120, 40, 3}, {60, 15, 1}}};
// The largest picture of a plan that is shown: some two hundred stages.
constexpr std::size_t largest_picture = 80'000;

// True: something was left out.
bool shorten(Json& value, const Limits& limit) {
  bool left_out = false;
  if (value.is_string()) {
    const auto& whole = value.get_ref<const std::string&>();
    if (std::string text = shortened(whole, limit.letters); text.size() != whole.size()) value = std::move(text), left_out = true;
  } else if (value.is_array()) {
    if (value.size() > limit.elements) value.erase(value.begin() + static_cast<std::ptrdiff_t>(limit.elements), value.end()), left_out = true;
    for (Json& element : value) left_out = shorten(element, limit) || left_out;
  } else if (value.is_object()) {
    Json kept = Json::object();
    for (auto& [name, element] : value.items()) {
      if (kept.size() == limit.elements) {
        left_out = true;
        break;
      }
      left_out = shorten(element, limit) || left_out;
      kept[shortened(name, limit.letters)] = std::move(element);
    }
    value = std::move(kept);
  }
  return left_out;
}

bool shorten_examples(Json& report, const Limits& limit) {
  bool left_out = false;
  for (Json& stage : report["stages"]) {
    Json& examples = stage["examples"];
    if (examples.size() <= limit.examples) continue;
    examples.erase(examples.begin() + static_cast<std::ptrdiff_t>(limit.examples), examples.end());
    left_out = true;
  }
  return left_out;
}

// Histograms and figures are as long as they have to be, and never long: only what they call things is cut short.
struct Drawn {
  Json histogram, results;
};
std::vector<Drawn> take_drawn(Json& report) {
  std::vector<Drawn> drawn;
  for (Json& stage : report["stages"])
    drawn.push_back({stage.contains("row_lengths") ? std::exchange(stage["row_lengths"]["histogram"], Json::array()) : Json(),
                     stage.contains("results") ? std::exchange(stage["results"], Json::array()) : Json()});
  return drawn;
}
void put_drawn(Json& report, std::vector<Drawn> drawn, const Limits& limit) {
  for (std::size_t i = 0; i < std::min(drawn.size(), report["stages"].size()); ++i) {
    Json& stage = report["stages"][i];
    if (!drawn[i].histogram.is_null()) stage["row_lengths"]["histogram"] = std::move(drawn[i].histogram);
    if (drawn[i].results.is_null()) continue;
    shorten(drawn[i].results, {limit.letters, 1000, 0});
    stage["results"] = std::move(drawn[i].results);
  }
}

Json figures(const std::vector<std::string>& outputs) {
  Json list = Json::array();
  for (const OutputFigures& one : figures_of(outputs)) {
    Json curves = Json::array();
    for (const Curve& curve : one.roc) curves.push_back({{"name", curve.name}, {"points", curve.points}});
    Json values = Json::array();
    for (const auto& [name, value] : one.values) values.push_back(Json::array({name, value}));
    list.push_back({{"path", one.path}, {"values", values}, {"columns", one.columns}, {"rows", one.rows}, {"roc", curves}});
  }
  return list;
}

Json waiting(const Plan& plan, const RunStatistics& statistics) {
  Json list = Json::array();
  for (const Waiting& one : waiting_of(plan, statistics))
    list.push_back({{"who", one.who}, {"busy", one.busy}, {"waited", one.waited}, {"waited_for", one.waited_for}});
  return list;
}

// As it can be typed again.
std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    const bool is_plain =
        !word.empty() && word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+,./:@%") == std::string::npos;
    if (!line.empty()) line += ' ';
    if (is_plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char letter : word) letter == '\'' ? line += "'\\''" : line += letter;
    line += '\'';
  }
  return line;
}

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts)};
}

// The page's own text, with each {{part}} in its place. What is put in is not looked at again.
std::string assembled(const std::vector<std::pair<std::string_view, std::string_view>>& parts) {
  std::string page;
  std::string_view rest = page_parts::html();
  for (const auto& [mark, text] : parts) {
    const std::size_t at = rest.find(mark);
    page.append(rest.substr(0, at)).append(text);
    rest.remove_prefix(at + mark.size());
  }
  return page.append(rest);
}

}  // namespace

std::string report_page(const RunResult& result, const Plan& plan, const Registry& registry, const ReportContext& context,
                        const RunHistory& history) {
  const RunStatistics& s = result.statistics;
  const Json whole = report_tree(result, plan, registry, context), series = history_tree(history, s), results = figures(s.outputs),
             waits = waiting(plan, s);
  std::string picture = plan_svg(plan, plan_notes(plan, s));
  if (picture.size() > largest_picture) picture = "<p class=\"note\">This pipeline has too many stages for a picture here.</p>";
  std::string page;
  for (const Limits& limit : limits) {
    Json report = whole;
    std::vector<Drawn> drawn = take_drawn(report);
    bool left_out = shorten_examples(report, limit);
    left_out = shorten(report, limit) || left_out;
    put_drawn(report, std::move(drawn), limit);
    Json run = {{"report", std::move(report)},
                {"summary", plan.pipeline.summary},
                {"ended", time_now()},
                {"command_line", shortened(shell_line(context.command_line), 10 * limit.letters)},
                {"history", series},
                {"figures", results},
                {"waiting", waits},
                {"scheduling", scheduling_sentences(plan, s)}};
    for (const char* part : {"figures", "waiting", "scheduling"}) left_out = shorten(run[part], limit) || left_out;
    if (left_out) run["left_out"] = "Long names and lists are cut short here; the report as JSON (--report run.json) has all of them.";
    page = assembled({{"{{title}}", xml_text(shortened(plan.pipeline.name, 80) + ": " + state_name(result.state))},
                      {"{{style}}", page_parts::style()},
                      {"{{plan}}", picture},
                      {"{{library}}", page_parts::library()},
                      {"{{data}}", json_for_script(run.dump(-1, ' ', false, Json::error_handler_t::replace))},
                      {"{{script}}", page_parts::script()}});
    if (page.size() < largest_page) break;
  }
  return page;
}

}  // namespace sluice
