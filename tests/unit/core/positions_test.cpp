// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Sources that begin anywhere or read a part: what resuming and shards are made of.
#include <doctest/doctest.h>

#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

const char* const pipeline = R"(
[stages.source]
use = "toy_positions"
params = { rows = 100 }
[stages.map]
use = "toy_map"
params.add = 0
[stages.sink]
use = "toy_sink"
params.output = "${folder}/out.txt"
)";

}  // namespace

TEST_CASE("The parts of an input, one behind the other, are the input") {
  for (const std::uint64_t parts : {1, 2, 3, 7, 101}) {
    std::string together;
    for (std::uint64_t part = 0; part < parts; ++part) {
      ToyRun run;
      run.options.part = part;
      run.options.parts = parts;
      const ToyResult result = run(pipeline);
      REQUIRE_MESSAGE(result.run.state == RunState::finished, result.run.message);
      together += result.files.at("out.txt");
    }
    CHECK(together == numbers(0, 100));
  }
}

TEST_CASE("A source says where the next row begins, and begins there when it is asked to") {
  for (const char* begin : {"0", "1", "56", "100"}) {
    ToyRun run;
    run.options.begin_at["source"] = begin;
    const ToyResult result = run(pipeline);
    REQUIRE_MESSAGE(result.run.state == RunState::finished, result.run.message);
    CHECK(result.files.at("out.txt") == numbers(std::stol(begin), 100 - std::stol(begin)));
    CHECK(result.stage("source").position == "100");
  }
}
