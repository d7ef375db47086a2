// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One record of SAM text (SAM specification, section 1.4) before HTSlib parses it. HTSlib 1.16 takes much that is wrong for something else without a
// word: FLAG 70000 for 65535, a number that is none for 0, a letter that is no base for N, and U, too. And it says why it refuses a line on standard
// error only.

#include <htslib/sam.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sluice/sequence/bases.hpp>
#include <string>
#include <string_view>
#include <system_error>

namespace sluice::hts {

struct SamLine {
  std::string_view name, flag, contig, position, mapping_quality, cigar, mate_contig, mate_position, template_length, bases, qualities;
  std::string_view tags;  // with tabs between them
};

namespace sam_line_detail {

constexpr std::size_t mandatory_fields = 11;
constexpr std::size_t longest_name = 254;

// A letter of SEQ: IUPAC codes of either case, '=' (as the reference) and '.' (no base is known).
inline constexpr std::array<char, 256> sequence_letters = [] {
  std::array<char, 256> letters = letter_table(iupac_letters, "ACGTTMRWSYKVHDBN", '\0');
  letters['='] = '=';
  letters['.'] = '.';
  return letters;
}();

// Nearly all reads are: A, C, G, T and N. Sixteen at a time, which is ten times as fast as a look-up a letter.
inline bool are_plain_bases(std::string_view bases) {
  using Letters = unsigned char __attribute__((vector_size(16)));
  Letters all = ~Letters{};
  const char* at = bases.data();
  const char* const end = at + bases.size();
  for (; end - at >= static_cast<std::ptrdiff_t>(sizeof all); at += sizeof all) {
    Letters letters;
    std::memcpy(&letters, at, sizeof letters);
    all &= static_cast<Letters>((letters == 'A') | (letters == 'C') | (letters == 'G') | (letters == 'T') | (letters == 'N'));
  }
  bool is_plain = true;
  for (std::size_t i = 0; i < sizeof all; ++i) is_plain &= all[i] != 0;
  for (; at != end; ++at) is_plain &= (*at == 'A') | (*at == 'C') | (*at == 'G') | (*at == 'T') | (*at == 'N');
  return is_plain;
}

inline std::string quoted(std::string_view text) {
  constexpr std::size_t most_shown = 40;
  std::string shown;
  for (const char c : text.substr(0, most_shown)) shown += c >= ' ' && c <= '~' ? c : '?';
  return "'" + shown + (text.size() > most_shown ? "..." : "") + "'";
}

template <class Number>
bool is_number(std::string_view text, Number least, Number most) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= least && value <= most;
}
// As HTSlib takes it: decimal, or with 0x or 0 in front.
inline bool is_flag(std::string_view text) {
  const int base = text.starts_with("0x") || text.starts_with("0X") ? 16 : text.size() > 1 && text.starts_with('0') ? 8 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && value <= 0xFFFF;
}

// "" if there is nothing wrong with it: what HTSlib refuses itself is not looked at.
inline std::string tag_problem(std::string_view tag) {
  const bool is_tag = tag.size() >= 5 && tag[2] == ':' && tag[4] == ':';
  if (!is_tag) return "the tag " + quoted(tag) + " is not written as NAME:TYPE:VALUE";
  const std::string_view value = tag.substr(5);
  bool fits = true;
  switch (tag[3]) {
    case 'i':
      fits = is_number<std::int64_t>(value, -2147483648LL, 4294967295LL);
      break;
    case 'A':
      fits = value.size() == 1 && value[0] > ' ' && value[0] <= '~';
      break;
    case 'f': {
      std::string_view digits = value;
      if (digits.starts_with('+')) digits.remove_prefix(1);
      double number = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      fits = end == digits.data() + digits.size() && error != std::errc::invalid_argument;
      break;
    }
    default:
      break;
  }
  return fits ? std::string() : "the value of the tag " + quoted(tag) + " is not of its type";
}

inline std::string tags_problem(std::string_view tags) {
  while (!tags.empty()) {
    const std::string_view tag = tags.substr(0, tags.find('\t'));
    if (std::string problem = tag_problem(tag); !problem.empty()) return problem;
    tags.remove_prefix(std::min(tag.size() + 1, tags.size()));
  }
  return {};
}

struct CigarText {
  std::uint64_t bases = 0;  // of the read
  bool is_one = true;
};
inline CigarText read_cigar(std::string_view text) {
  CigarText cigar;
  while (!text.empty()) {
    std::uint64_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const std::size_t code = text.empty() ? std::string_view::npos : std::string_view(BAM_CIGAR_STR).find(text.front());
    if (error != std::errc() || length >= (1U << 28) || code == std::string_view::npos) return {0, false};
    if ((bam_cigar_type(code) & 1) != 0) cigar.bases += length;
    text.remove_prefix(1);
  }
  return cigar;
}

}  // namespace sam_line_detail

// The fields of a line without its end. None: there are too few.
inline std::optional<SamLine> split_sam_line(std::string_view line) {
  std::array<std::string_view, sam_line_detail::mandatory_fields> fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos && i + 1 < fields.size()) return std::nullopt;
    fields[i] = line.substr(0, tab);
    line.remove_prefix(std::min(fields[i].size() + 1, line.size()));
  }
  return SamLine{fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], fields[6], fields[7], fields[8], fields[9], fields[10], line};
}

// What is wrong with a line that HTSlib would take all the same, for something else; "": nothing.
inline std::string hidden_sam_problem(const SamLine& line) {
  using namespace sam_line_detail;
  if (!is_flag(line.flag)) return "FLAG " + quoted(line.flag) + " is no number from 0 to 65535";
  if (!is_number<std::int32_t>(line.mapping_quality, 0, 255)) return "MAPQ " + quoted(line.mapping_quality) + " is no number from 0 to 255";
  if (line.bases != "*" && !are_plain_bases(line.bases)) {
    unsigned char least = 0xFF;
    for (const char base : line.bases) least = std::min(least, static_cast<unsigned char>(sequence_letters[static_cast<unsigned char>(base)]));
    if (least == 0) {
      const auto bad =
          std::find_if(line.bases.begin(), line.bases.end(), [](char c) { return sequence_letters[static_cast<unsigned char>(c)] == 0; });
      return "SEQ has " + quoted(std::string_view(bad, bad + 1)) + " at base " + std::to_string(bad - line.bases.begin() + 1) + ", which is no base";
    }
  }
  return tags_problem(line.tags);
}

// How the reason ends where a header helps.
constexpr std::string_view without_contigs = ", and the header has no @SQ lines";

// Why HTSlib refuses a line.
inline std::string sam_refusal(const SamLine& line, bool has_contigs) {
  using namespace sam_line_detail;
  constexpr std::int64_t furthest = std::int64_t{1} << 62;
  if (line.name.size() > longest_name)
    return "its name has " + std::to_string(line.name.size()) + " letters, and SAM and BAM hold " + std::to_string(longest_name);
  if (!is_number<std::int64_t>(line.position, 0, furthest)) return "POS " + quoted(line.position) + " is no position: they count from 1";
  if (!is_number<std::int64_t>(line.mate_position, 0, furthest)) return "PNEXT " + quoted(line.mate_position) + " is no position: they count from 1";
  if (!is_number<std::int64_t>(line.template_length, -furthest, furthest)) return "TLEN " + quoted(line.template_length) + " is no number";
  if (line.contig != "*" && !has_contigs) return "it is on contig " + quoted(line.contig) + std::string(without_contigs);
  const CigarText cigar = line.cigar == "*" ? CigarText() : read_cigar(line.cigar);
  if (!cigar.is_one) return "CIGAR " + quoted(line.cigar) + " is none";
  const std::size_t bases = line.bases == "*" ? 0 : line.bases.size();
  if (line.cigar != "*" && bases != 0 && cigar.bases != bases)
    return "CIGAR and SEQ are of different lengths (" + std::to_string(cigar.bases) + " and " + std::to_string(bases) + " bases)";
  if (line.qualities != "*" && line.qualities.size() != bases)
    return "SEQ and QUAL are of different lengths (" + std::to_string(bases) + " and " + std::to_string(line.qualities.size()) + ")";
  if (line.qualities != "*" && std::any_of(line.qualities.begin(), line.qualities.end(), [](char c) { return c < '!' || c > '~'; }))
    return "QUAL has a character outside '!' to '~'";
  return line.tags.empty() ? "HTSlib can't read it" : "its tags are not as SAM has them";
}

// U as T, which BAM can't hold.
inline void read_u_as_t(char* bases, std::size_t count) {
  for (char *at = bases, *const end = bases + count; at != end; ++at) {
    if (*at == 'U') *at = 'T';
    if (*at == 'u') *at = 't';
  }
}

}  // namespace sluice::hts
