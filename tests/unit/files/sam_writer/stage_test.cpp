// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sam_writer/stage.cpp"  // the stage class has no header of its own

#include <doctest/doctest.h>

#include "unit/mapping/hit_selection/tiny_index.hpp"
#include "unit/outcomes_of.hpp"

using namespace sluice::sam_writer;
using sluice::testing::BatchBuilder;
using sluice::testing::run_stage;

namespace {

// A read without an alignment, and one with a part on each strand of which the second is supplementary, and a secondary place.
sluice::testing::TestBatch reads(bool lower_case = false) {
  return BatchBuilder("read", 2)
      .text("read_id", {"none", "parts"})
      .text("bases", {"ACGU", "ACGTTTGNCR"})
      .text("qualities", {"IIII", "ABCDEFGHIJ"})
      .text("written_bases", {"", lower_case ? "aCGTTuGNcr" : ""})
      .column<std::int32_t>("repeat_length", {3, 4})
      .list<std::int32_t>("aligned_target", {{}, {0, 1, 1}})
      .list<std::uint8_t>("aligned_is_reverse", {{}, {0, 1, 0}})
      .list<std::int32_t>("aligned_query_start", {{}, {0, 4, 0}})
      .list<std::int32_t>("aligned_query_end", {{}, {4, 9, 4}})
      .list<std::int32_t>("aligned_target_start", {{}, {99, 9, 300}})
      .list<std::int32_t>("aligned_target_end", {{}, {103, 15, 304}})
      .list<std::int32_t>("aligned_matches", {{}, {4, 4, 3}})
      .list<std::int32_t>("aligned_columns", {{}, {4, 5, 4}})
      .list<std::int32_t>("aligned_ambiguous", {{}, {0, 1, 0}})
      .list<std::int32_t>("edit_distance", {{}, {0, 2, 1}})
      .list<std::int32_t>("alignment_score", {{}, {8, 3, 2}})
      .list<std::int32_t>("aligned_best_score", {{}, {8, 5, 4}})
      .list<double>("aligned_divergence", {{}, {0, 0.33333, 0.25}})
      .list<std::int32_t>("aligned_anchors", {{}, {5, 4, 3}})
      .list<std::int32_t>("aligned_chain_score", {{}, {50, 40, 45}})
      .list<std::int32_t>("aligned_second_score", {{}, {45, 0, -1}})
      .list<std::uint8_t>("aligned_is_primary", {{}, {1, 1, 0}})
      .list<std::uint8_t>("aligned_is_first", {{}, {1, 0, 0}})
      .list<std::uint8_t>("aligned_is_inversion", {{}, {0, 0, 0}})
      .list<std::uint8_t>("aligned_split", {{}, {1, 2, 0}})
      .list<std::uint8_t>("aligned_mapq", {{}, {60, 30, 0}})
      .list<std::int32_t>("cigar_count", {{}, {1, 3, 1}})
      .list<std::uint32_t>("aligned_cigar", {{}, {4U << 4, 2U << 4, 1U << 4 | 2, 3U << 4, 4U << 4}})
      .text("difference_text", {"", ":4\n:2-a:3\n:4\n"})
      .text("mismatch_text", {"", "4\n2^A3\n4\n"})
      .build();
}

std::string written(const sluice::testing::ParameterTexts& options) {
  const auto result =
      run_stage<SamWriter>(reads()).resource("index", tiny_index::of({{"one", 5000}, {"two", 700}})).with({{"output", "x.sam"}}).with(options).run();
  REQUIRE(result.status == SLUICE_OK);
  const std::string& text = result.files.at("x.sam");
  return text.substr(text.find("\nnone") == std::string::npos ? text.find("\nparts") + 1 : text.find("\nnone") + 1);
}

const std::string unmapped = "none\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII";
const std::string first = "parts\t0\tone\t100\t60\t4M6S\t*\t0\t0\tACGTTTGNCR\tABCDEFGHIJ";
const std::string first_tags = "\tNM:i:0\tms:i:8\tAS:i:8\tnn:i:0\ttp:A:P\tcm:i:5\ts1:i:50\ts2:i:45\tde:f:0\tzd:i:1\tSA:Z:two,10,-,1S5M1D4S,30,2;";
const std::string second_tags = "\tNM:i:2\tms:i:5\tAS:i:3\tnn:i:1\ttp:A:P\tcm:i:4\ts1:i:40\ts2:i:0\tde:f:0.3333\tzd:i:2\tSA:Z:one,100,+,4M6S,60,0;";
const std::string third = "parts\t256\ttwo\t301\t0\t4M6S\t*\t0\t0\t*\t*";
const std::string third_tags = "\tNM:i:1\tms:i:4\tAS:i:2\tnn:i:0\ttp:A:S\tcm:i:3\ts1:i:45\tde:f:0.2500";

}  // namespace

TEST_CASE("records are minimap2's: flags, clips, bases and tags of first, supplementary, secondary and unmapped ones") {
  CHECK(written({}) == unmapped + "\trl:i:3\n" + first + first_tags + "\trl:i:4\n" + "parts\t2064\ttwo\t10\t30\t1H2M1D3M4H\t*\t0\t0\tGNCAA\tIHGFE" +
                           second_tags + "\trl:i:4\n" + third + third_tags + "\trl:i:4\n");
}

TEST_CASE("options of records") {
  const std::string whole = "parts\t2064\ttwo\t10\t30\t1S2M1D3M4S\t*\t0\t0\tYGNCAAACGT\tJIHGFEDCBA";
  CHECK(written({{"soft_clip", true}, {"secondary", false}, {"hits_only", true}}) ==
        first + first_tags + "\trl:i:4\n" + whole + second_tags + "\trl:i:4\n");
  CHECK(written({{"cs", true}, {"secondary", false}, {"hits_only", true}}).starts_with(first + first_tags + "\tcs:Z::4\trl:i:4\n"));
  CHECK(written({{"cs", true}, {"md", true}, {"hits_only", true}}).starts_with(first + first_tags + "\tMD:Z:4\trl:i:4\n"));
  CHECK(written({{"read_group", "@RG\\tID:a b\\tSM:x"}}).starts_with(unmapped + "\tRG:Z:a b\trl:i:3\n" + first + "\tRG:Z:a b\tNM:i:0"));
}

TEST_CASE("letters of reads keep their case in SAM") {
  const auto of_lower_case = [](const char* file) {
    return run_stage<SamWriter>(reads(true)).resource("index", tiny_index::of({{"one", 5000}, {"two", 700}})).with({{"output", file}}).run();
  };
  const std::string text = of_lower_case("x.sam").files.at("x.sam");
  CHECK(text.find("\tACGT\tIIII") != std::string::npos);
  CHECK(text.find("\taCGTTtGNcr\tABCDEFGHIJ") != std::string::npos);
  CHECK(text.find("\tgNCaA\tIHGFE") != std::string::npos);
  const auto of_bam = of_lower_case("x.bam"),
             of_upper_case =
                 run_stage<SamWriter>(reads()).resource("index", tiny_index::of({{"one", 5000}, {"two", 700}})).with({{"output", "x.bam"}}).run();
  CHECK((of_bam.files.at("x.bam") == of_upper_case.files.at("x.bam")));
}

TEST_CASE("the header names contigs, read group and program") {
  const auto header = [](const char* group) {
    const auto result = run_stage<SamWriter>(reads())
                            .resource("index", tiny_index::of({{"one", 5000}, {"two", 700}}))
                            .with({{"output", "x.sam"}, {"read_group", group}, {"command", "sluice run map"}})
                            .run();
    const std::string& text = result.files.at("x.sam");
    return text.substr(0, text.find("\nnone") + 1);
  };
  const std::string contigs = "@SQ\tSN:one\tLN:5000\n@SQ\tSN:two\tLN:700\n";
  CHECK(header("").starts_with(contigs + "@PG\tID:sluice\tPN:sluice\tVN:"));
  CHECK(header("").ends_with("\tCL:sluice run map\n"));
  CHECK(header("x").starts_with(contigs + "@RG\tID:x\n@PG"));
  CHECK(header("@RG\\tID:x\\tSM:y").starts_with(contigs + "@RG\tID:x\tSM:y\n@PG"));
  CHECK_THROWS(parse_read_group("@RG\\tSM:y"));
}

TEST_CASE("reads with an alignment are mapped, others are not") {
  const auto index = tiny_index::of({{"one", 5000}, {"two", 700}});
  CHECK(outcomes_of(run_stage<SamWriter>(reads()).resource("index", index).with({{"output", "x.sam"}})) == Outcomes{{"mapped", {1, 2}}});
  CHECK(outcomes_of(run_stage<SamWriter>(reads().all_failed()).resource("index", index).with({{"output", "x.sam"}})) == Outcomes{{"mapped", {0, 2}}});
}
