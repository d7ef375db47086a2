// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <array>
#include <fstream>
#include <sluice/testing.hpp>
#include <string>

#include "target_regions/stage.cpp"  // the stage class has no header of its own

using namespace sluice::target_regions;
using sluice::testing::BatchBuilder;
using sluice::testing::Result;
using sluice::testing::TestBatch;

namespace {

std::vector<TargetRegion> parsed(const char* text) {
  std::vector<TargetRegion> regions;
  std::string problem;
  REQUIRE_MESSAGE(sluice::parse_region_table(text, regions, problem), problem);
  return regions;
}
std::string problem_of(const char* text) {
  std::vector<TargetRegion> regions;
  std::string problem;
  CHECK_FALSE(sluice::parse_region_table(text, regions, problem));
  return problem;
}
std::string text_of(const std::vector<TargetRegion>& regions) {
  std::string text;
  for (const TargetRegion& r : regions)
    text += r.contig + ":" + std::to_string(r.start) + "-" + std::to_string(r.end) + "/" + r.label + "/" +
            std::to_string(static_cast<int>(r.strand)) + " ";
  return text;
}
std::string placed(const char* text, std::int64_t flank) {
  constexpr std::array<Contig, 2> contigs = {{{"b", 1000}, {"a", 500}}};
  std::vector<TargetRegion> regions = parsed(text);
  std::string problem;
  return place_regions(contigs, regions, flank, problem) ? text_of(regions) : problem;
}

}  // namespace

TEST_CASE("BED, tables and readfish's form say the same") {
  CHECK(text_of(parsed("chr1\t100\t200\n")) == "chr1:100-200/chr1/0 ");
  CHECK(text_of(parsed("#c\ntrack name=x\nbrowser y\n\nchr1\t100\t200\tgene\t0\t-\r\n")) == "chr1:100-200/gene/2 ");
  CHECK(text_of(parsed("chr1,100,200,+\nchr1, 5, 9")) == "chr1:100-200/chr1/1 chr1:5-9/chr1/0 ");
  CHECK(text_of(parsed("chr1 100 200 -")) == "chr1:100-200/chr1/2 ");
  CHECK(text_of(parsed("chr1\t100\t200\t.\t0\t+\textra")) == "chr1:100-200/chr1/1 ");
  CHECK(text_of(parsed("chr1\t100\t200\tgene\t0")) == "chr1:100-200/gene/0 ");
  CHECK(text_of(parsed("chr1\t100\t200\t")) == "chr1:100-200/chr1/0 ");
  CHECK(text_of(parsed("\xef\xbb\xbf"
                       "chr1\t100\t200\n")) == "chr1:100-200/chr1/0 ");
  const auto whole = parsed("chrM");
  CHECK(whole[0].start == 0);
  CHECK(whole[0].end == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("What is no region is refused with its line") {
  CHECK(problem_of("") == "there is no region in it");
  CHECK(problem_of("chr1\t5\t9\nchr1\t5\n") == "line 2: a region needs a start and an end");
  CHECK(problem_of("chr1\tx\t9") == "line 1: 'x' is no start");
  CHECK(problem_of("chr1\t-1\t9") == "line 1: '-1' is no start");
  CHECK(problem_of("chr1\t9\t9") == "line 1: start 9 is not before end 9");
  CHECK(problem_of("chr1\t1\t99999999999999999999") == "line 1: '99999999999999999999' is no end");
  CHECK(problem_of("chr1\t1\t9\tgene\t0\tx") == "line 1: 'x' is no strand");
  CHECK(problem_of("\t1\t9") == "line 1: there is no contig");
  CHECK(problem_of(">chr1\nACGT\n") == "line 1: '>chr1' is a line of FASTA");
  std::vector<TargetRegion> regions;
  std::string problem;
  using namespace std::string_view_literals;
  for (const std::string_view text : {"chr1\t5\t9\n\0\0\0\n"sv, "chr1\t5\t9\n\0\0chr1\t5\t9\n"sv, "chr1\t5\t9\nchr1\r\t5\t9\n"sv}) {
    CHECK_FALSE(sluice::parse_region_table(text, regions, problem));
    CHECK(problem == "line 2: its contig has bytes that are no text");
  }
}

TEST_CASE("Regions come in the reference's order, with flanks within their contigs, and those that meet are one") {
  CHECK(placed("a\t100\t200\nb\t300\t400\n", 0) == "b:300-400/b/0 a:100-200/a/0 ");
  CHECK(placed("a\t100\t200\na\t230\t300\n", 15) == "a:85-315/a/0 ");
  CHECK(placed("a\t100\t200\na\t231\t300\n", 15) == "a:85-215/a/0 a:216-315/a/0 ");
  CHECK(placed("a\t100\t200\tx\na\t150\t300\ty\n", 0) == "a:100-200/x/0 a:150-300/y/0 ");
  CHECK(placed("a,100,200,+\na,100,200,-\n", 0) == "a:100-200/a/1 a:100-200/a/2 ");
  CHECK(placed("a\t10\t490\n", 50) == "a:0-500/a/0 ");
  CHECK(placed("a\nb\t900\t5000\n", 1000000000) == "b:0-1000/b/0 a:0-500/a/0 ");
  CHECK(placed("c\t1\t2\n", 0) == "contig 'c' is not in the reference");
  CHECK(placed("a\t500\t600\n", 0) == "region a:500 begins behind the contig's end (500)");
}

namespace {

TestBatch two_contigs() {
  return BatchBuilder("contig", 2).text("name", {"b", "a"}).text("bases", {"AACCGGTT", "ACGTACGTAC"}).attribute("path", "ref.fa").build();
}
Result cut(const sluice::testing::ParameterTexts& parameters) {
  return sluice::testing::run_stage<sluice::target_regions::TargetRegions>(std::vector<TestBatch>{})
      .resource("reference", two_contigs())
      .with(parameters)
      .run();
}
// CONTIG/LABEL/START/STRAND/BASES of each row.
std::string rows_of(const Result& result) {
  REQUIRE_MESSAGE(result.ok(), result.message);
  const sluice::Batch rows = result.batch().view();
  std::string text;
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    const auto i = static_cast<std::size_t>(row);
    text += std::string(rows.text("name")[row]) + "/" + std::string(rows.text("label")[row]) + "/" +
            std::to_string(rows.column<std::int64_t>("region_start")[i]) + "/" + std::to_string(rows.column<std::uint8_t>("region_strand")[i]) + "/" +
            std::string(rows.text("bases")[row]) + " ";
  }
  return text;
}

}  // namespace

TEST_CASE("The stage cuts the regions out of the contigs, or gives the contigs whole") {
  const Result whole = cut({});
  CHECK(rows_of(whole) == "b/b/0/0/AACCGGTT a/a/0/0/ACGTACGTAC ");
  CHECK(whole.batch().view().attribute("path") == "ref.fa");
  const sluice::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/regions.bed";
  std::ofstream(path) << "a\t2\t5\tgene\t0\t-\nb\t6\t8\n";
  const Result some = cut({{"path", path}});
  CHECK(rows_of(some) == "b/b/6/0/TT a/gene/2/2/GTA ");
  CHECK(some.batch().view().attribute("path") == path);
  CHECK(some.logged("2 regions of '" + path + "' with 5 bases"));
  CHECK(rows_of(cut({{"path", path}, {"flank", 1}})) == "b/b/5/0/GTT a/gene/1/2/CGTAC ");
  std::ofstream(path) << "a\t5\n";
  CHECK(cut({{"path", path}}).message == "regions '" + path + "', line 1: a region needs a start and an end");
  std::ofstream(path) << "c\t5\t6\n";
  CHECK(cut({{"path", path}}).message == "regions '" + path + "': contig 'c' is not in the reference");
  CHECK(cut({{"path", folder.path() + "/none"}}).status == SLUICE_ERROR_INPUT);
}

TEST_CASE("The stage keeps the contract of all stages") {
  sluice::testing::ContractSample sample;
  sample.resources = {{"reference", two_contigs()}};
  for (const std::string& problem : sluice::testing::contract_problems<sluice::target_regions::TargetRegions>(sample)) FAIL_CHECK(problem);
}
