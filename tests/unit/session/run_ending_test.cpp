// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Signals at every point of a command: before its first run, in each state of one, between two of them.
#include "cli/run_ending.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <optional>

#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;
using sluice::cli::RunEnding;

namespace {

constexpr const char* pipeline = R"(
[stages.source]
use = "toy_source"
params = { batches = 20, rows = 3 }
[stages.map]
use = "toy_map"
params.add = 0
[stages.sink]
use = "toy_sink"
params.output = "${folder}/out.txt"
)";

// The run of a command that listens, with `signals` of SIGINT when it enters `state`.
ToyResult run_with_signals(LifeState state, int signals) {
  ToyRun run;
  std::optional<RunEnding::Of> of;
  run.on_start = [&](Run& started) { of.emplace(started); };
  run.options.entered = [&](LifeState entered) {
    for (int i = 0; entered == state && i < signals; ++i) std::raise(SIGINT);
  };
  ToyResult result = run(pipeline);
  of.reset();
  return result;
}

}  // namespace

TEST_CASE("A signal that comes before a run, or between two of them, keeps the next one from beginning") {
  const RunEnding ending;
  CHECK(exit_code(run_with_signals(LifeState::made, 0).run) == 0);
  CHECK_FALSE(ending.interrupted());
  std::raise(SIGINT);
  CHECK(ending.interrupted());
  const ToyResult next = run_with_signals(LifeState::made, 0);
  CHECK(exit_code(next.run) == 130);
  CHECK(next.files.empty());
}

TEST_CASE("A signal while outputs get their names is told by the exit code, and the outputs are whole") {
  const RunEnding ending;
  const ToyResult result = run_with_signals(LifeState::publishing, 1);
  CHECK(exit_code(result.run) == 130);
  CHECK(ending.interrupted());
  CHECK(result.files.at("out.txt") == numbers(0, 60));
  CHECK(result.files.size() == 1);
}

TEST_CASE("Two signals while outputs get their names take them back") {
  const RunEnding ending;
  const ToyResult result = run_with_signals(LifeState::publishing, 2);
  CHECK(exit_code(result.run) == 130);
  CHECK(result.files.empty());
}

TEST_CASE("A signal when the outcome is fixed leaves the outputs, and the command knows of it") {
  const RunEnding ending;
  const ToyResult result = run_with_signals(LifeState::ended, 1);
  CHECK(exit_code(result.run) == 0);
  CHECK(ending.interrupted());
  CHECK(result.files.at("out.txt") == numbers(0, 60));
}

TEST_CASE("A signal that was ignored when the command began stays ignored, and is given back so") {
  const auto before = std::signal(SIGINT, SIG_IGN);
  {
    const RunEnding ending;
    std::raise(SIGINT);
    CHECK_FALSE(ending.interrupted());
    CHECK(exit_code(run_with_signals(LifeState::running, 2).run) == 0);
  }
  CHECK((std::signal(SIGINT, before) == SIG_IGN));
}
