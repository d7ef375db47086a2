// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/bam_reads.hpp"

#include <doctest/doctest.h>
#include <htslib/hfile.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sluice/hts/record_bases.hpp>
#include <sluice/testing.hpp>
#include <thread>

using namespace sluice::read_bases;
namespace hts = sluice::hts;
using sluice::testing::TemporaryFolder;

namespace {

const auto never = [] { return false; };
const hts::ParallelFor on_threads = [](std::size_t count, std::size_t grain, const auto& body) {
  const std::size_t part = std::max(grain, (count + 7) / 8);
  std::vector<std::thread> threads;
  for (std::size_t begin = 0; begin < count; begin += part)
    threads.emplace_back([&body, begin, end = std::min(count, begin + part)] { body(begin, end); });
  for (std::thread& thread : threads) thread.join();
};

// Records of all sorts, one in a hundred of many blocks.
void write_records(const std::string& path, const char* mode, int records) {
  hts::silence();
  std::mt19937 random(11);
  const std::string text = "@HD\tVN:1.6\n@SQ\tSN:one\tLN:100000000\n";
  const hts::Header header(sam_hdr_init());
  REQUIRE(sam_hdr_add_lines(header.get(), text.data(), text.size()) == 0);
  const hts::File file(hts_open(path.c_str(), mode));
  if (path.ends_with(".cram")) REQUIRE(hts_set_opt(file.get(), CRAM_OPT_NO_REF, 1) == 0);
  REQUIRE(sam_hdr_write(file.get(), header.get()) == 0);
  const hts::Record record(bam_init1());
  for (int i = 0; i < records; ++i) {
    const std::size_t length = i % 100 == 50 ? 300'000 : i % 9 == 3 ? 0 : random() % 3000;
    std::string bases(length, 'A'), qualities(length, '\0');
    for (char& base : bases) base = "ACGTN"[random() % 5];
    for (char& quality : qualities) quality = static_cast<char>(random() % 100);
    if (i % 7 == 2) qualities.assign(length, '\xff');
    const bool is_mapped = i % 3 != 0 && length > 0;
    std::vector<std::uint32_t> cigar;
    if (is_mapped) cigar.push_back(static_cast<std::uint32_t>(length) << 4 | BAM_CMATCH);
    if (is_mapped && i % 100 == 50) {
      // More operations than fit into the record: they go into a tag.
      cigar.assign(length, 1U << 4 | BAM_CMATCH);
      for (std::size_t k = 1; k < length; k += 2) cigar[k] = 1U << 4 | BAM_CDIFF;
    }
    const auto flag = static_cast<std::uint16_t>((is_mapped ? 0 : BAM_FUNMAP) | (i % 2 == 0 ? BAM_FREVERSE : 0) | (i % 11 == 5 ? BAM_FSECONDARY : 0) |
                                                 (i % 13 == 5 ? BAM_FSUPPLEMENTARY : 0));
    const std::string name = "read-" + std::to_string(i);
    REQUIRE(bam_set1(record.get(), name.size(), name.c_str(), flag, is_mapped ? 0 : -1, is_mapped ? i : -1, 60, cigar.size(), cigar.data(), -1, -1, 0,
                     length, bases.data(), qualities.data(), 0) >= 0);
    REQUIRE(sam_write1(file.get(), header.get(), record.get()) >= 0);
  }
}

struct Given {
  std::vector<std::string> names, bases, qualities, left_out;
  std::vector<double> batches;  // bases
  std::string failure;
};

// Record by record, by HTSlib.
Given by_htslib(const std::string& path) {
  Given given;
  const hts::File file(hts_open(path.c_str(), "r"));
  const hts::Header header(sam_hdr_read(file.get()));
  const hts::Record record(bam_init1());
  int got = 0, records = 0;
  for (; (got = sam_read1(file.get(), header.get(), record.get())) >= 0; ++records) {
    if ((record->core.flag & (BAM_FSECONDARY | BAM_FSUPPLEMENTARY)) != 0 || record->core.l_qseq == 0) {
      given.left_out.emplace_back(bam_get_qname(record.get()));
      continue;
    }
    given.names.emplace_back(bam_get_qname(record.get()));
    hts::sequenced_bases(*record, given.bases.emplace_back());
    std::string& qualities = given.qualities.emplace_back();
    const std::uint8_t* scores = bam_get_qual(record.get());
    if (scores[0] == 0xFF) continue;
    for (int i = 0; i < record->core.l_qseq; ++i) qualities += static_cast<char>('!' + std::min<int>(scores[i], 93));
    if (bam_is_rev(record.get())) std::reverse(qualities.begin(), qualities.end());
  }
  const bool lacks_end = file->format.format == bam && hts::lacks_end(*file->fp.bgzf);
  if (got == -1 && lacks_end) given.failure = "'" + path + "' is truncated: it has no BGZF end-of-file block";
  if (got < -1) given.failure = "'" + path + "' is truncated or damaged: it cannot be read on after " + std::to_string(records) + " records";
  return given;
}

Given by_batches(const std::string& path, const BamReads::Sizes& sizes) {
  Given given;
  BamReads reads(hopen(path.c_str(), "r"), path, {}, 3);
  const auto rows = [](const sluice::Buffer& ends, const sluice::Buffer& text, std::vector<std::string>& to) {
    const auto at = ends.as<std::int64_t>();
    for (std::size_t row = 0; row + 1 < at.size(); ++row)
      to.emplace_back(static_cast<const char*>(text.data()) + at[row], static_cast<std::size_t>(at[row + 1] - at[row]));
  };
  try {
    while (const auto batch = reads.next(sizes, {}, on_threads, never)) {
      rows(batch->name_ends, batch->names, given.names);
      rows(batch->base_ends, batch->bases, given.bases);
      rows(batch->quality_ends, batch->qualities, given.qualities);
      for (const auto* left_out : {&batch->without_bases, &batch->not_primary})
        given.left_out.insert(given.left_out.end(), left_out->begin(), left_out->end());
      given.batches.push_back(static_cast<double>(batch->bases_in_all));
    }
    CHECK(reads.ended());
  } catch (const sluice::Failure& failure) {
    given.failure = failure.what();
  }
  return given;
}

void check_same(Given given, Given expected) {
  CHECK((given.names == expected.names));
  CHECK((given.bases == expected.bases));
  CHECK((given.qualities == expected.qualities));
  std::sort(given.left_out.begin(), given.left_out.end());
  std::sort(expected.left_out.begin(), expected.left_out.end());
  CHECK((given.left_out == expected.left_out));
  CHECK(given.failure.empty() == expected.failure.empty());
  CHECK(given.failure.starts_with(expected.failure));
}

}  // namespace

TEST_CASE("reads of BAM, SAM and CRAM are those that HTSlib reads one by one, in batches that depend on the reads alone") {
  const TemporaryFolder folder;
  for (const auto& [name, mode] : {std::pair{"a.bam", "wb"}, {"a.sam", "w"}, {"plain.bam", "wb0"}, {"a.cram", "wc"}}) {
    const std::string path = folder.path() + "/" + name;
    CAPTURE(path);
    write_records(path, mode, 400);
    const Given expected = by_htslib(path);
    CHECK(expected.names.size() > 200);
    std::vector<double> batches;
    for (const BamReads::Sizes sizes :
         {BamReads::Sizes{20'000, 1 << 30, 1, 1 << 17}, {20'000, 1 << 30, 5, 1 << 21}, {20'000, 1 << 30, 1000, 1 << 16}}) {
      const Given given = by_batches(path, sizes);
      check_same(given, expected);
      if (batches.empty()) batches = given.batches;
      CHECK(given.batches == batches);
    }
    check_same(by_batches(path, {1e12, std::uint64_t{1} << 40, 2, 1 << 20}), expected);
  }
}

TEST_CASE("reads in front of damage are given, then it is said how many records there are") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a.bam";
  write_records(path, "wb", 120);
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::mt19937 random(12);
  for (int i = 0; i < 16; ++i) {
    const std::size_t at = 300 + random() % (bytes.size() - 300);
    std::string bad = bytes;
    if (i % 2 == 0)
      bad.resize(at);
    else
      bad[at] = static_cast<char>(bad[at] + 1 + random() % 200);
    const std::string damaged = folder.path() + "/damaged.bam";
    std::ofstream(damaged, std::ios::binary) << bad;
    const Given expected = by_htslib(damaged);
    CHECK((i % 2 == 1 || !expected.failure.empty() || at + 28 >= bytes.size()));
    check_same(by_batches(damaged, {20'000, 1 << 30, 4, 1 << 18}), expected);
  }
}

TEST_CASE("a file that has no header is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a.bam";
  write_records(path, "wb", 1);
  std::filesystem::resize_file(path, 20);
  CHECK_THROWS_AS(BamReads(hopen(path.c_str(), "r"), path, {}, 1), sluice::Failure);
}
