// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <fstream>
#include <random>
#include <sluice/region_table.hpp>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

namespace testing = sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = testing::load_plugin(SLUICE_PLUGIN_DIR "/region_filter.so");
  return *loaded;
}

testing::TestBatch alignments() {
  return testing::BatchBuilder("read", 6)
      .text("contig", {"a", "a", "a", "b", "c", "a"})
      .column<std::int64_t>("ref_start", {0, 10, 99, 5, 5, 50})
      .column<std::int64_t>("ref_end", {10, 20, 200, 8, 8, 60})
      .column<std::uint8_t>("is_reverse", {0, 1, 0, 1, 0, 0})
      .failed(5)
      .build();
}

constexpr const char* bed = "a\t10\t100\tgene\t0\t+\na\t12\t15\tpeak,1\t0\t-\na\t19\t30\tgene\nb\t0\t6\n";

// The regions of each row; '-': filtered.
std::string regions_of(const testing::ParameterTexts& parameters, const testing::TestBatch& batch = alignments(), const std::string& text = bed) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path() + "/regions.bed") << text;
  testing::ParameterTexts all = parameters;
  all.insert({"regions", folder.path() + "/regions.bed"});
  const testing::Result result = testing::run_stage(testing::stage_of(plugin(), "in_regions"), batch).with(all).run();
  if (!result.ok()) return result.message;
  CHECK(result.problems.empty());
  const sluice::TextView regions = result.batch().view().text("region");
  std::string shown;
  for (std::int64_t row = 0; row + 1 < regions.rows(); ++row) {
    const bool is_out = std::any_of(result.failed.begin(), result.failed.end(), [&](const auto& failed) { return failed.row == row; });
    shown += (shown.empty() ? "" : " ") + (is_out ? std::string("-") : std::string(regions[row]));
  }
  return shown;
}

}  // namespace

TEST_CASE("rows that have a base in a region pass, with the names of the regions") {
  CHECK(regions_of({}) == "- gene,peak,1 gene b -");
  CHECK(regions_of({{"whole", true}}) == "- gene - - -");
  CHECK(regions_of({{"strand", "is_reverse"}}) == "- peak,1,gene gene b -");
  CHECK(regions_of({{"end", ""}}) == "- gene gene b -");
}

TEST_CASE("a row that begins and ends with a region lies in it as a whole, and one of a base more does not") {
  const testing::TestBatch rows = testing::BatchBuilder("read", 6)
                                      .text("contig", {"a", "a", "a", "a", "a", "a"})
                                      .column<std::int64_t>("ref_start", {10, 9, 10, 99, 100, 0})
                                      .column<std::int64_t>("ref_end", {100, 100, 101, 100, 101, 10})
                                      .build();
  const std::string region = "a\t10\t100\tgene\n";
  // The last row is not shown.
  CHECK(regions_of({{"whole", true}}, rows, region) == "gene - - gene -");
  CHECK(regions_of({}, rows, region) == "gene gene gene gene -");
}

TEST_CASE("what is no place, or no region, is said") {
  CHECK(regions_of({{"contig", "ref_start"}}).find("holds no texts but i64") != std::string::npos);
  CHECK(regions_of({{"start", "contig"}}).find("holds no whole numbers but utf8") != std::string::npos);
  CHECK(regions_of({}, alignments(), "a\t5\n").find("line 1: a region needs a start and an end") != std::string::npos);
}

TEST_CASE("the index finds what a look at every region finds") {
  std::mt19937 random(5);
  const auto below = [&](int most) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(most)); };
  for (int round = 0; round < 200; ++round) {
    std::vector<sluice::TableRegion> regions;
    const auto count = below(40);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t start = below(100);
      regions.push_back({std::string(1, static_cast<char>('a' + below(3))), std::to_string(i), start, start + 1 + below(below(8) == 0 ? 100 : 10)});
    }
    const sluice::RegionIndex index(regions);
    for (int query = 0; query < 100; ++query) {
      const std::string contig(1, static_cast<char>('a' + below(4)));
      const std::int64_t begin = below(120), end = begin + below(20);
      std::vector<std::string> found, expected;
      std::int64_t before = 0;
      index.for_each(contig, begin, end, [&](std::size_t which) {
        CHECK(index.regions()[which].start >= before);
        before = index.regions()[which].start;
        found.push_back(index.regions()[which].label);
      });
      for (const auto& region : regions)
        if (region.contig == contig && begin < end && region.start < end && region.end > begin) expected.push_back(region.label);
      std::sort(found.begin(), found.end());
      std::sort(expected.begin(), expected.end());
      CHECK(found == expected);
      CHECK(index.overlaps(contig, begin, end) == !expected.empty());
    }
  }
}

TEST_CASE("the stage keeps the contract of all stages") {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path() + "/regions.bed") << bed;
  const testing::ContractSample sample{.parameters = {{"regions", folder.path() + "/regions.bed"}}, .batches = {alignments()}};
  for (const std::string& problem : testing::contract_problems(plugin(), {{"in_regions", sample}})) FAIL_CHECK(problem);
}
