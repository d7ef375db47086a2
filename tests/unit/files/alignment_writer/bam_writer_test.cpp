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
#include "unit/resumed_forms.hpp"

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

TEST_CASE("names have at most 254 letters, places begin at 0, and what consumes the read adds up to its bases") {
  struct Row {
    std::string name = "r";
    std::int64_t start = 0;
    std::vector<std::uint32_t> cigar = {4 << 4};
    std::string bases = "ACGT", qualities = "IIII";
  };
  const auto written = [](const Row& row) {
    const TestBatch batch = BatchBuilder("read", 1)
                                .text("read_id", {row.name})
                                .text("contig", {"one"})
                                .column<std::int64_t>("ref_start", {row.start})
                                .column<std::uint16_t>("flag", {0})
                                .column<std::uint8_t>("mapq", {0})
                                .list<std::uint32_t>("cigar", {row.cigar})
                                .text("bases", {row.bases})
                                .text("qualities", {row.qualities})
                                .build();
    const Result result = writing(batch).run();
    REQUIRE(result.ok());
    CHECK(result.failed.size() == (result.outcomes.at("written").first == 1 ? 0 : 1));
    return result.outcomes.at("written").first == 1;
  };
  CHECK(written({}));
  CHECK(written({.name = std::string(254, 'n')}));
  CHECK(!written({.name = std::string(255, 'n')}));
  CHECK(!written({.name = ""}));
  CHECK(!written({.start = -1}));
  CHECK(written({.cigar = {1 << 4 | 4, 2 << 4 | 7, 5 << 4 | 2, 1 << 4 | 8, 9 << 4 | 5}}));  // 1S 2= 5D 1X 9H
  CHECK(!written({.cigar = {3 << 4, 1 << 4 | 2}}));
  CHECK(!written({.cigar = {5 << 4}}));
  CHECK(!written({.qualities = "III"}));
}

TEST_CASE("reads of one place are sorted, and those of a contig in front of the last one's are not") {
  CHECK(writing(reads({3, 3, 0})).run().ok());
  TestBatch::Contents contents = reads().contents();
  const TestBatch other = BatchBuilder("read", 3).text("contig", {"one", "two", "one"}).build();
  for (auto& column : contents.columns)
    if (column.name == "contig") column = other.contents().columns[0];
  CHECK(writing(TestBatch(contents)).run().message.find("'c' lies before") != std::string::npos);
  CHECK(writing(TestBatch(contents)).with({{"index", false}}).run().ok());
}

TEST_CASE("reads without qualities have none in the file") {
  TestBatch::Contents contents = reads().contents();
  std::erase_if(contents.columns, [](const auto& column) { return column.name == "qualities"; });
  const Result result = writing(TestBatch(contents)).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(sam_of(result.files.at("x.bam")).find("b\t16\tone\t4\t60\t2M1I1D1M\t*\t0\t0\tCGTT\t*\n") != std::string::npos);
}

TEST_CASE("the writer keeps the contract of every stage") {
  // An index wants sorted rows.
  for (const bool index : {true, false}) {
    const auto parameters = sluice::testing::ParameterTexts{{"output", "x.bam"}, {"index", index}};
    for (const std::string& problem : contract_problems(
             plugin(),
             {{"bam_writer", {.parameters = parameters, .resources = {{"reference", reference()}}, .batches = {reads()}, .sorted_rows = index}}}))
      FAIL_CHECK(problem);
  }
}

TEST_CASE("records and index go on behind an interruption") {
  CHECK(resume_problems(writing(reads())) == std::vector<std::string>{});
  CHECK(resume_problems(writing(reads()).with({{"index", false}})) == std::vector<std::string>{});
  CHECK(resume_problems(writing(reads()).with({{"output", "-"}})) == std::vector<std::string>{});
}

TEST_CASE("the index of a long file leads to the reads of every place") {
  std::vector<std::string> ids, contigs, bases, qualities;
  std::vector<std::int64_t> starts;
  std::vector<std::vector<std::uint32_t>> cigars;
  std::uint32_t state = 1;
  const auto random = [&state](std::uint32_t below) { return (state = state * 1664525U + 1013904223U) / 16 % below; };
  constexpr std::size_t rows = 3000;
  for (std::size_t i = 0; i < rows; ++i) {
    ids.push_back("r" + std::to_string(i));
    contigs.push_back(i < 1000 ? "one" : "two");
    starts.push_back(static_cast<std::int64_t>(i % 1000 * 50 + (i < 2000 ? 0 : 50'000)));
    const std::uint32_t length = i % 500 == 3 ? 120'000 : 1000 + random(3000);
    cigars.push_back({length << 4});
    bases.emplace_back();
    qualities.emplace_back();
    for (std::uint32_t k = 0; k < length; ++k) bases.back() += "ACGT"[random(4)], qualities.back() += static_cast<char>('!' + random(40));
  }
  const std::string contig(300'000, 'A');
  const TestBatch two = BatchBuilder("contig", 2).text("name", {"one", "two"}).text("bases", {contig, contig}).build();
  const auto reads = BatchBuilder("read", rows)
                         .text("read_id", ids)
                         .text("contig", contigs)
                         .column<std::int64_t>("ref_start", starts)
                         .column<std::uint16_t>("flag", std::vector<std::uint16_t>(rows, 0))
                         .column<std::uint8_t>("mapq", std::vector<std::uint8_t>(rows, 60))
                         .list<std::uint32_t>("cigar", cigars)
                         .text("bases", bases)
                         .text("qualities", qualities)
                         .build();
  const Result result = run_stage(stage_of(plugin(), "bam_writer"), reads).resource("reference", two).with({{"output", "x.bam"}}).run();
  REQUIRE(result.ok());
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.bam";
  std::ofstream(path, std::ios::binary) << result.files.at("x.bam");
  std::ofstream(path + ".bai", std::ios::binary) << result.files.at("x.bam.bai");
  htsFile* file = hts_open(path.c_str(), "r");
  sam_hdr_t* header = sam_hdr_read(file);
  hts_idx_t* index = sam_index_load(file, path.c_str());
  REQUIRE(index != nullptr);
  bam1_t* record = bam_init1();
  for (int contig_index = 0; contig_index < 2; ++contig_index)
    for (std::int64_t begin = 0; begin < 300'000; begin += 17'000) {
      std::vector<std::string> found, expected;
      hts_itr_t* iterator = sam_itr_queryi(index, contig_index, begin, begin + 100);
      while (sam_itr_next(file, iterator, record) >= 0) found.emplace_back(bam_get_qname(record));
      hts_itr_destroy(iterator);
      for (std::size_t i = 0; i < rows; ++i)
        if ((i < 1000 ? 0 : 1) == contig_index && starts[i] < begin + 100 && starts[i] + static_cast<std::int64_t>(bases[i].size()) > begin)
          expected.push_back(ids[i]);
      CHECK(found == expected);
    }
  bam_destroy1(record);
  hts_idx_destroy(index);
  sam_hdr_destroy(header);
  hts_close(file);

  std::vector<TestBatch> cut;
  for (std::int64_t begin = 0; begin < static_cast<std::int64_t>(rows); begin += 700)
    cut.push_back(reads.rows(begin, std::min<std::int64_t>(begin + 700, rows)));
  CHECK(resume_problems(run_stage(stage_of(plugin(), "bam_writer"), cut).resource("reference", two).with({{"output", "x.bam"}})) ==
        std::vector<std::string>{});
}
