// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Figures go from a stage to the report through its counters.
#include "observe/result_figures.hpp"

#include <doctest/doctest.h>

#include <sluice/result_figures.hpp>
#include <sluice/sequence_windows.hpp>

using namespace sluice;

namespace {

constexpr Figure total{0, FigureKind::total, "changes", "", "all of them"};
constexpr Figure share{1, FigureKind::share, "identity", "", "equal of all"};
constexpr Figure bases{2, FigureKind::share, "mapped bases", "base", "of all"};
constexpr Figure mean{3, FigureKind::mean, "quality", "", "in the mean"};
constexpr Figure classes{4, FigureKind::histogram, "ratios", "", "by class", 0.5};
constexpr Figure table{5, FigureKind::table, "coverage", "x", "of each contig"};
constexpr Figure depth{6, FigureKind::depth, "depth", "x", "in windows"};
constexpr Figure shares{7, FigureKind::shares, "by code", "", "of each"};

// What the host would have counted.
StageCounts counted(const std::vector<ResultFigures>& calls) {
  StageCounts counts;
  sluice_host_api api{};
  api.count = [](const sluice_host* host, const char* counter, double amount) -> sluice_status {
    reinterpret_cast<StageCounts*>(const_cast<sluice_host*>(host))->counters[counter] += amount;
    return SLUICE_OK;
  };
  for (const ResultFigures& call : calls) call.give(Host(&api, reinterpret_cast<const sluice_host*>(&counts)));
  return counts;
}

const SequenceWindows& windows() {
  static const SequenceWindows made({"one", "two"}, {150, 50});
  return made;
}

ResultFigures end_of_run() {
  ResultFigures figures;
  for (const Figure& figure : {total, share, bases, mean, classes, table, depth, shares}) figures.describe(figure);
  windows().describe_rows(figures, table);
  return figures;
}

ResultFigures call(std::uint64_t n) {
  ResultFigures figures;
  figures.add_total(total, n);
  figures.add_share(share, 3 * n, 4 * n);
  figures.add_share(bases, 1000 * n, 2000 * n);
  figures.add_mean(mean, 7 * n, 2 * n);
  figures.add_class(classes, -3, n);
  figures.add_class(classes, 2, 2 * n);
  windows().add_row(figures, table, 0, 75 * n);
  windows().each(0, 10, 12, [&](std::size_t window, std::int64_t amount) {
    figures.add_depth(depth, windows().windows()[window], static_cast<std::uint64_t>(amount) * n);
  });
  figures.add_row_share(shares, 0, "m", n, 10 * n);
  return figures;
}

std::string texts(const std::vector<ResultFigure>& figures) {
  std::string text;
  for (const ResultFigure& figure : figures) text += figure_text(figure) + "; ";
  return text;
}

}  // namespace

TEST_CASE("figures of calls in any order are one figure of the run") {
  const auto figures = result_figures(counted({call(1), call(2), end_of_run()}));
  REQUIRE(figures.size() == 8);
  CHECK(texts(figures) == "3 changes; identity 75.00 %; mapped bases 3,000 (50.00 %); quality 3.5; ; coverage 1.13x; ; ; ");
  CHECK(figures[4].classes == std::map<std::int64_t, double>{{-3, 3}, {2, 6}});
  CHECK(median_of(figures[4]) == 1.0);
  REQUIRE(figures[5].rows.size() == 2);
  CHECK(figures[5].rows[1].name == "two");
  CHECK(figures[5].rows[1].amount == 0);
  REQUIRE(figures[6].windows.size() == 2);
  CHECK(figures[6].windows[0].begin == 10);
  CHECK(figures[6].windows[0].part == 3);
  CHECK(figures[7].rows[0].length == 30);
  CHECK(figures_tree(figures) == figures_tree(result_figures(counted({end_of_run(), call(2), call(1)}))));
}

TEST_CASE("figures are no counters of the report") {
  StageCounts counts = counted({call(1), end_of_run()});
  counts.counters["hits"] = 5;
  CHECK(plain_counters(counts) == std::map<std::string, double>{{"hits", 5}});
}

TEST_CASE("a run that did not come to its end has no figures, and what is no figure is left out") {
  CHECK(result_figures(counted({call(1)})).empty());
  StageCounts odd;
  for (const char* name : {"\x1f", "\x1f\x1f\x1f",
                           "\x1f"
                           "00\x1f=9\x1f"
                           "a\x1f"
                           "b\x1f"
                           "1\x1f"
                           "c",
                           "\x1f"
                           "00\x1f=0\x1f"
                           "a",
                           "\x1f"
                           "01\x1f=3\x1f"
                           "a\x1f"
                           "b\x1f"
                           "0\x1f"
                           "c"})
    odd.counters[name] = 1;
  CHECK(result_figures(odd).empty());
  odd.counters
      ["\x1f"
       "02\x1f=3\x1f"
       "a\x1f"
       "b\x1f"
       "1\x1f"
       "c"] = 0;
  odd.counters
      ["\x1f"
       "02\x1fno number"] = 1;
  const auto figures = result_figures(odd);
  REQUIRE(figures.size() == 1);
  CHECK(figures[0].classes.empty());
}

TEST_CASE("nothing to divide by is no number") {
  const auto figures = result_figures(counted({end_of_run()}));
  CHECK(texts(figures) == "0 changes; ; ; ; ; coverage 0x; ; ; ");
  CHECK(figures_tree(figures)[1]["value"].is_null());
}

TEST_CASE("figures of shards are added up") {
  auto sum = nlohmann::ordered_json::array();
  add_figures(sum, figures_tree(result_figures(counted({call(1), end_of_run()}))));
  add_figures(sum, figures_tree(result_figures(counted({call(2), end_of_run()}))));
  CHECK(sum == figures_tree(result_figures(counted({call(3), end_of_run()}))));
  add_figures(sum, "no list");
  add_figures(sum, nlohmann::ordered_json::parse(R"([1, {"title": 3, "classes": [4, ["x"]], "rows": [5], "windows": [[1]]}])"));
  CHECK(sum.size() == 9);
}

TEST_CASE("long references have some hundred windows, and many contigs a row for the rest") {
  std::vector<std::string> names;
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 1000; ++i) names.push_back("c" + std::to_string(i)), lengths.push_back(1000 + i);
  const SequenceWindows many({names.begin(), names.end()}, lengths);
  CHECK(many.windows().size() >= 200);
  CHECK(many.windows().size() <= 400);
  ResultFigures figures;
  figures.describe(table);
  many.describe_rows(figures, table);
  many.add_row(figures, table, 0, 7);
  const auto made = result_figures(counted({figures}));
  REQUIRE(made.size() == 1);
  REQUIRE(made[0].rows.size() == 201);
  CHECK(made[0].rows[0].name == "c800");
  CHECK(made[0].rows[200].name == "800 shorter sequences");
  CHECK(made[0].rows[200].amount == 7);

  const SequenceWindows region({"one", "two"}, {5000, 5000}, 1, 1000, 3000);
  REQUIRE(region.windows().size() == 200);
  CHECK(region.windows()[0].begin == 1000);
  std::int64_t inside = 0;
  region.each(1, 0, 5000, [&](std::size_t, std::int64_t amount) { inside += amount; });
  region.each(0, 0, 5000, [&](std::size_t, std::int64_t amount) { inside += amount; });
  CHECK(inside == 2000);
}
