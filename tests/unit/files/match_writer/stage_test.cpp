// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <fstream>
#include <random>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/outcomes_of.hpp"
#include "unit/resumed_forms.hpp"

namespace testing = sluice::testing;

namespace {

const sluice_plugin_info& plugin(const std::string& name) { return *testing::load_plugin(SLUICE_PLUGIN_DIR "/" + name + ".so"); }

std::string random_bases(std::mt19937& random, std::size_t length) {
  std::string bases(length, 'A');
  for (char& base : bases) base = "ACGT"[random() % 4];
  return bases;
}

testing::TestBatch index_of(const std::string& bases, const std::string& strands) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path() + "/ref.fa") << ">a\n" << bases << "\n";
  const testing::Result result =
      testing::run_stage(testing::stage_of(plugin("fm_index"), "fm_index")).with({{"path", folder.path() + "/ref.fa"}, {"text", strands}}).run();
  REQUIRE(result.ok());
  return result.batch();
}

}  // namespace

TEST_CASE("seeding and its writer keep the contract of all stages") {
  std::mt19937 random(1);
  const std::string text = random_bases(random, 2000);
  std::vector<std::string> names,
      reads = {"", "A", "NNNNNNNNNNNNNNNNNNNN", text.substr(100, 300), random_bases(random, 500), text.substr(1500) + text.substr(0, 200)};
  for (std::size_t i = 0; i < 200; ++i) reads.push_back(text.substr(random() % 1900, 80));
  for (std::size_t i = 0; i < reads.size(); ++i) names.push_back("read" + std::to_string(i));
  const auto rows = static_cast<std::int64_t>(reads.size());
  const testing::TestBatch batch = testing::BatchBuilder("read", rows).text("read_id", names).text("bases", reads).build();
  for (const std::string strands : {"forward", "both"}) {
    const testing::TestBatch index = index_of(text, strands);
    for (const std::string definition : {"1", "2", "smem"}) {
      const testing::ContractSample sample{
          .parameters = {{"definition", definition}, {"min_length", 11}}, .resources = {{"index", index}}, .batches = {batch}};
      for (const std::string& problem : testing::contract_problems(plugin("mem_seeding"), {{"mem_seeding", sample}})) FAIL_CHECK(problem);
    }
    const testing::Result found = testing::run_stage(testing::stage_of(plugin("mem_seeding"), "mem_seeding"), batch).resource("index", index).run();
    REQUIRE(found.ok());
    CHECK(found.failed.empty());
    const sluice::Batch view = found.batch().view();
    CHECK(view.column<std::int32_t>("read_length")[3] == 300);
    CHECK(view.list<std::int32_t>("match_end")[3].size() == 1);
    CHECK(view.list<std::uint32_t>("match_place")[3][0] == 100);
    CHECK(view.list<std::uint64_t>("anchor_x")[3].size() == 2);
    const testing::ContractSample sample{.parameters = {{"format", "table"}}, .resources = {{"index", index}}, .batches = {found.batch()}};
    for (const std::string& problem : testing::contract_problems(plugin("match_writer"), {{"match_writer", sample}})) FAIL_CHECK(problem);
    const auto writing = testing::run_stage(testing::stage_of(plugin("match_writer"), "match_writer"), std::vector{found.batch(), found.batch()})
                             .resource("index", index);
    CHECK(testing::resume_problems(writing, {"x", "x.gz", "x.zst", "x.arrow", "x.parquet"}) == std::vector<std::string>{});
    const Outcomes outcomes = outcomes_of(testing::run_stage(testing::stage_of(plugin("match_writer"), "match_writer"), found.batch())
                                              .with({{"output", "x"}})
                                              .resource("index", index));
    CHECK(outcomes.at("matched").first > 0);
    CHECK(outcomes.at("matched").first < outcomes.at("matched").second);
    CHECK(outcomes.at("matched").second == reads.size());
  }
}

TEST_CASE("a format that the index can't serve is refused") {
  const std::string text = "ACGTTGCAACGGTTTACCCA";
  const auto message = [&](const std::string& strands, const std::string& format) {
    return testing::run_stage(testing::stage_of(plugin("match_writer"), "match_writer"))
        .with({{"format", format}})
        .resource("index", index_of(text, strands))
        .run()
        .message;
  };
  CHECK(message("forward", "fastmap").find("needs an index of both strands") != std::string::npos);
  CHECK(message("both", "mummer").find("needs an index of the forward strand") != std::string::npos);
}
