// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sluice/testing.hpp>

#include "read_bases/stage.cpp"  // the stage classes have no header of their own
#include "simulate_signal/counter_random.hpp"
#include "unit/files/written_files.hpp"
#include "unit/small_files.hpp"

using namespace sluice::read_bases;
using sluice::simulate_signal::Purpose;
using sluice::simulate_signal::RandomStream;
using sluice::testing::BatchBuilder;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TemporaryFolder;
using sluice::testing::TestBatch;
using sluice::written_files::Packing;
using sluice::written_files::write_file;
using sluice::written_files::write_packed;

namespace {

const std::string shared = SLUICE_SHARED_DIR;

std::string sequence(std::size_t length, std::size_t number) { return sluice::written_files::made_sequence(length, number, "ACGTacgu"); }

std::string as_read(std::string bases) {
  normalise_bases(bases);
  return bases;
}

// Reads r0, r1 ... of very different lengths; together several BGZF blocks.
std::string fastq_text(std::size_t reads) {
  std::string text;
  for (std::size_t i = 0; i < reads; ++i) {
    const std::string bases = sequence(10 + i * 977 % 9000, i);
    text += "@r" + std::to_string(i) + " length\n" + bases + "\n+\n" + std::string(bases.size(), 'I') + "\n";
  }
  return text;
}

std::string fasta_text(std::size_t reads, std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < reads; ++i) {
    const std::string bases = sequence(10 + i * 977 % 9000, i);
    text += ">r" + std::to_string(i) + "\n";
    for (std::size_t at = 0; at < bases.size(); at += width) text += bases.substr(at, width) + "\n";
  }
  return text;
}

TestBatch read_ids(const std::vector<std::string>& ids) {
  return BatchBuilder("read", static_cast<std::int64_t>(ids.size())).text("read_id", ids).build();
}

Result look_up(const std::string& path, const std::vector<std::string>& ids) {
  return run_stage<ReadBases>(read_ids(ids)).with({{"path", path}}).run();
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("reads are found by name in any order, in FASTA and FASTQ, plain, bgzip and gzip") {
  for (const Packing packing : {Packing::plain, Packing::bgzf, Packing::gzip})
    for (const std::string& text : {fastq_text(60), fasta_text(60, 70), fasta_text(60, 100000)}) {
      const TemporaryFolder folder;
      const std::string path = folder.path() + "/reads.gz";
      write_packed(path, text, packing);
      for (int round = 0; round < 2; ++round) {
        const Result result = look_up(path, {"r59", "r0", "missing", "r7", "r31", "r7"}).expect_rows(5);
        CHECK(result.failed == std::vector<sluice::testing::FailedRow>{{0, 2, "read_not_in_file"}});
        const auto bases = result.batch().view().text("bases");
        const std::size_t expected[] = {59, 0, 99, 7, 31, 7};
        for (std::int64_t row = 0; row < 6; ++row) {
          const std::size_t i = expected[row];
          CHECK(bases[row] == (i == 99 ? "" : as_read(sequence(10 + i * 977 % 9000, i))));
        }
        CHECK(result.logged("decompressed to") == (packing == Packing::gzip));
        CHECK(result.logged("made the index") == (packing != Packing::gzip && round == 0));
        CHECK(std::filesystem::exists(path + ".gzi") == (packing == Packing::bgzf));
      }
    }
}

TEST_CASE("tags in comments are found with the bases, where a stage wants them") {
  // r1 has moves over many kilobytes, r2 words that are no tags, r3 a damaged one.
  std::string moves = "mv:B:c,5";
  for (std::size_t block = 0; block < 200000; ++block) moves += ",1";
  const std::vector<std::string> comments = {
      "\tts:i:10\tns:i:300\tqs:f:9.5", "\tts:i:12\t" + moves, " runid=1 read=2", "\tts:i:a\tns:i:7", "", "\tpi:Z:r0"};
  for (const Packing packing : {Packing::plain, Packing::bgzf, Packing::gzip})
    for (const std::string end : {"\n", "\r\n"}) {
      const TemporaryFolder folder;
      std::string text;
      for (std::size_t i = 0; i < comments.size(); ++i)
        text += "@r" + std::to_string(i) + comments[i] + end + "ACGT" + end + "+" + end + "IIII" + end;
      const std::string path = folder.path() + "/reads.fq.gz";
      write_packed(path, text, packing);
      const Result result =
          run_stage<ReadBases>(read_ids({"r5", "r4", "nobody", "r3", "r2", "r1", "r0"})).with({{"path", path}}).run().expect_rows(6);
      const auto tags = result.batch().view().text("read_file_tags");
      const auto tag = [](const char* name, char type, std::string value) { return std::string(name) + type + value; };
      CHECK(tags[0] == tag("pi", 'Z', std::string("r0\0", 3)));
      CHECK(tags[1].empty());
      CHECK(tags[2].empty());
      CHECK(tags[3] == tag("ns", 'C', "\x07"));
      CHECK(tags[4].empty());
      CHECK(tags[5].size() == 4 + 8 + 200001);
      CHECK(tags[6] == tag("ts", 'C', "\x0a") + tag("ns", 'S', std::string("\x2c\x01")));
      CHECK(result.counters.at("reads with damaged tags") == 1);
      CHECK(result.logged("read 'r3' has a damaged tag"));
    }
}

TEST_CASE("an index that is older than the file, damaged or of another file is made anew") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads.fastq";
  write_packed(path, fastq_text(5), Packing::plain);
  CHECK(look_up(path, {"r4"}).expect_rows(1).logged("there is none"));
  const std::string good = sluice::testing::detail::file_bytes(path + ".fai");
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path + ".fai") + std::chrono::seconds(10));
  CHECK(look_up(path, {"r4"}).expect_rows(1).logged("older than the file"));
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path + ".fai") - std::chrono::seconds(10));
  std::ofstream(path + ".fai") << "r4\t5\n";
  CHECK(look_up(path, {"r4"}).expect_rows(1).logged("damaged"));
  std::ofstream(path + ".fai") << "r4\t5000000\t3\t10\t11\n";
  CHECK(look_up(path, {"r4"}).expect_rows(1).logged("another file"));
  CHECK(sluice::testing::detail::file_bytes(path + ".fai") == good);
  std::ofstream(path + ".fai") << "r4\t5000\t3\t5000\t5001\t9000\n";
  const Result wrong = look_up(path, {"r4"});
  CHECK(wrong.status == SLUICE_ERROR_INPUT);
  CHECK(says(wrong.remedy, "remove the .fai"));
}

TEST_CASE("in a folder that cannot be written to the index stays in memory") {
  const TemporaryFolder folder;
  const std::string inner = folder.path() + "/inner";
  std::filesystem::create_directory(inner);
  write_packed(inner + "/reads.fq.gz", fastq_text(40), Packing::bgzf);
  ::chmod(inner.c_str(), 0555);
  CHECK(look_up(inner + "/reads.fq.gz", {"r39"}).expect_rows(1).logged("cannot be written to"));
  CHECK_FALSE(std::filesystem::exists(inner + "/reads.fq.gz.fai"));
  ::chmod(inner.c_str(), 0755);
}

TEST_CASE("an index that cannot be written whole stays in memory, with the reason, and leaves nothing") {
  const TemporaryFolder folder;
  for (const auto& [name, packing] : {std::pair{"reads.fq", Packing::plain}, {"reads.fq.gz", Packing::bgzf}}) {
    const std::string path = folder.path() + "/" + name;
    write_packed(path, fastq_text(40), packing);
    const SmallFiles full(10);
    CHECK(look_up(path, {"r39"}).expect_rows(1).logged("it is not kept: cannot write '" + path + (packing == Packing::bgzf ? ".gzi" : ".fai")));
  }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator()) == 2);
}

TEST_CASE("a damaged .gzi gives the same reads as a whole one") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads.fastq.gz";
  write_packed(path, fastq_text(60), Packing::bgzf);
  const std::vector<std::string> ids = {"r59", "r0", "r31"};
  const auto bases_of = [&] {
    const Result result = look_up(path, ids).expect_rows(3);
    std::string all;
    for (std::int64_t row = 0; row < 3; ++row) all += std::string(result.batch().view().text("bases")[row]) + " ";
    return all;
  };
  const std::string expected = bases_of(), gzi = sluice::testing::detail::file_bytes(path + ".gzi");
  REQUIRE(gzi.size() >= 8 + 3 * 16);
  for (std::uint64_t i = 0; i < 400; ++i) {
    RandomStream random(3, i, Purpose::errors);
    std::string bytes = gzi;
    if (i % 4 == 0)
      bytes.resize(random.below(bytes.size()));
    else if (i % 4 == 1)
      bytes += static_cast<char>(random.below(256));
    else
      bytes[random.below(bytes.size())] ^= static_cast<char>(1U << random.below(8));
    write_file(path + ".gzi", bytes);
    CAPTURE(i);
    CHECK(bases_of() == expected);
  }
}

TEST_CASE("a damaged .fai never gives other bases") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads.fastq";
  write_packed(path, fastq_text(12), Packing::plain);
  const std::vector<std::string> ids = {"r11", "r3"};
  const Result whole = look_up(path, ids).expect_rows(2);
  const std::string fai = sluice::testing::detail::file_bytes(path + ".fai");
  int refused = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    RandomStream random(4, i, Purpose::errors);
    std::string bytes = fai;
    if (i % 4 == 0)
      bytes.resize(random.below(bytes.size()));
    else
      bytes[random.below(bytes.size())] ^= static_cast<char>(1U << random.below(8));
    write_file(path + ".fai", bytes);
    CAPTURE(i);
    const Result result = look_up(path, ids);
    if (!result.ok()) {
      ++refused;
      CHECK(says(result.remedy, "remove the .fai"));
      continue;
    }
    for (std::int64_t row = 0; row < 2; ++row)
      if (result.batch().ok(row)) CHECK(result.batch().view().text("bases")[row] == whole.batch().view().text("bases")[row]);
  }
  CHECK(refused > 0);
}

TEST_CASE("of reads with the same name the first is used and the others are counted") {
  const TemporaryFolder folder;
  write_packed(folder.path() + "/r.fa", ">a\nACGT\n>b\nC\n>a\nTTTT\n", Packing::plain);
  const Result result = look_up(folder.path() + "/r.fa", {"a"}).expect_rows(1);
  CHECK(result.batch().view().text("bases")[0] == "ACGT");
  CHECK(result.logged("1 reads whose name an earlier one has, which is used: 'a'"));
  CHECK(result.counters.at("repeated_reads") == 1);
  CHECK(result.accounts.at("repeated_read").names == std::vector<std::string>{"a"});
  const Result again = look_up(folder.path() + "/r.fa", {"a", "b"}).expect_rows(2);  // with the index that was made
  CHECK(again.batch().view().text("bases")[0] == "ACGT");
  CHECK(again.batch().view().text("bases")[1] == "C");
  CHECK(again.logged("1 reads whose name an earlier one has, which is used: 'a'"));
  CHECK(again.counters.at("repeated_reads") == 1);
  CHECK(again.accounts.at("repeated_read").count == 0);
}

TEST_CASE("of reads in several files the first file's are used, and the others are counted and named") {
  const TemporaryFolder folder;
  write_packed(folder.path() + "/a.fa", ">a\nACGT\n>b\nC\n", Packing::plain);
  write_packed(folder.path() + "/b.fa", ">c\nG\n>a\nTTTT\n", Packing::plain);
  const Result result = look_up(folder.path() + "/a.fa\n" + folder.path() + "/b.fa", {"a", "c"}).expect_rows(2);
  CHECK(result.batch().view().text("bases")[0] == "ACGT");
  CHECK(result.batch().view().text("bases")[1] == "G");
  CHECK(result.logged("has 1 reads whose name is in an earlier file, too, whose read is used: 'a'"));
  CHECK(result.counters.at("repeated_reads") == 1);
  CHECK(result.accounts.at("repeated_read").names == std::vector<std::string>{"a"});
}

TEST_CASE("files that are missing, empty, truncated or broken are named with record and line") {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& text, Packing packing = Packing::plain) {
    const std::string path = folder.path() + "/x.fq";
    std::filesystem::remove(path + ".fai");
    write_packed(path, text, packing);
    const Result result = look_up(path, {"r1"});
    CHECK(result.status == SLUICE_ERROR_INPUT);
    return result.message;
  };
  CHECK(says(look_up(folder.path() + "/none.fq", {"a"}).message, "cannot open"));
  CHECK(says(look_up(folder.path(), {"a"}).message, "there is no input in"));
  for (const Packing packing : {Packing::plain, Packing::bgzf, Packing::gzip}) {
    const std::string path = folder.path() + "/nothing.fq";
    write_packed(path, "", packing);
    CHECK(look_up(path, {"r1"}).logged("nothing.fq' is empty"));
    const Result read = run_stage<ReadReader>().with({{"path", path}}).run();
    CHECK(read.ok());
    CHECK(read.logged("nothing.fq' is empty"));
    std::filesystem::remove(path + ".fai");
  }
  CHECK(says(message("BAM\1"), "neither FASTA nor FASTQ"));
  const std::string text = fastq_text(3);
  CHECK(says(message(text.substr(0, text.size() - 100)), "line 13, record 3: the file ends within the qualities of"));
  CHECK(says(message("@a\nAC\n+\nII\n@b\nAC\n+\nIII\n"), "line 8, record 2: the qualities of 'b' are longer"));
  CHECK(says(message(">a\nAC\nA\nAC\n"), "different lengths"));

  const std::string path = folder.path() + "/cut.fq.gz";
  write_packed(path, fastq_text(60), Packing::bgzf);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 28);  // the end-of-file block alone
  CHECK(says(look_up(path, {"r1"}).message, "no BGZF end-of-file block"));
  CHECK(says(run_stage<ReadReader>().with({{"path", path}}).run().message, "no BGZF end-of-file block"));
  for (const Packing packing : {Packing::bgzf, Packing::gzip}) {
    write_packed(path, fastq_text(60), packing);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 3000);
    const Result result = look_up(path, {"r1"});
    CHECK(result.status == SLUICE_ERROR_INPUT);
    CHECK(says(result.message, "truncated"));
    CHECK(says(result.message, "cut.fq.gz"));
  }
}

TEST_CASE("a line of 100 MB is read") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/long.fa";
  std::string text = ">short\nACGT\n>long\n";
  text.append(100'000'000, 'g');
  write_packed(path, text + "\n", Packing::plain);
  const Result result = look_up(path, {"long", "short"}).expect_rows(2);
  const auto bases = result.batch().view().text("bases");
  CHECK(bases[0].size() == 100'000'000);
  CHECK(bases[0].find_first_not_of('G') == std::string_view::npos);
  CHECK(bases[1] == "ACGT");
}

TEST_CASE("without a file the bases of whole, unclipped alignments are used") {
  const TestBatch batch = BatchBuilder("read", 4)
                              .text("read_id", {"a", "b", "c", "d"})
                              .text("aligned_bases", {"acgu", "", "AC", "AC"})
                              .list<std::uint32_t>("cigar", {{4 << 4}, {4 << 4}, {2 << 4, (2 << 4) | 5}, {(1 << 4) | 4, 1 << 4}})
                              .build();
  const Result result = run_stage<ReadBases>(batch).run().expect_rows(2);
  CHECK(result.batch().view().text("bases")[0] == "ACGT");
  CHECK(result.batch().view().text("bases")[3] == "AC");
  CHECK(result.failed == std::vector<sluice::testing::FailedRow>{{0, 1, "no_bases"}, {0, 2, "no_bases"}});
  CHECK(result.logged("2 alignments are not used, as they have no bases of the whole read (SEQ is absent, or hard-clipped): give --reads"));
  CHECK(run_stage<ReadBases>(read_ids({"a"})).run().status == SLUICE_ERROR_USAGE);
}

TEST_CASE("without a file of reads, records without the bases of whole reads have those of their primary records") {
  const TemporaryFolder folder;
  const std::string first = folder.path() + "/first.sam", second = folder.path() + "/second.sam", empty = folder.path() + "/third.sam";
  const std::string header = "@SQ\tSN:c\tLN:1000\n";
  // "turned" was sequenced as GTACAA; "late" has its primary record in the other file; "alone" has none; "other" is another read.
  write_packed(first,
               header +
                   "turned\t272\tc\t1\t0\t6M\t*\t0\t0\t*\t*\nlate\t256\tc\t5\t0\t5M\t*\t0\t0\t*\t*\n"
                   "turned\t16\tc\t10\t60\t6M\t*\t0\t0\tTTGTAC\t*\nalone\t256\tc\t20\t0\t4M\t*\t0\t0\t*\t*\n",
               Packing::plain);
  write_packed(second,
               header +
                   "late\t0\tc\t5\t60\t5M\t*\t0\t0\tACGTA\t*\nlate\t2048\tc\t50\t60\t2H3M\t*\t0\t0\tGTA\t*\n"
                   "other\t256\tc\t9\t0\t5M\t*\t0\t0\t*\t*\nother\t0\tc\t9\t0\t4M\t*\t0\t0\tACGT\t*\n",
               Packing::plain);
  write_packed(empty, "", Packing::plain);
  const auto m = [](std::uint32_t bases) { return bases << 4; };
  const TestBatch batch = BatchBuilder("read", 6)
                              .text("read_id", {"turned", "late", "alone", "late", "other", "turned"})
                              .text("aligned_bases", {"", "", "", "GTA", "", "GTACAA"})
                              .column<std::uint8_t>("is_reverse", {1, 0, 0, 0, 0, 1})
                              .list<std::uint32_t>("cigar", {{m(6)}, {m(5)}, {m(4)}, {m(2) | 5, m(3)}, {m(5)}, {m(6)}})
                              .build();
  for (const std::string& files : {first + "\n" + second, folder.path()}) {
    const Result result = run_stage<ReadBases>(batch).with({{"alignments", files}}).run().expect_rows(4);
    const auto bases = result.batch().view().text("bases");
    CHECK(bases[0] == "GTACAA");
    CHECK(bases[1] == "ACGTA");
    CHECK(bases[3] == "ACGTA");
    CHECK(bases[5] == "GTACAA");
    CHECK(result.failed == std::vector<sluice::testing::FailedRow>{{0, 2, "no_bases"}, {0, 4, "not_the_aligned_read"}});
    CHECK(result.logged("1 alignments are not used"));
  }
  // What can be read only once is not read for that.
  CHECK(run_stage<ReadBases>(batch).with({{"alignments", "-"}}).run().expect_rows(1).logged("5 alignments are not used"));
}

TEST_CASE("a read that is not the one that was aligned fails, whatever its name says") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/r.fq";
  write_packed(path, "@whole\nACGTACGTAC\n+\nIIIIIIIIII\n@trimmed\nACGTACGTA\n+\nIIIIIIIII\n@other\nACGTACGTAC\n+\nIIIIIIIIII\n", Packing::plain);
  // SEQ in sequencing orientation; the second row of each read is clipped hard, in reverse.
  const std::vector<std::uint32_t> cigar = {10 << 4}, clipped = {6 << 4, (4 << 4) | 5};
  const TestBatch batch = BatchBuilder("read", 7)
                              .text("read_id", {"whole", "whole", "trimmed", "trimmed", "other", "other", "missing"})
                              .text("aligned_bases", {"ACGTACGTAC", "ACGTAC", "ACGTACGTAC", "", "TTTTGGGGCC", "", "ACGTACGTAC"})
                              .column<std::uint8_t>("is_reverse", {0, 1, 0, 1, 0, 1, 0})
                              .list<std::uint32_t>("cigar", {cigar, clipped, cigar, clipped, cigar, clipped, cigar})
                              .build();
  const Result result = run_stage<ReadBases>(batch).with({{"path", path}}).run().expect_rows(3);
  CHECK(result.failed ==
        std::vector<sluice::testing::FailedRow>{
            {0, 2, "not_the_aligned_read"}, {0, 3, "not_the_aligned_read"}, {0, 4, "not_the_aligned_read"}, {0, 6, "read_not_in_file"}});
  CHECK(result.batch().view().text("bases")[1] == "ACGTACGTAC");
}

TEST_CASE("reads are streamed from FASTQ, FASTA and unaligned SAM alike") {
  const TemporaryFolder folder;
  const std::string fastq = folder.path() + "/r.fq", fasta = folder.path() + "/r.fa.gz", sam = folder.path() + "/r.sam";
  write_packed(fastq, "@a x\nACGu\n+\nABCD\n@none\n\n+\n\n@b\nTT\n+\nEF\n", Packing::plain);
  write_packed(fasta, ">a\nAC\ngu\n>none\n>b\nTT\n", Packing::gzip);
  write_packed(sam,
               "@HD\tVN:1.6\n@SQ\tSN:c\tLN:10\na\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tABCD\nnone\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\nb\t256\tc\t1\t0\t2M\t*"
               "\t0\t0\tTT\tEF\nb\t16\tc\t1\t0\t2M\t*\t0\t0\tAA\tFE\n",
               Packing::plain);
  for (const std::string& path : {fastq, fasta, sam}) {
    CAPTURE(path);
    const Result result = run_stage<ReadReader>().with({{"path", path}}).target_work(4).run();
    REQUIRE(result.ok());
    CHECK(result.problems.empty());
    CHECK(result.rows() == 2);
    CHECK(result.accounts.at("empty_sequence").count == 1);
    std::string text;
    for (const TestBatch& batch : result.batches)
      for (std::int64_t row = 0; row < batch.rows(); ++row)
        text += std::string(batch.view().text("read_id")[row]) + "=" + std::string(batch.view().text("bases")[row]) + "/" +
                std::string(batch.view().text("qualities")[row]) + " ";
    CHECK(text == (path == fasta ? "a=ACGT/ b=TT/ " : "a=ACGT/ABCD b=TT/EF "));
  }
  CHECK(says(run_stage<ReadReader>().with({{"path", folder.path() + "/none"}}).run().message, "cannot open"));
  write_packed(folder.path() + "/e.fq", "", Packing::plain);
  const Result empty = run_stage<ReadReader>().with({{"path", folder.path() + "/e.fq"}}).run();
  CHECK(empty.ok());
  CHECK(empty.logged("e.fq' is empty: it has no records"));
  write_packed(folder.path() + "/b.fq", "@a\nAC\n+\nI\n", Packing::plain);
  CHECK(says(run_stage<ReadReader>().with({{"path", folder.path() + "/b.fq"}}).run().message, "line 5, record 1"));
}

TEST_CASE("bases as they are written are given of reads with letters in lower case") {
  const TemporaryFolder folder;
  // Long enough for vectors, for lines, and for parts that several threads copy.
  for (const std::size_t line : {std::size_t{70}, std::size_t{1} << 20}) {
    std::string text, expected, expected_bases;
    for (const std::size_t length : {1, 31, 64, 1000, 600000})
      for (const std::string_view letters : {"ACGTN", "acgun", "TUUrA", "AAAAA"}) {
        std::string bases(length, letters[1]);
        bases.front() = letters[0];
        bases.back() = letters[3];
        const bool has_lower = std::any_of(bases.begin(), bases.end(), [](char c) { return c >= 'a'; });
        text += ">x\n";
        for (std::size_t at = 0; at < length; at += line) text += bases.substr(at, line) + '\n';
        expected += '<' + (has_lower ? bases : "") + '>';
        std::replace(bases.begin(), bases.end(), 'u', 'T');
        std::replace(bases.begin(), bases.end(), 'U', 'T');
        std::transform(bases.begin(), bases.end(), bases.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
        expected_bases += '<' + bases + '>';
      }
    const std::string path = folder.path() + "/case.fa";
    write_file(path, text);
    for (const double work : {1.0, 2000.0, 1e9}) {
      const Result result = run_stage<ReadReader>().with({{"path", path}}).target_work(work).run();
      REQUIRE(result.status == SLUICE_OK);
      std::string written, bases;
      for (const auto& batch : result.batches)
        for (std::int64_t row = 0; row < batch.rows(); ++row) {
          written += '<' + std::string(batch.view().text("written_bases")[row]) + '>';
          bases += '<' + std::string(batch.view().text("bases")[row]) + '>';
        }
      CHECK((written == expected));
      CHECK((bases == expected_bases));
    }
  }
}

TEST_CASE("comments are what follows the name behind one blank, and the tags of SAM records") {
  const TemporaryFolder folder;
  const auto comments = [&](const std::string& name, const std::string& text, bool read_them = true) {
    const std::string path = folder.path() + "/" + name;
    write_file(path, text);
    const Result result = run_stage<ReadReader>().with({{"path", path}, {"comments", read_them}}).run();
    REQUIRE(result.status == SLUICE_OK);
    std::string all;
    for (const auto& batch : result.batches)
      for (std::int64_t row = 0; row < batch.rows(); ++row) all += '<' + std::string(batch.view().text("comment")[row]) + '>';
    return all;
  };
  CHECK(comments("a.fq", "@one two  three\nAC\n+one two\nII\n@four\nA\n+\nI\n@five\tco:Z:x \nA\n+\nI\n") == "<two  three><><co:Z:x >");
  CHECK(comments("a.fa", ">one two\r\nAC\r\n>three \r\nA\r\n") == "<two><>");
  CHECK(comments("a.fq", "@one two\nAC\n+\nII\n", false) == "<>");
  CHECK(comments("a.sam",
                 "one\t4\t*\t0\t0\t*\t*\t0\t0\tAC\tII\tRG:Z:x\tqs:f:1.5\tML:B:C,3,200\n"
                 "two\t4\t*\t0\t0\t*\t*\t0\t0\tA\t*\n") == "<RG:Z:x\tqs:f:1.5\tML:B:C,3,200><>");
}

TEST_CASE("tags of the basecaller come from records and from comments alike") {
  const TemporaryFolder folder;
  const std::string tags = "RG:Z:x\tts:A:+\tts:i:300\tns:i:5000\tpi:Z:parent\tmv:B:c,5,1,0";
  write_file(folder.path() + "/a.fq", "@one " + tags + "\tqs:f:3\nA\n+\nI\n@two some words\nA\n+\nI\n");
  write_file(folder.path() + "/a.sam", "one\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI\tqs:f:3\t" + tags + "\ntwo\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI\n");
  const std::string expected = std::string("RGZx") + '\0' + "tsA+" + "tsS" + std::string("\x2c\x01", 2) + "nsS" + std::string("\x88\x13", 2) +
                               "piZparent" + '\0' + "mvBc" + std::string("\x03\0\0\0\x05\x01\0", 7);
  for (const char* name : {"/a.fq", "/a.sam"}) {
    const Result result =
        run_stage<ReadReader>().with({{"path", folder.path() + name}, {"comments", false}, {"keep_tags", "none"}}).run().expect_rows(2);
    const auto found = result.batch().view().text("basecaller_tags");
    CHECK(std::string(found[0]) == expected);
    CHECK(found[1].empty());
  }
}

TEST_CASE("reads are found in files that are followed, which are taken up when they are whole; others are named at the end") {
  const TemporaryFolder folder;
  write_packed(folder.path() + "/a.fq", "@one\nACGT\n+\nIIII\n", Packing::plain);
  write_packed(folder.path() + "/b.fq.gz", fastq_text(60), Packing::bgzf);
  write_packed(folder.path() + "/c.fq.gz", fastq_text(80), Packing::bgzf);
  std::filesystem::resize_file(folder.path() + "/c.fq.gz", std::filesystem::file_size(folder.path() + "/c.fq.gz") - 28);
  std::ofstream(folder.path() + "/d.fq") << "no reads\n";
  std::ofstream(folder.path() + "/sluice.stop");
  const Result result =
      run_stage<FollowedReadBases>(read_ids({"r3", "one", "nobody", "r59"})).with({{"path", folder.path()}, {"follow", "true"}}).run().expect_rows(3);
  CHECK(result.failed == std::vector<sluice::testing::FailedRow>{{0, 2, "read_not_in_file"}});
  const auto bases = result.batch().view().text("bases");
  CHECK(bases[1] == "ACGT");
  CHECK(bases[3] == as_read(sequence(10 + 59 * 977 % 9000, 59)));
  const auto& named = result.accounts.at("incomplete_file").names;
  CHECK(says(named.back(), "/d.fq': 0 reads were taken, then: "));
  const Result aligned = run_stage<FollowedReadBases>(BatchBuilder("read", 1).text("read_id", {"r"}).text("aligned_bases", {"ACU"}).build())
                             .with({{"follow", "true"}})
                             .run()
                             .expect_rows(1);
  CHECK(aligned.batch().view().text("bases")[0] == "ACT");
}

TEST_CASE("the stages keep the stage contract") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/r.fq";
  write_packed(path, fastq_text(10), Packing::plain);
  CHECK(sluice::testing::contract_problems<ReadBases>({.parameters = {{"path", path}}, .batches = {read_ids({"r1", "nobody", "r9"})}}) ==
        std::vector<std::string>{});
  std::ofstream(folder.path() + "/sluice.stop");
  CHECK(sluice::testing::contract_problems<FollowedReadBases>({.parameters = {{"path", path}, {"follow", "true"}, {"follow_idle", "0.001"}},
                                                               .batches = {read_ids({"r1", "nobody", "r9"})}}) == std::vector<std::string>{});
  CHECK(sluice::testing::contract_problems<ReadReader>({.parameters = {{"path", path}}}) == std::vector<std::string>{});
}

TEST_CASE("looked-up reads of the shared sets are the streamed ones") {
  if (shared.empty() || !std::filesystem::exists(shared + "/data")) {
    MESSAGE("skipped: ", shared, "/data is absent");
    return;
  }
  for (const char* name : {"ecoli_r9/reads.fastq.gz", "ecoli_r9_real/reads.fasta", "outliers_r9/reads.fastq.gz", "rna_r9/reads.fastq.gz",
                           "lambda_ont_real/sample_reads.fastq.gz"}) {
    CAPTURE(name);
    const std::string path = shared + "/data/" + name;
    const Result streamed = run_stage<ReadReader>().with({{"path", path}}).target_work(1e12).target_bytes(1ULL << 40).run();
    REQUIRE(streamed.ok());
    const auto all = streamed.batch();
    std::vector<std::string> ids;
    std::map<std::string, std::string> first;
    for (std::int64_t row = all.rows(); row-- > 0;) {
      ids.emplace_back(all.view().text("read_id")[row]);
      first[ids.back()] = all.view().text("bases")[row];
    }
    const Result found = look_up(path, ids).expect_rows(all.rows());
    const auto bases = found.batch().view().text("bases");
    bool same = true;
    for (std::size_t i = 0; i < ids.size(); ++i) same = same && bases[static_cast<std::int64_t>(i)] == first[ids[i]];
    CHECK(same);
  }
}
