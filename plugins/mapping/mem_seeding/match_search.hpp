// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The searches. Each takes many reads at once and goes on with another one whenever it waits for memory.

#include <cstdint>
#include <sluice/fm_index.hpp>
#include <span>
#include <vector>

#include "mem_seeding/matches.hpp"
#include "mem_seeding/packed_read.hpp"

namespace sluice::mem_seeding {

// One strand of one read.
struct SearchTask {
  const PackedRead* read = nullptr;
  Matches* matches = nullptr;  // cleared first
};

// Parts of the text that matches of Definition::maximal stay within, ascending and disjoint; the others know no borders.
struct TextPart {
  std::uint64_t begin = 0, end = 0;
};
// Contigs, cut at ambiguous bases.
std::vector<TextPart> text_parts(const FmIndexView& index);

// Definition::longest_left and Definition::supermaximal.
//
// From the left to the right a window of min_length bases is tried by its last word of up to k bases. If the text has no such word, the window moves
// behind the word's first base. Else the word's rows give the places where it occurs: the longest match that ends with the window by comparing 32
// bases at a time to the left of each, and where it ends by comparing to the right. Words of many rows are first extended to the left by backward
// search until they have few. So reads cost a look per min_length - k + 1 bases and a few per match, whatever the matches' length.
void find_longest_left(const FmIndexTables& index, const SearchOptions& options, std::span<const SearchTask> tasks);

// Definition::maximal.
//
// A match of min_length bases holds at least one of the words of k bases that begin at every (min_length - k + 1)-th base of the read. So all
// occurrences of these words are extended to both sides; a match is found at the first such word in it.
void find_maximal(const FmIndexTables& index, std::span<const TextPart> parts, const SearchOptions& options, std::span<const SearchTask> tasks);

}  // namespace sluice::mem_seeding
