// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "bedmethyl_writer/stage.cpp"  // the stage class has no header of its own

#include <doctest/doctest.h>

#include <limits>
#include <sluice/testing.hpp>
#include <string>

#include "unit/figures_of.hpp"
#include "unit/resumed_forms.hpp"

using namespace sluice::bedmethyl_writer;
using sluice::testing::BatchBuilder;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

TestBatch sites(std::int64_t modified = 1) {
  return BatchBuilder("pileup", 3)
      .text("contig", {"chr1", "chr1", "chr2"})
      .column<std::int64_t>("position", {9, 9, 120})
      .text("strand", {"+", "-", "."})
      .text("modification", {"m", "21839", "h"})
      .column<std::int64_t>("modified", {modified, 0, 5})
      .column<std::int64_t>("canonical", {2, 0, 0})
      .column<std::int64_t>("other_modified", {0, 7, 0})
      .column<std::int64_t>("deleted", {4, 0, 0})
      .column<std::int64_t>("failed", {5, 0, 0})
      .column<std::int64_t>("different", {6, 0, 0})
      .column<std::int64_t>("no_call", {7, 0, 8})
      .text("partition", {"1", "ungrouped", "2"})
      .build();
}

}  // namespace

TEST_CASE("a line has 18 columns, and 19 with partitions") {
  const auto result = run_stage<BedMethylWriter>(sites()).with({{"output", "sites.bed"}}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.files.at("sites.bed") ==
        "chr1\t9\t10\tm\t3\t+\t9\t10\t255,0,0\t3\t33.33\t1\t2\t0\t4\t5\t6\t7\n"
        "chr1\t9\t10\t21839\t7\t-\t9\t10\t255,0,0\t7\t0.00\t0\t0\t7\t0\t0\t0\t0\n"
        "chr2\t120\t121\th\t5\t.\t120\t121\t255,0,0\t5\t100.00\t5\t0\t0\t0\t0\t0\t8\n");
  CHECK(result.outcomes.at("written") == std::pair<std::uint64_t, std::uint64_t>{3, 3});
  const auto parts = run_stage<BedMethylWriter>(sites()).with({{"output", "sites.bed"}, {"partitions", true}}).run();
  CHECK(parts.files.at("sites.bed").find("\t0\t0\t0\t0\tungrouped\n") != std::string::npos);
  CHECK(run_stage<BedMethylWriter>(sites()).with({{"output", "sites.bed.gz"}}).run().files.at("sites.bed.gz").starts_with("\x1f\x8b"));
}

TEST_CASE("counts that can't be are refused with their place") {
  const auto result = run_stage<BedMethylWriter>(sites(-1)).with({{"output", "sites.bed"}}).run();
  CHECK(result.status == SLUICE_ERROR_INPUT);
  CHECK(result.message.find("site chr1:9") != std::string::npos);
}

TEST_CASE("positions and counts have limits, and a site without valid calls has 0 per cent") {
  const auto run = [](std::int64_t position, std::size_t which, std::int64_t value) {
    const char* names[] = {"modified", "canonical", "other_modified", "deleted", "failed", "different", "no_call"};
    BatchBuilder site("pileup", 1);
    site.text("contig", {"c"}).column<std::int64_t>("position", {position}).text("strand", {"+"}).text("modification", {"m"});
    for (std::size_t i = 0; i < std::size(names); ++i) site.column<std::int64_t>(names[i], {i == which ? value : 0});
    return run_stage<BedMethylWriter>(site.text("partition", {"1"}).build()).with({{"output", "sites.bed"}}).run();
  };
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;
  CHECK(run(0, 3, 1).files.at("sites.bed") == "c\t0\t1\tm\t0\t+\t0\t1\t255,0,0\t0\t0.00\t0\t0\t0\t1\t0\t0\t0\n");
  CHECK(run(most - 1, 0, 1).ok());
  CHECK(!run(most, 0, 1).ok());
  CHECK(!run(-1, 0, 1).ok());
  for (std::size_t which = 0; which < 7; ++which) {
    CAPTURE(which);
    CHECK(run(0, which, most - 1).ok());
    CHECK(!run(0, which, most).ok());
    CHECK(!run(0, which, -1).ok());
  }
}

TEST_CASE("the report's figures are those of the rows, counted by hand") {
  const auto result = run_stage<BedMethylWriter>(sites()).with({{"output", "sites.bed"}, {"report_region", "chr1:10-10"}}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(figure(result, "00") == Amounts{{"part", 6}, {"whole", 15}});
  CHECK(figure(result, "01") == Amounts{{"sum", 15}, {"number", 3}});
  CHECK(figure(result, "02") == Amounts{{"0000000000 m part", 1},
                                        {"0000000000 m whole", 3},
                                        {"0000000000 21839 part", 0},
                                        {"0000000000 21839 whole", 7},
                                        {"0000000000 h part", 5},
                                        {"0000000000 h whole", 5}});
  CHECK(figure(result, "03") == Amounts{{"0000000000 chr1 9 10 part", 1}, {"0000000000 chr1 9 10 whole", 10}});
  CHECK(figure(result, "04") == Amounts{{"0", 1}, {"6", 1}, {"20", 1}});  // of 20 classes, and all
  CHECK(figure(result, "05") == Amounts{{"3", 1}, {"5", 1}, {"7", 1}});
}

TEST_CASE("a site without valid calls has no share, and counts that are nearly too large have theirs") {
  const auto classes = [](std::int64_t modified, std::int64_t canonical, const std::string& number) {
    BatchBuilder site("pileup", 1);
    site.text("contig", {"c"}).column<std::int64_t>("position", {5}).text("strand", {"+"}).text("modification", {"m"});
    site.column<std::int64_t>("modified", {modified}).column<std::int64_t>("canonical", {canonical});
    for (const char* name : {"other_modified", "deleted", "failed", "different", "no_call"}) site.column<std::int64_t>(name, {0});
    const auto result = run_stage<BedMethylWriter>(site.text("partition", {"1"}).build()).with({{"output", "sites.bed"}}).run();
    REQUIRE_MESSAGE(result.ok(), result.message);
    return figure(result, number);
  };
  CHECK(classes(0, 0, "04").empty());
  CHECK(classes(0, 0, "05") == Amounts{{"0", 1}});
  CHECK(classes(100, 99, "05") == Amounts{{"199", 1}});
  CHECK(classes(100, 101, "05") == Amounts{{"200", 1}});
  // 2^63 / 20 calls: just below one of 20 classes. More calls are divided first.
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 20;
  CHECK(classes(most / 20, most - most / 20, "04") == Amounts{{"0", 1}});
  CHECK(classes(2'200'000'000'000'000'000, 68'000'000'000'000'000, "04") == Amounts{{"19", 1}});
  CHECK(classes(2'200'000'000'000'000'000, 0, "04") == Amounts{{"20", 1}});
}

TEST_CASE("rows that failed have no line, in batches of any size") {
  constexpr std::int64_t rows = 2500;
  std::vector<std::int64_t> position, zeros(rows, 0);
  for (std::int64_t row = 0; row < rows; ++row) position.push_back(row);
  BatchBuilder many("pileup", rows);
  const auto all = [](const char* text) { return std::vector<std::string>(rows, text); };
  many.text("contig", all("c")).column<std::int64_t>("position", position).text("strand", all("+")).text("modification", all("m"));
  for (const char* name : {"modified", "canonical", "other_modified", "deleted", "failed", "different", "no_call"})
    many.column<std::int64_t>(name, std::string_view(name) == "modified" ? position : zeros);
  many.text("partition", all("1"));
  for (const std::int64_t row : {0, 1023, 1024, 2499}) many.failed(row);
  const auto result = run_stage<BedMethylWriter>(many.build()).with({{"output", "sites.bed"}}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.outcomes.at("written") == std::pair<std::uint64_t, std::uint64_t>{2496, 2500});
  std::string expected;
  for (std::int64_t row = 1; row < 2499; ++row) {
    if (row == 1023 || row == 1024) continue;
    const std::string n = std::to_string(row), next = std::to_string(row + 1);
    expected += "c\t" + n + "\t" + next + "\tm\t" + n + "\t+\t" + n + "\t" + next + "\t255,0,0\t" + n + "\t100.00\t" + n + "\t0\t0\t0\t0\t0\t0\n";
  }
  CHECK((result.files.at("sites.bed") == expected));
}

TEST_CASE("bedmethyl_writer keeps the contract of all stages") {
  for (const char* output : {"sites.bed", "sites.bed.gz"})
    CHECK(sluice::testing::contract_problems(*sluice_plugin_init(nullptr, nullptr),
                                             {{"bedmethyl_writer", {.parameters = {{"output", output}}, .batches = {sites(), sites()}}}}) ==
          std::vector<std::string>{});
}

TEST_CASE("sites go on behind an interruption") {
  const auto run =
      sluice::testing::run_stage(sluice::testing::stage_of(*sluice_plugin_init(nullptr, nullptr), "bedmethyl_writer"), std::vector{sites(), sites()});
  CHECK(sluice::testing::resume_problems(run, {"a.bed", "a.bed.gz", "a.bed.zst", "a.arrow", "a.parquet"}) == std::vector<std::string>{});
}
