// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/record_walk.hpp"

namespace sluice::read_bases {

void RecordWalk::walk(const TextWindow& text, std::uint64_t piece_begin, std::span<const LineEnd> ends) {
  for (std::size_t i = 0; i < ends.size() && !problem_; ++i) {
    if (mark_ == '>') i += walk_even_lines(piece_begin, ends.subspan(i));
    if (i == ends.size()) return;
    const LineEnd end = ends[i];
    const std::uint64_t newline = piece_begin + end.at;
    // The scan of a piece does not see the character before it.
    const bool after_return = end.after_return != 0 || (end.at == 0 && newline > line_begin_ && *text.at(newline - 1) == '\r');
    end_line(text, newline - (after_return ? 1 : 0), newline + 1);
    first_ = static_cast<char>(end.next);
  }
}

// Lines of wrapped FASTA that are like the first of their record, of which there are many: returns how many were taken.
std::size_t RecordWalk::walk_even_lines(std::uint64_t piece_begin, std::span<const LineEnd> ends) {
  SequenceLines& lines = record_.bases;
  if (expected_ != Expected::bases || lines.letters == 0 || ended_short_ || first_ == '\0') return 0;
  const std::uint64_t bytes = lines.line_bytes;
  const std::uint32_t after_return = bytes - lines.line_letters == 2 ? 1 : 0;
  std::uint64_t begin = line_begin_;
  char first = first_;
  std::size_t taken = 0;
  for (const LineEnd& end : ends) {
    const std::uint64_t next = piece_begin + end.at + 1;
    // A line that reaches into this piece, or the next one, may end in a way that the scan has not seen.
    if (next - begin != bytes || end.after_return != after_return || end.at == 0 || first == '>' || first == '\0') break;
    begin = next;
    first = static_cast<char>(end.next);
    ++taken;
  }
  if (taken == 0) return 0;
  line_begin_ = begin;
  first_ = first;
  lines_ += taken;
  lines.letters += taken * lines.line_letters;
  lines.end = begin - (bytes - lines.line_letters);
  return taken;
}

void RecordWalk::finish(const TextWindow& text) {
  if (!problem_ && line_begin_ < text.end()) end_line(text, text.end() - (*text.at(text.end() - 1) == '\r' ? 1 : 0), text.end());
  if (problem_ || !in_record_) return;
  if (mark_ == '@')
    stop(record_.begin, record_.line);
  else
    end_record();
}

void RecordWalk::end_line(const TextWindow& text, std::uint64_t letters_end, std::uint64_t next_line) {
  if (letters_end == line_begin_) {
    // A blank line: where more follows, offsets can't be reckoned.
    ended_short_ = ended_short_ || (expected_ == Expected::qualities ? record_.qualities : record_.bases).letters > 0;
  } else {
    const char first = first_ != '\0' ? first_ : *text.at(line_begin_);
    if (expected_ == Expected::qualities) {
      add_line(record_.qualities, letters_end, next_line);
      if (record_.qualities.letters == record_.bases.letters)
        end_record();
      else if (record_.qualities.letters > record_.bases.letters)
        stop(record_.begin, record_.line);
    } else if (first == mark_ && (expected_ == Expected::record || mark_ == '>')) {
      if (in_record_) end_record();
      begin_record(text, letters_end, next_line);
    } else if (expected_ == Expected::record) {
      stop(line_begin_, lines_);
    } else if (first == '+' && mark_ == '@') {
      record_.qualities.begin = record_.qualities.end = next_line;
      expected_ = Expected::qualities;
      if (record_.bases.letters == 0) end_record();
    } else {
      add_line(record_.bases, letters_end, next_line);
    }
  }
  line_begin_ = next_line;
  ++lines_;
}

void RecordWalk::begin_record(const TextWindow& text, std::uint64_t letters_end, std::uint64_t next_line) {
  const char* const name = text.at(line_begin_ + 1);
  const char* const end = text.at(letters_end);
  const char* blank = name;
  while (blank != end && *blank != ' ' && *blank != '\t') ++blank;
  if (blank == name) return stop(line_begin_, lines_);
  record_ = {};
  record_.begin = line_begin_;
  record_.line = lines_;
  record_.name_letters = static_cast<std::uint64_t>(blank - name);
  record_.bases.begin = record_.bases.end = next_line;
  in_record_ = true;
  expected_ = Expected::bases;
}

void RecordWalk::end_record() {
  in_record_ = false;
  expected_ = Expected::record;
  records_.push_back(record_);
}

void RecordWalk::add_line(SequenceLines& lines, std::uint64_t letters_end, std::uint64_t next_line) {
  const std::uint64_t letters = letters_end - line_begin_;
  if (lines.letters == 0) {
    lines.begin = line_begin_;
    lines.line_letters = letters;
    lines.line_bytes = next_line - line_begin_;
    ended_short_ = false;
  } else {
    lines.even = lines.even && !ended_short_ && letters <= lines.line_letters;
    ended_short_ = ended_short_ || letters < lines.line_letters || next_line - line_begin_ != lines.line_bytes;
  }
  lines.letters += letters;
  lines.end = letters_end;
}

}  // namespace sluice::read_bases
