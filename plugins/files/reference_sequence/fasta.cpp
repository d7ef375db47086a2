// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "reference_sequence/fasta.hpp"

#include <array>
#include <cstring>
#include <sluice/reference_text.hpp>
#include <sluice/sequence/text.hpp>

namespace sluice::reference_sequence {
namespace {

// The line at the start of `text`, without its end; takes it off.
std::string_view take_line(std::string_view& text) {
  const void* newline = std::memchr(text.data(), '\n', text.size());
  const std::size_t length = newline == nullptr ? text.size() : static_cast<std::size_t>(static_cast<const char*>(newline) - text.data());
  std::string_view line = text.substr(0, length);
  text.remove_prefix(newline == nullptr ? length : length + 1);
  // A contig's lines end behind its last letter, so a return at their end is one.
  if (newline != nullptr && !line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

// What the parser finds, as places in a text that is in memory.
struct ContigTable {
  std::string_view fasta;
  std::vector<ContigText>& contigs;
  void begin_record(std::string_view) {}
  void take_bases(std::string_view) {}
  void take_qualities(std::string_view) {}
  bool end_record(const SequenceTextRecord& record) {
    contigs.push_back({fasta.substr(static_cast<std::size_t>(record.name_begin), record.name.size()),
                       fasta.substr(static_cast<std::size_t>(record.bases.begin), static_cast<std::size_t>(record.bases.end - record.bases.begin)),
                       record.first_line, record.bases.letters});
    return true;
  }
};

}  // namespace

bool find_contigs(std::string_view fasta, std::vector<ContigText>& contigs, FastaProblem& problem) {
  contigs.clear();
  ContigTable table{fasta, contigs};
  SequenceTextParser parser(table, {SequenceTextRules::Formats::fasta, SequenceTextRules::Names::unique, SequenceTextRules::Letters::by_the_sink});
  using Outcome = SequenceTextParser<ContigTable>::Outcome;
  if (parser.feed(fasta) == Outcome::malformed || parser.finish() == Outcome::malformed)
    return problem = {parser.problem().line, parser.problem().what}, false;
  if (contigs.empty()) return problem = {0, "there is no sequence in it"}, false;
  return true;
}

bool copy_bases(const ContigText& contig, AmbiguousBases ambiguous, char* out, FastaProblem& problem) {
  const std::array<char, 256>& base_of = ambiguous == AmbiguousBases::first_base ? reference_first_bases : reference_bases_or_n;
  std::string_view rest = contig.lines;
  std::uint64_t done = 0;
  for (std::uint64_t number = contig.first_line; !rest.empty(); ++number) {
    const std::string_view line = take_line(rest);
    unsigned char least = 0xFF;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const char base = base_of[static_cast<unsigned char>(line[i])];
      least = static_cast<unsigned char>(base) < least ? static_cast<unsigned char>(base) : least;
      out[i] = base;
    }
    if (least == 0) {
      std::size_t at = 0;
      while (base_of[static_cast<unsigned char>(line[at])] != 0) ++at;
      problem = {number, not_a_base(contig.name, done + at, line[at])};
      return false;
    }
    out += line.size();
    done += line.size();
  }
  return true;
}

}  // namespace sluice::reference_sequence
