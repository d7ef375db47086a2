// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Motifs of modified bases: a stretch of letters of which one base may be modified. Named ones are nanopolish's: cpg, gpc, dam, dcm. Free ones are
// LETTERS:POSITION:CODE, for example GATC:1:a: letters of the IUPAC code, the place of the modified base among them (from 0, as modkit counts), and
// the modification as the tag MM has it, a letter or a ChEBI number (SAM Optional Fields Specification, section 1.7).
//
// A read's sites are the places where its own strand of the reference has the motif. A motif that is its own reverse complement (all named ones) has
// the same sites on both strands; any other has sites of its own on each. A site's place is that of its first base on the forward strand.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <sluice/base_to_event.hpp>
#include <sluice/failure.hpp>
#include <sluice/sequence/bases.hpp>
#include <string>
#include <string_view>
#include <system_error>

namespace sluice {

// The sites of a motif under reads of one strand, in letters of the forward strand: what loops and kernels need of it.
struct MotifSites {
  static constexpr std::int32_t longest = 16;
  std::uint8_t bases[longest] = {};  // what may stand at each place of a site: A 1, C 2, G 4, T 8, added up
  std::int32_t length = 0;
  std::int32_t modified = 0;  // the place of the base that is modified in the read, or pairs with the one that is

  bool operator==(const MotifSites&) const = default;
};

// The bit of a base in MotifSites; 0 for anything but an upper case A, C, G or T.
constexpr std::uint8_t motif_bit(char base) {
  switch (base) {
    case 'A':
      return 1;
    case 'C':
      return 2;
    case 'G':
      return 4;
    case 'T':
      return 8;
    default:
      return 0;
  }
}

// Do the `sites.length` letters from `bases` on make a site?
constexpr bool is_motif_site(const char* bases, const MotifSites& sites) {
  for (std::int32_t i = 0; i < sites.length; ++i)
    if ((motif_bit(bases[i]) & sites.bases[i]) == 0) return false;
  return true;
}

// The first site at or after `from`; npos: there is none. Sites never overlap.
inline std::size_t find_motif(std::string_view bases, const MotifSites& sites, std::size_t from = 0) {
  static constexpr std::array<std::uint8_t, 256> bits = [] {
    std::array<std::uint8_t, 256> table{};
    for (const char base : {'A', 'C', 'G', 'T'}) table[static_cast<unsigned char>(base)] = motif_bit(base);
    return table;
  }();
  const auto length = static_cast<std::size_t>(sites.length);
  for (std::size_t at = from; length > 0 && at + length <= bases.size(); ++at) {
    std::size_t i = 0;
    while (i < length && (bits[static_cast<unsigned char>(bases[at + i])] & sites.bases[i]) != 0) ++i;
    if (i == length) return at;
  }
  return std::string_view::npos;
}

struct Motif {
  std::string name;     // as it was given
  std::string letters;  // IUPAC, upper case
  std::string code;     // of the modification: a letter or a ChEBI number
  char base = 'C';      // that is modified
  MotifSites forward, reverse;

  const MotifSites& sites(Strand strand) const { return strand == Strand::reverse ? reverse : forward; }
  // Both strands have the same sites.
  bool is_palindrome() const { return std::equal(forward.bases, forward.bases + forward.length, reverse.bases); }
};

namespace motif_text {

struct Named {
  std::string_view name, text;
};
inline constexpr Named named[] = {{"cpg", "CG:0:m"}, {"gpc", "GC:1:m"}, {"dam", "GATC:1:a"}, {"dcm", "CCWGG:1:m"}};
inline constexpr std::string_view iupac_by_bits = "=ACMGRSVTWYHKDBN";
// Modifications that have a letter, by the base that they are of (SAM Optional Fields Specification, section 1.7).
inline constexpr Named letters_of[] = {{"A", "a"}, {"C", "mhfc"}, {"G", "o"}, {"T", "geb"}};

[[noreturn]] inline void refuse(std::string_view motif, const std::string& why) {
  throw Failure::usage("motif '" + std::string(motif.substr(0, 64)) + "': " + why,
                       "write cpg, gpc, dam, dcm, or LETTERS:POSITION:CODE, for example GATC:1:a (POSITION from 0)");
}

inline void read_letters(std::string_view text, std::string_view letters, Motif& motif) {
  if (letters.empty()) refuse(text, "it has no letters");
  if (letters.size() > static_cast<std::size_t>(MotifSites::longest))
    refuse(text, "it has " + std::to_string(letters.size()) + " letters, and " + std::to_string(MotifSites::longest) + " are the most");
  for (const char letter : letters) {
    const char base = normal_bases[static_cast<unsigned char>(letter)];
    if (base == '\0') refuse(text, "its letters have to be of the IUPAC code of bases");
    motif.forward.bases[motif.letters.size()] = static_cast<std::uint8_t>(iupac_by_bits.find(base));
    motif.letters.push_back(base);
  }
  const auto length = static_cast<std::int32_t>(motif.letters.size());
  motif.forward.length = motif.reverse.length = length;
  for (std::int32_t i = 0; i < length; ++i) {
    const unsigned bits = motif.forward.bases[length - 1 - i];  // A and T, C and G change places
    motif.reverse.bases[i] = static_cast<std::uint8_t>((bits & 1U) << 3U | (bits & 2U) << 1U | (bits & 4U) >> 1U | (bits & 8U) >> 3U);
  }
}

inline void refuse_overlap(std::string_view text, const MotifSites& sites) {
  for (std::int32_t shift = 1; shift < sites.length; ++shift) {
    bool fits = true;
    for (std::int32_t i = shift; i < sites.length; ++i) fits = fits && (sites.bases[i] & sites.bases[i - shift]) != 0;
    if (fits) refuse(text, "it can overlap itself (by " + std::to_string(sites.length - shift) + "), so its sites can't be told apart");
  }
}

inline void read_position(std::string_view text, std::string_view position, Motif& motif) {
  std::uint32_t place = 0;
  const auto [end, error] = std::from_chars(position.data(), position.data() + position.size(), place);
  if (error != std::errc() || end != position.data() + position.size()) refuse(text, "its position '" + std::string(position) + "' is no number");
  if (place >= motif.letters.size())
    refuse(text, "position " + std::string(position) + " lies outside its " + std::to_string(motif.letters.size()) + " letters, counted from 0");
  motif.base = motif.letters[place];
  if (motif_bit(motif.base) == 0) refuse(text, "its modified letter '" + std::string(1, motif.base) + "' has to be A, C, G or T");
  motif.forward.modified = static_cast<std::int32_t>(place);
  motif.reverse.modified = motif.forward.length - 1 - motif.forward.modified;
}

inline void read_code(std::string_view text, std::string_view code, Motif& motif) {
  motif.code = code;
  const auto is_within = [](char c, char first, char last) { return c >= first && c <= last; };
  if (code.size() == 1 && is_within(code[0], 'a', 'z')) {
    for (const Named& of : letters_of)
      if (of.text.find(code[0]) != std::string_view::npos && of.name[0] != motif.base)
        refuse(text, "'" + motif.code + "' is a modification of " + std::string(of.name) + ", and the base at its position is " +
                         std::string(1, motif.base));
    return;
  }
  bool is_number = !code.empty() && code.size() <= 9 && code[0] != '0';
  for (const char c : code) is_number = is_number && is_within(c, '0', '9');
  if (!is_number) refuse(text, "its modification '" + motif.code + "' is neither a small letter nor a ChEBI number");
}

}  // namespace motif_text

// May a motif overlap itself, as DRACH, CHH and GCGC can? Whoever changes sites into one another, or groups them, has to tell them apart; who looks
// at the modified base of each need not.
enum class MotifOverlap : std::uint8_t { refused, allowed };

// Throws Failure for what is no motif, or one whose sites can't be told apart.
inline Motif parse_motif(std::string_view text, MotifOverlap overlap = MotifOverlap::refused) {
  Motif motif;
  motif.name = text;
  std::string_view parts = text;
  for (const motif_text::Named& named : motif_text::named)
    if (named.name == text) parts = named.text;
  const std::size_t first = parts.find(':'), second = first == std::string_view::npos ? first : parts.find(':', first + 1);
  if (text.empty()) motif_text::refuse(text, "it is empty");
  if (second == std::string_view::npos) motif_text::refuse(text, "it is no name that sluice knows, and has not three parts");
  motif_text::read_letters(text, parts.substr(0, first), motif);
  motif_text::read_position(text, parts.substr(first + 1, second - first - 1), motif);
  motif_text::read_code(text, parts.substr(second + 1), motif);
  if (overlap == MotifOverlap::refused) motif_text::refuse_overlap(text, motif.forward);
  return motif;
}

// Can the M at `place` of a k-mer be the motif's modified base? What lies around it has to fit as far as the k-mer shows it; another M is a modified
// base of the motif, too.
inline bool can_be_modified(std::string_view kmer, std::size_t place, const Motif& motif) {
  const auto before = static_cast<std::size_t>(motif.forward.modified);
  for (std::size_t i = 0; i < static_cast<std::size_t>(motif.forward.length); ++i) {
    if (place + i < before || place + i - before >= kmer.size()) continue;
    const char letter = kmer[place + i - before];
    if ((motif_bit(letter == 'M' ? motif.base : letter) & motif.forward.bases[i]) == 0) return false;
  }
  return true;
}

// `model_motif`: what the attribute `motif` of a k-mer model says that its M stands for; "": nothing. Throws Failure if M is not this motif's
// modified base: another one, or one in other surroundings. A motif of a single letter is in all surroundings.
inline void require_model_of(const Motif& motif, std::string_view model_motif) {
  if (model_motif.empty()) return;
  const Motif model = parse_motif(model_motif);
  const bool same_base = model.base == motif.base && model.code == motif.code;
  if (same_base && (model.letters.size() == 1 || (model.letters == motif.letters && model.forward == motif.forward))) return;
  throw Failure::usage("M in this model is the modified base of " + model.name + ", not that of " + motif.name,
                       "give a model of " + motif.name + ": --methylation-model FILE (`sluice run train_kmer_model --motif` makes one)");
}

}  // namespace sluice
