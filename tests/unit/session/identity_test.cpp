// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Whether a run is the same: where it resumes, and as a part of one that is run in several places.
#include <doctest/doctest.h>

#include "run/run_identity.hpp"
#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

Plan planned(const std::string& toml) {
  Diagnostics diagnostics;
  ResolvedPipeline resolved =
      resolve_pipeline(parse_pipeline("[pipeline]\nname = \"toy\"\n" + toml, "toy.toml", diagnostics), {}, toy_registry(), diagnostics);
  Plan plan = make_plan(std::move(resolved), "cpu", {"cpu"}, diagnostics);
  REQUIRE_MESSAGE(!diagnostics.has_errors(), diagnostics.list().front().text());
  return plan;
}

std::string pipeline(const std::string& add, const std::string& input, const std::string& output) {
  return "[stages.source]\nuse = \"toy_positions\"\n[stages.first]\nuse = \"toy_first\"\n[stages.second]\nuse = \"toy_first\"\ninputs = "
         "[\"source\"]\n"
         "[stages.map]\nuse = \"toy_map\"\nparams.add = " +
         add + "\ninputs = [\"" + input +
         "\"]\n"
         "[stages.other]\nuse = \"toy_other\"\ninputs = [\"first\", \"second\"]\n[stages.more]\nuse = \"toy_sink\"\nparams = { output = "
         "\"/dev/null\", column = \"other\" }\n"
         "[stages.sink]\nuse = \"toy_sink\"\ninputs = [\"map\"]\nparams.output = \"" +
         output + "\"\n";
}

}  // namespace

TEST_CASE("A run with other parameters, connections or outputs is another one when it resumes; parts differ in their outputs") {
  const Plan plan = planned(pipeline("1", "first", "a.txt"));
  const auto resumed = [&](const std::string& toml) {
    return difference(identity_of(plan, toy_registry()), identity_of(planned(toml), toy_registry()));
  };
  const auto parts = [&](const std::string& toml) {
    return difference_of_two(identity_of_parts(plan.pipeline), identity_of_parts(planned(toml).pipeline));
  };
  CHECK(resumed(pipeline("1", "first", "a.txt")).empty());
  CHECK(resumed(pipeline("2", "first", "a.txt")) == "parameter 'add' of stage 'map' was '1' and is '2'");
  CHECK(resumed(pipeline("1", "second", "a.txt")) == "inputs of stage 'map' was 'first' and is 'second'");
  CHECK(resumed(pipeline("1", "first", "b.txt")) == "parameter 'output' of stage 'sink' was 'a.txt' and is 'b.txt'");
  CHECK(parts(pipeline("1", "first", "b.txt")).empty());
  CHECK(parts(pipeline("2", "first", "b.txt")) == "stages.map.params.add is \"1\" and \"2\"");
  CHECK(parts(pipeline("1", "second", "b.txt")) == "stages.map.inputs is \"first\" and \"second\"");
  CHECK(checksum_of(identity_of_parts(plan.pipeline)) == checksum_of(identity_of_parts(planned(pipeline("1", "first", "c.txt")).pipeline)));
}

TEST_CASE("Branches that part and join again and again are planned at once") {
  std::string toml = "[stages.source]\nuse = \"toy_source\"\n";
  std::string before = "source";
  for (int i = 0; i < 100; ++i) {
    const std::string n = std::to_string(i);
    for (const std::string branch : {"a", "b"}) toml += "[stages." + branch + n + "]\nuse = \"toy_first\"\ninputs = [\"" + before + "\"]\n";
    toml += "[stages.c" + n + "]\nuse = \"toy_first\"\ninputs = [\"a" + n + "\", \"b" + n + "\"]\n";
    before = "c" + n;
  }
  const Plan plan = planned(toml + "[stages.map]\nuse = \"toy_map\"\n[stages.sink]\nuse = \"toy_sink\"\nparams.output = \"/dev/null\"\n");
  CHECK(plan.stages.size() == 303);
  CHECK(plan.stages.front().columns.size() == 2);  // value, and read_id, by which rows are named
}
