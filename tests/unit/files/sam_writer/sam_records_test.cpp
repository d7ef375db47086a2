// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sam_writer/sam_records.hpp"

#include <doctest/doctest.h>
#include <htslib/bgzf.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/hts/bgzf_writer.hpp>

#include "unit/mapping/hit_selection/tiny_index.hpp"

using namespace sluice::sam_writer;

namespace {

sluice::hts::Header header_of(const std::string& text) {
  sluice::hts::Header header(sam_hdr_init());
  REQUIRE(sam_hdr_add_lines(header.get(), text.data(), text.size()) == 0);
  return header;
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

TEST_CASE("BAM holds the same records as SAM, also with more operations than its field can count") {
  const sluice::hts::Header header = header_of(header_text);
  const auto contigs = tiny_index::of({{"one", 100000}, {"two", 3000000}});
  const sluice::MinimizerIndexView index = sluice::minimizer_index_view(contigs.view());
  std::mt19937 random(1);
  BamRecords records;
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
    // Some reads have no qualities.
    for (std::size_t i = 0; i < bases.size() && round % 5 != 4; ++i) qualities += static_cast<char>('!' + random() % 60);
    ReadAlignment alignment;
    alignment.target = 1;
    alignment.query_end = static_cast<std::int32_t>(bases.size());
    alignment.target_start = 1000;
    alignment.is_reverse = random() % 2 == 0;
    alignment.is_primary = alignment.is_first = true;
    alignment.mapping_quality = 60;
    alignment.cigar = cigar;
    const std::string id = "r" + std::to_string(round);
    std::string lines;
    append_sam(lines, index, {id, bases, qualities, 0, {&alignment, 1}}, {});
    REQUIRE(records.append(*header, lines, {}, bam));
    sam += lines;
  }
  sluice::hts::BgzfWriter blocks;
  blocks.add(bam);
  blocks.finish(file, [](std::size_t count, const auto& body) { body(0, count); });
  CHECK(read_back(file) == sam);
}

TEST_CASE("CIGARs that are too long for BAM's field go to a tag, if that is wanted") {
  const auto contigs = tiny_index::of({{"one", 1000000}});
  const sluice::MinimizerIndexView index = sluice::minimizer_index_view(contigs.view());
  const auto fields = [&](std::size_t operations, std::int32_t before, bool is_first, bool is_primary, Clipping clipping) {
    std::vector<std::uint32_t> cigar;
    for (std::size_t i = 0; i < operations; ++i) cigar.push_back(1U << 4 | (i % 2 == 0 ? BAM_CMATCH : BAM_CDEL));
    const auto matches = static_cast<std::int32_t>((operations + 1) / 2);
    ReadAlignment alignment;
    alignment.query_start = before;
    alignment.query_end = before + matches;
    alignment.target_end = static_cast<std::int32_t>(operations);
    alignment.is_primary = is_primary;
    alignment.is_first = is_first;
    alignment.cigar = cigar;
    const std::string bases(static_cast<std::size_t>(alignment.query_end), 'A');
    std::string line;
    append_sam(line, index, {"r", bases, "", 0, {&alignment, 1}}, {.clipping = clipping, .long_cigar = LongCigar::tag});
    const std::string before_cigar = "\tone\t1\t0\t";
    const std::size_t cigar_at = line.find(before_cigar) + before_cigar.size(), tag = line.find("\tCG:B:I");
    std::string found = line.substr(cigar_at, line.find('\t', cigar_at) - cigar_at).substr(0, 30);
    if (tag != std::string::npos) found += line.substr(tag, 20) + (line.find("\trl:i:0\n", tag) != std::string::npos ? " before rl" : "");
    return found;
  };
  CHECK(fields(65535, 0, true, true, Clipping::hard).find("CG:B") == std::string::npos);
  CHECK(fields(65534, 5, true, true, Clipping::hard).find("CG:B") == std::string::npos);
  CHECK(fields(65535, 5, true, true, Clipping::hard) == "32773S65535N\tCG:B:I,84,16,18,16, before rl");
  CHECK(fields(65537, 0, true, true, Clipping::hard) == "32769S65537N\tCG:B:I,16,18,16,18, before rl");
  CHECK(fields(65535, 5, false, true, Clipping::hard) == "32768S65535N\tCG:B:I,85,16,18,16, before rl");
  CHECK(fields(65535, 5, false, true, Clipping::soft) == "32773S65535N\tCG:B:I,84,16,18,16, before rl");
  CHECK(fields(65535, 5, false, false, Clipping::hard) == "0S65535N\tCG:B:I,84,16,18,16, before rl");
}

TEST_CASE("comments that are tags are known, and those that are none have a message of their own") {
  for (const char* tags : {"BC:Z:AC", "x1:i:5\tBC:Z:", "ML:B:C,10\tXA:A:x"}) CHECK(is_sam_tags(tags));
  for (const char* text : {"", "no tag", "runid=x", "BC:Z", "BC:Q:x", "1C:Z:x", "BC:Z:x\t", "\tBC:Z:x", "BC:Z:x no:i:1\tx"})
    CHECK_FALSE(is_sam_tags(text));
  CHECK_THROWS_WITH_AS(refuse_read("'x.bam'", "b", "no tag"), doctest::Contains("what follows its name, 'no tag', is no tag of SAM"),
                       sluice::Failure);
  CHECK_THROWS_WITH_AS(refuse_read("'x.bam'", "b"), doctest::Contains("2^31 bytes a record"), sluice::Failure);
  CHECK_THROWS_WITH_AS(refuse_read("'x.sam'", "@b", ""), doctest::Contains("the first is no @"), sluice::Failure);
}

TEST_CASE("names that SAM can't hold are known, and lines that are none give no record") {
  CHECK(is_sam_name("read/1"));
  CHECK_FALSE(is_sam_name(std::string(255, 'x')));
  CHECK_FALSE(is_sam_name("a b"));
  CHECK_FALSE(is_sam_name(""));
  CHECK(is_sam_name("a@b"));
  CHECK_FALSE(is_sam_name("@SQ"));
  const sluice::hts::Header header = header_of(header_text);
  BamRecords records;
  std::string bytes = "before";
  CHECK_FALSE(records.append(*header, "read\tno flag\n", {}, bytes));
  CHECK(bytes == "before");
}
