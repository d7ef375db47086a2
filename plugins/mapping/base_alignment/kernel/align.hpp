// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Banded alignment with one or two affine pieces of gap costs, of both sequences from end to end, or from their beginnings as far as it is worth it:
// minimap2 2.24's kernels, score for score and path for path, whatever computes them.

#include "base_alignment/kernel/problem.hpp"
#include "base_alignment/kernel/rows.hpp"

namespace sluice::base_alignment {

// Can differences of scores be held in 8 bits? minimap2 asks the same. Everything below relies on it, and on highest_penalty and highest_match.
bool gap_costs_fit(const Scores& scores);

// Fills result; its cigar is appended to, all else is replaced. Not thread-safe: one MatrixRows per thread.
void align(const Scores& scores, const Problem& problem, MatrixRows& rows, Alignment& result);

// The definition of what align computes, in plain loops.
void align_plainly(const Scores& scores, const Problem& problem, MatrixRows& rows, Alignment& result);

}  // namespace sluice::base_alignment
