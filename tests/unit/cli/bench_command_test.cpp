// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "unit/cli/program.hpp"

using namespace program;

namespace {

const char* const pipeline_with_choice = R"([pipeline]
name = "choice"
[parameters.output]
type = "path"
required = true
[stages.numbers]
use = "toy_source"
params = { batches = 40, rows = 12 }
[stages.work]
use = "simulated_work"
[stages.write]
use = "toy_sink"
params = { output = "${output}", column = "worked" }
)";

}  // namespace

TEST_CASE("bench STAGE replays the stage on every implementation and compares the bytes") {
  const Folder folder;
  const std::string file = folder.write("choice.toml", pipeline_with_choice), output = folder.path("out");
  const auto all = run({"bench", "work", "--pipeline", file, "--output", output, "--repeat", "2", "--streams", "3"});
  CHECK_MESSAGE(all.code == 0, all.err);
  CHECK(all.prints("480 rows in 40 batches"));
  CHECK(all.prints("all: cpu "));
  CHECK(all.prints("all: simulated:0 "));
  CHECK(all.prints("simulated:0 stream 2"));
  CHECK(all.prints("every implementation gave the same bytes"));
  CHECK(folder.names().size() == 1);  // nothing behind the stage was made
  const auto one = run({"bench", "work", "--pipeline=" + file, "--output", output, "--device", "simulated", "--repeat", "1", "--rows", "30"});
  CHECK_MESSAGE(one.code == 0, one.err);
  CHECK(one.prints("30 rows in 3 batches"));
  CHECK_FALSE(one.prints("all: cpu"));
}

TEST_CASE("bench STAGE says which stages there are") {
  const Folder folder;
  const std::string file = folder.write("choice.toml", pipeline_with_choice);
  const auto unknown = run({"bench", "wrok", "--pipeline", file, "--output", folder.path("out")});
  CHECK(unknown.code == 2);
  CHECK(unknown.says("'wrok' is no map stage of this pipeline (choose one of: work)"));
  const auto none = run({"bench", "--pipeline", file, "--output", folder.path("out")});
  CHECK(none.code == 2);
  const auto source = run({"bench", "numbers", "--pipeline", file, "--output", folder.path("out")});
  CHECK(source.code == 2);
}

TEST_CASE("bench --calibrate writes a profile that plan and run start from") {
  const Folder folder;
  const std::string file = folder.write("choice.toml", pipeline_with_choice), profile = folder.path("deep/profile.json");
  const auto outcome = run({"bench", file, "--output", folder.path("out"), "--calibrate", "--repeat", "1", "--profile", profile});
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
  const auto json = nlohmann::json::parse(folder.read("deep/profile.json"));
  REQUIRE(json["costs"].size() == 2);
  CHECK(json["costs"][0]["stage"] == "simulated_work");
  CHECK(json["costs"][0]["implementation"] == "cpu");
  CHECK(json["costs"][1]["device"] == "simulated accelerator");
  const auto plan = run({"plan", file, "--output", "x", "--profile", profile});
  CHECK(plan.prints("tries first   "));
  CHECK(plan.prints("(machine profile of "));
  CHECK(run({"plan", file, "--output", "x", "--profile", "none"}).prints("tries first   no machine profile"));
  CHECK(run({"run", file, "--output", folder.path("out"), "--profile", profile}).code == 0);
}

TEST_CASE("a profile that can't be used is mentioned, and the run goes on") {
  const Folder folder;
  const std::string file = folder.write("choice.toml", pipeline_with_choice), bad = folder.write("bad.json", "{\"machine_profile\": 1");
  const auto outcome = run({"run", file, "--output", folder.path("out"), "--profile", bad});
  CHECK(outcome.code == 0);
  CHECK(outcome.says("bad.json is ignored"));
  const auto missing = run({"run", file, "--output", folder.path("out"), "--profile", folder.path("none.json")});
  CHECK(missing.code == 0);
  CHECK(missing.says("none.json"));
}

TEST_CASE("faults made on purpose change no byte and are counted in summary and report") {
  const Folder folder;
  const std::string file = folder.write("choice.toml", pipeline_with_choice);
  REQUIRE(run({"run", file, "--output", folder.path("cpu"), "--device", "cpu"}).code == 0);
  const auto outcome = run({"run", file, "--output", folder.path("out"), "--device", "simulated", "--report", folder.path("r.json"), "--trace",
                            folder.path("t.json"), "--inject-device-fault", "memory@2", "--inject-device-fault", "memory@4,every=10"});
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(folder.read("out") == folder.read("cpu"));
  CHECK(outcome.says("simulated:0 simulated accelerator: busy"));
  CHECK(outcome.says("out of memory"));
  const auto report = nlohmann::json::parse(folder.read("r.json"));
  REQUIRE(report["devices"].size() == 1);
  const auto& device = report["devices"][0];
  CHECK(device["faults"]["memory"].get<int>() >= 2);  // calls take several batches, more or fewer of them
  CHECK(device["bytes_to_device"].get<int>() > 0);
  CHECK(device["utilisation"].get<double>() <= 1.0);
  CHECK(nlohmann::json::parse(folder.read("t.json"))["traceEvents"].size() > 80);
  const auto bad = run({"run", file, "--output", folder.path("out"), "--inject-device-fault", "fire@1"});
  CHECK(bad.code == 2);
  CHECK(bad.says("--inject-device-fault: 'fire@1' is no fault"));
  CHECK_FALSE(run({"run", file, "--help"}).prints("inject-device-fault"));
}
