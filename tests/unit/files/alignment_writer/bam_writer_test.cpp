// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <htslib/sam.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/outcomes_of.hpp"

using namespace sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = load_plugin(SLUICE_PLUGIN_DIR "/alignment_writer.so");
  return *info;
}
TestBatch reference() { return BatchBuilder("contig", 2).text("name", {"one", "two"}).text("bases", {"ACGTACGTAC", "TTTTT"}).build(); }
TestBatch reads(const std::vector<std::int64_t>& starts = {1, 3, 0}) {
  return BatchBuilder("read", 3)
      .text("read_id", {"a", "b", "c"})
      .text("contig", {"one", "one", "two"})
      .column<std::int64_t>("ref_start", starts)
      .column<std::uint16_t>("flag", {0, 16, 0})
      .column<std::uint8_t>("mapq", {60, 60, 7})
      .list<std::uint32_t>("cigar", {{3 << 4}, {2 << 4, 1 << 4 | 1, 1 << 4 | 2, 1 << 4}, {1 << 4}})
      .text("bases", {"CGT", "AACG", "T"})
      .text("qualities", {"!#I", "ABCD", "5"})
      .build();
}
StageRun writing(const TestBatch& batch) {
  return run_stage(stage_of(plugin(), "bam_writer"), batch).resource("reference", reference()).with({{"output", "x.bam"}});
}

// The file as SAM text, by HTSlib.
std::string sam_of(const std::string& bytes) {
  const std::string path = (std::filesystem::temp_directory_path() / "sluice_bam_writer_test.bam").string();
  std::ofstream(path, std::ios::binary) << bytes;
  htsFile* file = hts_open(path.c_str(), "r");
  REQUIRE(file != nullptr);
  sam_hdr_t* header = sam_hdr_read(file);
  REQUIRE(header != nullptr);
  bam1_t* record = bam_init1();
  std::string text = sam_hdr_str(header);
  kstring_t line = KS_INITIALIZE;
  while (sam_read1(file, header, record) >= 0) {
    REQUIRE(sam_format1(header, record, &line) >= 0);
    text += std::string(line.s, line.l) + "\n";
  }
  ks_free(&line);
  bam_destroy1(record);
  sam_hdr_destroy(header);
  hts_close(file);
  std::filesystem::remove(path);
  return text;
}

}  // namespace

TEST_CASE("records have the orientation of the reference") {
  const Result result = writing(reads()).run();
  REQUIRE(result.ok());
  CHECK(sam_of(result.files.at("x.bam")) ==
        "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:one\tLN:10\n@SQ\tSN:two\tLN:5\n@PG\tID:sluice\tPN:sluice\n"
        "a\t0\tone\t2\t60\t3M\t*\t0\t0\tCGT\t!#I\n"
        "b\t16\tone\t4\t60\t2M1I1D1M\t*\t0\t0\tCGTT\tDCBA\n"
        "c\t0\ttwo\t1\t7\t1M\t*\t0\t0\tT\t5\n");
  CHECK(result.files.at("x.bam.bai").starts_with(std::string("BAI\1", 4)));
}

TEST_CASE("an index of unsorted reads is refused with a remedy") {
  const Result result = writing(reads({3, 1, 0})).run();
  CHECK(result.status == SLUICE_ERROR_INPUT);
  CHECK(result.message.find("'b'") != std::string::npos);
  CHECK(!result.remedy.empty());
  const Result without = writing(reads({3, 1, 0})).with({{"index", false}}).run();
  CHECK(without.ok());
  CHECK(!without.files.contains("x.bam.bai"));
}

TEST_CASE("reads that do not fit fail and the others are written") {
  const TestBatch bad = BatchBuilder("read", 4)
                            .text("read_id", {"cigar", "contig", "qualities", "good"})
                            .text("contig", {"one", "nowhere", "one", "one"})
                            .column<std::int64_t>("ref_start", {0, 0, 0, 0})
                            .column<std::uint16_t>("flag", {0, 0, 0, 0})
                            .column<std::uint8_t>("mapq", {0, 0, 0, 0})
                            .list<std::uint32_t>("cigar", {{2 << 4}, {1 << 4}, {1 << 4}, {1 << 4}})
                            .text("bases", {"A", "A", "A", "A"})
                            .text("qualities", {"I", "I", "", "I"})
                            .build();
  const Result result = writing(bad).run();
  CHECK(result.failed.size() == 3);
  CHECK(sam_of(result.files.at("x.bam")).find("good\t0\tone\t1") != std::string::npos);
  CHECK(outcomes_of(writing(bad)) == Outcomes{{"written", {1, 4}}});
}

TEST_CASE("the writer keeps the contract of every stage") {
  CHECK(contract_problems(plugin(),
                          {{"bam_writer", {.parameters = {{"output", "x.bam"}}, .resources = {{"reference", reference()}}, .batches = {reads()}}}}) ==
        std::vector<std::string>{});
}
