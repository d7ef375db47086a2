// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/sequence_records.hpp"

#include <cstring>
#include <sluice/input_text.hpp>

namespace sluice::read_bases {
namespace {

// Stops the parser behind the first record.
struct OneRecord {
  SequenceTextRecord places;
  void begin_record(std::string_view) {}
  void take_bases(std::string_view) {}
  void take_qualities(std::string_view) {}
  bool end_record(const SequenceTextRecord& record) {
    places = record;
    return false;
  }
};

}  // namespace

ParseStatus parse_record(std::string_view text, bool at_end, SequenceFormat format, SequenceRecord& record, std::size_t& used,
                         ParseProblem& problem) {
  OneRecord found;
  SequenceTextParser parser(found);
  using Outcome = SequenceTextParser<OneRecord>::Outcome;
  parser.expect(format);
  record = {};
  Outcome outcome = parser.feed(text);
  if (outcome == Outcome::fine && !at_end) return ParseStatus::incomplete;
  if (outcome == Outcome::fine) outcome = parser.finish();
  if (outcome == Outcome::malformed) {
    problem = {parser.problem().line - 1, parser.problem().what};
    return ParseStatus::malformed;
  }
  used = static_cast<std::size_t>(parser.position());
  if (outcome == Outcome::fine) return ParseStatus::end;
  const SequenceLines &bases = found.places.bases, &qualities = found.places.qualities;
  const auto part = [&](std::uint64_t begin, std::uint64_t end) {
    return text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  };
  record.id = part(found.places.name_begin, found.places.name_begin + found.places.name.size());
  record.sequence = part(bases.begin, bases.end);
  if (format == SequenceFormat::fastq) record.quality = part(qualities.begin, qualities.end);
  record.bases = bases.letters;
  record.line_bases = bases.line_letters;
  record.line_bytes = bases.line_bytes;
  record.even_lines = bases.even;
  record.lines = parser.line() - 1;
  return ParseStatus::record;
}

bool guess_format(std::string_view text, SequenceFormat& format) {
  const std::size_t first = text.find_first_not_of("\r\n");
  if (first == std::string_view::npos || (text[first] != '>' && text[first] != '@')) return false;
  format = text[first] == '>' ? SequenceFormat::fasta : SequenceFormat::fastq;
  return true;
}

Failure unknown_format(const std::string& path, std::string_view text) {
  if (const NoText other = no_text(text); !other.reason.empty())
    return Failure::input("'" + path + "' " + std::string(other.reason), std::string(other.remedy));
  return Failure::input("'" + path + "' is neither FASTA nor FASTQ: it starts with neither '>' nor '@'", "give a FASTA or FASTQ file");
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

bool normalise_bases(std::span<char> bases) { return normalise_bases(bases, bases.data()); }

bool normalise_bases(std::span<const char> bases, char* out) {
  bool good = true;
  for (const char base : bases) {
    const char normal = normal_bases[static_cast<unsigned char>(base)];
    good &= normal != '\0';
    *out++ = normal != '\0' ? normal : base;
  }
  return good;
}

}  // namespace sluice::read_bases
