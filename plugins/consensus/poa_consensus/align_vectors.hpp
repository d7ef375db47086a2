// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The alignment of alignment.hpp with vectors along the sequence, in 16 bits where that is proven to be enough.
//
// Striped (Farrar 2007): with V vectors of N lanes a row, column j lies in lane (j-1)/V of vector (j-1)%V, so the column before it is in the same
// lane of the vector before. What is stored is G[i][j] = H[i][j] - j * gap. A horizontal gap costs nothing then: along a row G is the running maximum
// of what comes from the rows before, first down the vectors in every lane, then over the lanes in log2(N) steps. The second part is one vector, the
// row's carry; it is stored behind the row and taken into account where the row is read, so that a row is written once.
//
// Bounds: H <= max(match, mismatch, 0) * columns, and G[i][j] >= G[i][0] = H[i][0] because a row never falls. Intermediate sums are within 256 of
// that. Columns are those of whole vectors: the ones behind the sequence hold a letter that costs something against every node, and nothing in front
// of them depends on them.

#include <string_view>
#include <vector>

#include "poa_consensus/alignment.hpp"

namespace sluice::poa_consensus {

enum class VectorUse : std::uint8_t {
  done,
  not_offered,  // a machine without vectors, or scores that 32 bits may not hold
};

// The same path as align_scalar, from kept rows of `graph`. The matrix has (rows + 2) * (length + 127) values of 2 or 4 bytes at most, twice as many
// with affine gaps.
VectorUse align_vectors(PartialOrderGraph& graph, const KeptRows& rows, std::string_view sequence, const Scoring& scoring,
                        AlignmentWorkspace& workspace, std::vector<AlignedPair>& path);

}  // namespace sluice::poa_consensus
