// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The tag MM: which bases of a read have been looked at for which modifications.
// Source: Sequence Alignment/Map Optional Fields Specification, section 1.7 (base modifications).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::modification_pileup {

// A modification: the character of its letter, or a ChEBI number as a negative one.
using ModificationCode = std::int32_t;
std::string code_text(ModificationCode code);

// Bases by number: A 0, C 1, G 2, T 3.
inline constexpr std::uint8_t base_count = 4;
inline constexpr std::uint8_t any_base = 4;  // in MM: N

enum class Unlisted : std::uint8_t {
  canonical,  // "." or nothing: bases that are not listed are not modified
  not_called  // "?": nothing is known of them
};
enum class MoleculeStrand : std::uint8_t {
  sequenced,  // "+": the read's own
  opposite    // "-": the base that pairs with the one that is counted
};

// "C+mh?,3,0;": codes m and h, skips 3 and 0.
struct ModificationGroup {
  std::uint8_t base = 0;  // that is counted, in sequencing orientation; any_base: all
  MoleculeStrand strand = MoleculeStrand::sequenced;
  Unlisted unlisted = Unlisted::canonical;
  std::size_t first_code = 0, codes = 0;  // in ModificationTags
  std::size_t first_skip = 0, skips = 0;
};

struct ModificationTags {
  std::vector<ModificationGroup> groups;
  std::vector<ModificationCode> codes;
  std::vector<std::uint32_t> skips;  // bases of the group's kind between one that is listed and the next

  // How many probabilities ML has to hold: one for each listed base and code.
  std::size_t probabilities() const;
};

// Replaces `tags` by what the text says. False: that is no MM tag.
bool parse_modification_tags(std::string_view text, ModificationTags& tags);

}  // namespace sluice::modification_pileup
