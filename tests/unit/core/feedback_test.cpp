// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Rows that come back from a sink to the source that made them, and deadlines.
#include <doctest/doctest.h>

#include <thread>

#include "record/distribution.hpp"
#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

const char* const circle = R"(
[stages.ask]
use = "toy_asking"
params = { batches = 30, rows = 3 }
feedback = ["sink"]
[stages.map]
use = "toy_map"
params = { add = 100 }
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt" }
)";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

}  // namespace

TEST_CASE("What a sink has committed comes back to its source, once and in order") {
  in_each_form({1, 2, 7}, circle, [](const ToyResult& result) {
    std::string expected;
    long next = 0;
    for (int batch = 0; batch < 30; ++batch, next += 102) expected += numbers(next + 100, 3);
    CHECK(result.files.at("out.txt") == expected);
  });
}

TEST_CASE("A source that nobody answers is told so, and asks no one") {
  ToyRun run;
  const ToyResult result = run(replaced(circle, "feedback = [\"sink\"]", ""));
  REQUIRE(result.run.state == RunState::finished);
  CHECK(result.files.at("out.txt") == numbers(100, 90));
}

TEST_CASE("A regroup may ask too, while it is fed and at its end") {
  in_each_form({1, 3}, R"(
[stages.source]
use = "toy_source"
params = { batches = 10, rows = 2 }
[stages.ask]
use = "toy_asking_regroup"
params = { rows = 3 }
feedback = "sink"
[stages.map]
use = "toy_map"
params = { add = 100 }
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt" }
)",
               [](const ToyResult& result) {
                 std::string expected;
                 long next = 0;
                 for (int batch = 0; batch < 15; ++batch, next += 102) expected += numbers(next + 100, 3);
                 CHECK(result.files.at("out.txt") == expected);
               });
}

TEST_CASE("A failure anywhere in the circle ends the run and wakes the source that waits") {
  for (const Executor executor : {Executor::flow_graph, Executor::serial})
    for (const auto& [what, with, stage] :
         {std::tuple{"add = 100", "add = 100, throw_at = 7", "map"}, std::tuple{"out.txt\" }", "out.txt\", throw_at = 7 }", "sink"},
          std::tuple{"rows = 3 }", "rows = 3, throw_at = 7 }", "ask"}}) {
      ToyRun run;
      run.options.executor = executor;
      const ToyResult result = run(replaced(circle, what, with));
      CHECK(result.run.state == RunState::failed);
      CHECK(result.run.stage == stage);
      CHECK(result.files.empty());
    }
}

TEST_CASE("Interrupts end a run in a circle, the first one with all that was under way") {
  for (const int interrupts : {1, 2}) {
    ToyRun run;
    std::thread killer;
    run.on_start = [&](Run& running) {
      killer = std::thread([&running, interrupts] {
        while (running.snapshot().stages.empty() || running.snapshot().stages.front().batches < 5)
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        for (int i = 0; i < interrupts; ++i) running.interrupt();
      });
    };
    const ToyResult result = run(replaced(replaced(circle, "batches = 30", "batches = 100000"), "add = 100", "add = 100, milliseconds = 5"));
    killer.join();
    CHECK(result.run.state == RunState::interrupted);
    CHECK(result.files.contains("out.txt.partial") == (interrupts == 1));
  }
}

TEST_CASE("Every mistake in feedback is told with its place and a remedy") {
  const auto message = [](const std::string& toml) {
    ToyRun run;
    const ToyResult result = run(toml);
    CHECK(result.run.state == RunState::failed);
    return result.diagnostics.empty() ? std::string() : result.diagnostics.front();
  };
  const std::string toml = circle;
  CHECK(message(replaced(toml, "[\"sink\"]", "[\"sank\"]")).find("did you mean 'sink'?") != std::string::npos);
  CHECK(message(replaced(toml, "[\"sink\"]", "[\"map\"]")).find("'map', which is no sink") != std::string::npos);
  CHECK(message(replaced(toml, "[\"sink\"]", "[7]")).find("feedback must be the name of a stage") != std::string::npos);
  CHECK(message(replaced(toml, "toy_asking", "toy_source")).find("'toy_source' takes no feedback") != std::string::npos);
  CHECK(message(replaced(toml, "use = \"toy_map\"", "use = \"toy_map\"\nfeedback = \"sink\"")).find("'toy_map' takes no feedback") !=
        std::string::npos);
  CHECK(message(replaced(replaced(toml, "toy_map", "toy_other"), "out.txt\"", "out.txt\", column = \"other\""))
            .find("needs column 'sum' (i64) in its feedback") != std::string::npos);
  CHECK(message(replaced(toml, "[stages.sink]", "[stages.pairs]\nuse = \"toy_regroup\"\n[stages.sink]"))
            .find("does not write the rows that this stage makes") != std::string::npos);
}

TEST_CASE("A column that only the feedback needs is kept until the sink, and the plan knows it") {
  std::string toml = std::string("[pipeline]\nname = \"circle\"\n") + replaced(replaced(circle, "[stages.sink]", R"([stages.other]
use = "toy_other"
[stages.sink])"),
                                                                               "out.txt\"", "out.txt\", column = \"other\"");
  toml = replaced(toml, "${folder}/", "");
  Diagnostics diagnostics;
  const Plan plan =
      make_plan(resolve_pipeline(parse_pipeline(toml, "toy.toml", diagnostics), {}, toy_registry(), diagnostics), "cpu", {"cpu"}, diagnostics);
  REQUIRE_FALSE(diagnostics.has_errors());
  REQUIRE(plan.stages.size() == 4);
  CHECK(plan.stages[3].feeds_back_to == std::vector<std::size_t>{0});
  CHECK(plan.stages[2].kept.front() == std::vector<std::string>{"sum", "other"});
  ToyRun run;
  CHECK(run(replaced(replaced(circle, "[stages.sink]", "[stages.other]\nuse = \"toy_other\"\n[stages.sink]"), "out.txt\"",
                     "out.txt\", column = \"other\""))
            .run.state == RunState::finished);
}

TEST_CASE("Batches that are written after their deadline are counted, and observed values have percentiles") {
  for (const Executor executor : {Executor::flow_graph, Executor::serial})
    for (const bool late : {false, true}) {
      ToyRun run;
      run.options.executor = executor;
      const ToyResult result = run(replaced(replaced(circle, "rows = 3", late ? "rows = 3, deadline = 0.001" : "rows = 3, deadline = 60"),
                                            "add = 100", "add = 100, milliseconds = 2"));
      REQUIRE(result.run.state == RunState::finished);
      CHECK(result.stage("sink").batches_with_deadline == 30);
      CHECK(result.stage("sink").late_batches == (late ? 30 : 0));
      const DistributionStatistics& latency = result.stage("ask").quantities.at("answers_latency");
      CHECK(latency.count == 30);
      CHECK(latency.p50 == doctest::Approx(15).epsilon(0.01));
      CHECK(latency.p99 == doctest::Approx(29).epsilon(0.01));
      CHECK(latency.maximum == 30);
    }
}

TEST_CASE("A distribution keeps percentiles to 1 % whatever the values") {
  Distribution empty, values;
  CHECK(empty.quantile(0.5) == 0);
  double value = 1e-8;
  for (int i = 0; i < 1000; ++i, value *= 1.02) values.add(value);
  CHECK(values.quantile(0.5) == doctest::Approx(1e-8 * std::pow(1.02, 499)).epsilon(0.0101));
  CHECK(values.quantile(1.0) == values.maximum());
  for (const double odd : {0.0, -1.0, std::nan(""), 1e300}) values.add(odd);
  CHECK(values.count() == 1004);
  CHECK(values.quantile(0.0) == 0);
  CHECK(values.maximum() == 1e300);
}
