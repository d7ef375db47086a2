// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <htslib/bgzf.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sluice/testing.hpp>

#include "alignment_reader/stage.cpp"  // the stage class has no header of its own

using namespace sluice::alignment_reader;
using sluice::testing::BatchBuilder;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TemporaryFolder;
using sluice::testing::TestBatch;

namespace {

const std::string shared = SLUICE_SHARED_DIR;

// Sorted by coordinate; one record of each kind.
const std::string sam_header = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:one\tLN:1000\n@SQ\tSN:two\tLN:500\n";
const std::string sam_records =
    "forward\t0\tone\t11\t60\t2S4M1D4M\t*\t0\t0\tACGTACGTAC\tIIIIIIIIII\tNM:i:1\n"
    "reverse\t16\tone\t101\t50\t4M2I4M\t*\t0\t0\tAACCGGTTAR\t*\n"
    "low\t0\tone\t201\t19\t4M\t*\t0\t0\tACGT\t*\n"
    "secondary\t256\tone\t301\t60\t4M6H\t*\t0\t0\t*\t*\n"
    "clipped\t2048\tone\t401\t60\t6H4M\t*\t0\t0\tACGT\t*\n"
    "placed\t4\tone\t501\t0\t*\t*\t0\t0\tACGT\t*\n"
    "other\t0\ttwo\t1\t20\t10M\t*\t0\t0\tACGTACGTAC\t*\n"
    "unmapped\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\t*\n";

std::string write_sam(const TemporaryFolder& folder, const std::string& text) {
  const std::string path = folder.path() + "/a.sam";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string write_bam(const TemporaryFolder& folder, const std::string& text, const char* name = "a.bam", const char* mode = "wb") {
  const std::string sam = write_sam(folder, text), path = folder.path() + "/" + name;
  htsFile* in = hts_open(sam.c_str(), "r");
  htsFile* out = hts_open(path.c_str(), mode);
  sam_hdr_t* header = sam_hdr_read(in);
  REQUIRE(sam_hdr_write(out, header) == 0);
  bam1_t* record = bam_init1();
  while (sam_read1(in, header, record) >= 0) REQUIRE(sam_write1(out, header, record) >= 0);
  bam_destroy1(record);
  sam_hdr_destroy(header);
  hts_close(in);
  hts_close(out);
  return path;
}

Result read_alignments(const std::string& path, sluice::testing::ParameterTexts more = {}) {
  more.insert_or_assign("path", path);
  return run_stage<AlignmentReader>().with(more).run();
}

std::string names(const Result& result) {
  std::string list;
  for (const TestBatch& batch : result.batches)
    for (std::int64_t row = 0; row < batch.rows(); ++row) list += (list.empty() ? "" : " ") + std::string(batch.view().text("read_id")[row]);
  return list;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a record becomes a row with all its columns") {
  const TemporaryFolder folder;
  for (const std::string& path : {write_sam(folder, sam_header + sam_records), write_bam(folder, sam_header + sam_records)}) {
    const Result result = read_alignments(path).expect_rows(4);
    CHECK(names(result) == "forward reverse clipped other");
    const auto rows = result.batch().view();
    CHECK(rows.text("contig")[3] == "two");
    CHECK(rows.column<std::int64_t>("ref_start")[0] == 10);
    CHECK(rows.column<std::int64_t>("ref_end")[0] == 19);
    CHECK(rows.column<std::int64_t>("ref_end")[1] == 108);
    CHECK(rows.column<std::uint8_t>("is_reverse")[1] == 1);
    CHECK(rows.column<std::uint16_t>("flag")[2] == 2048);
    CHECK(rows.column<std::uint8_t>("mapq")[3] == 20);
    const auto indexes = rows.column<std::int64_t>("record_index");
    CHECK(std::vector<std::int64_t>(indexes.begin(), indexes.end()) == std::vector<std::int64_t>{0, 1, 4, 6});
    const auto cigar = rows.list<std::uint32_t>("cigar")[0];
    CHECK(std::vector<std::uint32_t>(cigar.begin(), cigar.end()) == std::vector<std::uint32_t>{(2 << 4) | 4, 4 << 4, (1 << 4) | 2, 4 << 4});
    CHECK(rows.text("aligned_bases")[0] == "ACGTACGTAC");
    CHECK(rows.text("aligned_bases")[1] == "YTAACCGGTT");
    CHECK(result.accounts.at("unmapped").count == 2);
    CHECK(result.accounts.at("unmapped").names == std::vector<std::string>{"placed", "unmapped"});
    CHECK(result.accounts.at("low_mapping_quality").names == std::vector<std::string>{"low"});
    CHECK(result.accounts.at("secondary").names == std::vector<std::string>{"secondary"});
  }
}

TEST_CASE("tags of the basecaller are handed on, with what the header says") {
  const TemporaryFolder folder;
  const std::string header = sam_header +
                             "@RG\tID:g\tDS:runid=x basecall_model=m@v5\n@PG\tID:basecaller\tPN:dorado\tVN:1.3.0\n"
                             "@PG\tID:aligner\tPN:dorado\tVN:2.2.0\tPP:basecaller\n";
  const std::string records =
      "tagged\t0\tone\t11\t60\t4M\t*\t0\t0\tACGT\t*\tNM:i:1\tts:A:+\tts:i:300\tns:i:5000\tMD:Z:4\tRG:Z:g\tmv:B:c,5,1,1,1,1\tMM:Z:C+m?;\n"
      "plain\t0\tone\t21\t60\t4M\t*\t0\t0\tACGT\t*\tNM:i:1\tMD:Z:4\n";
  const std::string expected = std::string("tsA+") + "tsS" + std::string("\x2c\x01", 2) + "nsS" + std::string("\x88\x13", 2) + "RGZg" + '\0' +
                               "DSZrunid=x basecall_model=m@v5" + '\0' + "mvBc" + std::string("\x05\0\0\0\x05\x01\x01\x01\x01", 9) +
                               "PGZdorado 1.3.0" + '\0';
  for (const std::string& path : {write_sam(folder, header + records), write_bam(folder, header + records)}) {
    const Result result = read_alignments(path).expect_rows(2);
    const auto tags = result.batch().view().text("basecaller_tags");
    CHECK(std::string(tags[0]) == expected);
    CHECK(tags[1].empty());
  }
}

TEST_CASE("a record that BAM can't hold ends a run of records by name") {
  const TemporaryFolder folder;
  const std::string header = "@SQ\tSN:c\tLN:3000000000\n";
  const std::pair<const char*, const char*> cases[] = {
      {"far\t0\tc\t2900000000\t60\t4M\t*\t0\t0\tACGT\t*\n", "its position, or that of its mate, is beyond 2^31"},
      {"mate\t1\tc\t5\t60\t4M\t=\t2147483649\t0\tACGT\t*\n", "its position, or that of its mate, is beyond 2^31"},
      {"long\t1\tc\t5\t60\t4M\t=\t9\t2147483648\tACGT\t*\n", "its TLEN is beyond 2^31"}};
  for (const auto& [line, problem] : cases) {
    const std::string path = write_sam(folder, header + "near\t0\tc\t2147483648\t60\t4M\t*\t0\t0\tACGT\t*\n" + line);
    const Result result = run_stage<RecordReader>().with({{"path", path}}).run();
    CHECK(result.status == SLUICE_ERROR_INPUT);
    CHECK(says(result.message, std::string("record '") + std::string(line).substr(0, std::string(line).find('\t')) + "' of '" + path +
                                   "' does not fit BAM: " + problem));
    const Result rows = read_alignments(path);
    CHECK(rows.rows() == 2);  // rows have 64 bits
  }
  std::string cigar;
  for (int i = 0; i < 32768; ++i) cigar += "1M9000D";
  const std::string path = write_sam(folder, header + "wide\t0\tc\t5\t60\t" + cigar + "1M\t*\t0\t0\t*\t*\n");
  CHECK(says(run_stage<RecordReader>().with({{"path", path}}).run().message, "more than 65,535 operations, and spans more than 2^28 bases"));
}

TEST_CASE("the filters are the user's choice") {
  const TemporaryFolder folder;
  const std::string path = write_bam(folder, sam_header + sam_records);
  CHECK(names(read_alignments(path, {{"min_mapq", 0}, {"secondary", true}})) == "forward reverse low secondary clipped other");
  CHECK(names(read_alignments(path, {{"supplementary", false}, {"min_mapq", 51}})) == "forward");
  CHECK(read_alignments(path, {{"supplementary", false}}).accounts.at("supplementary").names == std::vector<std::string>{"clipped"});
}

TEST_CASE("unmapped records are rows on no contig, if they are wanted") {
  const TemporaryFolder folder;
  const std::string path = write_bam(folder, sam_header + sam_records);
  const Result result = read_alignments(path, {{"unmapped", true}});
  CHECK(names(result) == "forward reverse clipped placed other unmapped");
  CHECK(result.accounts.count("unmapped") == 0);
  for (const std::int64_t row : {3, 5}) CHECK(result.batch().view().text("contig")[row] == "*");
  CHECK(names(read_alignments(path, {{"unmapped", true}, {"region", "two"}})) == "other");
  const std::string bare = write_bam(folder, "@HD\tVN:1.6\tSO:unknown\nx\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n", "bare.bam");
  CHECK(names(read_alignments(bare, {{"unmapped", true}})) == "x");
  CHECK(names(read_alignments(folder.path() + "/a.sam", {{"unmapped", true}})) == "x");
}

TEST_CASE("all records are rows, if they are wanted, and alignment_filter leaves out what the reader would have") {
  const TemporaryFolder folder;
  const std::string path = write_bam(folder, sam_header + sam_records);
  const Result all = read_alignments(path, {{"keep", "all"}});
  REQUIRE(all.ok());
  CHECK(all.accounts.empty());
  CHECK(names(all) == "forward reverse low secondary clipped placed other unmapped");
  CHECK(all.batch().view().text("contig")[7] == "*");
  CHECK(all.batch().view().text("bam_record")[7].size() > 52);
  for (const sluice::testing::ParameterTexts& filters :
       {sluice::testing::ParameterTexts{}, {{"min_mapq", 0}}, {{"secondary", true}}, {{"supplementary", false}}}) {
    const Result used = read_alignments(path, filters), filtered = run_stage<AlignmentFilter>(all.batch()).with(filters).run();
    REQUIRE(filtered.ok());
    std::map<std::string, std::vector<std::string>> by_reason, expected;
    for (const auto& [reason, account] : used.accounts) expected[reason] = account.names;
    for (const auto& failed : filtered.failed) by_reason[failed.reason].emplace_back(all.batch().view().text("read_id")[failed.row]);
    CHECK((by_reason == expected));
    for (const auto& [reason, account] : used.accounts) CHECK(filtered.accounts.at(reason).count == account.count);
  }
  CHECK(sluice::testing::contract_problems<AlignmentFilter>({.batches = {all.batch()}}) == std::vector<std::string>{});
}

TEST_CASE("a record on no contig is unmapped, whatever its flags say") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/odd.bam";
  {
    const sluice::hts::Header header(sam_hdr_parse(sam_header.size(), sam_header.c_str()));
    const sluice::hts::File file(hts_open(path.c_str(), "wb"));
    const sluice::hts::Record record(bam_init1());
    const std::uint32_t cigar = 4U << BAM_CIGAR_SHIFT | BAM_CMATCH;
    REQUIRE(sam_hdr_write(file.get(), header.get()) == 0);
    for (const std::int32_t contig : {0, -1}) {
      REQUIRE(bam_set1(record.get(), 1, contig == 0 ? "a" : "b", 0, contig, 5, 60, 1, &cigar, -1, -1, 0, 4, "ACGT", nullptr, 0) >= 0);
      REQUIRE(sam_write1(file.get(), header.get(), record.get()) >= 0);
    }
  }
  CHECK(names(read_alignments(path)) == "a");
  const Result all = read_alignments(path, {{"keep", "all"}}).expect_rows(2);
  const Result filtered = run_stage<AlignmentFilter>(all.batch()).run();
  REQUIRE(filtered.failed.size() == 1);
  CHECK(filtered.failed[0].row == 1);
  CHECK(filtered.failed[0].reason == "unmapped");
}

TEST_CASE("the serialised record holds every field") {
  const TemporaryFolder folder;
  const Result result =
      run_stage<AlignmentReader>().with({{"path", write_bam(folder, sam_header + sam_records)}}).wanted({"bam_record"}).run().expect_rows(4);
  CHECK_FALSE(result.batch().view().has("aligned_bases"));
  const std::string bytes(result.batch().view().text("bam_record")[1]);
  const auto load = [&bytes](std::size_t at, auto value) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  };
  CHECK(load(0, std::int32_t{}) == 0);     // tid
  CHECK(load(4, std::int64_t{}) == 100);   // pos
  CHECK(load(14, std::uint8_t{}) == 50);   // qual
  CHECK(load(16, std::uint16_t{}) == 16);  // flag
  CHECK(load(20, std::uint32_t{}) == 3);   // n_cigar
  CHECK(load(24, std::int32_t{}) == 10);   // l_qseq
  CHECK(load(28, std::int32_t{}) == -1);   // mtid
  CHECK(load(32, std::int64_t{}) == -1);   // mpos
  CHECK(load(48, std::int32_t{}) == static_cast<std::int32_t>(bytes.size()) - 52);
  CHECK(bytes.substr(52, 8) == std::string("reverse\0", 8));
}

TEST_CASE("a region gives the same rows with an index, without one, and from text") {
  const TemporaryFolder folder;
  const std::string text = sam_header + sam_records;
  const std::string unsorted = "@HD\tVN:1.6\n" + text.substr(text.find('\n') + 1);
  const std::string bam = write_bam(folder, text), other = write_bam(folder, unsorted, "b.bam"), sam = write_sam(folder, text);
  const std::pair<const char*, const char*> regions[] = {{"one", "forward reverse low secondary clipped"},
                                                         {"two:1-500", "other"},
                                                         {"one:19-101", "forward reverse"},
                                                         {"one:20-100", ""},
                                                         {"one:108-108", "reverse"},
                                                         {"one:404", "clipped"}};
  for (const auto& entry : regions)
    for (const std::string& path : {bam, other, sam}) {
      const auto& region = entry.first;
      CAPTURE(region);
      CAPTURE(path);
      const Result result = read_alignments(path, {{"region", region}, {"min_mapq", 0}, {"secondary", true}});
      REQUIRE(result.ok());
      CHECK(names(result) == entry.second);
      if (result.rows() > 0) CHECK(result.batches[0].view().column<std::int64_t>("record_index")[0] == 0);
      CHECK(result.logged("all of it is read") == (path != bam));
    }
  CHECK(std::filesystem::exists(bam + ".bai"));
  std::filesystem::remove(bam + ".bai");
  CHECK(read_alignments(bam, {{"region", "two"}}).logged("made the index"));
  CHECK_FALSE(read_alignments(bam, {{"region", "two"}}).logged("made the index"));
  std::filesystem::last_write_time(bam, std::filesystem::last_write_time(bam + ".bai") + std::chrono::seconds(10));
  CHECK(read_alignments(bam, {{"region", "two"}}).logged("older than the file"));
  for (const char* wrong : {"three", "one:2000-3000", "one:x-y"}) CHECK(read_alignments(bam, {{"region", wrong}}).status == SLUICE_ERROR_USAGE);
  CHECK(says(read_alignments(bam, {{"region", "three"}}).message, "which has 'one' and 1 other"));
  CHECK(says(read_alignments(bam, {{"region", "one:100-50"}}).message, "its first position, 100, is greater than its last, 50"));
  // Names may have colons: the header tells, and where it can't, braces do.
  const std::string hla = write_bam(folder,
                                    "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:A*01:01\tLN:900\n@SQ\tSN:A*01:01:02\tLN:900\n"
                                    "a\t0\tA*01:01\t1\t60\t4M\t*\t0\t0\tACGT\t*\nb\t0\tA*01:01:02\t9\t60\t4M\t*\t0\t0\tACGT\t*\n",
                                    "hla.bam");
  CHECK(names(read_alignments(hla, {{"region", "A*01:01"}})) == "a");
  CHECK(names(read_alignments(hla, {{"region", "{A*01:01:02}"}})) == "b");
  CHECK(names(read_alignments(hla, {{"region", "{A*01:01:02}:9-9"}})) == "b");
  CHECK(names(read_alignments(hla, {{"region", "A*01:01:02:9-9"}})) == "b");
  CHECK(names(read_alignments(hla, {{"region", "{A*01:01}:2-2"}})) == "a");
  CHECK(says(read_alignments(hla, {{"region", "A*01:01:02"}}).message, "could be contig 'A*01:01:02', or a part of contig 'A*01:01'"));
  const std::string single = write_bam(folder, "@SQ\tSN:c\tLN:1000\nr\t0\tc\t1\t60\t4M\t*\t0\t0\tACGT\t*\n", "c.bam");
  CHECK(says(read_alignments(single, {{"region", "d"}}).message, "which has only 'c'"));
}

TEST_CASE("the regions of a BED file give each record once, with an index, without one, and from text") {
  const TemporaryFolder folder;
  const std::string text = sam_header + sam_records;
  const std::string unsorted = "@HD\tVN:1.6\n" + text.substr(text.find('\n') + 1);
  const std::string bam = write_bam(folder, text), other = write_bam(folder, unsorted, "b.bam"), sam = write_sam(folder, text);
  const std::string bed = folder.path() + "/a.bed";
  const auto write_bed = [&](const std::string& lines) { std::ofstream(bed) << lines; };
  const std::pair<const char*, const char*> cases[] = {{"one\t0\t1000\ntwo\t0\t500\n", "forward reverse low secondary clipped other"},
                                                       {"two\t0\t9999\n# a comment\n\ntrack name=x\none\t18\t19\tname\t0\t+\n", "forward other"},
                                                       {"one 100 101\r\none 95 108\none 107 200\n", "reverse"},
                                                       {"one\t19\t100\none\t120\t200\n", ""},
                                                       {"one\t10\t500\none\t0\t20\nthree\t0\t5\n", "forward reverse low secondary clipped"},
                                                       {"one\t10\t12\none\t12\t12\none\t400\t410\n", "forward clipped"},
                                                       {"one\t10\t12\none\t1000\t1012\none\t400\t410\n", "forward clipped"}};
  for (const auto& entry : cases)
    for (const std::string& path : {bam, other, sam}) {
      const std::string lines = entry.first;
      CAPTURE(lines);
      CAPTURE(path);
      write_bed(lines);
      const Result result = read_alignments(path, {{"bed", bed}, {"min_mapq", 0}, {"secondary", true}});
      REQUIRE(result.ok());
      CHECK(names(result) == entry.second);
      CHECK(result.logged("1 of 3 regions") == (lines.find("three") != std::string::npos || lines.find("1012") != std::string::npos));
    }
  for (const char* wrong :
       {"one\n", "one\t5\n", "one\tx\t9\n", "one\t9\t5\n", "one\t-4\t5\n", "one\t1\t99999999999999999999\n", "three\t0\t5\n", "one\t5\t5\n", ""}) {
    CAPTURE(wrong);
    write_bed(wrong);
    CHECK(read_alignments(bam, {{"bed", bed}}).status == SLUICE_ERROR_INPUT);
  }
  write_bed("two\t0\t5\none\t9\t5\n");
  CHECK(says(read_alignments(bam, {{"bed", bed}}).message, "line 2: its end is before"));
  CHECK(read_alignments(bam, {{"bed", folder.path() + "/missing.bed"}}).status == SLUICE_ERROR_INPUT);
  // With a region: what lies in both.
  write_bed("one\t0\t1000\ntwo\t0\t500\n");
  for (const std::string& path : {bam, other, sam}) {
    CHECK(names(read_alignments(path, {{"bed", bed}, {"region", "two"}, {"min_mapq", 0}, {"secondary", true}})) == "other");
    CHECK(names(read_alignments(path, {{"bed", bed}, {"region", "one:11-13"}, {"min_mapq", 0}, {"secondary", true}})) ==
          names(read_alignments(path, {{"region", "one:11-13"}, {"min_mapq", 0}, {"secondary", true}})));
  }
  write_bed("two\t0\t5\n");
  CHECK(says(read_alignments(bam, {{"bed", bed}, {"region", "one"}}).message, "is in the region one"));
}

TEST_CASE("in a folder that cannot be written to an index is made for the run") {
  const TemporaryFolder folder;
  const std::string path = write_bam(folder, sam_header + sam_records);
  ::chmod(folder.path().c_str(), 0555);
  const Result result = read_alignments(path, {{"region", "two"}}).expect_rows(1);
  ::chmod(folder.path().c_str(), 0755);
  CHECK(result.logged("cannot be written to"));
  CHECK_FALSE(std::filesystem::exists(path + ".bai"));
}

TEST_CASE("batches are cut by the reads' bases, and a huge record travels alone") {
  const TemporaryFolder folder;
  const std::string record = "\t0\tone\t11\t60\t10M\t*\t0\t0\tACGTACGTAC\t*\n";
  std::string text = sam_header;
  for (int i = 0; i < 7; ++i) text += "r" + std::to_string(i) + record;
  text += "huge\t0\tone\t11\t60\t900H10M\t*\t0\t0\tACGTACGTAC\t*\nlast" + record;
  const Result result = run_stage<AlignmentReader>().with({{"path", write_bam(folder, text)}}).target_work(30).run();
  REQUIRE(result.ok());
  std::vector<std::int64_t> sizes;
  for (const TestBatch& batch : result.batches) sizes.push_back(batch.rows());
  while (!sizes.empty() && sizes.back() == 0) sizes.pop_back();
  CHECK(sizes == std::vector<std::int64_t>{3, 3, 1, 1, 1});
}

TEST_CASE("few records among many that are filtered keep their columns, on several threads") {
  const TemporaryFolder folder;
  std::string text = sam_header;
  const std::string bases = std::string(2000, 'A') + std::string(2000, 'C'), qualities(4000, 'I');
  for (int i = 0; i < 6000; ++i)
    text += "r" + std::to_string(i) + (i % 2 == 0 ? "\t0" : "\t16") + "\tone\t" + std::to_string(1 + i % 100) + (i % 700 == 0 ? "\t60" : "\t0") +
            "\t4000M\t*\t0\t0\t" + bases + "\t" + qualities + "\n";
  const std::string path = write_bam(folder, text);
  const auto run = [&](int threads, double target_work) {
    const Result result = run_stage<AlignmentReader>().with({{"path", path}}).threads(threads).target_work(target_work).run();
    REQUIRE(result.ok());
    std::string all;
    for (const TestBatch& batch : result.batches)
      for (std::int64_t row = 0; row < batch.rows(); ++row) {
        all += std::string(batch.view().text("read_id")[row]) + " " + std::to_string(batch.view().column<std::int64_t>("record_index")[row]) + " ";
        CHECK(batch.view().text("bam_record")[row].size() > 6000);
        CHECK(batch.view().text("aligned_bases")[row] == bases);
        CHECK(batch.view().list<std::uint32_t>("cigar")[row][0] == 4000U << 4U);
      }
    return all;
  };
  const std::string expected = "r0 0 r700 700 r1400 1400 r2100 2100 r2800 2800 r3500 3500 r4200 4200 r4900 4900 r5600 5600 ";
  CHECK(run(1, 1e9) == expected);
  CHECK(run(4, 1e9) == expected);
  CHECK(run(4, 9000) == expected);
}

TEST_CASE("files that are missing, empty, truncated or something else are named with what is wrong") {
  const TemporaryFolder folder;
  CHECK(says(read_alignments(folder.path() + "/none.bam").message, "cannot open"));
  std::ofstream(folder.path() + "/empty.bam").close();
  CHECK(says(read_alignments(folder.path() + "/empty.bam").message, "is empty"));
  std::ofstream(folder.path() + "/reads.fq") << "@a\nACGT\n+\nIIII\n";
  CHECK(says(read_alignments(folder.path() + "/reads.fq").message, "is not BAM, SAM or CRAM"));
  std::ofstream(folder.path() + "/noise.bam") << "noise, much noise\n";
  CHECK(read_alignments(folder.path() + "/noise.bam").status == SLUICE_ERROR_INPUT);

  std::string many = sam_header;
  for (int i = 0; i < 20000; ++i) many += "r" + std::to_string(i * 7919) + "\t0\tone\t11\t60\t10M\t*\t0\t0\tACGTACGTAC\t*\n";
  const std::string path = write_bam(folder, many);
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size - 28);  // the end-of-file block alone
  Result result = read_alignments(path);
  CHECK(result.status == SLUICE_ERROR_INPUT);
  CHECK(says(result.message, "a.bam' is truncated"));
  CHECK_FALSE(result.remedy.empty());
  std::filesystem::resize_file(path, size / 2);
  CHECK(says(read_alignments(path).message, "truncated"));

  // Damage inside: the end is there, a block in the middle is not readable.
  write_bam(folder, many);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size / 2));
  file << std::string(200, 'x');
  file.close();
  result = read_alignments(path);
  CHECK(result.status == SLUICE_ERROR_INPUT);
  CHECK(says(result.message, "cannot be read on after"));

  const std::string sam = write_sam(folder, sam_header + "r\t0\tone\t11\t60\t10M\t*\t0\t0\tACGTACGTAC\t*\nr\t0\tone\n");
  result = read_alignments(sam);
  CHECK(says(result.message, "line 5 has fewer than the 11 fields of a record, with tabs between them: is the file truncated there"));
}

TEST_CASE("a header that does not fit the reference is refused with contig and both lengths") {
  const TemporaryFolder folder;
  const std::string path = write_bam(folder, sam_header + sam_records);
  const auto with_reference = [&](const std::vector<std::string>& contigs, const std::vector<std::string>& bases,
                                  sluice::testing::ParameterTexts more = {}) {
    more.insert_or_assign("path", path);
    const TestBatch reference = BatchBuilder("contig", static_cast<std::int64_t>(contigs.size()))
                                    .text("name", contigs)
                                    .text("bases", bases)
                                    .attribute("path", "ref.fa")
                                    .build();
    return run_stage<AlignmentReader>().with(more).resource("reference", reference).run();
  };
  const std::string a(1000, 'A'), b(500, 'C');
  CHECK(with_reference({"two", "one", "three"}, {b, a, "G"}).ok());
  const Result length = with_reference({"one", "two"}, {a, b + "C"});
  CHECK(length.status == SLUICE_ERROR_INPUT);
  CHECK(says(length.message, "another reference than 'ref.fa': contig 'two' has 500 bases in the alignments and 501 in the reference"));
  CHECK(says(with_reference({"one"}, {a}).message, "contig 'two' (500 bases) is not in the reference"));
  CHECK(with_reference({"one"}, {a}, {{"region", "one"}}).ok());
}

TEST_CASE("the stage keeps the stage contract") {
  const TemporaryFolder folder;
  CHECK(sluice::testing::contract_problems<AlignmentReader>({.parameters = {{"path", write_bam(folder, sam_header + sam_records)}}}) ==
        std::vector<std::string>{});
}

TEST_CASE("the shared sets have as many usable records as f5c saw") {
  if (shared.empty() || !std::filesystem::exists(shared + "/data")) {
    MESSAGE("skipped: ", shared, "/data is absent");
    return;
  }
  const std::pair<const char*, std::int64_t> sets[] = {{"ecoli_r9", 350}, {"lambda_r9", 500}, {"outliers_r9", 217}, {"rna004", 40}};
  for (const auto& entry : sets) {
    const auto& set = entry.first;
    const auto& rows = entry.second;
    CAPTURE(set);
    CHECK(read_alignments(shared + "/data/" + set + "/reads.bam", {{"min_mapq", 0}}).rows() == rows);
  }
  const Result real = read_alignments(shared + "/data/ecoli_r9_real/reads.bam");
  CHECK(real.accounts.at("secondary").count == 13);
  CHECK(real.accounts.at("unmapped").count == 1);
}
