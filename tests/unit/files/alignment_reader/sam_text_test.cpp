// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// SAM text with mistakes, and with U.
#include <doctest/doctest.h>
#include <htslib/bgzf.h>

#include <fstream>
#include <sluice/failure.hpp>
#include <sluice/hts/record_bases.hpp>
#include <sluice/testing/temporary_folder.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "alignment_reader/alignment_files.hpp"

using namespace sluice::alignment_reader;
using sluice::testing::TemporaryFolder;

namespace {

const ParallelFor here = [](std::size_t count, std::size_t, const auto& body) { body(0, count); };
const std::string header = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:1000\n";

enum class Packing : std::uint8_t { plain, bgzf };
std::string written(const TemporaryFolder& folder, const std::string& text, Packing packing = Packing::plain) {
  const std::string path = folder.path() + (packing == Packing::plain ? "/a.sam" : "/a.sam.gz");
  const sluice::hts::Bgzf file(bgzf_open(path.c_str(), packing == Packing::plain ? "wu" : "w"));
  REQUIRE(bgzf_write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return path;
}

struct Read {
  std::string records, problem, remedy, warnings;
};
// Each record as its name, flag and bases.
Read read_all(const std::string& path, const std::string& region = {}, int threads = 0) {
  Read read;
  try {
    OpenOptions options;
    options.region = region;
    options.threads = threads;
    AlignmentFiles files({path}, options, FileOrder::as_given);
    std::string bases;
    while (const AlignmentRecord* record = files.next(here, 1)) {
      bases.resize(static_cast<std::size_t>(record->core.l_qseq));
      sluice::hts::sequenced_bases(record->packed_bases(), bases.size(), false, bases.data());
      read.records += std::string(record->name) + "/" + std::to_string(record->core.flag) + "/" + bases + " ";
    }
    for (const std::string& warning : files.take_warnings()) read.warnings += warning;
  } catch (const sluice::Failure& failure) {
    read.problem = failure.what();
    read.remedy = failure.remedy();
  }
  return read;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("U in SAM text is T, in each case, packing and with an index") {
  const TemporaryFolder folder;
  const std::string text =
      header + "a\t0\tc\t11\t60\t8M\t*\t0\t0\tACGUacgu\tIIIIIIII\nb\t16\tc\t21\t60\t6M\t*\t0\t0\tUUTN=.\t*\nU\t4\t*\t0\t0\t*\t*\t0\t0\tU\tI\n";
  for (const Packing packing : {Packing::plain, Packing::bgzf})
    for (const int threads : {0, 2}) {
      const std::string path = written(folder, text, packing);
      CHECK(read_all(path, "", threads).records == "a/0/ACGTACGT b/16/TTTN=N U/4/T ");
      CHECK(read_all(path, "c:21-30", threads).records == "b/16/TTTN=N ");
    }
}

TEST_CASE("a mistake in SAM text is named with its line and record") {
  const TemporaryFolder folder;
  const std::pair<const char*, const char*> cases[] = {
      {"b\t0\tzz\t5\t60\t4M\t*\t0\t0\tACGT\t*", "contig 'zz' is not in the header"},
      {"b\t0\tc\t5\t60\t4M\tzz\t5\t0\tACGT\t*", "contig 'zz' is not in the header"},
      {"b\t4\tzz\t5\t60\t*\t*\t0\t0\tACGT\t*", "contig 'zz' is not in the header"},
      {"b\t0\tc\t5\t60\t3M\t*\t0\t0\tACGT\t*", "CIGAR and SEQ are of different lengths (3 and 4 bases)"},
      {"b\t0\tc\t5\t60\t5H2S1M1I1D6H\t*\t0\t0\tACGTA\t*", "CIGAR and SEQ are of different lengths (4 and 5 bases)"},
      {"b\t0\tc\t5\t60\t4M\t*\t0\t0\tACGT\tIII", "SEQ and QUAL are of different lengths (4 and 3)"},
      {"b\t0\tc\t5\t60\t4M\t*\t0\t0\tACGT\tI I\x01", "QUAL has a character"},
      {"b\t0\tc\t5\t60\t4Q\t*\t0\t0\tACGT\t*", "CIGAR '4Q' is none"},
      {"b\t0\tc\t5\t60\tM\t*\t0\t0\tACGT\t*", "CIGAR 'M' is none"},
      {"b\t0\tc\t5\t60\t300000000M\t*\t0\t0\tACGT\t*", "CIGAR '300000000M' is none"},
      {"b\t0\tc\t-5\t60\t4M\t*\t0\t0\tACGT\t*", "POS '-5' is no position"},
      {"b\t0\tc\tx\t60\t4M\t*\t0\t0\tACGT\t*", "POS 'x' is no position"},
      {"b\t0\tc\t5\t60\t4M\t=\t-1\t0\tACGT\t*", "PNEXT '-1' is no position"},
      {"b\t0\tc\t5\t60\t4M\t*\t0\tx\tACGT\t*", "TLEN 'x' is no number"},
      {"b\t70000\tc\t5\t60\t4M\t*\t0\t0\tACGT\t*", "FLAG '70000' is no number from 0 to 65535"},
      {"b\t-1\tc\t5\t60\t4M\t*\t0\t0\tACGT\t*", "FLAG '-1'"},
      {"b\tabc\tc\t5\t60\t4M\t*\t0\t0\tACGT\t*", "FLAG 'abc'"},
      {"b\t0\tc\t5\t256\t4M\t*\t0\t0\tACGT\t*", "MAPQ '256' is no number from 0 to 255"},
      {"b\t0\tc\t5\t60\t4M\t*\t0\t0\tAC1T\t*", "SEQ has '1' at base 3, which is no base"},
      {"b\t0\tc\t5\t60\t4M\t*\t0\t0\tACGX\t*", "SEQ has 'X' at base 4"},
      {"b\t0\tc\t5\t60\t4M\t*\t0\t0\tACGT\t*\tNM", "the tag 'NM' is not written as NAME:TYPE:VALUE"},
      {"b\t0\tc\t5\t60\t4M\t*\t0\t0\tACGT\t*\tNM:i:x", "the value of the tag 'NM:i:x' is not of its type"},
      {"b\t0\tc\t5\t60\t4M\t*\t0\t0\tACGT\t*\tNM:i:1\tab:f:1,5", "the value of the tag 'ab:f:1,5'"},
      {"b\t0\tc\t5\t60\t4M\t*\t0\t0\tACGT\t*\tab:q:1", "its tags are not as SAM has them"},
  };
  for (const auto& [bad_line, problem] : cases)
    for (const Packing packing : {Packing::plain, Packing::bgzf}) {
      const std::string line = bad_line;
      CAPTURE(line);
      const std::string path = written(folder, header + "a\t0\tc\t5\t60\t4M\t*\t0\t0\tACGT\t*\n" + line + "\n", packing);
      const Read read = read_all(path);
      CAPTURE(read.problem);
      CHECK(says(read.problem, "alignment file '" + path + "', line 4, record 'b': " + problem));
      CHECK_FALSE(read.remedy.empty());
    }
  CHECK(says(read_all(written(folder, header + "b\t0\tc\t5\n")).problem, "line 3 has fewer than the 11 fields of a record"));
  CHECK(says(read_all(written(folder, header + "\n")).problem, "line 3 is empty"));
  const std::string long_name(300, 'n');
  CHECK(says(read_all(written(folder, header + long_name + "\t4\t*\t0\t0\t*\t*\t0\t0\tA\t*\n")).problem, "its name has 300 letters"));
}

TEST_CASE("records of SAM whose contigs the header does not have at all are no damage") {
  const TemporaryFolder folder;
  const Read read = read_all(written(folder, "a\t0\tc\t5\t60\t4M\t*\t0\t0\tACGT\t*\n"));
  CHECK(says(read.problem, "line 1, record 'a': it is on contig 'c', and the header has no @SQ lines"));
  CHECK(says(read.remedy, "samtools view -h -t"));
  const Read unaligned = read_all(written(folder, "a\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tII\n"));
  CHECK(says(unaligned.problem, "line 1, record 'a': SEQ and QUAL are of different lengths (4 and 2)"));
  CHECK(unaligned.remedy == "make the file again, or leave the record out");
}

TEST_CASE("records that HTSlib makes unmapped are warned of, and given") {
  const TemporaryFolder folder;
  const Read read = read_all(
      written(folder, header + "a\t0\tc\t0\t60\t4M\t*\t0\t0\tACGT\t*\nb\t0\tc\t5\t60\t*\t*\t0\t0\tACGT\t*\nd\t4\tc\t5\t60\t*\t*\t0\t0\tACGT\t*\n"));
  CHECK(read.records == "a/4/ACGT b/4/ACGT d/4/ACGT ");
  CHECK(says(read.warnings, "2 records of"));
  CHECK(says(read.warnings, "the first is 'a'"));
  CHECK(read_all(written(folder, header + "a\t0\tc\t1\t60\t4M\t*\t0\t0\tACGT\t*\n")).warnings.empty());
}

TEST_CASE("a header that HTSlib can't use is named by its line") {
  const TemporaryFolder folder;
  const std::pair<const char*, const char*> cases[] = {
      {"@SQ\tSN:x", "line 3 of the header says no length (LN) of contig 'x'"},
      {"@SQ\tSN:x\tLN:abc", "line 3 of the header says no length (LN) of contig 'x'"},
      {"@SQ\tSN:x\tLN:-4", "line 3 of the header says no length (LN) of contig 'x'"},
      {"@SQ\tLN:100", "line 3 of the header names no contig (SN)"},
      {"@SQ SN:x LN:100", "line 3 of the header names no contig (SN)"},
      {"@SQ\tSN:c\tLN:1000", "line 3 of the header names contig 'c' again"},
      {"@RG\tSM:x", "line 3 of the header has no ID"},
      {"@XX\tSN:c", "line 3: '@XX?SN:c' is no line of a header"},
  };
  for (const auto& [bad_line, problem] : cases) {
    const std::string line = bad_line;
    CAPTURE(line);
    const Read read = read_all(written(folder, header + line + "\na\t0\tc\t5\t60\t4M\t*\t0\t0\tACGT\t*\n"));
    CAPTURE(read.problem);
    CHECK(says(read.problem, problem));
    CHECK_FALSE(read.remedy.empty());
  }
}

TEST_CASE("what a record of BAM says against itself is named") {
  const TemporaryFolder folder;
  // By hand: HTSlib does not write such records.
  std::string text = "BAM\1";
  const auto number = [&text](std::uint32_t value) { text.append(reinterpret_cast<const char*>(&value), sizeof value); };
  number(static_cast<std::uint32_t>(header.size()));
  text += header;
  for (const std::uint32_t value : {1U, 2U}) number(value);
  text += std::string("c\0", 2);
  number(1000);
  const auto record = [&](std::uint32_t contig, std::uint32_t matched) {
    for (const std::uint32_t value : {32U + 2 + 4 + 2 + 4, contig, 9U, 60U << 8 | 2U, 1U, 4U, 0xFFFFFFFFU, 0xFFFFFFFFU, 0U}) number(value);
    text += std::string("r\0", 2);
    number(matched << 4);
    text += "\x12\x48\xFF\xFF\xFF\xFF";
  };
  const std::string beginning = text;
  for (const auto& [contig, matched, problem] : {std::tuple(0U, 3U, "record 'r': CIGAR and SEQ are of different lengths (3 and 4 bases)"),
                                                 std::tuple(7U, 4U, "record 'r': it is on contig number 8, and the header has 1")}) {
    text = beginning;
    record(0, 4);
    record(contig, matched);
    const std::string path = folder.path() + "/a.bam";
    {
      const sluice::hts::Bgzf file(bgzf_open(path.c_str(), "w"));
      REQUIRE(bgzf_write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    }
    CHECK(says(read_all(path).problem, problem));
  }
}
