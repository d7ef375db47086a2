// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/sequence_records.hpp"

#include <cstring>

namespace sluice::read_bases {
namespace {

// Lines of a text that may go on after what is in memory.
struct Lines {
  std::string_view text;
  bool at_end;
  std::size_t at = 0;
  std::uint64_t number = 0;

  // The line at `at` without its end ("\n" or "\r\n"), and where the next one starts; false when its end is not in memory.
  bool peek(std::string_view& line, std::size_t& next) const {
    if (at == text.size()) return false;
    const void* newline = std::memchr(text.data() + at, '\n', text.size() - at);
    if (newline == nullptr && !at_end) return false;
    const std::size_t end = newline == nullptr ? text.size() : static_cast<std::size_t>(static_cast<const char*>(newline) - text.data());
    next = newline == nullptr ? end : end + 1;
    line = text.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return true;
  }
  void go(std::size_t next) {
    at = next;
    ++number;
  }
};

bool is_sequence_character(unsigned char c) { return static_cast<unsigned char>((c | 0x20U) - 'a') < 26 || c == '-' || c == '.' || c == '*'; }

bool all_sequence_characters(std::string_view line) {
  unsigned bad = 0;
  for (const char c : line) bad |= is_sequence_character(static_cast<unsigned char>(c)) ? 0U : 1U;
  return bad == 0;
}

bool all_quality_characters(std::string_view line) {
  unsigned bad = 0;
  for (const char c : line) bad |= static_cast<unsigned char>(c - '!') <= '~' - '!' ? 0U : 1U;
  return bad == 0;
}

}  // namespace

ParseStatus parse_record(std::string_view text, bool at_end, SequenceFormat format, SequenceRecord& record, std::size_t& used,
                         ParseProblem& problem) {
  Lines lines{text, at_end};
  std::string_view line;
  std::size_t next = 0;
  record = {};
  const auto malformed = [&](const char* what) {
    problem = {lines.number, what};
    return ParseStatus::malformed;
  };
  const auto unfinished = [&](const char* what) { return at_end ? malformed(what) : ParseStatus::incomplete; };

  do {
    if (!lines.peek(line, next)) {
      if (lines.at < text.size() || !at_end) return ParseStatus::incomplete;
      used = text.size();
      return ParseStatus::end;
    }
    lines.go(next);
  } while (line.empty());
  --lines.number;
  const char mark = format == SequenceFormat::fasta ? '>' : '@';
  if (line.front() != mark) return malformed(format == SequenceFormat::fasta ? "a record must start with '>'" : "a record must start with '@'");
  record.id = line.substr(1);
  for (std::size_t i = 0; i < record.id.size(); ++i)
    if (record.id[i] == ' ' || record.id[i] == '\t') record.id = record.id.substr(0, i);
  if (record.id.empty()) return malformed("the record has no name");
  ++lines.number;

  const char sequence_end = format == SequenceFormat::fasta ? '>' : '+';
  std::size_t begin = lines.at;
  std::size_t end = begin;
  bool short_line = false;
  bool ended = false;
  while (lines.peek(line, next)) {
    if (!line.empty() && line.front() == sequence_end) {
      ended = true;
      break;
    }
    if (!all_sequence_characters(line)) return malformed("a sequence has a character that is not a letter");
    if (!line.empty()) {
      if (record.bases == 0) {
        begin = lines.at;
        record.line_bases = line.size();
        record.line_bytes = next - lines.at;
      }
      record.even_lines = record.even_lines && !short_line && line.size() <= record.line_bases;
      short_line = short_line || line.size() < record.line_bases || next - lines.at != record.line_bytes;
      record.bases += line.size();
      end = lines.at + line.size();
    } else {
      short_line = short_line || record.bases != 0;
    }
    lines.go(next);
  }
  if (format == SequenceFormat::fasta && !ended && !at_end) return ParseStatus::incomplete;
  if (format == SequenceFormat::fastq && !ended) return unfinished("the file ends inside a sequence (no '+' line)");
  record.sequence = text.substr(begin, end - begin);

  if (format == SequenceFormat::fastq) {
    lines.go(next);
    std::uint64_t scores = 0;
    begin = lines.at;
    end = begin;
    do {
      if (!lines.peek(line, next)) {
        if (record.bases == 0 && at_end) break;
        return unfinished("the file ends inside a quality string");
      }
      if (record.bases == 0 && !line.empty()) {
        if (line.front() == '@') break;
        return malformed("a record without bases has a quality string");
      }
      if (!all_quality_characters(line)) return malformed("the quality string is too short, or has a character that is none of '!' to '~'");
      scores += line.size();
      if (scores > record.bases) return malformed("the quality string is longer than the sequence");
      end = lines.at + line.size();
      lines.go(next);
    } while (scores < record.bases);
    record.quality = text.substr(begin, end - begin);
  }
  record.lines = lines.number;
  used = lines.at;
  return ParseStatus::record;
}

bool guess_format(std::string_view text, SequenceFormat& format) {
  const std::size_t first = text.find_first_not_of("\r\n");
  if (first == std::string_view::npos || (text[first] != '>' && text[first] != '@')) return false;
  format = text[first] == '>' ? SequenceFormat::fasta : SequenceFormat::fastq;
  return true;
}

void copy_letters(std::string_view lines, char* out) {
  while (!lines.empty()) {
    const void* newline = std::memchr(lines.data(), '\n', lines.size());
    std::size_t length = newline == nullptr ? lines.size() : static_cast<std::size_t>(static_cast<const char*>(newline) - lines.data());
    const std::size_t taken = newline == nullptr ? length : length + 1;
    if (length != 0 && lines[length - 1] == '\r') --length;
    std::memcpy(out, lines.data(), length);
    out += length;
    lines.remove_prefix(taken);
  }
}

bool normalise_bases(std::span<char> bases) {
  unsigned bad = 0;
  for (char& base : bases) {
    const auto c = static_cast<unsigned char>(base);
    const auto upper = static_cast<unsigned char>(static_cast<unsigned char>(c - 'a') < 26 ? c - 32 : c);
    const bool fine = (static_cast<unsigned char>(upper - 'A') < 26) | (c == '-') | (c == '.') | (c == '*');
    bad |= fine ? 0U : 1U;
    base = static_cast<char>(upper == 'U' ? 'T' : upper);
  }
  return bad == 0;
}

}  // namespace sluice::read_bases
