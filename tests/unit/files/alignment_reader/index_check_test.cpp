// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Damaged index files, and those that cannot be written.
#include "alignment_reader/index_check.hpp"

#include <doctest/doctest.h>
#include <htslib/sam.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sluice/hts/record_bases.hpp>
#include <sluice/testing.hpp>

#include "alignment_reader/alignment_file.hpp"
#include "simulate_signal/counter_random.hpp"
#include "unit/fresh_file.hpp"
#include "unit/small_files.hpp"

using namespace sluice::alignment_reader;
using sluice::simulate_signal::Purpose;
using sluice::simulate_signal::RandomStream;
using sluice::testing::TemporaryFolder;

namespace {

constexpr int bai_shift = 0, csi_shift = 14;  // as sam_index_build3 takes them

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
void write(const std::string& path, const std::string& bytes) { sluice::written_files::write_file(path, bytes); }

// Three contigs, one of them without records; 600 records of 200 to 40,000 bases, some unmapped.
std::string write_bam(const std::string& path) {
  const std::string header = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:one\tLN:3000000\n@SQ\tSN:none\tLN:5000\n@SQ\tSN:two\tLN:200000\n";
  sam_hdr_t* parsed = sam_hdr_parse(header.size(), header.data());
  htsFile* out = hts_open(path.c_str(), "wb");
  REQUIRE(sam_hdr_write(out, parsed) == 0);
  bam1_t* record = bam_init1();
  std::int64_t number = 0;
  RandomStream random(1, 0, Purpose::placement);
  for (const int contig : {0, 2}) {
    std::int64_t place = 0;
    for (int i = 0; i < 300; ++i, ++number) {
      place += static_cast<std::int64_t>(random.below(contig == 0 ? 18000 : 500));
      const std::uint32_t length = 200 + static_cast<std::uint32_t>(random.below(i % 3 == 0 ? 40000 : 2000));
      const std::uint32_t cigar = length << 4U;
      const std::string name = "read" + std::to_string(number), bases(length, "ACGT"[i % 4]);
      REQUIRE(bam_set1(record, name.size(), name.c_str(), 0, contig, place, 60, 1, &cigar, -1, -1, 0, length, bases.data(), nullptr, 0) >= 0);
      REQUIRE(sam_write1(out, parsed, record) >= 0);
    }
  }
  REQUIRE(bam_set1(record, 4, "lost", 4, -1, -1, 0, 0, nullptr, -1, -1, 0, 4, "ACGT", nullptr, 0) >= 0);
  REQUIRE(sam_write1(out, parsed, record) >= 0);
  bam_destroy1(record);
  hts_close(out);
  sam_hdr_destroy(parsed);
  return path;
}

struct Found {
  std::string names, note;
};
Found records_of(const std::string& path, const std::string& region) {
  AlignmentFile file({.path = path, .reference = {}, .region = region, .threads = 0});
  Found found;
  found.note = file.note();
  while (const bam1_t* record = file.next()) found.names += std::string(bam_get_qname(record)) + " ";
  return found;
}

constexpr const char* regions[] = {"one:1-20000", "one:1500000-1500100", "one:900000-1900000", "two", "two:60000-60001", "none"};

std::string damaged(std::string bytes, RandomStream& random) {
  switch (random.below(4)) {
    case 0:
      bytes.resize(random.below(bytes.size()));
      break;
    case 1:
      for (std::uint64_t more = 1 + random.below(40); more > 0; --more) bytes += static_cast<char>(random.below(256));
      break;
    case 2:
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      break;
    default:
      bytes[random.below(bytes.size())] ^= static_cast<char>(1U << random.below(8));
  }
  return bytes;
}

}  // namespace

#ifdef SLUICE_SANITIZED
// HTSlib 1.16's bgzf_close() frees nothing when the last block cannot be written, and the tests below fill a disk.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhts"; }
#endif

TEST_CASE("a damaged index is made again and gives the same records") {
  const TemporaryFolder folder(sluice::written_files::folder_in_memory());
  const std::string bam = write_bam(folder.path() + "/a.bam");
  std::map<std::string, std::string> expected;
  for (const char* region : regions) expected[region] = records_of(bam, region).names;
  CHECK(expected["none"].empty());
  CHECK(expected["two:60000-60001"].size() > 100);
  const std::string made = bytes_of(bam + ".bai");
  std::filesystem::remove(bam + ".bai");
  int refused = 0;
  for (const int shift : {bai_shift, csi_shift}) {
    const std::string index = bam + (shift == bai_shift ? ".bai" : ".csi");
    REQUIRE(sam_index_build3(bam.c_str(), index.c_str(), shift, 0) == 0);
    const std::string whole = bytes_of(index);
    CHECK(records_of(bam, "two").note.empty());
    for (std::uint64_t i = 0; i < 1500; ++i) {
      RandomStream random(7, i, Purpose::errors);
      write(index, damaged(whole, random));
      CAPTURE(i);
      CAPTURE(index);
      const char* region = regions[i % std::size(regions)];
      const Found found = records_of(bam, region);
      CHECK(found.names == expected[region]);
      if (found.note.empty()) continue;  // a number that decides nothing, such as how many records a contig has
      ++refused;
      CHECK(found.note.find("made the index '" + bam + ".bai': the one beside the file is damaged: it ") == 0);
      CHECK(bytes_of(bam + ".bai") == made);
      if (i < 20) CHECK(records_of(bam, region).note.empty());  // the one that was made is taken, even beside a damaged .csi
      std::filesystem::remove(bam + ".bai");
    }
    std::filesystem::remove(bam + ".csi");
  }
  CHECK(refused > 2000);
}

TEST_CASE("an index is refused for what is wrong with it") {
  const TemporaryFolder folder;
  const std::string bam = write_bam(folder.path() + "/a.bam");
  records_of(bam, "one");
  const std::string bytes = bytes_of(bam + ".bai");
  IndexedFile file{std::filesystem::file_size(bam), {3000000, 5000, 200000}};
  CHECK(binning_index_problem(bytes, file) == "");
  const auto with = [&bytes](std::size_t at, std::uint32_t value) {
    std::string changed = bytes;
    std::memcpy(changed.data() + at, &value, sizeof value);
    return changed;
  };
  CHECK(binning_index_problem(with(0, 0), file) == "is neither a .bai nor a .csi index");
  CHECK(binning_index_problem(with(4, 4), file) == "is of 4 contigs, and the file has 3");
  CHECK(binning_index_problem(with(8, 40000), file) == "has a contig with an impossible number of bins");
  CHECK(binning_index_problem(with(12, 37449), file) == "has a bin that there is none of");
  CHECK(binning_index_problem(with(16, 0x7FFFFFFF), file) == "ends too early");
  CHECK(binning_index_problem(bytes + "x", file) == "has something behind its end");
  CHECK(binning_index_problem(bytes.substr(0, bytes.size() - 9), file) == "ends too early");
  file.bytes /= 2;
  CHECK(binning_index_problem(bytes, file).find("the file") != std::string::npos);
}

TEST_CASE("a .crai index is looked through line by line") {
  const IndexedFile file{10000, {5000, 3000}};
  CHECK(crai_problem("0\t1\t4000\t500\t30\t2000\n1\t1\t3000\t2600\t30\t900\n-1\t0\t0\t4000\t20\t80\n", file) == "");
  CHECK(crai_problem("", file) == "is empty");
  CHECK(crai_problem("0\t1\t4000\t500\t30\t2000", file) == "ends too early");
  CHECK(crai_problem("0\t1\t4000\t500\t30\n", file) == "has a line that is none");
  CHECK(crai_problem("0\t1\t4000\t500\t30\t2000\t7\n", file) == "has a line that is none");
  CHECK(crai_problem("0\t1\t4x00\t500\t30\t2000\n", file) == "has a line that is none");
  CHECK(crai_problem("2\t1\t4000\t500\t30\t2000\n", file) == "is of other contigs than the file");
  CHECK(crai_problem("0\t1\t4000\t500\t30\t20000\n", file) == "points behind the end of the file");
  CHECK(crai_problem("0\t1\t4000\t9223372036854775807\t30\t2000\n", file) == "points behind the end of the file");
}

TEST_CASE("an index that cannot be written is made for the run, or the run says why not, and nothing stays") {
  const TemporaryFolder folder;
  const std::string bam = write_bam(folder.path() + "/a.bam");
  const auto files = [&folder] { return std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator()); };
  {
    const SmallFiles full(1000);
    // The temporary folder has no more room than the one of the file.
    CHECK_THROWS_WITH_AS(records_of(bam, "two"), doctest::Contains("File too large"), sluice::Failure);
  }
  CHECK(files() == 1);
  // No name is left for the file that grows: 'a.bam.bai' cannot be put in place.
  std::filesystem::create_directory(bam + ".bai");
  write(bam + ".bai/x", "");
  const Found found = records_of(bam, "two");
  CHECK(found.names.size() > 1000);
  CHECK(found.note.find("made for this run an index of '" + bam + "': the one beside the file is damaged: it cannot be read, and cannot write") == 0);
  CHECK(files() == 2);
}

TEST_CASE("CRAM is read with a reference whose index is made whole or not at all") {
  const TemporaryFolder folder;
  const std::string fasta = folder.path() + "/r.fa", cram = folder.path() + "/a.cram", bases = std::string(400, 'A') + std::string(400, 'C');
  write(fasta, ">one some contig\n" + bases + "\n");
  const std::string header = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:one\tLN:800\n";
  sam_hdr_t* parsed = sam_hdr_parse(header.size(), header.data());
  htsFile* out = hts_open(cram.c_str(), "wc");
  REQUIRE(hts_set_opt(out, CRAM_OPT_REFERENCE, fasta.c_str()) == 0);
  REQUIRE(sam_hdr_write(out, parsed) == 0);
  bam1_t* record = bam_init1();
  const std::uint32_t cigar = 20U << 4U;
  REQUIRE(bam_set1(record, 1, "r", 0, 0, 390, 60, 1, &cigar, -1, -1, 0, 20, bases.substr(390, 20).c_str(), nullptr, 0) >= 0);
  REQUIRE(sam_write1(out, parsed, record) >= 0);
  bam_destroy1(record);
  hts_close(out);
  sam_hdr_destroy(parsed);
  std::filesystem::remove(fasta + ".fai");
  const auto open = [&] { return AlignmentFile({.path = cram, .reference = fasta, .region = {}, .threads = 0}); };
  {
    const SmallFiles full(4);
    CHECK_THROWS_WITH_AS(open(), doctest::Contains("no index of it can be made"), sluice::Failure);
  }
  CHECK_FALSE(std::filesystem::exists(fasta + ".fai"));
  AlignmentFile file({.path = cram, .reference = fasta, .region = {}, .threads = 0});
  const bam1_t* read = file.next();
  REQUIRE(read != nullptr);
  std::string sequence;
  sluice::hts::sequenced_bases(*read, sequence);
  CHECK(sequence == bases.substr(390, 20));
  CHECK(bytes_of(fasta + ".fai") == "one\t800\t17\t800\t801\n");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator()) == 3);

  // Written again since, with longer lines of the title: the old index would give other bases.
  write(fasta, ">one some contig that has got another title\n" + bases + "\n");
  std::filesystem::last_write_time(fasta + ".fai", std::filesystem::last_write_time(fasta) - std::chrono::hours(1));
  const auto folder_may_be_written_to = [&](bool yes) {
    std::filesystem::permissions(folder.path(),
                                 yes ? std::filesystem::perms::owner_all : std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  };
  folder_may_be_written_to(false);
  CHECK(open().take_warning().find("is older than the FASTA file, and cannot be made again (its folder cannot be written to)") != std::string::npos);
  folder_may_be_written_to(true);
  CHECK(open().take_warning().empty());
  CHECK(bytes_of(fasta + ".fai") == "one\t800\t44\t800\t801\n");
  std::filesystem::remove(fasta + ".fai");
  folder_may_be_written_to(false);
  CHECK_THROWS_WITH_AS(open(), doctest::Contains("has no index '"), sluice::Failure);
  folder_may_be_written_to(true);
}
