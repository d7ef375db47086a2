// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What becomes of the operations of a hit when all its pieces are aligned. Method: minimap2 2.24, A.17 of the specification.

#include <string>

#include "base_alignment/aligned_hit.hpp"
#include "base_alignment/sequences.hpp"

namespace sluice::base_alignment {

// Moves gaps to the left, merges what meets, drops a gap at the beginning; counts columns and scores; writes = and X where the settings want them.
// The pieces are what the operations align; places of the hit follow the dropped gap.
void finish_path(const AlignmentSettings& settings, Codes query, Codes target, AlignedHit& hit);

// Moves every gap between two matches to the left as far as the bases allow, and merges what meets.
void normalize(std::vector<std::uint32_t>& cigar, Codes query, Codes target);

enum class DifferenceForm : std::uint8_t { short_form, long_form };
// The cs tag's text (":6-ata:10+gtc*at"); long form: "=ACGTAC" for runs of equal bases.
// shown: the ds tag's text, in which bases of a gap are bracketed by which it could be shifted ("+[ac]gt").
enum class Shifts : std::uint8_t { hidden, shown };
void append_difference(std::string& text, std::span<const std::uint32_t> cigar, Codes query, Codes target, DifferenceForm form,
                       Shifts shifts = Shifts::hidden);
// The MD tag's text as minimap2 writes it: no 0 at the end ("10A5^AC6").
void append_mismatched_reference(std::string& text, std::span<const std::uint32_t> cigar, Codes query, Codes target);

}  // namespace sluice::base_alignment
