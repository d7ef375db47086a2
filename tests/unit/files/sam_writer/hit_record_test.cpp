// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sam_writer/hit_record.hpp"

#include <doctest/doctest.h>
#include <htslib/bgzf.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/hts/bgzf_writer.hpp>

using namespace sluice::sam_writer;

namespace {

sluice::hts::Header header_of(const std::string& text) {
  sluice::hts::Header header(sam_hdr_init());
  REQUIRE(sam_hdr_add_lines(header.get(), text.data(), text.size()) == 0);
  return header;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) result.push_back(text.substr(at, text.find('\n', at) - at));
  return result;
}

// The file's records as SAM text, read back by HTSlib.
std::string read_back(const std::string& bytes) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / ("sluice-sam-" + std::to_string(::getpid()) + ".bam");
  std::ofstream(path, std::ios::binary) << bytes;
  htsFile* file = hts_open(path.c_str(), "r");
  REQUIRE(file != nullptr);
  const sluice::hts::Header header(sam_hdr_read(file));
  REQUIRE(header != nullptr);
  const sluice::hts::Record record(bam_init1());
  std::string text;
  int status = 0;
  while ((status = sam_read1(file, header.get(), record.get())) >= 0) {
    kstring_t line = KS_INITIALIZE;
    REQUIRE(sam_format1(header.get(), record.get(), &line) >= 0);
    text.append(line.s, line.l).push_back('\n');
    ks_free(&line);
  }
  CHECK(status == -1);
  CHECK(bgzf_check_EOF(file->fp.bgzf) == 1);
  hts_close(file);
  std::filesystem::remove(path);
  return text;
}

const std::string header_text = "@SQ\tSN:one\tLN:100000\n@SQ\tSN:two\tLN:3000000\n";

}  // namespace

TEST_CASE("primary, supplementary, secondary and unmapped records say what SAM wants of them") {
  const sluice::hts::Header header = header_of(header_text);
  const std::vector<std::uint32_t> first_cigar = {4U << 4 | BAM_CMATCH, 1U << 4 | BAM_CINS, 3U << 4 | BAM_CMATCH},
                                   second_cigar = {6U << 4 | BAM_CMATCH};
  const std::vector<HitRecord> hits = {{0, 1, 9, 99, false, true, 60, first_cigar, 1, 10, 3, 40, 20, ":7", "7"},
                                       {1, 10, 16, 49, true, true, 30, second_cigar, 0, 12, 2, 30, -1, ":6", "6"},
                                       {1, 1, 7, 499, false, false, 0, second_cigar, 2, 8, 2, 20, -1, ":4", "4"}};
  RecordWriter writer;
  std::string text;
  const ReadRecord read{"read/1", "AACCGGTTACGTACGTAC", "!\"#$%&'()*+,-./012", 5, hits};
  REQUIRE(writer.append_sam(*header, read, {Clipping::hard, "g", true, true}, text));
  REQUIRE(writer.append_sam(*header, {"nowhere", "ACGN", "", 0, {}}, {}, text));
  const auto records = lines(text);
  REQUIRE(records.size() == 4);
  CHECK(records[0] ==
        "read/1\t0\tone\t100\t60\t1S4M1I3M9S\t*\t0\t0\tAACCGGTTACGTACGTAC\t!\"#$%&'()*+,-./012\tNM:i:1\tAS:i:10\ttp:A:P\tcm:i:3\ts1:i:40\ts2:i:20\t"
        "rl:i:5\tSA:Z:two,50,-,2S6M10S,30,0;\tcs:Z::7\tMD:Z:7\tRG:Z:g");
  CHECK(records[1] ==
        "read/1\t2064\ttwo\t50\t30\t2H6M10H\t*\t0\t0\tACGTAC\t0/.-,+\tNM:i:0\tAS:i:12\ttp:A:P\tcm:i:2\ts1:i:30\trl:i:5\t"
        "SA:Z:one,100,+,1S7M1I9S,60,1;\tcs:Z::6\tMD:Z:6\tRG:Z:g");
  CHECK(records[2] == "read/1\t256\ttwo\t500\t0\t1S6M11S\t*\t0\t0\t*\t*\tNM:i:2\tAS:i:8\ttp:A:S\tcm:i:2\ts1:i:20\trl:i:5\tcs:Z::4\tMD:Z:4\tRG:Z:g");
  CHECK(records[3] == "nowhere\t4\t*\t0\t0\t*\t*\t0\t0\tACGN\t*");
}

TEST_CASE("BAM holds the same records as SAM, also with more operations than its field can count") {
  const sluice::hts::Header header = header_of(header_text);
  std::mt19937 random(1);
  RecordWriter writer;
  std::string sam, bam = sluice::hts::bam_header_bytes(*header), file;
  for (int round = 0; round < 40; ++round) {
    std::string bases, qualities;
    std::vector<std::uint32_t> cigar;
    const std::size_t pairs = round == 0 ? 40000 : random() % 500 + 1;
    for (std::size_t i = 0; i < pairs; ++i) {
      const std::uint32_t same = random() % 9 + 1;
      cigar.push_back(same << 4 | BAM_CMATCH);
      cigar.push_back(1U << 4 | (random() % 2 == 0 ? BAM_CINS : BAM_CDEL));
      bases += std::string(same + ((cigar.back() & 15U) == BAM_CINS ? 1 : 0), "ACGT"[random() % 4]);
    }
    cigar.push_back(1U << 4 | BAM_CMATCH);
    bases += 'A';
    for (std::size_t i = 0; i < bases.size(); ++i) qualities += static_cast<char>('!' + random() % 60);
    const HitRecord hit{1, 0, static_cast<std::int32_t>(bases.size()), 1000, random() % 2 == 0, true, 60, cigar, 5, 6, 7, 8, 9, "", ""};
    const std::string id = "r" + std::to_string(round);
    const ReadRecord read{id, bases, qualities, 0, {&hit, 1}};
    REQUIRE(writer.append_sam(*header, read, {}, sam));
    REQUIRE(writer.append_bam(*header, read, {}, bam));
  }
  sluice::hts::BgzfWriter blocks;
  blocks.add(bam);
  blocks.finish(file, [](std::size_t count, const auto& body) { body(0, count); });
  CHECK(read_back(file) == sam);
}

TEST_CASE("a name that SAM can't hold is refused, and nothing of it is written") {
  const sluice::hts::Header header = header_of(header_text);
  RecordWriter writer;
  std::string text;
  CHECK_FALSE(writer.append_sam(*header, {std::string(255, 'x'), "ACGT", "", 0, {}}, {}, text));
  CHECK(text.empty());
}
