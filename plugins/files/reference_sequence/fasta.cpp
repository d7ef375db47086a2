// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "reference_sequence/fasta.hpp"

#include <array>
#include <cstring>
#include <unordered_set>

namespace sluice::reference_sequence {
namespace {

// What each letter of the IUPAC code is read as; 0: not a base.
constexpr std::array<char, 256> make_bases(std::string_view to) {
  std::array<char, 256> table{};
  constexpr std::string_view from = "ACGTUMRWVHDNSYBK";
  for (std::size_t i = 0; i < from.size(); ++i) {
    table[static_cast<unsigned char>(from[i])] = to[i];
    table[static_cast<unsigned char>(from[i]) + ('a' - 'A')] = to[i];
  }
  return table;
}
constexpr std::array<char, 256> first_base = make_bases("ACGTTAAAAAAACCCG");
constexpr std::array<char, 256> base_or_n = make_bases("ACGTTNNNNNNNNNNN");

// The line at the start of `text`, without its end; takes it off.
std::string_view take_line(std::string_view& text) {
  const void* newline = std::memchr(text.data(), '\n', text.size());
  const std::size_t length = newline == nullptr ? text.size() : static_cast<std::size_t>(static_cast<const char*>(newline) - text.data());
  std::string_view line = text.substr(0, length);
  text.remove_prefix(newline == nullptr ? length : length + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace

bool find_contigs(std::string_view fasta, std::vector<ContigText>& contigs, FastaProblem& problem) {
  contigs.clear();
  std::unordered_set<std::string_view> names;
  std::uint64_t number = 0;
  const char* begin = nullptr;  // of the current contig's lines
  while (!fasta.empty()) {
    const char* line_begin = fasta.data();
    const std::string_view line = take_line(fasta);
    ++number;
    if (!line.empty() && line.front() == '>') {
      if (begin != nullptr) contigs.back().lines = {begin, static_cast<std::size_t>(line_begin - begin)};
      const std::string_view name =
          line.substr(1, line.find_first_of(" \t") == std::string_view::npos ? line.size() - 1 : line.find_first_of(" \t") - 1);
      if (name.empty()) return problem = {number, "a sequence has no name"}, false;
      if (!names.insert(name).second) return problem = {number, "there is an earlier sequence named '" + std::string(name) + "'"}, false;
      contigs.push_back({name, {}, number + 1, 0});
      begin = fasta.data();
    } else if (begin != nullptr) {
      contigs.back().bases += line.size();
    } else if (!line.empty()) {
      return problem = {number, "the file does not start with '>', so it is not FASTA"}, false;
    }
  }
  if (contigs.empty()) return problem = {0, "there is no sequence in it"}, false;
  contigs.back().lines = {begin, static_cast<std::size_t>(fasta.data() - begin)};
  return true;
}

bool copy_bases(const ContigText& contig, AmbiguousBases ambiguous, char* out, FastaProblem& problem) {
  const std::array<char, 256>& base_of = ambiguous == AmbiguousBases::first_base ? first_base : base_or_n;
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
      const auto code = static_cast<unsigned char>(line[at]);
      const std::string shown = code >= '!' && code <= '~' ? "'" + std::string(1, line[at]) + "'" : "byte " + std::to_string(code);
      problem = {number, "contig '" + std::string(contig.name) + "', position " + std::to_string(done + at + 1) + ": " + shown + " is not a base"};
      return false;
    }
    out += line.size();
    done += line.size();
  }
  return true;
}

}  // namespace sluice::reference_sequence
