// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// FASTA and FASTQ records, whole in memory.

#include <cstddef>
#include <cstdint>
#include <sluice/failure.hpp>
#include <sluice/sequence/text.hpp>
#include <span>
#include <string>
#include <string_view>

namespace sluice::read_bases {

// Views into the parsed text.
struct SequenceRecord {
  std::string_view id;           // the name up to the first blank
  std::string_view sequence;     // from the first base to the last, with the line ends between
  std::string_view quality;      // FASTQ: likewise; Phred + 33
  std::uint64_t bases = 0;       // letters in `sequence`
  std::uint64_t line_bases = 0;  // letters in its first line
  std::uint64_t line_bytes = 0;  // the same with the line end
  bool even_lines = true;        // all lines but the last have line_bases letters, so that a .fai index can describe the record
  std::uint64_t lines = 0;       // lines of text the record takes, blank ones before it included
};

enum class ParseStatus : std::uint8_t {
  record,
  incomplete,  // more text is needed to know where the record ends (never when at_end)
  end,         // nothing but blank lines is left
  malformed,
};

struct ParseProblem {
  std::uint64_t line = 0;  // counted from the start of `text`, from 0
  std::string what;
};

// Parses the record at the start of `text`. `used`: bytes to go on from. Sequences may span several lines in both formats; a FASTQ quality string
// ends when it is as long as the sequence.
ParseStatus parse_record(std::string_view text, bool at_end, SequenceFormat format, SequenceRecord& record, std::size_t& used, ParseProblem& problem);

// The format by its first character that is not a line end: '>' or '@'. False: neither.
bool guess_format(std::string_view text, SequenceFormat& format);
// Why it is none, where `text` is how the file begins.
Failure unknown_format(const std::string& path, std::string_view text);

// Copies `sequence` or `quality` of a record without its line ends; `out` must hold as many characters as the record has bases.
void copy_letters(std::string_view lines, char* out);

// Upper case, and U becomes T. False if a character is no base; it stays.
bool normalise_bases(std::span<char> bases);
// The same from one place to another.
bool normalise_bases(std::span<const char> bases, char* out);

}  // namespace sluice::read_bases
