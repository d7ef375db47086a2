// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <sluice/testing.hpp>
#include <string>

#include "unit/methylation/made_sites.hpp"

namespace testing = sluice::testing;
using made_sites::rows;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = testing::load_plugin(SLUICE_PLUGIN_DIR "/bedgraph_writer.so");
  return *loaded;
}
std::string written(const testing::ParameterTexts& parameters, const std::vector<testing::TestBatch>& batches = {rows()}) {
  const testing::TemporaryFolder folder;
  testing::ParameterTexts all = parameters;
  all.insert({"output", folder.path() + "/sites.bedgraph"});
  const testing::Result result = testing::run_stage(testing::stage_of(plugin(), "bedgraph_writer"), batches).with(all).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  return result.files.at(folder.path() + "/sites.bedgraph");
}

}  // namespace

TEST_CASE("a line for each position, with both strands together") {
  CHECK(written({}) == "a\t5\t6\t50.00\na\t9\t10\t44.44\nb\t9\t10\t50.00\nb\t10\t11\t0.00\n");
  CHECK(written({{"modification", "h"}}) == "a\t5\t6\t25.00\n");
  CHECK(written({{"min_coverage", 5}}) == "a\t9\t10\t44.44\nb\t9\t10\t50.00\n");
  CHECK(written({{"modification", "a"}}).empty());
}

TEST_CASE("a position whose rows come in two batches is one line") {
  const auto half = [](std::uint64_t sequence, std::int64_t modified) {
    return testing::BatchBuilder("pileup", 1)
        .text("contig", {"a"})
        .column<std::int64_t>("position", {5})
        .text("modification", {"m"})
        .column<std::int64_t>("modified", {modified})
        .column<std::int64_t>("canonical", {1})
        .column<std::int64_t>("other_modified", {0})
        .sequence(sequence)
        .build();
  };
  CHECK(written({}, {half(0, 1), half(1, 5)}) == "a\t5\t6\t75.00\n");
}

TEST_CASE("the stage keeps the contract of all stages") {
  const testing::TemporaryFolder folder;
  const testing::ContractSample sample{.parameters = {{"output", folder.path() + "/sites.bedgraph"}}, .batches = {rows()}};
  for (const std::string& problem : testing::contract_problems(plugin(), {{"bedgraph_writer", sample}})) FAIL_CHECK(problem);
}
