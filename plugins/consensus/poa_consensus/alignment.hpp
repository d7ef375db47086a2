// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Alignment of a sequence to a partial order graph: the recurrences of Lee, Grasso, Sharlow 2002, with spoa 4.0.8's choices among equally good paths.
//
// Row i is a node in topological order, row 0 lies before all nodes; column j is the sequence's j-th letter, column 0 lies before it. Over the
// predecessors p of a row
//   H[i][j] = max(H[p][j-1] + (mis)match, H[p][j] + gap, H[i][j-1] + gap), local: and 0.
// Where the path goes is decided backwards from the scores alone: diagonal before vertical (a node against a gap) before horizontal (a letter against
// a gap), and the first predecessor in the order of in-edges that explains the score. So every implementation that fills H gives the same path.
// Affine and convex gaps have scores of their own, F for vertical and E for horizontal ones, for each piece of the cost.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sluice/kept_buffer.hpp>
#include <string_view>
#include <vector>

#include "poa_consensus/graph.hpp"
#include "poa_consensus/scoring.hpp"

namespace sluice::poa_consensus {

// Memory of a matrix, which only grows.
class MatrixMemory {
 public:
  template <class T>
  T* room_for(std::size_t values) {
    const std::size_t bytes = values * sizeof(T);
    if (bytes > memory_.room()) memory_.start(bytes + std::min(bytes / 2, most_spare_bytes));
    return reinterpret_cast<T*>(memory_.data());
  }
  std::size_t bytes() const { return memory_.bytes(); }

 private:
  // What is asked for beyond the need, so that slowly growing graphs do not ask every time.
  static constexpr std::size_t most_spare_bytes = std::size_t{16} << 20U;
  KeptBuffer<std::byte> memory_;
};

// How a row of kept rows is left on the way back.
struct RowStep {
  std::int32_t predecessor;  // row of its first in-edge's tail
  std::int32_t next_edge;    // the in-edge behind that, -1: none
  std::int32_t node;
  std::uint8_t code;
};

struct AlignmentWorkspace {
  GraphRows rows;
  MatrixMemory scores, profile;
  std::vector<std::int32_t> first_column;  // H[i][0]
  std::vector<RowStep> steps;              // of rows
  std::vector<std::int32_t> candidates;    // rows with equally good ends
  std::vector<std::uint8_t> is_tail;       // of rows: the node has an out-edge in the part that is aligned
  std::vector<std::int32_t> place;         // of column j in a row of the matrix, for:
  std::int32_t place_vectors = 0, place_lanes = 0;
  std::vector<std::int32_t> row_scores, row_gaps;  // of one row: H, and the scores of horizontal gaps
  std::int32_t score = 0;                          // of the path that was found last
  std::size_t bytes() const { return scores.bytes() + profile.bytes(); }
};

// The definition, in 32 bits: every mode and gap cost. `path` is replaced; empty: nothing could be aligned. Its score is left in the workspace.
// `rows` must have been listed from `graph`; of equally good ends the first in row-major order is taken. The matrix has (rows + 1) * (length + 1)
// values, three of them for affine gaps and five for convex ones.
void align_scalar(const PartialOrderGraph& graph, const GraphRows& rows, std::string_view sequence, const Scoring& scoring,
                  AlignmentWorkspace& workspace, std::vector<AlignedPair>& path);

// The bytes that a matrix of align_scalar takes.
std::uint64_t scalar_matrix_bytes(std::int64_t rows, std::int64_t length, const Scoring& scoring);

}  // namespace sluice::poa_consensus
