// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Reference sequences: FASTA as plain functions over memory.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::reference_sequence {

// One contig of a FASTA text.
struct ContigText {
  std::string_view name;         // up to the first blank
  std::string_view lines;        // from the first base to the last, with the line ends between
  std::uint64_t first_line = 0;  // number of the first of `lines`, from 1
  std::uint64_t bases = 0;
};

struct FastaProblem {
  std::uint64_t line = 0;  // from 1; 0: the whole file
  std::string what;
};

// Finds the contigs of a FASTA text. False with `problem` set: text before the first '>', a contig without a name, two of the same name, or none at
// all.
bool find_contigs(std::string_view fasta, std::vector<ContigText>& contigs, FastaProblem& problem);

// What a code for several bases is read as: the first of them in the order A, C, G, T (M R W V H D N -> A, S Y B -> C, K -> G), as f5c does, or N.
enum class AmbiguousBases : std::uint8_t { first_base, letter_n };

// Writes contig.bases bases to `out`: upper case; U becomes T. False with `problem` set at a character that is no base.
bool copy_bases(const ContigText& contig, AmbiguousBases ambiguous, char* out, FastaProblem& problem);

}  // namespace sluice::reference_sequence
