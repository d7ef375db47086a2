// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <random>
#include <sluice/sequence/text.hpp>
#include <string>
#include <vector>

using sluice::SequenceTextRecord;
using sluice::SequenceTextRules;

namespace {

// What a text holds, as one line a record.
struct Found {
  std::string records, problem, bases, qualities;
  std::uint64_t line = 0;
  std::vector<SequenceTextRecord> places;

  void begin_record(std::string_view name) { records += std::string(name) + ":", bases.clear(), qualities.clear(); }
  void take_bases(std::string_view letters) { bases += letters; }
  void take_qualities(std::string_view letters) { qualities += letters; }
  bool end_record(const SequenceTextRecord& record) {
    records += bases + (qualities.empty() ? "" : "/" + qualities) + (record.bases.even ? " " : "~ ");
    places.push_back(record);
    return true;
  }
};
Found parse(std::string_view text, std::size_t piece = 1000, SequenceTextRules rules = {}) {
  Found found;
  sluice::SequenceTextParser parser(found, rules);
  using Outcome = sluice::SequenceTextParser<Found>::Outcome;
  Outcome outcome = Outcome::fine;
  for (std::size_t at = 0; at < text.size() && outcome == Outcome::fine; at += piece) outcome = parser.feed(text.substr(at, piece));
  if (outcome == Outcome::fine) outcome = parser.finish();
  if (outcome == Outcome::malformed) found.problem = parser.problem().what, found.line = parser.problem().line;
  return found;
}

}  // namespace

TEST_CASE("bases are the letters of the IUPAC code") {
  for (const char base : std::string("ACGTURYSWKMBDHVNacgturyswkmbdhvn")) CHECK(sluice::is_base(base));
  for (const char other : std::string("XJ-.*=0 \r\x01\xC1")) CHECK_FALSE(sluice::is_base(other));
  CHECK(sluice::nucleotide_code('u') == 3);
  CHECK(sluice::nucleotide_code('N') == sluice::ambiguous_code);
  for (int code = 0; code < 256; ++code)
    CHECK(sluice::nucleotide_codes[static_cast<std::size_t>(code)] == sluice::nucleotide_code(static_cast<char>(code)));
}

TEST_CASE("a complement of a complement is the base") {
  for (const char base : std::string("ACGTRYSWKMBDHVN")) CHECK(sluice::iupac_complement(sluice::iupac_complement(base)) == base);
  CHECK(sluice::iupac_complement('u') == 'A');
  CHECK(sluice::iupac_complement('?') == 'N');
  CHECK(sluice::complement_of('N') == 'N');
  CHECK(sluice::complement_of('C') == 'G');
  // ACGT, then 28 A: the complement begins with 28 T and is ACGT again.
  CHECK(sluice::reverse_complement_of_word(std::uint64_t{0b00011011} << 56) == (~std::uint64_t{0} << 8 | 0b00011011));
}

TEST_CASE("records of FASTA and FASTQ") {
  CHECK(parse(">a first\nACGT\nAC\n\n>b\r\n>c\r\nTT\r\nGG\r\nA").records == "a:ACGTAC b: c:TTGGA ");
  CHECK(parse("\n@a\nAC\nGT\n+a\n@@\n>+\n@b\n\n+\n\n@c\nA\n+\nI").records == "a:ACGT/@@>+ b: c:A/I ");
  CHECK(parse(">a\nAC\nACG\n>b\nA\nAC\n>c\nAC\n\nAC\n").records == "a:ACACG~ b:AAC~ c:ACAC~ ");
  CHECK(parse("").records.empty());
  CHECK(parse("\n\r\n").problem.empty());
}

TEST_CASE("places are those of a .fai") {
  const Found found = parse(">a first\nACGT\nAC\n>bb\r\n\r\nTTT\r\nT");
  REQUIRE(found.places.size() == 2);
  CHECK(found.places[0].name_begin == 1);
  CHECK(found.places[0].bases.begin == 9);
  CHECK(found.places[0].bases.end == 16);
  CHECK(found.places[0].bases.letters == 6);
  CHECK(found.places[0].bases.line_letters == 4);
  CHECK(found.places[0].bases.line_bytes == 5);
  CHECK(found.places[1].bases.begin == 24);
  CHECK(found.places[1].bases.line_bytes == 5);
  CHECK(found.places[1].first_line == 6);
}

TEST_CASE("a problem has its line and what is wrong") {
  const auto problem = [](std::string_view text, SequenceTextRules rules = {}) {
    const Found found = parse(text, 1000, rules);
    return std::to_string(found.line) + " " + found.problem;
  };
  CHECK(problem("ACGT\n") == "1 the file starts with neither '>' nor '@', so it is neither FASTA nor FASTQ");
  CHECK(problem("@a\nA\n", {SequenceTextRules::Formats::fasta}) == "1 the file does not start with '>', so it is not FASTA");
  CHECK(problem(">a\nA\n> \nA\n") == "3 the record has no name");
  CHECK(problem(">a\nA\n>a x\nA\n", {.names = SequenceTextRules::Names::unique}) == "3 there is an earlier sequence named 'a'");
  CHECK(problem(">a\nA\n>a x\nA\n") == "0 ");
  CHECK(problem(">a\nACGT\nAC*T\n") == "3 sequence 'a', position 7: '*' is not a base");
  CHECK(problem(">a\nA\r\rC\n") == "2 sequence 'a', position 2: byte 13 is not a base");
  CHECK(problem("@a\nAC\n+\nII\nb\nAC\n") == "5 a record must begin with '@'");
  CHECK(problem("@a\nAC\n+\nIII\n") == "4 the qualities of 'a' are longer than its bases");
  CHECK(problem("@a\nAC\n+\nI\n@b c\n") == "5 the qualities of 'a' are too short, or have a character outside '!' to '~'");
  CHECK(problem("@a\nAC\n") == "3 the file ends within the bases of 'a': there is no '+' line");
  CHECK(problem("@a\nAC\n+\nI\n") == "5 the file ends within the qualities of 'a'");
}

TEST_CASE("a sink may stop behind a record") {
  struct First : Found {
    bool end_record(const SequenceTextRecord&) { return false; }
  };
  for (const auto& [text, end] : std::vector<std::pair<std::string, std::uint64_t>>{{">a\nAC\n\n>b\nT\n", 7}, {"@a\nAC\n+\nII\n@b\n", 11}}) {
    First first;
    sluice::SequenceTextParser parser(first);
    CHECK(parser.feed(text) == sluice::SequenceTextParser<First>::Outcome::stopped);
    CHECK(parser.position() == end);
  }
}

TEST_CASE("what is found does not depend on how the text is cut") {
  std::mt19937 random(7);
  const std::string letters = "@>+\n\n\r ACGTI!~x";
  for (int round = 0; round < 5000; ++round) {
    std::string text(random() % 60, 'A');
    for (char& c : text) c = letters[random() % letters.size()];
    text.insert(0, random() % 2 == 0 ? ">a\n" : "@a\nAC\n+\n");
    const Found whole = parse(text);
    for (const std::size_t piece : {1, 2, 3, 7}) {
      const Found parts = parse(text, piece);
      CAPTURE(text);
      REQUIRE(parts.records == whole.records);
      REQUIRE(parts.line == whole.line);
      REQUIRE(parts.problem.empty() == whole.problem.empty());
    }
  }
}
