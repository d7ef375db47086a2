// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <sluice/testing.hpp>
#include <string>

#include "unit/methylation/made_sites.hpp"
#include "unit/resumed_forms.hpp"

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

TEST_CASE("positions and counts up to what can be added up are written, and others are refused") {
  const auto site = [](std::int64_t position, std::int64_t modified, std::int64_t canonical, std::int64_t other) {
    const testing::TemporaryFolder folder;
    const std::string path = folder.path() + "/sites.bedgraph";
    const testing::TestBatch batch = testing::BatchBuilder("pileup", 1)
                                         .text("contig", {"a"})
                                         .column<std::int64_t>("position", {position})
                                         .text("modification", {"m"})
                                         .column<std::int64_t>("modified", {modified})
                                         .column<std::int64_t>("canonical", {canonical})
                                         .column<std::int64_t>("other_modified", {other})
                                         .build();
    const testing::Result result = testing::run_stage(testing::stage_of(plugin(), "bedgraph_writer"), batch).with({{"output", path}}).run();
    return result.ok() ? result.files.at(path) : result.message;
  };
  constexpr std::int64_t most = 9007199254740991;  // 2^63 / 1024 - 1
  CHECK(site(most, 1, 1, 0) == "a\t9007199254740991\t9007199254740992\t50.00\n");
  CHECK(site(0, most, 0, most) == "a\t0\t1\t50.00\n");
  CHECK(site(0, 0, most, 0) == "a\t0\t1\t0.00\n");
  CHECK(site(0, 1, 0, 0) == "a\t0\t1\t100.00\n");  // one call is enough where nothing is said
  const std::string refused = "a position or counts that can't be";
  for (const std::int64_t wrong : {most + 1, std::int64_t{-1}}) {
    CHECK(site(wrong, 1, 1, 0).find(refused) != std::string::npos);
    CHECK(site(0, wrong, 1, 0).find(refused) != std::string::npos);
    CHECK(site(0, 1, wrong, 0).find(refused) != std::string::npos);
    CHECK(site(0, 1, 1, wrong).find(refused) != std::string::npos);
  }
}

TEST_CASE("a site whose rows come before and behind an interruption is one line") {
  const auto same_site = [](std::uint64_t sequence, std::int64_t modified) {
    return testing::BatchBuilder("pileup", 2)
        .text("contig", {"a", "b"})
        .column<std::int64_t>("position", {5, 7})
        .text("modification", {"m", "m"})
        .column<std::int64_t>("modified", {modified, 2})
        .column<std::int64_t>("canonical", {1, 1})
        .column<std::int64_t>("other_modified", {0, 1})
        .sequence(sequence)
        .build();
  };
  const std::vector<testing::TestBatch> batches = {rows(), same_site(1, 1), rows(2)};
  CHECK(testing::resume_problems(testing::run_stage(testing::stage_of(plugin(), "bedgraph_writer"), batches), {"x.bedgraph", "x.bedgraph.zst"}) ==
        std::vector<std::string>{});
}

TEST_CASE("the stage keeps the contract of all stages") {
  const testing::TemporaryFolder folder;
  const testing::ContractSample sample{.parameters = {{"output", folder.path() + "/sites.bedgraph"}}, .batches = {rows()}};
  for (const std::string& problem : testing::contract_problems(plugin(), {{"bedgraph_writer", sample}})) FAIL_CHECK(problem);
}
