// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// A file that is read while it is written, cut anywhere, gives the reads that it gives when it is there.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sluice/testing.hpp>

#include "read_bases/bam_reads.hpp"
#include "read_bases/read_batches.hpp"
#include "read_bases/sequence_file.hpp"
#include "unit/files/written_files.hpp"

using namespace sluice::read_bases;
using sluice::testing::TemporaryFolder;

namespace {

const ParallelFor in_turn = [](std::size_t count, const std::function<void(std::size_t)>& body) {
  for (std::size_t i = 0; i < count; ++i) body(i);
};
const sluice::hts::ParallelFor in_parts = [](std::size_t count, std::size_t, const auto& body) {
  if (count > 0) body(0, count);
};
const auto never = [] { return false; };

void write(const std::string& path, std::string_view bytes) { sluice::written_files::write_file(path, bytes); }
void append(const std::string& path, std::string_view bytes) { std::ofstream(path, std::ios::binary | std::ios::app) << bytes; }
void write_bgzf(const std::string& path, std::string_view text, std::size_t block_bytes) {
  sluice::written_files::write_packed(path, text, sluice::written_files::Packing::bgzf, block_bytes);
}

template <class SomeBatch>
void add_rows(const SomeBatch& batch, std::string& reads) {
  const auto part = [](const sluice::Buffer& ends, const sluice::Buffer& text, std::size_t row) {
    const auto at = ends.as<std::int64_t>();
    return std::string(static_cast<const char*>(text.data()) + at[row], static_cast<std::size_t>(at[row + 1] - at[row]));
  };
  for (std::size_t row = 0; row < static_cast<std::size_t>(batch.rows); ++row)
    reads += part(batch.name_ends, batch.names, row) + " " + part(batch.base_ends, batch.bases, row) + " " +
             part(batch.quality_ends, batch.qualities, row) + "\n";
}

// What a reader has given so far.
class Text {
 public:
  explicit Text(const std::string& path, bool grows) : batches_(open_text_input(path, FileHandle(hopen(path.c_str(), "r")), 0, 1000), path, {}) {
    batches_.set_growing(grows);
  }
  std::string take() {
    std::string reads;
    while (const auto batch = batches_.next({2000, UINT64_MAX, 5000}, {}, in_turn, never)) add_rows(*batch, reads);
    if (batches_.ended()) batches_.check_end();
    return reads;
  }
  void end_here() { batches_.set_growing(false); }
  bool ended() const { return batches_.ended(); }
  bool could_end() const { return batches_.stream().could_end(); }

 private:
  ReadBatches batches_;
};

class Records {
 public:
  explicit Records(const std::string& path, bool grows)
      : reads_(hopen(path.c_str(), "r"), path, {}, 1, grows ? BamReads::Growth::possible : BamReads::Growth::none) {}
  std::string take() {
    std::string reads;
    while (const auto batch = reads_.next({2000, UINT64_MAX, 2, 1 << 16}, {}, in_parts, never)) add_rows(*batch, reads);
    return reads;
  }
  void end_here() { reads_.end_here(); }
  bool ended() const { return reads_.ended(); }

 private:
  BamReads reads_;
};

// A reader that is there from the first `begin` bytes on, and sees the file grow by pieces of up to `most` bytes.
template <class Reader>
void compare(const std::string& path, std::size_t begin, std::size_t most, unsigned seed) {
  CAPTURE(path);
  CAPTURE(seed);
  const std::string bytes = sluice::testing::detail::file_bytes(path);
  const std::string expected = Reader(path, false).take();
  REQUIRE(expected.size() > 1000);
  std::mt19937 random(seed);
  write(path, bytes.substr(0, begin));
  Reader reader(path, true);
  std::string given = reader.take();
  for (std::size_t at = begin; at < bytes.size();) {
    CHECK_FALSE(reader.ended());
    REQUIRE(expected.starts_with(given));
    const std::size_t piece = 1 + random() % most;
    append(path, bytes.substr(at, piece));
    at += piece;
    given += reader.take();
  }
  reader.end_here();
  given += reader.take();
  CHECK(given == expected);
  CHECK(reader.ended());
}

std::string fastq_of(int reads, unsigned seed, const char* newline = "\n") {
  std::mt19937 random(seed);
  std::string text;
  for (int i = 0; i < reads; ++i) {
    std::string bases(random() % 900 + (i % 40 == 7 ? 20'000 : 0), 'A'), qualities(bases.size(), '!');
    for (char& base : bases) base = "ACGT"[random() % 4];
    for (char& quality : qualities) quality = static_cast<char>('!' + random() % 90);
    text += "@read-" + std::to_string(i) + " of many" + newline + bases + newline + "+" + newline + qualities + newline;
  }
  return text;
}
std::string fasta_of(int reads, unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  for (int i = 0; i < reads; ++i) {
    text += ">read-" + std::to_string(i) + "\n";
    for (std::size_t line = random() % 9; line > 0; --line) text += std::string(60, "ACGT"[random() % 4]) + "\n";
  }
  return text;
}
void write_gzip(const std::string& path, std::string_view text, const char* mode) {
  gzFile file = gzopen(path.c_str(), mode);
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
}

}  // namespace

TEST_CASE("text that grows: FASTQ and FASTA, plain, BGZF and gzip, cut anywhere") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads";
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const std::size_t most = seed == 1 ? 30'000 : seed == 2 ? 1000 : 5000;
    write(path, fastq_of(150, seed));
    compare<Text>(path, 18, most, seed);
    write(path, fastq_of(100, seed, "\r\n"));
    compare<Text>(path, 18, most, seed);
    write(path, fastq_of(20, seed) + "@last\nACGT\n+\nIIII");
    compare<Text>(path, 18, most, seed);
    write(path, fasta_of(300, seed));
    compare<Text>(path, 18, most, seed);
    write_bgzf(path, fastq_of(150, seed), 7000);
    compare<Text>(path, 18, most, seed);
    write_bgzf(path, fasta_of(300, seed), 60'000);
    compare<Text>(path, 20, most, seed);
    write_gzip(path, fastq_of(150, seed), "wb6");
    write_gzip(path, fasta_of(0, seed) + fastq_of(50, seed + 9), "ab1");
    compare<Text>(path, 18, most, seed);
  }
}

TEST_CASE("records that grow: BAM, cut anywhere") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads.bam";
  sluice::hts::silence();
  for (unsigned seed = 1; seed <= 4; ++seed) {
    std::mt19937 random(seed);
    std::size_t header_end = 0;
    {
      const sluice::hts::Header header(sam_hdr_init());
      const std::string text = "@HD\tVN:1.6\n";
      REQUIRE(sam_hdr_add_lines(header.get(), text.data(), text.size()) == 0);
      const sluice::hts::File file(hts_open(path.c_str(), "wb1"));
      REQUIRE(sam_hdr_write(file.get(), header.get()) == 0);
      REQUIRE(bgzf_flush(file->fp.bgzf) == 0);
      header_end = static_cast<std::size_t>(bgzf_tell(file->fp.bgzf) >> 16);
      const sluice::hts::Record record(bam_init1());
      for (int i = 0; i < 300; ++i) {
        std::string bases(random() % 900 + (i % 100 == 50 ? 200'000 : 1), 'A');
        for (char& base : bases) base = "ACGT"[random() % 4];
        const std::string qualities(bases.size(), '\7'), name = "read-" + std::to_string(i);
        REQUIRE(bam_set1(record.get(), name.size(), name.c_str(), BAM_FUNMAP, -1, -1, 0, 0, nullptr, -1, -1, 0, bases.size(), bases.data(),
                         qualities.data(), 0) >= 0);
        REQUIRE(sam_write1(file.get(), header.get(), record.get()) >= 0);
        if (i % 10 == 0) REQUIRE(bgzf_flush(file->fp.bgzf) == 0);
      }
    }
    compare<Records>(path, header_end, seed == 1 ? 100'000 : 9000, seed);
  }
}

TEST_CASE("a file could end behind a whole record, and behind a whole member of gzip") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads", text = fastq_of(3, 5);
  const auto could_end = [&](const std::string& bytes) {
    write(path, bytes);
    Text reader(path, true);
    reader.take();
    return reader.could_end();
  };
  CHECK(could_end(text));
  CHECK(could_end(text.substr(0, text.size() - 1)));
  CHECK_FALSE(could_end(text.substr(0, text.size() - 2)));
  CHECK_FALSE(could_end(text + "@next"));
  CHECK(could_end(fasta_of(30, 1) + "AC"));
  write_gzip(path, text, "wb6");
  const std::string zipped = sluice::testing::detail::file_bytes(path);
  CHECK(could_end(zipped));
  CHECK_FALSE(could_end(zipped.substr(0, zipped.size() - 1)));
  CHECK_FALSE(could_end(zipped.substr(0, zipped.size() / 2)));
}

TEST_CASE("a file that stays cut says so when it is to end, behind its whole records") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reads", text = fastq_of(30, 5);
  const auto problem_of = [&](const std::string& bytes) -> std::string {
    write(path, bytes);
    Text reader(path, true);
    CHECK(reader.take().size() > 1000);
    reader.end_here();
    try {
      reader.take();
    } catch (const sluice::Failure& failure) {
      return failure.what();
    }
    return "";
  };
  CHECK(problem_of(text) == "");
  CHECK(problem_of(text.substr(0, text.size() - 2)).find("record 30") != std::string::npos);
  write_bgzf(path, text, 3000);
  const std::string blocks = sluice::testing::detail::file_bytes(path);
  CHECK(problem_of(blocks) == "");
  CHECK(problem_of(blocks.substr(0, blocks.size() - 28)).find("no BGZF end-of-file block") != std::string::npos);
  CHECK(problem_of(blocks.substr(0, blocks.size() - 40)).find("truncated or damaged") != std::string::npos);
}
