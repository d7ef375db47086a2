// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

const char* const chain = R"(
[stages.source]
use = "toy_source"
params = { batches = 50, rows = 3 }
[stages.map]
use = "toy_map"
params = { add = 10, milliseconds = 1, jitter = true }
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

TEST_CASE("A chain gives the same bytes on 1, 2 and 7 threads, serially, and for any batch budget") {
  for (const int threads : {1, 2, 7})
    for (const Executor executor : {Executor::flow_graph, Executor::serial})
      for (const std::uint64_t memory : {std::uint64_t{1} << 12, std::uint64_t{1} << 30}) {
        CAPTURE(threads);
        ToyRun run;
        run.options.threads = threads;
        run.options.executor = executor;
        run.options.memory_bytes = memory;
        const ToyResult result = run(chain);
        CAPTURE(result.run.message);
        REQUIRE(result.run.state == RunState::finished);
        CHECK(result.files.at("out.txt") == numbers(10, 150));
        CHECK(result.files.size() == 1);
        CHECK(result.stage("source").rows_out == 150);
        CHECK(result.stage("sink").rows_in == 150);
      }
}

TEST_CASE("Fan-out and fan-in: branches that overtake each other are joined row by row") {
  ToyRun run;
  const ToyResult result = run(R"(
[stages.source]
use = "toy_source"
params = { batches = 40, rows = 5 }
[stages.left]
use = "toy_map"
inputs = ["source"]
params = { add = 1, milliseconds = 1, jitter = true, fail_unless_multiple_of = 2 }
[stages.right]
use = "toy_other"
inputs = ["source"]
params = { add = 2, fail_unless_multiple_of = 3 }
[stages.sums]
use = "toy_sink"
inputs = ["left", "right"]
params = { output = "${folder}/sum.txt", column = "sum", skip_failed = true }
[stages.others]
use = "toy_sink"
inputs = ["left", "right"]
params = { output = "${folder}/other.txt", column = "other", skip_failed = true }
)");
  CAPTURE(result.run.message);
  REQUIRE(result.run.state == RunState::finished);
  std::string sums, others;
  for (int v = 0; v < 200; v += 6) {
    sums += std::to_string(v + 1) + "\n";
    others += std::to_string(v + 2) + "\n";
  }
  CHECK(result.files.at("sum.txt") == sums);
  CHECK(result.files.at("other.txt") == others);
  CHECK(result.stage("left").failed.at("not_a_multiple") == 100);
}

TEST_CASE("A regroup stage gets its batches in order, and what it emits at the end arrives") {
  for (const Executor executor : {Executor::flow_graph, Executor::serial}) {
    ToyRun run;
    run.options.threads = 4;
    run.options.executor = executor;
    const ToyResult result = run(R"(
[stages.source]
use = "toy_source"
params = { batches = 31, rows = 1 }
[stages.map]
use = "toy_map"
params = { add = 0, milliseconds = 1, jitter = true }
[stages.pairs]
use = "toy_regroup"
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt", column = "total" }
)");
    CAPTURE(result.run.message);
    REQUIRE(result.run.state == RunState::finished);
    std::string expected;
    for (int i = 0; i < 15; ++i) expected += std::to_string(4 * i + 1) + "\n";
    CHECK(result.files.at("out.txt") == expected + "30\n");
  }
}

TEST_CASE(
    "Blocking stages have threads of their own: one, with one call at a time, or several where they may and there are many; rows stay in order") {
  for (const auto& [stage, threads] : {std::pair("toy_blocking", 4), std::pair("toy_side_by_side", 16)}) {
    ToyRun run;
    run.options.threads = threads;
    const ToyResult result = run(R"(
[stages.source]
use = "toy_source"
params = { batches = 30, rows = 2 }
[stages.wait]
use = ")" + std::string(stage) + R"("
params = { milliseconds = 1, add = 5 }
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt", column = "blocked" }
)");
    CAPTURE(stage);
    CAPTURE(result.run.message);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(result.files.at("out.txt") == numbers(5, 60));
  }
}

TEST_CASE("A sink far slower than the source: memory stays within the budget") {
  ToyRun run;
  run.options.memory_bytes = std::uint64_t{8} << 20;
  run.options.batch_work = 100;
  const ToyResult result = run(R"(
[stages.source]
use = "toy_source"
params = { batches = 60, rows = 100 }
[stages.map]
use = "toy_map"
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt", milliseconds = 5 }
)");
  CAPTURE(result.run.message);
  REQUIRE(result.run.state == RunState::finished);
  CHECK(result.files.at("out.txt") == numbers(1, 6000));
  // The payload is 400 kB a batch: twenty batches are the budget, sixty were made.
  CHECK(result.run.statistics.memory_peak < (std::uint64_t{8} << 20));
  CHECK(result.stage("source").wait_seconds > 0);
}

TEST_CASE("Nine of ten rows filtered: an ordered sink still sees every batch") {
  ToyRun run;
  run.options.threads = 4;
  const ToyResult result = run(R"(
[stages.source]
use = "toy_source"
params = { batches = 200, rows = 1 }
[stages.map]
use = "toy_map"
params = { add = 0, fail_unless_multiple_of = 10 }
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt", skip_failed = true }
)");
  CAPTURE(result.run.message);
  REQUIRE(result.run.state == RunState::finished);
  std::string expected;
  for (int i = 0; i < 200; i += 10) expected += std::to_string(i) + "\n";
  CHECK(result.files.at("out.txt") == expected);
  CHECK(result.stage("map").failed.at("not_a_multiple") == 180);
  CHECK(result.stage("map").rows_in == result.stage("map").rows_out + 180);
}

TEST_CASE("An exception in any stage ends the run with the stage's name and leaves no file") {
  struct Case {
    const char *what, *with, *stage, *message;
  };
  for (const Case& c : {Case{"rows = 3 }", "rows = 3, throw_at = 7 }", "source", "the source was told to throw"},
                        Case{"jitter = true }", "jitter = true, throw_at = 7 }", "map", "the map was told to throw"},
                        Case{"jitter = true }", "forget = true }", "map", "did not give column 'sum'"},
                        Case{"out.txt\" }", "out.txt\", throw_at = 7 }", "sink", "the sink was told to throw"}})
    for (const Executor executor : {Executor::flow_graph, Executor::serial}) {
      CAPTURE(c.with);
      ToyRun run;
      run.options.executor = executor;
      const ToyResult result = run(replaced(chain, c.what, c.with));
      CHECK(result.run.state == RunState::failed);
      CHECK(exit_code(result.run) == 4);
      CHECK(result.run.stage == c.stage);
      CHECK(result.run.message.find(c.message) != std::string::npos);
      CHECK(result.files.empty());
    }
}

TEST_CASE("A resource that fails ends the run before any stage is made") {
  // toy_map has no slot for it, so the pipeline is refused; the resource alone is never made.
  ToyRun run;
  const ToyResult result = run(std::string("[resources.constant]\nuse = \"toy_resource\"\nparams = { fail = true }\n") +
                               replaced(chain, "use = \"toy_map\"", "use = \"toy_map\"\nresources = { constant = \"constant\" }"));
  REQUIRE_FALSE(result.diagnostics.empty());
  CHECK(result.diagnostics.front().find("constant") != std::string::npos);
}

TEST_CASE("An interrupt stops the source within two batches, drains, and keeps the file as .partial") {
  ToyRun run;
  std::thread killer;
  std::uint64_t read_by_then = 0;
  run.on_start = [&](Run& running) {
    killer = std::thread([&] {
      while (running.snapshot().stages.empty() || running.snapshot().stages.front().batches < 5)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      running.interrupt();
      read_by_then = running.snapshot().stages.front().batches;
    });
  };
  const ToyResult result = run(replaced(replaced(chain, "batches = 50", "batches = 100000"), "rows = 3", "rows = 3, milliseconds = 2"));
  killer.join();
  CHECK(result.run.state == RunState::interrupted);
  CHECK(exit_code(result.run) == 130);
  REQUIRE(result.files.size() == 1);
  const std::string& text = result.files.at("out.txt.partial");
  const std::uint64_t rows = result.stage("source").rows_out;
  CHECK(result.stage("source").batches <= read_by_then + 2);
  CHECK(text == numbers(10, static_cast<long>(rows)));
}

TEST_CASE("A second interrupt while everything is busy ends the run at once and leaves nothing") {
  ToyRun run;
  std::thread killer;
  run.on_start = [&](Run& running) {
    killer = std::thread([&running] {
      while (running.snapshot().stages.empty() || running.snapshot().stages.front().batches < 5)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      running.interrupt();
      running.interrupt();
    });
  };
  const ToyResult result = run(replaced(replaced(chain, "batches = 50", "batches = 100000"), "milliseconds = 1", "milliseconds = 20"));
  killer.join();
  CHECK(result.run.state == RunState::interrupted);
  CHECK(result.files.empty());
}

TEST_CASE("A million empty batches pass through the graph") {
#ifdef SLUICE_SLOW
  constexpr int batches = 20000;
#else
  constexpr int batches = 1000000;
#endif
  ToyRun run;
  run.options.log_level = SLUICE_LOG_WARNING;
  const ToyResult good = run(replaced(replaced(chain, "batches = 50, rows = 3", "batches = " + std::to_string(batches) + ", rows = 0"),
                                      ", milliseconds = 1, jitter = true", ""));
  REQUIRE(good.run.state == RunState::finished);
  CHECK(good.files.at("out.txt").empty());
  CHECK(good.stage("source").batches == batches);
  const double hop_ns = 1e9 * good.run.statistics.elapsed_seconds / (2.0 * batches);
  MESSAGE("ns per hop of an empty batch: " << hop_ns);
}

TEST_CASE("The watchdog says where everything is when nothing moves") {
  ToyRun run;
  run.options.watchdog_seconds = 0.05;
  // Nothing moves until the watchdog has said so.
  const auto keep = run.options.log;
  run.options.log = [&](int level, const std::string& line) {
    keep(level, line);
    if (line.starts_with("watchdog")) std::ofstream(run.path("go_on")) << "x";
  };
  const ToyResult result =
      run(replaced(replaced(chain, "batches = 50", "batches = 2"), "rows = 3", "rows = 3, announce_at = 1, go_on_with = \"${folder}/go_on\""));
  REQUIRE(result.run.state == RunState::finished);
  const auto said = std::find_if(result.log.begin(), result.log.end(), [](const std::string& line) { return line.starts_with("watchdog"); });
  REQUIRE(said != result.log.end());
  CHECK(said->find("batches are in flight") != std::string::npos);
}

TEST_CASE("A listener hears of every row that is not in the output") {
  Events events;
  ToyRun run;
  run.options.listener = &events;
  const ToyResult result = run(replaced(replaced(chain, "batches = 50", "batches = 2"), "jitter = true", "fail_unless_multiple_of = 2"));
  CAPTURE(result.run.message);
  REQUIRE(result.run.state == RunState::finished);
  std::sort(events.rows.begin(), events.rows.end());
  CHECK(events.rows == std::vector<std::string>{"n1 map not_a_multiple", "n3 map not_a_multiple", "n5 map not_a_multiple"});
}

TEST_CASE("Columns are freed after their last consumer, and optional ones that nobody wants are never made") {
  ToyRun with, without;
  const ToyResult a = with(chain);
  const ToyResult b =
      without(replaced(replaced(chain, "use = \"toy_map\"", "use = \"toy_other\""), "out.txt\" }", "out.txt\", column = \"other\" }"));
  REQUIRE(a.run.state == RunState::finished);
  REQUIRE(b.run.state == RunState::finished);
  // toy_map would use the payload of 4,000 bytes a row; toy_other does not know it.
  CHECK(a.stage("source").output_bytes > 150 * 4000);
  CHECK(b.stage("source").output_bytes < 150 * 100);
}
