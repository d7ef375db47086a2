// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sequence_store/parallel_scan.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <random>
#include <string>

using namespace sluice::sequence_store;

namespace {

// An unnamed file with this text.
class TextOnDisk {
 public:
  explicit TextOnDisk(const std::string& text) : file_(std::tmpfile()), bytes_(static_cast<std::int64_t>(text.size())) {
    REQUIRE(file_ != nullptr);
    REQUIRE(std::fwrite(text.data(), 1, text.size(), file_) == text.size());
    REQUIRE(std::fflush(file_) == 0);
  }
  TextOnDisk(const TextOnDisk&) = delete;
  ~TextOnDisk() { std::fclose(file_); }
  int number() const { return ::fileno(file_); }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::FILE* file_;
  std::int64_t bytes_;
};

void one_by_one(std::size_t count, const std::function<void(std::size_t)>& body) {
  for (std::size_t i = count; i-- > 0;) body(i);
}
bool never() { return false; }

bool scan(const std::string& text, std::int64_t part_bytes, SequenceTable& table) {
  const TextOnDisk file(text);
  return scan_in_parts(file.number(), file.bytes(), part_bytes, one_by_one, never, table);
}
SequenceTable whole_table(const std::string& text) {
  SequenceTable table;
  SequenceScan scan("reads.fq", Places::in_text, nullptr, table);
  REQUIRE(scan.feed(text));
  REQUIRE(scan.finish());
  return table;
}
void check_equal(const SequenceTable& a, const SequenceTable& b) {
  CHECK(a.names == b.names);
  CHECK(a.name_offsets == b.name_offsets);
  CHECK(a.length == b.length);
  CHECK(a.bases_offset == b.bases_offset);
  CHECK(a.qualities_offset == b.qualities_offset);
  CHECK(a.line_bases == b.line_bases);
  CHECK(a.line_bytes == b.line_bytes);
  CHECK(a.total_bases == b.total_bases);
}

struct Shape {
  bool fastq = true, windows_line_ends = false, blank_line_at_end = false, no_last_line_end = false;
  std::size_t line = 1000000;
};
std::string records(const Shape& shape, int count, std::mt19937& random) {
  const std::string end = shape.windows_line_ends ? "\r\n" : "\n";
  std::string text;
  for (int record = 0; record < count; ++record) {
    text += (shape.fastq ? "@r" : ">r") + std::to_string(record) + (random() % 2 == 0 ? " @words +" : "") + end;
    const std::size_t length = random() % 8 == 0 ? random() % 600 : 1 + random() % 60;
    const auto lines = [&](const char* letters, std::size_t choices) {
      for (std::size_t at = 0; at < length; at += shape.line) {
        for (std::size_t i = at; i < std::min(at + shape.line, length); ++i) text += letters[random() % choices];
        text += end;
      }
    };
    lines("ACGTNacgt", 9);
    if (!shape.fastq) continue;
    text += "+" + end;
    // Qualities that look like marks.
    lines("@+@!>5", 6);
  }
  if (shape.blank_line_at_end) text += end + end;
  if (shape.no_last_line_end) text.resize(text.size() - end.size());
  return text;
}

}  // namespace

TEST_CASE("a table made in parts is that of the whole file") {
  std::mt19937 random(7);
  int in_parts = 0, files = 0;
  for (int round = 0; round < 400; ++round) {
    Shape shape;
    shape.fastq = random() % 3 != 0;
    shape.windows_line_ends = random() % 4 == 0;
    shape.blank_line_at_end = random() % 4 == 0;
    shape.no_last_line_end = !shape.blank_line_at_end && random() % 4 == 0;
    if (random() % 4 == 0) shape.line = 5 + random() % 30;
    const std::string text = records(shape, 1 + static_cast<int>(random() % 60), random);
    CAPTURE(text);
    const SequenceTable expected = whole_table(text);
    for (const std::int64_t part : {16, 100, 333, 2000}) {
      SequenceTable table;
      const bool is_possible = static_cast<std::int64_t>(text.size()) >= 2 * part;
      const bool is_done = scan(text, part, table);
      if (is_done) check_equal(table, expected);
      if (!is_possible) CHECK_FALSE(is_done);
      // One line a sequence: parts can always be guessed, but for qualities that are themselves like a record.
      if (is_possible && (shape.line > 600 || !shape.fastq)) ++files, in_parts += is_done ? 1 : 0;
    }
  }
  CHECK(files > 500);
  CHECK(in_parts > files * 95 / 100);
}

TEST_CASE("a sequence longer than many parts has none of its own in them") {
  std::mt19937 random(8);
  std::string text = ">short\nACGT\n>long\n";
  for (int line = 0; line < 300; ++line) text += "ACGTACGTACGTACGTACGT\n";
  text += ">last\nAC\n";
  SequenceTable table;
  REQUIRE(scan(text, 100, table));
  check_equal(table, whole_table(text));
  CHECK(table.length[1] == 6000);
}

TEST_CASE("what is malformed, uneven, or no sequence at all is left to the scan from the beginning") {
  std::mt19937 random(9);
  const std::string good = records({}, 50, random);
  SequenceTable table;
  REQUIRE(scan(good, 200, table));
  for (const std::size_t place : {good.size() / 5, good.size() / 2, good.size() - 3}) {
    std::string bad = good;
    bad[place] = '\x01';
    CHECK_FALSE(scan(bad, 200, table));
  }
  CHECK_FALSE(scan(good.substr(0, good.size() - 10), 200, table));
  CHECK_FALSE(scan(good + "ACGT\n", 200, table));
  CHECK_FALSE(scan(std::string(1000, 'A'), 200, table));
  CHECK_FALSE(scan("", 200, table));
  CHECK_FALSE(scan(records({.fastq = false, .line = 10}, 30, random) + ">u\nAC\nACGT\nA\n", 100, table));
  const TextOnDisk file(good);
  CHECK_FALSE(scan_in_parts(
      file.number(), file.bytes(), 200, one_by_one, [] { return true; }, table));
}
