// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where the records of a FASTA or FASTQ text are, from the places of its newlines alone: the part of reading that has to be done in order. It looks
// at no letter but the first of a line and those of names. The rules are those of sequence/text.hpp, which has the last word on what is wrong with
// a record.

#include <cstdint>
#include <optional>
#include <sluice/sequence/text.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "read_bases/letters.hpp"

namespace sluice::read_bases {

// A part of the text that is in memory.
struct TextWindow {
  const char* data = nullptr;
  std::uint64_t begin = 0;  // in the text
  std::size_t size = 0;

  std::uint64_t end() const { return begin + size; }
  const char* at(std::uint64_t place) const { return data + (place - begin); }
  std::string_view part(std::uint64_t from, std::uint64_t to) const { return {at(from), static_cast<std::size_t>(to - from)}; }
};

struct RecordPlace {
  std::uint64_t begin = 0;  // of its header line
  std::uint64_t line = 0;   // number of that line, from 0
  std::uint64_t name_letters = 0;
  SequenceLines bases, qualities;
};

class RecordWalk {
 public:
  // Before the first line that is not blank.
  void expect(SequenceFormat format) { mark_ = format == SequenceFormat::fasta ? '>' : '@'; }
  // Before anything else: the text begins at `letter`, behind so many lines.
  void begin(std::uint64_t letter, std::uint64_t lines) { line_begin_ = letter, lines_ = lines; }
  // Goes on with the newlines of the next piece, which begins at `piece_begin`. The window has everything from needed_from() on.
  void walk(const TextWindow& text, std::uint64_t piece_begin, std::span<const LineEnd> ends);
  // The text ends here.
  void finish(const TextWindow& text);

  // Whole records; the caller takes them away.
  std::vector<RecordPlace>& records() { return records_; }
  const std::vector<RecordPlace>& records() const { return records_; }
  // A record that can't be right begins here; nothing comes behind it.
  struct Problem {
    std::uint64_t begin, line;
  };
  const std::optional<Problem>& problem() const { return problem_; }
  // The text before this is of no use to the walk.
  std::uint64_t needed_from() const { return in_record_ ? record_.begin : line_begin_; }
  // Lines before that place.
  std::uint64_t lines_before() const { return in_record_ ? record_.line : lines_; }

 private:
  enum class Expected : std::uint8_t { record, bases, qualities };
  std::size_t walk_even_lines(std::uint64_t piece_begin, std::span<const LineEnd> ends);
  void end_line(const TextWindow& text, std::uint64_t letters_end, std::uint64_t next_line);
  void begin_record(const TextWindow& text, std::uint64_t letters_end, std::uint64_t next_line);
  void end_record();
  void add_line(SequenceLines& lines, std::uint64_t letters_end, std::uint64_t next_line);
  void stop(std::uint64_t begin, std::uint64_t line) { problem_ = {begin, line}; }

  char mark_ = '\0';  // '>' or '@'
  Expected expected_ = Expected::record;
  bool in_record_ = false;
  bool ended_short_ = false;      // no line may follow if the section is to be even
  char first_ = '\0';             // of the line at hand; '\0': not known
  std::uint64_t line_begin_ = 0;  // of the line at hand
  std::uint64_t lines_ = 0;       // before it
  RecordPlace record_;
  std::vector<RecordPlace> records_;
  std::optional<Problem> problem_;
};

}  // namespace sluice::read_bases
