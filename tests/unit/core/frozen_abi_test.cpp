// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// ABI 2.0 is frozen: a plugin that was built against its headers (tests/abi/2.0) is loaded and runs, and nothing in them has moved.
#include <doctest/doctest.h>

#include <map>
#include <sluice/testing.hpp>
#include <string>

extern "C" {
#include "abi/layout.h"
}
#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

const std::string plugin_file = SLUICE_TEST_PLUGIN_DIR "/frozen_abi.so";

// Structs may grow, and there may be new ones; "NAME" has a size, "NAME.MEMBER" a place.
bool is_size(const std::string& name) { return name.starts_with("sluice_") && name.find('.') == std::string::npos; }

}  // namespace

TEST_CASE("What the frozen headers declare is where it was") {
  const layout_entry* now = nullptr;
  std::map<std::string, std::size_t> today;
  for (std::size_t i = layout_of_today(&now); i > 0; --i) today[now[i - 1].name] = now[i - 1].value;
  const layout_entry* frozen = nullptr;
  const std::size_t count = frozen_layout(&frozen);
  CHECK(count > 250);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = frozen[i].name;
    CAPTURE(name);
    REQUIRE(today.contains(name));
    if (is_size(name))
      CHECK(today[name] >= frozen[i].value);
    else
      CHECK(today[name] == frozen[i].value);
  }
  CHECK(today["sluice_error"] == 4 + 1024 + 512);  // fixed for ever
}

TEST_CASE("A plugin of the frozen headers runs: parameters, failed rows, columns that outlive it") {
  in_each_form({1, 3}, R"(
    [stages.source]
    use = "toy_source"
    params = { batches = 4, rows = 5 }
    [stages.sum]
    use = "frozen_sum"
    params = { most = 16 }
    [stages.sink]
    use = "toy_sink"
    params = { output = "${folder}/out", column = "sum" }
  )",
               [](const ToyResult& result) {
                 CHECK(result.stage("sum").failed.at("too_large") == 3);  // 17, 18 and 19
                 CHECK(result.files.at("out") == "0\n1\n3\n6\n10\n15\n21\n28\n36\n45\n55\n66\n78\n91\n105\n120\n136\n-\n-\n-\n");
               });
}

TEST_CASE("A plugin of the frozen headers refuses parameters, and gives rows where none came in") {
  ToyRun odd;
  const ToyResult refused =
      odd("[stages.source]\nuse = \"toy_source\"\n[stages.sum]\nuse = \"frozen_sum\"\nparams = { most = 3 }\n"
          "[stages.sink]\nuse = \"toy_sink\"\nparams = { output = \"${folder}/out\", column = \"sum\" }\n");
  REQUIRE(refused.diagnostics.size() == 1);
  CHECK(refused.diagnostics[0].find("most is odd") != std::string::npos);

  ToyRun none;
  const ToyResult windows = none(R"(
    [stages.source]
    use = "toy_source"
    params = { batches = 0 }
    [stages.windows]
    use = "frozen_windows"
    [stages.sum]
    use = "frozen_sum"
    [stages.sink]
    use = "toy_sink"
    params = { output = "${folder}/out", column = "sum" }
  )");
  CAPTURE(windows.run.message);
  REQUIRE(windows.run.state == RunState::finished);
  CHECK(windows.files.at("out") == "0\n0\n0\n");
}

TEST_CASE("A plugin of the frozen headers keeps the contract, also when it is ended and resumed") {
  const auto numbers = testing::BatchBuilder("number", 4).column<std::int64_t>("value", {1, 5, 7, 2}).build();
  const std::map<std::string, testing::ContractSample> samples = {{"frozen_sum", {.parameters = {{"most", 6}}, .batches = {numbers, numbers}}},
                                                                  {"frozen_windows", {.batches = {numbers}}}};
  for (const std::string& problem : testing::contract_problems(*testing::load_plugin(plugin_file), samples)) FAIL_CHECK(problem);
}
