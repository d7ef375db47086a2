// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// References and reads that are hard to map. Everything is a function of the seed and of the number of the case.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::sweep {

struct Sequence {
  std::string name, bases;
};

// One to six contigs of 1 to 300,000 bases, with repeats of several ages, tandem repeats, low complexity, stretches of N, and often a contig that is
// nearly another one.
std::vector<Sequence> unkind_reference(std::uint64_t seed, std::uint64_t number);

// Reads of `reference` in any order, of 1 to 300,000 bases: with up to a fifth of errors, and most with one to three of: inversions, deletions,
// insertions, duplications, chimeras, turns, bad stretches of 2 to 14 kb, N, low complexity, longer or shorter tandem repeats and homopolymers.
// Together they have about so many bases.
std::vector<Sequence> unkind_reads(std::uint64_t seed, std::uint64_t number, const std::vector<Sequence>& reference, std::size_t bases);

}  // namespace sluice::sweep
