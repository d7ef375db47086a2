// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/sequence_records.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "read_bases/sequence_index.hpp"

using namespace sluice::read_bases;
using sluice::SequenceFormat;

namespace {

struct Parsed {
  ParseStatus status;
  std::string id, bases, quality;
  std::size_t used = 0;
  ParseProblem problem;
  SequenceRecord record;
};

Parsed parse(std::string_view text, SequenceFormat format, bool at_end = true) {
  Parsed p;
  p.status = parse_record(text, at_end, format, p.record, p.used, p.problem);
  if (p.status != ParseStatus::record) return p;
  p.id = p.record.id;
  p.bases.resize(p.record.bases);
  copy_letters(p.record.sequence, p.bases.data());
  if (format == SequenceFormat::fastq) {
    p.quality.resize(p.record.bases);
    copy_letters(p.record.quality, p.quality.data());
  }
  return p;
}

constexpr auto fasta = SequenceFormat::fasta;
constexpr auto fastq = SequenceFormat::fastq;

}  // namespace

TEST_CASE("a FASTQ record is its name up to the first blank, its bases and its qualities") {
  const Parsed p = parse("@read1 runid=7\nACGT\n+\n!~5@\n@read2\n", fastq);
  REQUIRE(p.status == ParseStatus::record);
  CHECK(p.id == "read1");
  CHECK(p.bases == "ACGT");
  CHECK(p.quality == "!~5@");
  CHECK(p.record.lines == 4);
  CHECK(p.used == 27);
}

TEST_CASE("sequences may span lines, end in CRLF, and lack the last newline") {
  Parsed p = parse(">c\r\nACG\r\nTT\r\n>d\n", fasta);
  REQUIRE(p.status == ParseStatus::record);
  CHECK(p.bases == "ACGTT");
  CHECK(p.record.line_bases == 3);
  CHECK(p.record.line_bytes == 5);
  CHECK(p.record.even_lines);
  p = parse("@r\nAC\nGT\n+r\nII\nI@", fastq);
  REQUIRE(p.status == ParseStatus::record);
  CHECK(p.bases == "ACGT");
  CHECK(p.quality == "III@");
  p = parse("\n\n>x\nAC\nACGT\n", fasta);
  CHECK(p.status == ParseStatus::record);
  CHECK_FALSE(p.record.even_lines);
  CHECK_FALSE(parse(">x\nAC\nA\nAC\n", fasta).record.even_lines);
}

TEST_CASE("records without bases are records") {
  CHECK(parse(">empty\n>next\nA\n", fasta).bases.empty());
  Parsed p = parse("@empty\n\n+\n\n@next\n", fastq);
  CHECK(p.status == ParseStatus::record);
  CHECK(p.used == 10);
  p = parse("@empty\n+\n@next\nA\n", fastq);
  CHECK(p.status == ParseStatus::record);
  CHECK(p.used == 9);
  CHECK(parse("@empty\n\n+", fastq).status == ParseStatus::record);
  CHECK(parse("\n\r\n\n", fastq).status == ParseStatus::end);
}

TEST_CASE("broken records say what is wrong and on which line") {
  const auto expect = [](std::string_view text, SequenceFormat format, std::uint64_t line, std::string_view what) {
    CAPTURE(text);
    const Parsed p = parse(text, format);
    CHECK(p.status == ParseStatus::malformed);
    CHECK(p.problem.line == line);
    CHECK(std::string(p.problem.what).find(what) != std::string::npos);
  };
  expect("ACGT\n", fasta, 0, "'>'");
  expect("\n\n>x\n", fastq, 2, "'@'");
  expect("@ x\nA\n+\nI\n", fastq, 0, "no name");
  expect("@x\nAC\n", fastq, 2, "no '+' line");
  expect("@x\nAC\n+\nI\n", fastq, 4, "within the qualities of 'x'");
  expect("@x\nAC\n+\nIII\n", fastq, 3, "longer than its bases");
  expect("@x\nA C\n+\nIII\n", fastq, 1, "position 2: byte 32 is not a base");
  expect("@x\nAC\n+\nI\x01\n", fastq, 3, "too short, or have a character");
}

TEST_CASE("a part of a record asks for more, and the whole gives the same in pieces as at once") {
  const std::string text = "@a x\nACGTACGT\n+\nIIIIIIII\n@b\nAC\nGT\n+b\nII\nII\n";
  for (std::size_t n = 0; n < text.size(); ++n) {
    const Parsed part = parse(std::string_view(text).substr(0, n), fastq, false);
    if (n < 25)
      CHECK(part.status == ParseStatus::incomplete);
    else
      CHECK(part.used == 25);
  }
  CHECK(parse(">a\nACGT\n", fasta, false).status == ParseStatus::incomplete);
}

TEST_CASE("any bytes are parsed or refused, never past their end") {
  std::mt19937 random(5);
  const std::string letters = "@>+\n\r ACGTI!~\x01";
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 60, 'A');
    for (char& c : text) c = letters[random() % letters.size()];
    for (const auto format : {fasta, fastq})
      for (const bool at_end : {true, false}) {
        const Parsed p = parse(text, format, at_end);
        if (p.status == ParseStatus::record) CHECK((p.used > 0 && p.used <= text.size()));
        if (at_end) CHECK(p.status != ParseStatus::incomplete);
      }
  }
}

TEST_CASE("bases become upper case and T, other characters are noticed") {
  std::string bases = "acgturyNn";
  CHECK(normalise_bases(bases));
  CHECK(bases == "ACGTTRYNN");
  std::string wrong = "ac-gt";
  CHECK_FALSE(normalise_bases(wrong));
  CHECK(wrong == "AC-GT");
}

TEST_CASE("an index line describes a place in the text") {
  SequenceIndex index;
  std::uint64_t duplicates = 0;
  REQUIRE(parse_index("a\t10\t3\t4\t5\nb\t4\t30\t4\t5\t40\na\t1\t0\t1\t2\n", 100, index, duplicates) == IndexStatus::ok);
  CHECK(duplicates == 1);
  REQUIRE(index.find("a") != nullptr);
  CHECK(index.find("a")->text_bytes() == 12);
  CHECK(index.find("b")->offset == 30);
  CHECK(index.find("c") == nullptr);
  for (const char* bad : {"a\t1\t2\t3\n", "a\t1\t2\t3\tx\n", "\t1\t2\t3\t4\n", "a\t10\t3\t0\t5\n", "a\t10\t3\t4\t5", "a\t10\t3\t5\t4\n",
                          "a\t18446744073709551615\t3\t1\t3\n", "a\t-1\t3\t4\t5\n", "nonsense\n"}) {
    SequenceIndex other;
    CAPTURE(bad);
    CHECK(parse_index(bad, 100, other, duplicates) == IndexStatus::malformed);
  }
  SequenceIndex other;
  CHECK(parse_index("a\t10\t90\t4\t5\n", 100, other, duplicates) == IndexStatus::other_file);
}
