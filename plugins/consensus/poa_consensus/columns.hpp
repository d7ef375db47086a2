// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The columns of a partial order graph: nodes that are aligned to each other, in topological order. They give the multiple sequence alignment and the
// consensus by majority. The graph must be ranked.

#include <cstdint>
#include <string>
#include <vector>

#include "poa_consensus/graph.hpp"

namespace sluice::poa_consensus {

struct ColumnWorkspace {
  std::vector<std::int32_t> column_of_node;
  std::vector<std::uint8_t> is_on_template;
};

enum class Template : std::uint8_t {
  counts,    // sequence 0 is one of the sequences
  is_guide,  // sequence 0 is a consensus of an earlier round, and counts nowhere
};

// Appends the rows of the alignment, each followed by a newline; '-' is a gap. A row without its gaps is the sequence. A guide is left out.
void append_alignment_rows(const PartialOrderGraph& graph, Template first, ColumnWorkspace& workspace, std::string& rows);

enum class Undecided : std::uint8_t {
  keep_template,  // sequence 0's letter, or nothing where it has none (CONSENT 2.2.2)
  take_letter,    // the letter that was there first
};

// Sequences that a node stands for: those with its letter, without a guide.
class NodeSupport {
 public:
  NodeSupport(const PartialOrderGraph& graph, Template first, ColumnWorkspace& workspace);
  std::int32_t operator()(std::int32_t node) const {
    return graph_.node(node).sequences - (has_guide_ ? is_on_guide_[static_cast<std::size_t>(node)] : 0);
  }

 private:
  const PartialOrderGraph& graph_;
  bool has_guide_;
  const std::vector<std::uint8_t>& is_on_guide_;
};

// Replaces `consensus`, its nodes and `coverage` (sequences with a letter in the column) by the majority of each column. A gap wins only if it is
// strictly more frequent than each letter; a letter wins if it is strictly more frequent than the other letters; otherwise `undecided` says.
// `support`: columns whose winner has fewer sequences are undecided too.
void column_majority(const PartialOrderGraph& graph, Template first, Undecided undecided, std::int32_t support, ColumnWorkspace& workspace,
                     std::string& consensus, std::vector<std::int32_t>& nodes, std::vector<std::int32_t>& coverage);

}  // namespace sluice::poa_consensus
