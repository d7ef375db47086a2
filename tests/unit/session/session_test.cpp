// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "session/session.hpp"

#include <doctest/doctest.h>

#include <future>
#include <thread>

#include "session/exit_code.hpp"
#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

// A plan of the toy stages whose outputs lie in a folder of its own.
class ToySession {
 public:
  explicit ToySession(std::string toml) {
    for (std::size_t at; (at = toml.find("${folder}")) != std::string::npos;) toml.replace(at, 9, run_.path("").string());
    ResolvedPipeline resolved =
        resolve_pipeline(parse_pipeline("[pipeline]\nname = \"toy\"\n" + toml, "toy.toml", diagnostics_), {}, toy_registry(), diagnostics_);
    plan_.emplace(make_plan(std::move(resolved), "cpu", device_kinds(toy_registry()), diagnostics_));
    settings.options.device = "cpu";
    settings.options.threads = 2;
  }
  Session& session() {
    if (!session_) session_.emplace(*plan_, toy_registry(), settings, diagnostics_);
    return *session_;
  }
  std::string diagnostic() const { return diagnostics_.list().empty() ? "" : diagnostics_.list().front().text(); }
  bool has(const std::string& name) const { return std::filesystem::exists(run_.path(name)); }
  std::filesystem::path path(const std::string& name) const { return run_.path(name); }

  RunSettings settings;

 private:
  ToyRun run_;
  Diagnostics diagnostics_;
  std::optional<Plan> plan_;
  std::optional<Session> session_;
};

std::string pipeline(const std::string& source) {
  return "[stages.source]\n" + source + R"(
[stages.map]
use = "toy_map"
params.add = 0
[stages.sink]
use = "toy_sink"
params.output = "${folder}/out.txt"
)";
}
const std::string short_one = pipeline("use = \"toy_positions\"\nparams.rows = 60");
const std::string endless = pipeline("use = \"toy_source\"\nparams = { batches = 1000000000, rows = 3 }");

}  // namespace

TEST_CASE("A session ends with its outputs, the files about it and an exit code") {
  ToySession toy(short_one);
  toy.settings.reports = {toy.path("report.json").string()};
  toy.settings.account_file = toy.path("account.tsv").string();
  const SessionEnd& end = toy.session().execute();
  CHECK(end.exit_code == exit_ok);
  CHECK(end.unwritten.empty());
  CHECK((toy.has("out.txt") && toy.has("report.json") && toy.has("account.tsv")));
  CHECK(toy.session().report().find("\"state\": \"finished\"") != std::string::npos);
}

TEST_CASE("What is interrupted while outputs get their names is a whole shard, with its manifest") {
  ToySession toy(short_one);
  toy.settings.shard = "1/2";
  toy.settings.options.entered = [&](LifeState state) {
    if (state == LifeState::publishing) toy.session().run()->interrupt();
  };
  const SessionEnd& end = toy.session().execute();
  CHECK(toy.diagnostic().empty());
  CHECK(end.exit_code == exit_interrupted);
  CHECK(toy.has("out.txt"));
  CHECK(std::distance(std::filesystem::directory_iterator(toy.path("")), {}) == 2);
}

TEST_CASE("What can't be a shard is said in the words of whoever asks, and nothing is run") {
  for (const auto& [spelling, words] :
       {std::pair(Spelling::names, "options of the run: shard: '3/2'"), {Spelling::options, "command line: --shard: '3/2'"}}) {
    ToySession toy(short_one);
    toy.settings.spelling = spelling;
    toy.settings.shard = "3/2";
    CHECK(toy.session().run() == nullptr);
    CHECK(toy.diagnostic().starts_with(words));
  }
}

TEST_CASE("All runs of the process are ended, and waited for, whoever executes them") {
  ToySession executing(endless), waiting(short_one);
  std::promise<void> begun;
  executing.settings.options.entered = [&](LifeState state) {
    if (state == LifeState::running) begun.set_value();
  };
  int code = 0;
  std::thread thread([&] {
    const LiveRun::Executing in_it(executing.session().live());
    code = executing.session().execute().exit_code;
  });
  begun.get_future().wait();
  CHECK(waiting.session().run() != nullptr);
  LiveRun::end_all();
  CHECK(executing.session().run()->state() == LifeState::ended);
  thread.join();
  CHECK(code == exit_interrupted);
  CHECK_FALSE(executing.has("out.txt"));
  CHECK(waiting.session().execute().exit_code == exit_interrupted);
  CHECK_FALSE(waiting.has("out.txt"));
}
