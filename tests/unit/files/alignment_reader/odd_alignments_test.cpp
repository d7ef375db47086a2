// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Made-up SAM with all that is legal, and with one mistake: each record comes out as it stands, or is named.
#include <doctest/doctest.h>
#include <htslib/kstring.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sluice/failure.hpp>
#include <sluice/hts/record_input.hpp>
#include <sluice/testing/temporary_folder.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "alignment_reader/alignment_files.hpp"
#include "alignment_reader/bam_record.hpp"
#include "generators/test_inputs.hpp"

using namespace sluice::alignment_reader;

namespace {

const ParallelFor here = [](std::size_t count, std::size_t, const auto& body) { body(0, count); };
constexpr std::size_t header_lines = 5;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, '\t');) fields.push_back(field);
  return fields;
}
std::string joined(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : "\t") + field;
  return line;
}

// As SAM is written: bases in upper case without U and '.', and a mate's contig as '=' where it is the record's.
std::string as_written(const std::string& line) {
  std::vector<std::string> fields = fields_of(line);
  for (char& base : fields[9]) {
    base = static_cast<char>(std::toupper(base));
    base = base == 'U' ? 'T' : base == '.' ? 'N' : base;
  }
  if (fields[6] == fields[2] && fields[2] != "*") fields[6] = "=";
  return joined(fields);
}

struct Read {
  std::vector<std::string> records;
  std::string problem;
};
Read read_all(const std::string& path, bool through_bam) {
  Read read;
  try {
    AlignmentFiles files({path}, {}, FileOrder::as_given);
    const sluice::hts::File file(hts_open(path.c_str(), "r"));
    const sluice::hts::Header header(sam_hdr_read(file.get()));
    sluice::hts::Line line;
    std::string bytes;
    while (const AlignmentRecord* record = files.next(here, 1)) {
      AlignmentRecord shown = *record;
      if (through_bam) {
        REQUIRE(bam_limit(*record) == nullptr);
        bytes.resize(bam_bytes(*record));
        write_bam_bytes(*record, bytes.data());
        const std::span<const std::uint8_t> parsed(reinterpret_cast<const std::uint8_t*>(bytes.data()) + 4, bytes.size() - 4);
        AlignmentRecord again;
        const sluice::hts::RecordOutcome outcome = sluice::hts::parse_record(parsed, sam_hdr_nref(header.get()), again);
        if (outcome == sluice::hts::RecordOutcome::unusual) REQUIRE(sluice::hts::parse_by_htslib(parsed, sam_hdr_nref(header.get()), again));
        REQUIRE(outcome != sluice::hts::RecordOutcome::damaged);
        shown = again;
      }
      REQUIRE(sam_format1(header.get(), sluice::hts::as_htslib_record(shown).get(), &line) >= 0);
      read.records.emplace_back(line.s, line.l);
    }
  } catch (const sluice::Failure& failure) {
    read.problem = failure.what();
  }
  return read;
}

std::string odd_alignments(std::uint64_t seed, std::size_t records) {
  std::ostringstream text;
  sluice::test_input::write_odd_alignments(text, seed, records);
  return text.str();
}

struct Mistake {
  std::size_t field;
  const char* value;
};
constexpr std::array<Mistake, 15> mistakes = {{{1, "65536"},
                                               {1, "-4"},
                                               {2, "c9"},
                                               {3, "-1"},
                                               {3, "1.5"},
                                               {4, "256"},
                                               {5, "3Y"},
                                               {5, "4294967296M"},
                                               {6, "c9"},
                                               {7, "-2"},
                                               {8, "12a"},
                                               {9, "ACGJ"},
                                               {10, "I"},
                                               {11, "NM:i:one"},
                                               {11, "N"}}};

}  // namespace

TEST_CASE("legal records come out as they stand, from SAM and as BAM has them") {
  const sluice::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/odd.sam";
  for (const std::uint64_t seed : {1, 2, 3}) {
    const std::string text = odd_alignments(seed, 300);
    std::ofstream(path) << text;
    const std::vector<std::string> lines = lines_of(text);
    for (const bool through_bam : {false, true}) {
      const Read read = read_all(path, through_bam);
      CHECK(read.problem.empty());
      REQUIRE(read.records.size() == lines.size() - header_lines);
      for (std::size_t i = 0; i < read.records.size(); ++i) {
        CAPTURE(i);
        CHECK(read.records[i] == as_written(lines[i + header_lines]));
      }
    }
  }
}

TEST_CASE("whatever is wrong with a record, its line is named, and no record before it is lost") {
  const sluice::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/odd.sam";
  const std::vector<std::string> lines = lines_of(odd_alignments(4, 60));
  for (std::size_t i = 0; i < mistakes.size(); ++i) {
    const std::size_t bad = header_lines + (i * 7 + 5) % 55;
    std::ofstream out(path);
    std::string name;
    for (std::size_t at = 0; at < lines.size(); ++at) {
      std::vector<std::string> fields = fields_of(lines[at]);
      if (at == bad) {
        name = fields[0];
        fields.resize(std::max(fields.size(), mistakes[i].field + 1));
        fields[mistakes[i].field] = mistakes[i].value;
        if (mistakes[i].field == 10 && fields[9].size() == 1) fields[10] = "II";
      }
      out << joined(fields) << "\n";
    }
    out.close();
    const Read read = read_all(path, false);
    CAPTURE(mistakes[i].field);
    CAPTURE(mistakes[i].value);
    CAPTURE(read.problem);
    CHECK(read.problem.find("line " + std::to_string(bad + 1) + ", record '" + name.substr(0, 40)) != std::string::npos);
    CHECK(read.records.size() == bad - header_lines);
  }
}
