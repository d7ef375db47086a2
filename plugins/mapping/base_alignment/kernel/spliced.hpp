// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Alignment across introns: a gap on the target may also be an intron, which costs the same whatever its length, more or less by the bases at its
// ends. The whole matrix, without a band. Score for score and path for path that of minimap2 2.31 (S.6 of the specification).

#include <cstddef>
#include <cstdint>
#include <sluice/kept_buffer.hpp>
#include <span>
#include <vector>

#include "base_alignment/kernel/problem.hpp"

namespace sluice::base_alignment {

// By base of the target: what is added to an intron's score that begins behind it, and to one that has its last base here.
struct SiteColumns {
  std::span<const std::int8_t> donor, acceptor;
};

// Reusable memory.
struct SplicedRows {
  std::vector<std::int32_t> numbers;
  std::vector<std::int8_t> differences;
  std::vector<std::int8_t> border;  // in front of the target
  std::vector<std::uint8_t> target, query_back;
  std::vector<std::size_t> begin_of_row;  // in steps
  KeptBuffer<std::uint8_t> steps;
  // Memory that only few reads need; behind all problems of one.
  void give_back() { steps.give_back_beyond(std::size_t{64} << 20); }
};

// What leaves a column of the target towards its end, by bases of the read in front of it, from none to all.
struct SplicedEdge {
  std::int32_t column = -1;
  std::vector<std::int32_t> score;   // of the column, or of a deletion that goes on behind it where that is higher
  std::vector<std::int32_t> intron;  // that goes on behind it
  std::int32_t at = 0;               // the kernel's own
};
// What is in front of the target's first base instead of nothing: scores, and introns that go on; in front of the read's first base all scores of the
// target are the same.
struct SplicedStart {
  std::span<const std::int32_t> score, intron;  // as of an edge
};

// gap_open_long is the cost of an intron, gap_extend_long is not used; nor is the problem's band. Fills result; its cigar is appended to, all else is
// replaced. edges: by rising columns; filled by an alignment from end to end whose scores fit 8 bits, else left empty.
void align_spliced(const Scores& scores, const Problem& problem, const SiteColumns& sites, SplicedRows& rows, Alignment& result,
                   std::span<SplicedEdge> edges = {});
// Only the edges, of an alignment from end to end.
void score_spliced_edges(const Scores& scores, const Problem& problem, const SiteColumns& sites, const SplicedStart& start, SplicedRows& rows,
                         std::span<SplicedEdge> edges);

// The definition of what align_spliced computes, in plain loops.
void align_spliced_plainly(const Scores& scores, const Problem& problem, const SiteColumns& sites, SplicedRows& rows, Alignment& result);

// Raises each number of `to` to that of `from` and `more`, where that is higher.
void raise_to_sums(std::int32_t* to, const std::int32_t* from, std::int32_t more, std::int32_t count);

// Whether introns may cost so much.
constexpr bool intron_costs_fit(const Scores& scores) {
  return scores.gap_open > 0 && scores.gap_extend > 0 && scores.gap_open_long > scores.gap_open + scores.gap_extend &&
         scores.gap_open + scores.gap_extend + scores.gap_open_long <= 127;
}

}  // namespace sluice::base_alignment
