// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Records of BAM files, read in windows on several threads, are those that HTSlib reads one by one, and so is what is said of damage.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sluice/hts/bam_text.hpp>
#include <sluice/hts/record_bases.hpp>
#include <sluice/testing.hpp>
#include <thread>

#include "alignment_reader/alignment_file.hpp"
#include "alignment_reader/bam_record.hpp"
#include "simulate_signal/counter_random.hpp"
#include "unit/fresh_file.hpp"

using namespace sluice::alignment_reader;
using sluice::simulate_signal::Purpose;
using sluice::simulate_signal::RandomStream;
using sluice::testing::TemporaryFolder;

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
void write(const std::string& path, const std::string& bytes) { sluice::written_files::write_file(path, bytes); }

std::string random_bases(RandomStream& random, std::size_t length) {
  std::string bases(length, 'A');
  for (char& base : bases) base = "ACGTNacgtRY"[random.below(11)];
  return bases;
}

// Records of all sorts: mapped and not, without SEQ or CIGAR, clipped, and now and then one with more operations than fit, which are in a tag.
enum class Longest : std::uint8_t { usual, beyond_16_bits };
std::string write_records(const std::string& path, std::uint64_t seed, int records, Longest longest = Longest::usual) {
  const std::string header = "@HD\tVN:1.6\n@SQ\tSN:one\tLN:3000000\n@SQ\tSN:two\tLN:200000\n";
  const std::unique_ptr<sam_hdr_t, sluice::hts::Release> parsed(sam_hdr_parse(header.size(), header.data()));
  htsFile* out = hts_open(path.c_str(), "wb1");
  REQUIRE(sam_hdr_write(out, parsed.get()) == 0);
  const sluice::hts::Record record(bam_init1());
  for (int i = 0; i < records; ++i) {
    RandomStream random(seed, static_cast<std::uint64_t>(i), Purpose::placement);
    const std::string name(1 + random.below(40), static_cast<char>('a' + random.below(26)));
    std::vector<std::uint32_t> cigar;
    std::size_t length = 0;
    const auto add = [&](std::uint32_t bases, std::uint32_t operation) {
      cigar.push_back(bases << 4U | operation);
      if ((bam_cigar_type(operation) & 1) != 0) length += bases;
    };
    const std::uint64_t kind = random.below(20);
    if (random.below(3) == 0) add(1 + static_cast<std::uint32_t>(random.below(50)), random.below(2) == 0 ? BAM_CSOFT_CLIP : BAM_CHARD_CLIP);
    for (std::uint64_t more = kind == 0 && longest == Longest::beyond_16_bits ? 70000 : random.below(150); more > 0; --more)
      add(1 + static_cast<std::uint32_t>(random.below(9)), static_cast<std::uint32_t>(random.below(3)));
    if (kind == 1) cigar.clear();
    if (kind == 3) cigar = {static_cast<std::uint32_t>(length) << 4U | BAM_CSOFT_CLIP};
    const std::string bases = random_bases(random, kind == 2 ? 0 : length), qualities(bases.size(), static_cast<char>(random.below(60)));
    const auto contig = static_cast<std::int32_t>(random.below(2));
    const std::uint16_t flag =
        static_cast<std::uint16_t>((random.below(2) != 0 ? BAM_FREVERSE : 0) | (cigar.empty() || random.below(9) == 0 ? BAM_FUNMAP : 0));
    REQUIRE(bam_set1(record.get(), name.size(), name.c_str(), flag, contig, static_cast<std::int64_t>(random.below(190000)),
                     static_cast<std::uint8_t>(random.below(61)), cigar.size(), cigar.data(), -1, -1, 0, bases.size(), bases.data(),
                     random.below(2) == 0 ? nullptr : qualities.data(), 32) >= 0);
    const auto tag = static_cast<std::int32_t>(i);
    if (random.below(2) == 0) bam_aux_append(record.get(), "NM", 'i', sizeof tag, reinterpret_cast<const std::uint8_t*>(&tag));
    REQUIRE(sam_write1(out, parsed.get(), record.get()) >= 0);
  }
  hts_close(out);
  return path;
}

std::string text_of(const std::string& path) {
  const sluice::hts::Bgzf file(bgzf_open(path.c_str(), "r"));
  std::string text;
  char part[4096];
  for (ssize_t got = 0; (got = bgzf_read(file.get(), part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(got));
  return text;
}

// In blocks of any size, some of them empty.
void write_blocks(const std::string& path, const std::string& text, std::uint64_t seed) {
  RandomStream random(seed, 0, Purpose::errors);
  std::string file;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = std::min<std::size_t>(text.size() - at, 1 + random.below(random.below(4) == 0 ? 60000 : 3000));
    if (random.below(30) == 0) file += sluice::hts::BgzfBlock::end;
    std::string block(std::size_t{1} << 16, '\0');
    std::size_t size = block.size();
    REQUIRE(bgzf_compress(block.data(), &size, text.data() + at, bytes, 1) == 0);
    file += block.substr(0, size);
    at += bytes;
  }
  write(path, file + std::string(sluice::hts::BgzfBlock::end));
}

struct Seen {
  std::vector<std::string> records;
  std::string failure;
  friend bool operator==(const Seen&, const Seen&) = default;
};

std::string described(const AlignmentRecord& record) {
  std::string text(serialised_bytes(record), '\0');
  serialise(record, text.data());
  return std::string(record.name) + " " + std::to_string(record.end()) + " " + std::to_string(record.read_bases) + " " + text;
}

template <class Read>
Seen see(const std::string& path, std::size_t window_bytes, const std::string& region, const Read& read) {
  Seen seen;
  try {
    AlignmentFile file({.path = path, .reference = {}, .region = region, .threads = 0, .window_bytes = window_bytes});
    while (read(file, seen.records)) {
    }
    REQUIRE(file.visited() == seen.records.size());
  } catch (const sluice::Failure& failure) {
    seen.failure = std::string(failure.what()) + " / " + failure.remedy();
  }
  return seen;
}
Seen one_by_one(const std::string& path, const std::string& region = {}) {
  return see(path, 0, region, [](AlignmentFile& file, std::vector<std::string>& records) {
    const bam1_t* record = file.next();
    if (record == nullptr) return false;
    sluice::hts::Record copy(bam_dup1(record));
    records.push_back(described(as_alignment_record(std::move(copy))));
    if (records.back().find(" " + std::to_string(bam_endpos(record)) + " ") == std::string::npos) FAIL("another end than bam_endpos()");
    return true;
  });
}
Seen in_windows(const std::string& path, std::size_t window_bytes, const std::string& region = {}) {
  // The last part first, two at a time.
  const ParallelFor parallel_for = [](std::size_t count, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body) {
    std::thread other([&] {
      for (std::size_t i = (count + grain - 1) / grain; i-- > 0;)
        if (i % 2 == 0) body(i * grain, std::min(count, (i + 1) * grain));
    });
    for (std::size_t i = (count + grain - 1) / grain; i-- > 0;)
      if (i % 2 != 0) body(i * grain, std::min(count, (i + 1) * grain));
    other.join();
  };
  return see(path, window_bytes, region, [&](AlignmentFile& file, std::vector<std::string>& records) {
    const AlignmentRecord* record = file.next(parallel_for, 4);
    if (record == nullptr) return false;
    records.push_back(described(*record));
    return true;
  });
}

}  // namespace

TEST_CASE("records in windows of any size are those of HTSlib") {
  const TemporaryFolder folder;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const std::string path = write_records(folder.path() + "/a.bam", seed, 60, Longest::beyond_16_bits), other = folder.path() + "/b.bam";
    const Seen expected = one_by_one(path);
    REQUIRE(expected.records.size() == 60);
    CHECK(expected.failure.empty());
    write_blocks(other, text_of(path), seed);
    for (const std::size_t window_bytes : {1UL, 100UL, 5000UL, 100000UL, 0UL}) {
      CAPTURE(window_bytes);
      CHECK(in_windows(path, window_bytes) == expected);
      CHECK(in_windows(other, window_bytes) == expected);
      CHECK(in_windows(other, window_bytes, "two:1000-100000") == one_by_one(path, "two:1000-100000"));
    }
  }
}

TEST_CASE("of damaged BAM files the same records are given and the same is said") {
  const TemporaryFolder folder;
  const std::string path = write_records(folder.path() + "/a.bam", 9, 40), other = folder.path() + "/b.bam";
  const std::string text = text_of(path);
  write_blocks(path, text, 1);
  const std::string whole = bytes_of(path);
  int failures = 0, fine = 0;
  for (std::uint64_t i = 0; i < 600; ++i) {
    RandomStream random(5, i, Purpose::errors);
    CAPTURE(i);
    if (i % 3 == 0) {  // in the compressed bytes, with the end in its place
      std::string bytes = whole;
      for (std::uint64_t more = 1 + random.below(3); more > 0; --more)
        bytes[random.below(bytes.size() - 28)] ^= static_cast<char>(1U << random.below(8));
      write(other, bytes);
    } else if (i % 3 == 1) {  // cut, or a part left out, and an end put behind
      std::string bytes = whole.substr(0, random.below(whole.size()));
      if (random.below(2) == 0) bytes += whole.substr(random.below(whole.size()));
      write(other, bytes + std::string(sluice::hts::BgzfBlock::end));
    } else {  // in the records, which are compressed again
      std::string bytes = text;
      const std::size_t at = 100 + random.below(bytes.size() - 100);
      bytes[at] = static_cast<char>(random.below(256));
      if (random.below(2) == 0) bytes.resize(100 + random.below(bytes.size() - 100));
      write_blocks(other, bytes, i);
    }
    const Seen expected = one_by_one(other);
    (expected.failure.empty() ? fine : failures) += 1;
    for (const std::size_t window_bytes : {3000UL, 0UL}) CHECK(in_windows(other, window_bytes) == expected);
  }
  CHECK(failures > 200);
  CHECK(fine > 20);
}

TEST_CASE("every field of a record that is damaged means the same") {
  const TemporaryFolder folder;
  const std::string path = write_records(folder.path() + "/a.bam", 11, 3), other = folder.path() + "/b.bam";
  const std::string text = text_of(path);
  // Behind the header: each byte of the first record's length, fields, name and first operations, set to several values.
  std::size_t begin = 0;
  {
    const sluice::hts::Bgzf file(bgzf_open(path.c_str(), "r"));
    const sluice::hts::Header header(bam_hdr_read(file.get()));
    begin = static_cast<std::size_t>(bgzf_tell(file.get()) & 0xFFFF);
  }
  for (std::size_t at = begin; at < begin + 120; ++at)
    for (const int value : {0, 1, 0x7F, 0x80, 0xFF}) {
      std::string bytes = text;
      bytes[at] = static_cast<char>(value);
      write_blocks(other, bytes, 1);
      CAPTURE(at - begin);
      CAPTURE(value);
      CHECK(in_windows(other, 0) == one_by_one(other));
    }
}

TEST_CASE("through a pipe a BAM file is read in windows, and one that is cut is refused") {
  const TemporaryFolder folder;
  const std::string path = write_records(folder.path() + "/a.bam", 3, 100), pipe = folder.path() + "/pipe";
  const Seen expected = one_by_one(path);
  const std::string whole = bytes_of(path);
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto through_pipe = [&](const std::string& bytes) {
    std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << bytes; });
    Seen seen = in_windows(pipe, 0);
    writer.join();
    return seen;
  };
  CHECK(through_pipe(whole) == expected);
  const Seen without_end = through_pipe(whole.substr(0, whole.size() - 28));
  CHECK(without_end.records == expected.records);
  CHECK(without_end.failure.find("no BGZF end-of-file block") != std::string::npos);
  const Seen cut = through_pipe(whole.substr(0, whole.size() / 2));
  CHECK(cut.failure.find("cannot be read on after " + std::to_string(cut.records.size()) + " records") != std::string::npos);
  CHECK(std::equal(cut.records.begin(), cut.records.end(), expected.records.begin()));
}
