// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Resources that runs one after the other have in common.
#include "run/shared_resources.hpp"

#include <doctest/doctest.h>

#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

// A run with the number `value` as a resource.
Plan plan_with(int value, const std::string& output) {
  Diagnostics diagnostics;
  const std::string text = "[pipeline]\nname = \"toy\"\n[resources.constant]\nuse = \"toy_resource\"\nparams.value = " + std::to_string(value) +
                           "\n[stages.source]\nuse = \"toy_source\"\n[stages.map]\nuse = \"toy_map\"\n[stages.first]\nuse = \"toy_first\"\n" +
                           "params.rows = 5\nresources = { constant = \"constant\" }\n[stages.sink]\nuse = \"toy_sink\"\nparams.output = \"" +
                           output + "\"\n";
  Plan plan =
      make_plan(resolve_pipeline(parse_pipeline(text, "toy.toml", diagnostics), {}, toy_registry(), diagnostics), "cpu", {"cpu"}, diagnostics);
  REQUIRE(!diagnostics.has_errors());
  return plan;
}

struct Shared {
  ToyRun folder;
  SharedResources resources;
  // What is left of the run; null: nothing.
  std::weak_ptr<const void> run(const Plan& plan, const Plan* next, double taken_over) {
    resources.begin(plan, next);
    RunOptions options = folder.options;
    options.shared = &resources;
    const auto run = std::make_shared<Run>(plan, toy_registry(), options);
    const RunResult result = run->execute();
    CAPTURE(result.message);
    REQUIRE(result.state == RunState::finished);
    const StageStatistics& constant = result.statistics.stages.front();
    REQUIRE(constant.name == "constant");
    CHECK(constant.rows_out == 1);
    CHECK((constant.counters.contains("taken_over") ? constant.counters.at("taken_over") : 0) == taken_over);
    run->end_but_for_memory();
    resources.end(run);
    return run;
  }
  std::string output() const { return folder.path("out.txt").string(); }
  bool has(const Plan& plan) const { return resources.find(resource_keys(plan).front()) != nullptr; }
};

}  // namespace

TEST_CASE("A resource that several runs make from the same is made by the first") {
  Shared shared;
  const Plan first = plan_with(7, shared.output()), second = plan_with(7, shared.output()), third = plan_with(7, shared.output());
  const auto maker = shared.run(first, &second, 0);
  CHECK(!maker.expired());  // the memory is its
  CHECK(shared.run(second, &third, 1).expired());
  CHECK(!maker.expired());
  shared.run(third, nullptr, 1);
  CHECK(maker.expired());
}

TEST_CASE("What the next run does not use is freed, also when a later one would") {
  Shared shared;
  const Plan seven = plan_with(7, shared.output()), eight = plan_with(8, shared.output());
  CHECK(shared.run(seven, &eight, 0).expired());
  CHECK(!shared.has(seven));
  CHECK(shared.run(eight, &seven, 0).expired());
  CHECK(shared.run(seven, nullptr, 0).expired());
  CHECK(!shared.has(seven));
}

TEST_CASE("What a resource is made from tells it from others") {
  const Plan seven = plan_with(7, "a"), again = plan_with(7, "b"), eight = plan_with(8, "a");
  CHECK(!resource_keys(seven).front().empty());
  CHECK(resource_keys(seven) == resource_keys(again));
  CHECK(resource_keys(seven) != resource_keys(eight));
}
