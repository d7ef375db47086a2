// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <htslib/cram.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/hts/bgzf_writer.hpp>
#include <sluice/hts/record_bases.hpp>
#include <sluice/hts/text_file.hpp>
#include <sluice/testing.hpp>
#include <thread>

using namespace sluice::hts;

namespace {

std::string written(const sluice::testing::TemporaryFolder& folder, const char* name, const std::string& text, const char* mode) {
  std::string path = folder.path() + "/" + name;
  const Bgzf file(bgzf_open(path.c_str(), mode));
  REQUIRE(bgzf_write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return path;
}
std::string problem_of(const std::string& path) {
  try {
    TextFile file({path, "reference"});
    while (!file.next().empty()) continue;
  } catch (const sluice::Failure& failure) {
    return failure.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a header that BAM and CRAM can't hold is refused, with the contig") {
  const auto problem = [](const std::string& lines) {
    const Header header(sam_hdr_parse(lines.size(), lines.c_str()));
    try {
      refuse_unless_bam_holds(*header);
      bam_header_bytes(*header);
    } catch (const sluice::Failure& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  CHECK(problem("@SQ\tSN:a\tLN:2147483647\n").empty());
  CHECK(problem("@SQ\tSN:a\tLN:10\n@SQ\tSN:b\tLN:2147483648\n")
            .starts_with("contig 'b' has 2147483648 bases, and BAM and CRAM hold positions up to 2147483647"));
  CHECK_NOTHROW(refuse_header_text(2147483647));
  CHECK_THROWS_AS(refuse_header_text(2147483648), sluice::Failure);
}

TEST_CASE("a text is the same however it is packed, in blocks and in lines") {
  const sluice::testing::TemporaryFolder folder;
  std::string text = "one\r\n\n";
  for (int i = 0; i < 40000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
  for (const char* mode : {"w", "wg", "wu"}) {
    const std::string path = written(folder, mode, text, mode);
    TextFile file({path}, 1000);
    std::string read;
    for (std::string_view block = file.next(); !block.empty(); block = file.next()) read += block;
    CHECK(read == text);
    CHECK(file.total() == text.size());
    CHECK(file.is_compressed() == (mode[1] != 'u'));
    TextLines lines({path});
    REQUIRE(lines.next());
    CHECK(lines.line() == "one");
    REQUIRE(lines.next());
    CHECK(lines.line().empty());
    while (lines.next()) continue;
    CHECK(lines.number() == 40002);
  }
}

TEST_CASE("a byte order mark is no part of the first line") {
  const sluice::testing::TemporaryFolder folder;
  for (const char* mode : {"w", "wg", "wu"}) {
    TextLines lines({written(folder, mode, "\xef\xbb\xbfone\n\xef\xbb\xbftwo\n", mode)});
    REQUIRE(lines.next());
    CHECK(lines.line() == "one");
    REQUIRE(lines.next());
    CHECK(lines.line() == "\xef\xbb\xbftwo");
  }
}

TEST_CASE("a line that does not end is not read until memory ends") {
  const sluice::testing::TemporaryFolder folder;
  for (const char* mode : {"wg", "wu"}) {
    const std::string path = written(folder, mode, "one\n" + std::string(300'000, 'x') + "\nthree\n", mode);
    TextLines whole({path}, 300'000);
    while (whole.next()) continue;
    CHECK(whole.number() == 3);
    TextLines lines({path, "BED file"}, 100'000);
    REQUIRE(lines.next());
    std::string said;
    try {
      lines.next();
    } catch (const sluice::Failure& failure) {
      said = failure.what();
    }
    CHECK(said.find("line 2: it has more than 100000 bytes") != std::string::npos);
  }
}

TEST_CASE("what is missing or cut is a failure that names the file") {
  const sluice::testing::TemporaryFolder folder;
  CHECK(problem_of(folder.path() + "/none").starts_with("cannot open reference '"));
  std::string text;
  for (int i = 0; i < 40000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
  const std::string path = written(folder, "blocks.gz", text, "w");
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 28);  // the end-of-file block
  CHECK(problem_of(path).find("no BGZF end-of-file block") != std::string::npos);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  CHECK(problem_of(path).find("is truncated or damaged") != std::string::npos);
}

TEST_CASE("plain text that ends inside a line is told from text that is whole, or compressed") {
  const sluice::testing::TemporaryFolder folder;
  for (const auto& [text, is_open] : {std::pair("", false), std::pair("one\n", false), std::pair("one", true), std::pair("one\ntwo", true)}) {
    for (const char* mode : {"w", "wg", "wu"}) {
      const std::string path = written(folder, "text", text, mode);
      TextLines lines({path});
      std::string last;
      while (lines.next()) last = lines.line();
      CHECK(last == (std::string_view(text) == "one\ntwo" ? "two" : *text == '\0' ? "" : "one"));
      CHECK(lines.ends_inside_line() == (is_open && mode[1] == 'u'));
    }
  }
  const std::string path = written(folder, "gzip", "a line of text that is long enough\n", "wg");
  std::filesystem::resize_file(path, 10);  // HTSlib takes less than a block's header for text
  CHECK(problem_of(path).find("is truncated or damaged") != std::string::npos);
}

namespace {

// So many records, and what became of reading them: the problem, or whether they end inside a line.
std::string read_records(const std::string& path, int& records) {
  records = 0;
  try {
    const File file(hts_open(path.c_str(), "r"));
    RecordsInOrder::check_mark(*file, path);
    const Header header(sam_hdr_read(file.get()));
    const Record record(bam_init1());
    RecordsInOrder in_order(*file, *header, path, path);
    while (in_order.next(*record)) ++records;
    return in_order.ends_inside_line() ? "inside a line" : "";
  } catch (const sluice::Failure& failure) {
    return failure.what();
  }
}

}  // namespace

TEST_CASE("alignments without the mark at their end are refused, and SAM that ends inside a line is told") {
  silence();
  const sluice::testing::TemporaryFolder folder;
  const std::string text = "@SQ\tSN:c\tLN:100\na\t0\tc\t1\t60\t4M\t*\t0\t0\tACGT\tIIII\tNM:i:12\nb\t0\tc\t9\t60\t4M\t*\t0\t0\tACGT\tIIII\tNM:i:12\n";
  int records = 0;
  CHECK(read_records(written(folder, "whole.sam", text, "wu"), records).empty());
  CHECK(records == 2);
  CHECK(read_records(written(folder, "open.sam", text.substr(0, text.size() - 2), "wu"), records) == "inside a line");
  CHECK(records == 2);
  CHECK(read_records(written(folder, "cut.sam", text.substr(0, text.size() - 14), "wu"), records).find("line 3") != std::string::npos);
  std::string path = written(folder, "blocks.sam.gz", text, "w");
  CHECK(read_records(path, records).empty());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 28);
  CHECK(read_records(path, records).find("no BGZF end-of-file block") != std::string::npos);
}

TEST_CASE("a record's bases come as they were sequenced") {
  const Record record(bam_init1());
  std::string bases;
  for (const auto& [flag, expected] : {std::pair{0, "ACGTN"}, std::pair{BAM_FREVERSE, "NACGT"}}) {
    REQUIRE(bam_set1(record.get(), 1, "r", static_cast<std::uint16_t>(BAM_FUNMAP | flag), -1, -1, 0, 0, nullptr, -1, -1, 0, 5, "ACGTN", nullptr, 0) >=
            0);
    sequenced_bases(*record, bases);
    CHECK(bases == expected);
  }
}

namespace {

const BgzfWriter::Run on_threads = [](std::size_t count, const auto& body) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; i += 3) threads.emplace_back([&body, i, end = std::min(count, i + 3)] { body(i, end); });
  for (std::thread& thread : threads) thread.join();
};
std::string unpacked(const sluice::testing::TemporaryFolder& folder, const std::string& bytes) {
  const std::string path = folder.path() + "/packed";
  std::ofstream(path, std::ios::binary) << bytes;
  const Bgzf file(bgzf_open(path.c_str(), "r"));
  REQUIRE(file);
  CHECK(bgzf_check_EOF(file.get()) == 1);
  std::string text(std::size_t{4} << 20, '\0');
  text.resize(static_cast<std::size_t>(bgzf_read(file.get(), text.data(), text.size())));
  return text;
}

}  // namespace

TEST_CASE("BGZF that is written in parallel depends on the text alone") {
  const sluice::testing::TemporaryFolder folder;
  std::mt19937 random(1);
  std::string noise(200'000, '\0'), text;
  for (char& c : noise) c = static_cast<char>(random());
  while (text.size() < 1'000'000) text += std::to_string(random() % 5000) + "\n";
  for (const std::string& all : {std::string(), std::string("a"), text, noise, text.substr(0, BgzfWriter::block_text)})
    for (const int level : {-1, 0, 1, 9}) {
      const auto packed = [&](std::size_t piece, std::size_t blocks_at_a_time) {
        BgzfWriter writer(level);
        std::string file;
        for (std::size_t at = 0; at < all.size(); at += piece) {
          writer.add(std::string_view(all).substr(at, piece));
          if (writer.waiting() >= blocks_at_a_time) writer.compress(file, on_threads);
        }
        writer.finish(file, on_threads);
        return file;
      };
      const std::string whole = packed(all.size() + 1, 1);
      CHECK(unpacked(folder, whole) == all);
      CHECK(packed(1000, 1) == whole);
      CHECK(packed(77'777, 3) == whole);
      CHECK(packed(BgzfWriter::block_text, 1'000'000) == whole);
    }
}

TEST_CASE("records begin blocks as HTSlib begins them, and their places are those that a reader finds") {
  const sluice::testing::TemporaryFolder folder;
  std::mt19937 random(2);
  BgzfWriter writer;
  std::string file;
  std::vector<std::pair<std::string, BgzfWriter::Place>> records;
  std::vector<std::uint64_t> offsets;
  const auto look_up = [&] {
    while (offsets.size() < records.size() && writer.is_known(records[offsets.size()].second))
      offsets.push_back(writer.virtual_offset(records[offsets.size()].second));
  };
  for (int i = 0; i < 500; ++i) {
    std::string record(i % 50 == 7 ? 150'000 + random() % 10 : i % 50 == 9 ? BgzfWriter::block_text : random() % 9000 + 1, '\0');
    for (char& c : record) c = static_cast<char>(random() % 16);
    writer.begin_record(record.size());
    records.emplace_back(record, writer.place());
    writer.add(record);
    if (i % 40 != 39) continue;
    writer.compress(file, on_threads);
    look_up();
  }
  writer.finish(file, on_threads);
  look_up();
  REQUIRE(offsets.size() == records.size());
  const std::string path = folder.path() + "/records";
  std::ofstream(path, std::ios::binary) << file;
  const Bgzf reader(bgzf_open(path.c_str(), "r"));
  for (std::size_t i = records.size(); i-- > 0;) {
    const std::string& expected = records[i].first;
    std::string read(expected.size(), '\0');
    REQUIRE(bgzf_seek(reader.get(), static_cast<std::int64_t>(offsets[i]), SEEK_SET) == 0);
    REQUIRE(bgzf_read(reader.get(), read.data(), read.size()) == static_cast<ssize_t>(read.size()));
    CHECK((read == expected));
    CHECK((expected.size() > BgzfWriter::block_text || (offsets[i] & 0xFFFF) + expected.size() <= BgzfWriter::block_text));
  }
}

TEST_CASE("records have the bytes that HTSlib writes") {
  const sluice::testing::TemporaryFolder folder;
  const Header header(sam_hdr_init());
  const std::string lines = "@HD\tVN:1.6\n@SQ\tSN:one\tLN:100000000\n@SQ\tSN:two\tLN:5\n@CO\tthat is all\n";
  REQUIRE(sam_hdr_add_lines(header.get(), lines.data(), lines.size()) == 0);
  std::string bytes = bam_header_bytes(*header);
  const std::string path = folder.path() + "/a.bam";
  {
    const File file(hts_open(path.c_str(), "wb"));
    REQUIRE(sam_hdr_write(file.get(), header.get()) == 0);
    const Record record(bam_init1());
    for (const std::size_t operations : {0U, 1U, 2U, 70'000U}) {
      std::vector<std::uint32_t> cigar(operations, 1U << 4 | BAM_CMATCH);
      for (std::size_t i = 1; i < operations; i += 2) cigar[i] = 1U << 4 | BAM_CDIFF;
      const std::string bases(operations, 'C'), qualities(operations, '\x14');
      for (const std::string name : {"a", "bcd", "efgh"}) {
        REQUIRE(bam_set1(record.get(), name.size(), name.c_str(), 16, 0, 12345, 60, cigar.size(), cigar.data(), 1, 3, -7, bases.size(), bases.data(),
                         qualities.data(), 0) >= 0);
        REQUIRE(bam_aux_update_int(record.get(), "NM", 3) == 0);
        REQUIRE(sam_write1(file.get(), header.get(), record.get()) >= 0);
        CHECK(append_bam_record(*record, bytes));
      }
    }
    record->core.pos = std::int64_t{1} << 31;
    const std::size_t before = bytes.size();
    CHECK_FALSE(append_bam_record(*record, bytes));
    CHECK(bytes.size() == before);
  }
  const Bgzf file(bgzf_open(path.c_str(), "r"));
  std::string written(std::size_t{4} << 20, '\0');
  written.resize(static_cast<std::size_t>(bgzf_read(file.get(), written.data(), written.size())));
  CHECK((written == bytes));
}

namespace {

// Of one read on each of two contigs, in one slice, of which HTSlib keeps no sum. The FASTA that it was written with: `fasta`.
void write_cram(const std::string& cram, const std::string& fasta, const std::string& one, const std::string& two) {
  std::ofstream(fasta) << ">one\n" << one << "\n>two\n" << two << "\n";
  const std::string lines = "@SQ\tSN:one\tLN:" + std::to_string(one.size()) + "\n@SQ\tSN:two\tLN:" + std::to_string(two.size()) + "\n";
  const Header header(sam_hdr_parse(lines.size(), lines.c_str()));
  const File file(hts_open(cram.c_str(), "wc"));
  REQUIRE(hts_set_opt(file.get(), CRAM_OPT_REFERENCE, fasta.c_str()) == 0);
  REQUIRE(hts_set_opt(file.get(), CRAM_OPT_MULTI_SEQ_PER_SLICE, 1) == 0);
  REQUIRE(sam_hdr_write(file.get(), header.get()) == 0);
  const Record record(bam_init1());
  const std::uint32_t cigar = 20U << 4U;
  for (const auto& [contig, bases] : {std::pair(0, one), std::pair(1, two)}) {
    REQUIRE(bam_set1(record.get(), 1, "r", 0, contig, 10, 60, 1, &cigar, -1, -1, 0, 20, bases.substr(10, 20).c_str(), nullptr, 0) >= 0);
    REQUIRE(sam_write1(file.get(), header.get(), record.get()) >= 0);
  }
}
// The bases of its reads with this reference ("": none is given), or the problem.
std::string decoded(const std::string& cram, const std::string& fasta) {
  try {
    const File file(hts_open(cram.c_str(), "r"));
    const Header header(sam_hdr_read(file.get()));
    if (!fasta.empty()) REQUIRE(hts_set_opt(file.get(), CRAM_OPT_REFERENCE, fasta.c_str()) == 0);
    const Record record(bam_init1());
    RecordsInOrder in_order(*file, *header, cram, "'x.cram'", fasta);
    std::string all, bases;
    while (in_order.next(*record)) {
      sequenced_bases(*record, bases);
      all += bases;
    }
    return all;
  } catch (const sluice::Failure& failure) {
    return failure.what();
  }
}

}  // namespace

TEST_CASE("CRAM is decoded with the reference of its header, or refused") {
  silence();
  const sluice::testing::TemporaryFolder folder;
  const std::string fasta = folder.path() + "/r.fa", cram = folder.path() + "/x.cram", other = folder.path() + "/other.fa";
  const std::string one(60, 'A'), two = std::string(30, 'C') + std::string(30, 'G'), right = one.substr(10, 20) + two.substr(10, 20);
  write_cram(cram, fasta, one, two);
  CHECK(decoded(cram, fasta) == right);
  const auto with = [&](const std::string& text) {
    std::filesystem::remove(other + ".fai");
    std::ofstream(other) << text;
    return decoded(cram, other);
  };
  CHECK(with(">two\n" + two + "\n>one\naaaaaaaaaa" + one.substr(10) + "\n") == right);
  CHECK(with(">one\n" + one + "\n>two\n" + std::string(60, 'G') + "\n")
            .starts_with("'x.cram': contig 'two' is another sequence in the reference '" + other + "': its MD5 sum is "));
  CHECK(with(">one\n" + one + "\n>two\n" + two + "G\n")
            .starts_with("'x.cram': contig 'two' has 60 bases in its header and 61 in the reference '" + other + "'"));
  CHECK(with(">1\n" + one + "\n>2\n" + two + "\n").starts_with("'x.cram': no contig of its header is in the reference '" + other + "'"));
  // The file that the header names.
  if (std::getenv("REF_PATH") != nullptr || std::getenv("REF_CACHE") != nullptr) return;
  std::ofstream(fasta) << ">one\n" << one << "\n>two\n" << std::string(60, 'T') << "\n";
  CHECK(decoded(cram, "").starts_with("'x.cram': contig 'two' is another sequence in the reference '" + fasta + "'"));
}
