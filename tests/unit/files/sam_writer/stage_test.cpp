// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sam_writer/stage.cpp"  // the stage class has no header of its own

#include <doctest/doctest.h>

#include <fstream>
#include <sluice/hts/stored_record.hpp>

#include "sam_writer/alignment_records.cpp"
#include "unit/files/sam_writer/tags_of_text.hpp"
#include "unit/mapping/hit_selection/tiny_index.hpp"
#include "unit/outcomes_of.hpp"
#include "unit/resumed_forms.hpp"

using namespace sluice::sam_writer;
using sluice::testing::BatchBuilder;
using sluice::testing::run_stage;

namespace {

// A read without an alignment, and one with a part on each strand of which the second is supplementary, and a secondary place.
BatchBuilder reads_builder(bool lower_case, const std::string& name_of_unmapped = "none") {
  return BatchBuilder("read", 2)
      .text("read_id", {name_of_unmapped, "parts"})
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
      .list<std::uint8_t>("aligned_transcript_strand", {{}, {0, 0, 0}})
      .list<std::int32_t>("cigar_count", {{}, {1, 3, 1}})
      .list<std::uint32_t>("aligned_cigar", {{}, {4U << 4, 2U << 4, 1U << 4 | 2, 3U << 4, 4U << 4}})
      .text("difference_text", {"", ":4\n:2-a:3\n:4\n"})
      .text("mismatch_text", {"", "4\n2^A3\n4\n"});
}
sluice::testing::TestBatch reads(bool lower_case = false) { return reads_builder(lower_case).build(); }

// The same with tags and what the header of their file said.
sluice::testing::TestBatch reads_of_bam(const std::string& of_none, const std::string& of_parts) {
  return reads_builder(false)
      .binary("tags", {tags_of_text(of_none), tags_of_text(of_parts)})
      .attribute("sam_header", "@RG\tID:g\tSM:s\n@PG\tID:basecaller\tPN:b\n@PG\tID:trim\tPN:t\tPP:basecaller\n")
      .build();
}
sluice::testing::Result run_on(const sluice::testing::TestBatch& batch, const sluice::testing::ParameterTexts& options) {
  const auto result =
      run_stage<SamWriter>(batch).resource("index", tiny_index::of({{"one", 5000}, {"two", 700}})).with({{"output", "x.sam"}}).with(options).run();
  REQUIRE(result.status == SLUICE_OK);
  return result;
}

std::string written(const sluice::testing::ParameterTexts& options) {
  const auto result =
      run_stage<SamWriter>(reads()).resource("index", tiny_index::of({{"one", 5000}, {"two", 700}})).with({{"output", "x.sam"}}).with(options).run();
  REQUIRE(result.status == SLUICE_OK);
  const std::string& text = result.files.at("x.sam");
  return text.substr(text.find("\nnone") == std::string::npos ? text.find("\nparts") + 1 : text.find("\nnone") + 1);
}

// Header and records of the file that is written of a batch.
std::string as_htslib_reads(const char* name, const sluice::testing::TestBatch& batch) {
  const sluice::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/" + name;
  std::ofstream(path, std::ios::binary) << run_on(batch, {{"output", name}}).files.at(name);
  const sluice::hts::File file(hts_open(path.c_str(), "r"));
  const sluice::hts::Header header(sam_hdr_read(file.get()));
  const sluice::hts::Record record(bam_init1());
  kstring_t line = KS_INITIALIZE;
  std::string text(sam_hdr_str(header.get()));
  while (sam_read1(file.get(), header.get(), record.get()) >= 0) {
    REQUIRE(sam_format1(header.get(), record.get(), &line) >= 0);
    text.append(line.s, line.l).push_back('\n');
  }
  ks_free(&line);
  return text;
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
  for (const char* wrong : {"@RG\\tSM:y", "@RG", "@RG\\tID:", "@RG\\tID:x\\tID:y", "@RGx\\tID:y", "@PG\\tID:x", "@RG\\tID:x\n"})
    CHECK_THROWS(parse_read_group(wrong));
}

TEST_CASE("reads with an alignment are mapped, others are not") {
  const auto index = tiny_index::of({{"one", 5000}, {"two", 700}});
  CHECK(outcomes_of(run_stage<SamWriter>(reads()).resource("index", index).with({{"output", "x.sam"}})) == Outcomes{{"mapped", {1, 2}}});
  CHECK(outcomes_of(run_stage<SamWriter>(reads().all_failed()).resource("index", index).with({{"output", "x.sam"}})) == Outcomes{{"mapped", {0, 2}}});
}

TEST_CASE("reads bring their tags, MM and ML of supplementary records cut to the bases that remain") {
  //                                   ACGTTTGNCR: the supplementary record has TTGNC of it
  const std::string carried = "\tRG:Z:g\tMM:Z:C+m?,0,0;T+x,1,0;\tML:B:C,1,2,3,4", others = "\tRG:Z:g";
  const auto lines = [&](const sluice::testing::ParameterTexts& options) {
    const std::string text = run_on(reads_of_bam("BC:Z:b\tNM:i:4", carried.substr(1) + "\tAS:i:5"), options).files.at("x.sam");
    return text.substr(text.find("\nnone") + 1);
  };
  const std::string second = "parts\t2064\ttwo\t10\t30\t1H2M1D3M4H\t*\t0\t0\tGNCAA\tIHGFE";
  CHECK(lines({}) == unmapped + "\trl:i:3\tBC:Z:b\n" + first + first_tags + "\trl:i:4" + carried + "\n" + second + second_tags +
                         "\trl:i:4\tRG:Z:g\tMM:Z:C+m?,0;T+x,0,0;\tML:B:C,2,3,4\tMN:i:5\n" + third + third_tags + "\trl:i:4" + others + "\n");
  const std::string soft = lines({{"soft_clip", true}});
  CHECK(soft.find("JIHGFEDCBA" + second_tags + "\trl:i:4" + carried + "\n") != std::string::npos);
  const std::string of_group = lines({{"read_group", "other"}});
  CHECK(of_group.find("\tRG:Z:g") == std::string::npos);
  CHECK(of_group.starts_with(unmapped + "\tRG:Z:other\trl:i:3\tBC:Z:b\n"));
}

TEST_CASE("BAM has the tags of SAM, as they were in the input's BAM") {
  const auto batch = reads_of_bam("qs:f:12.345678\tch:i:7", "mv:B:c,5,1,0\tMM:Z:C+m?,0;\tML:B:C,7");
  CHECK(as_htslib_reads("x.bam", batch) == as_htslib_reads("x.sam", batch));
  CHECK(as_htslib_reads("x.bam", batch).find("\tqs:f:12.3457\tch:i:7\n") != std::string::npos);
}

TEST_CASE("the header keeps read groups and programs of the reads' files, and chains ours to them") {
  const auto header = [](const sluice::testing::ParameterTexts& options) {
    const std::string text = run_on(reads_of_bam("", ""), options).files.at("x.sam");
    return text.substr(0, text.find("\nnone") + 1);
  };
  const std::string contigs = "@SQ\tSN:one\tLN:5000\n@SQ\tSN:two\tLN:700\n";
  const std::string programs = "@PG\tID:basecaller\tPN:b\n@PG\tID:trim\tPN:t\tPP:basecaller\n@PG\tID:sluice\tPP:trim\tPN:sluice\tVN:";
  CHECK(header({}).starts_with(contigs + "@RG\tID:g\tSM:s\n" + programs));
  CHECK(header({{"read_group", "mine"}, {"command", "now"}}).starts_with(contigs + "@RG\tID:mine\n" + programs));
  CHECK(header({{"command", "now"}}).ends_with("\tCL:now\n"));
}

TEST_CASE("modifications that can't be cut are counted, and the read is named") {
  const auto result = run_on(reads_of_bam("", "MM:Z:C+m?,0,9;\tML:B:C,1,2"), {});
  CHECK(result.counters.at("records without MM and ML, which do not fit their reads") == 1);
  CHECK(result.logged("'parts'"));
  const std::string& text = result.files.at("x.sam");
  CHECK(text.find(second_tags + "\trl:i:4\n") != std::string::npos);
  CHECK(text.find(first_tags + "\trl:i:4\tMM:Z:C+m?,0,9;\tML:B:C,1,2\n") != std::string::npos);
}

TEST_CASE("records of reads as a column are those that are written") {
  const auto batch = reads_of_bam("BC:Z:b", "MM:Z:C+m?,0,0;\tML:B:C,1,2");
  const auto made = run_stage<AlignmentRecords>(batch).resource("index", tiny_index::of({{"one", 5000}, {"two", 700}})).run();
  REQUIRE(made.ok());
  const sluice::hts::Header header(sam_hdr_init());
  const std::string contigs = "@SQ\tSN:one\tLN:5000\n@SQ\tSN:two\tLN:700\n";
  REQUIRE(sam_hdr_add_lines(header.get(), contigs.data(), contigs.size()) == 0);
  const sluice::hts::Record record(bam_init1());
  std::string text;
  for (std::int64_t row = 0; row < 2; ++row) {
    std::string_view records = made.batch().view().text("read_records")[row];
    while (!records.empty()) {
      const auto bytes = sluice::hts::BgzfBlock::load<std::uint32_t>(records.data());
      REQUIRE(sluice::hts::load_record(records.substr(4, bytes), 2, *record) == sluice::hts::RecordStatus::ok);
      records.remove_prefix(4 + bytes);
      kstring_t line = KS_INITIALIZE;
      REQUIRE(sam_format1(header.get(), record.get(), &line) >= 0);
      text.append(line.s, line.l).push_back('\n');
      ks_free(&line);
    }
  }
  const std::string written = as_htslib_reads("x.sam", batch);
  CHECK(text == written.substr(written.find("\nnone") + 1));
  const auto of_group =
      run_stage<AlignmentRecords>(batch).resource("index", tiny_index::of({{"one", 5000}, {"two", 700}})).with({{"read_group", "mine"}}).run();
  for (std::int64_t row = 0; row < 2; ++row) {
    const std::string_view records = of_group.batch().view().text("read_records")[row];
    CHECK(records.find(std::string_view("RGZmine", 8)) != std::string_view::npos);
    CHECK(records.find(std::string_view("RGZg", 5)) == std::string_view::npos);
  }
  CHECK(sluice::testing::contract_problems<AlignmentRecords>(
            {.resources = {{"index", tiny_index::of({{"one", 5000}, {"two", 700}})}}, .batches = {batch, batch}}) == std::vector<std::string>{});
}

TEST_CASE("a read whose name no record can hold ends the run by name, unless it is not written") {
  const auto named = [](const std::string& name) { return reads_builder(false, name).build(); };
  const std::string longest(254, 'n');
  for (const std::string& name : {longest + "n", std::string("a b"), std::string("\xC3\xA4"), std::string()})
    for (const char* file : {"x.sam", "x.bam"}) {
      const auto of = [&](const sluice::testing::ParameterTexts& options) {
        return run_stage<SamWriter>(named(name))
            .resource("index", tiny_index::of({{"one", 5000}, {"two", 700}}))
            .with({{"output", file}})
            .with(options)
            .run();
      };
      const auto result = of({});
      CHECK(result.status == SLUICE_ERROR_INPUT);
      CHECK(result.message.find("its name has " + std::to_string(name.size()) + " characters") != std::string::npos);
      CHECK(of({{"hits_only", true}}).status == SLUICE_OK);  // the read has no alignment
    }
  CHECK(run_on(named(longest), {}).files.at("x.sam").find(longest + "\t4\t") != std::string::npos);
  const auto records = run_stage<AlignmentRecords>(named(longest + "n")).resource("index", tiny_index::of({{"one", 5000}, {"two", 700}})).run();
  CHECK(records.status == SLUICE_ERROR_INPUT);
}

TEST_CASE("one read group of two samples is refused, unless all reads get another one") {
  const auto of = [](const sluice::testing::ParameterTexts& options) {
    const auto batch = reads_builder(false).binary("tags", {"", ""}).attribute("sam_header", "@RG\tID:g\tSM:s\n@RG\tID:g\tSM:t\n").build();
    return run_stage<SamWriter>(batch)
        .resource("index", tiny_index::of({{"one", 5000}, {"two", 700}}))
        .with({{"output", "x.sam"}})
        .with(options)
        .run();
  };
  CHECK(of({}).status == SLUICE_ERROR_INPUT);
  CHECK(of({}).message.find("read group 'g' is of sample 's' in one of the files") != std::string::npos);
  CHECK(of({{"read_group", "mine"}}).status == SLUICE_OK);
}

TEST_CASE("a contig whose name means something else in SAM, or that has no bases, is refused") {
  for (const auto& [name, bases] : {std::pair("*", 700), std::pair("=", 700), std::pair("", 700), std::pair("two", 0)})
    CHECK(run_stage<SamWriter>(reads()).resource("index", tiny_index::of({{"one", 5000}, {name, bases}})).with({{"output", "x.sam"}}).run().status ==
          SLUICE_ERROR_INPUT);
}

TEST_CASE("records go on behind an interruption") {
  const auto batch = reads_of_bam("BC:Z:b", "MM:Z:C+m?,0,0;\tML:B:C,1,2");
  const auto run = run_stage<SamWriter>(std::vector{batch, batch, batch}).resource("index", tiny_index::of({{"one", 5000}, {"two", 700}}));
  CHECK(sluice::testing::resume_problems(run, {"x.sam", "x.sam.gz", "x.sam.zst", "x.bam"}) == std::vector<std::string>{});
  const std::vector<std::string> can_not = {"the instance does not save"};
  CHECK(sluice::testing::resume_problems(sluice::testing::StageRun(run).with({{"output", "x.bam"}, {"sort", true}})) == can_not);
}
