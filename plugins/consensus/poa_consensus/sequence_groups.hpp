// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Sequences of a window that come from different haplotypes, told apart by the columns of their alignment.
//
// A column tells sequences apart if its two most frequent alleles (letters, or a gap) have each at least a share of the sequences: errors fall in the
// same column with the same letter in few sequences. The groups begin as the two alleles of the column that the others agree with best, and sequences
// move to the group whose alleles they have more of. abPOA 1.4 (Gao et al. 2021) has the idea of columns and a least frequency; the grouping is ours.

#include <cstdint>
#include <vector>

#include "poa_consensus/columns.hpp"
#include "poa_consensus/graph.hpp"

namespace sluice::poa_consensus {

struct GroupRules {
  std::int32_t most_groups = 2;
  double min_frequency = 0.25;  // of the sequences; no group has less, and none less than two
};

// Numbers of sequences in the order in which they were merged (from 0, without a guide), group by group, the largest first; one group: they are
// alike. A single column of letters divides; columns of letters against gaps do only if there are two, because gaps are what errors are made of. The
// graph must be ranked.
std::vector<std::vector<std::int32_t>> group_sequences(const PartialOrderGraph& graph, Template first, const GroupRules& rules);

}  // namespace sluice::poa_consensus
