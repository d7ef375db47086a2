// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Genomes with introns, and reads of their transcripts. Everything is a function of the seed and of the number of the case.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sweep/unkind_reads.hpp"

namespace sluice::sweep {

struct Gene {
  struct Exon {
    std::size_t begin, end;
  };
  std::size_t contig = 0;
  bool reverse = false;
  std::vector<Exon> exons;  // on the contig
};

struct SplicedGenome {
  std::vector<Sequence> contigs;
  std::vector<Gene> genes;
};

// One to three contigs with up to 16 genes on both strands: exons of 8 to 1,000 bases; introns of 60 bases to 200 kb that begin and end as most do
// (GT and AG, with and without the usual base beside them), or with GC, AT and AC, or anyhow; runs of N in some; copies of genes without introns, and
// diverged ones.
SplicedGenome spliced_genome(std::uint64_t seed, std::uint64_t number);

// Reads of whole transcripts and parts of them, on both strands, with 1 to 12 % of errors, tails of A, foreign ends and middles, and two in one.
// Together they have about so many bases.
std::vector<Sequence> spliced_reads(std::uint64_t seed, std::uint64_t number, const SplicedGenome& genome, std::size_t bases);

enum class JunctionForm { introns, transcripts };
// BED of most of the genes: a line for each intron, some a little beside it, without strand or with other scores; or one for each transcript.
std::string junctions_of(std::uint64_t seed, std::uint64_t number, const SplicedGenome& genome, JunctionForm form);

}  // namespace sluice::sweep
