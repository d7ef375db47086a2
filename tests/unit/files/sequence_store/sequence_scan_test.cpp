// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sequence_store/sequence_scan.hpp"

#include <doctest/doctest.h>

#include <random>
#include <sluice/failure.hpp>

using namespace sluice::sequence_store;

namespace {

struct Letters final : LetterSink {
  void take(std::string_view letters) override { text += letters; }
  std::string text;
};
struct Scanned {
  bool fits = true;
  SequenceTable table;
  std::string packed, problem;
};
// The text in pieces of the given size.
Scanned scan(const std::string& text, Places places = Places::in_text, std::size_t piece = 1000) {
  Scanned result;
  Letters letters;
  SequenceScan scan("reads.fq", places, &letters, result.table);
  try {
    for (std::size_t at = 0; at < text.size() && result.fits; at += piece) result.fits = scan.feed(std::string_view(text).substr(at, piece));
    result.fits = result.fits && scan.finish();
  } catch (const sluice::Failure& failure) {
    result.problem = failure.what();
  }
  result.packed = letters.text;
  return result;
}
std::string name(const SequenceTable& table, std::size_t row) {
  return table.names.substr(static_cast<std::size_t>(table.name_offsets[row]),
                            static_cast<std::size_t>(table.name_offsets[row + 1] - table.name_offsets[row]));
}
using Numbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("FASTA records lie where faidx says") {
  const Scanned s = scan(">a first\nACGT\nAC\n>b\nTTTTT\n");
  CHECK(s.problem.empty());
  CHECK(name(s.table, 0) == "a");
  CHECK(name(s.table, 1) == "b");
  CHECK(s.table.length == Numbers{6, 5});
  CHECK(s.table.bases_offset == Numbers{9, 20});
  CHECK(s.table.qualities_offset == Numbers{-1, -1});
  CHECK(s.table.line_bases == Numbers{4, 5});
  CHECK(s.table.line_bytes[0] == 5);
  CHECK(s.table.total_bases == 11);
}

TEST_CASE("FASTQ qualities are found, even when they begin like a record") {
  const Scanned s = scan("@r1 x\nACGT\n+\n@>+!\n@r2\nAC\n+r2\n!!\n");
  CHECK(s.problem.empty());
  CHECK(s.table.length == Numbers{4, 2});
  CHECK(s.table.bases_offset == Numbers{6, 22});
  CHECK(s.table.qualities_offset == Numbers{13, -1});
}

TEST_CASE("line ends of two characters, missing last ends and empty sequences") {
  const Scanned s = scan(">a\r\nACG\r\nAC\r\n>b\r\n>c\r\nT");
  CHECK(s.problem.empty());
  CHECK(s.table.length == Numbers{5, 0, 1});
  CHECK(s.table.line_bases[0] == 3);
  CHECK(s.table.line_bytes[0] == 5);
  CHECK(scan("@a\n\n+\n\n@b\nA\n+\nI").table.length == Numbers{0, 1});
}

TEST_CASE("uneven lines can only be packed") {
  const std::string text = ">a\nACG\nACGT\nA\n>b\nCC\n";
  CHECK(!scan(text).fits);
  const Scanned s = scan(text, Places::packed);
  CHECK(s.fits);
  CHECK(s.packed == "ACGACGTACC");
  CHECK(s.table.bases_offset == Numbers{0, 8});
  CHECK(s.table.line_bases == Numbers{8, 2});
  CHECK(!scan("@a\nACGT\nAC\n+\nIIIIII\n").fits);
  CHECK(scan("@a\nACGT\nAC\n+\nIIII\nII\n").fits);
  CHECK(!scan(">a\nAC\n\nAC\n").fits);
}

TEST_CASE("broken records name line and record") {
  CHECK(scan("ACGT\n").problem.find("neither FASTA nor FASTQ") != std::string::npos);
  CHECK(scan(">a\nAC GT\n").problem.find("line 2, record 1") != std::string::npos);
  CHECK(scan("@a\nAC\n+\nI\n@b\nAC\n+\nII\n").problem.find("the qualities of 'a' are longer than its bases") != std::string::npos);
  CHECK(scan("@a\nAC\n+\nII\n@b\nAC\n").problem.find("ends within the bases of 'b'") != std::string::npos);
  CHECK(scan("@a\nAC\n+\nII\nb\nAC\n").problem.find("must begin with '@'") != std::string::npos);
  CHECK(scan(">\nAC\n").problem.find("no name") != std::string::npos);
  CHECK(scan("@a\nAC\n+\nI\x01\n").problem.find("outside '!' to '~'") != std::string::npos);
}

TEST_CASE("the table does not depend on how the text is cut") {
  std::mt19937 random(5);
  const char* line_ends[] = {"\n", "\r\n"};
  for (int n = 0; n < 300; ++n) {
    std::string text;
    const bool fastq = random() % 2 == 0;
    const std::string end = line_ends[random() % 2];
    for (std::uint32_t records = 1 + random() % 5; records > 0; --records) {
      text += (fastq ? "@r" : ">r") + std::to_string(records) + (random() % 2 == 0 ? " words" : "") + end;
      const std::size_t length = random() % 30, line = 1 + random() % 12;
      const auto lines = [&](const char* letters, std::size_t choices) {
        for (std::size_t at = 0; at < length; at += line) {
          for (std::size_t i = at; i < std::min(at + line, length); ++i) text += letters[random() % choices];
          text += end;
        }
        if (length == 0) text += end;
      };
      lines("ACGTNacgt", 9);
      if (fastq) text += "+" + end;
      if (fastq) lines("!+5I@>", 6);
    }
    for (const Places places : {Places::in_text, Places::packed}) {
      const Scanned whole = scan(text, places, text.size());
      CAPTURE(text);
      REQUIRE(whole.problem.empty());
      REQUIRE(whole.fits);
      for (const std::size_t piece : {1, 2, 3, 7}) {
        const Scanned parts = scan(text, places, piece);
        REQUIRE(parts.problem.empty());
        REQUIRE(parts.table.length == whole.table.length);
        REQUIRE(parts.table.bases_offset == whole.table.bases_offset);
        REQUIRE(parts.table.qualities_offset == whole.table.qualities_offset);
        REQUIRE(parts.table.line_bytes == whole.table.line_bytes);
        REQUIRE(parts.table.names == whole.table.names);
        REQUIRE(parts.packed == whole.packed);
      }
    }
  }
}
