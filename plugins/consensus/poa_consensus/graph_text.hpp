// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A partial order graph as text: GFA 1 and Graphviz' DOT, with the lines and the order of spoa 4.0.8.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "poa_consensus/columns.hpp"
#include "poa_consensus/graph.hpp"

namespace sluice::poa_consensus {

inline constexpr std::string_view gfa_header = "H\tVN:Z:1.0\n";

// How an L line says that segments do not overlap.
enum class Overlaps : std::uint8_t {
  gfa,   // 0M
  spoa,  // OM, with a letter O, which no reader of GFA takes
};

// What the nodes and the sequences of a graph are called and marked with.
struct GraphLabels {
  std::string_view window;                    // segments are WINDOW:1, WINDOW:2 ..., paths WINDOW/0, WINDOW/1 ... and WINDOW/consensus; see below
  Template first = Template::counts;          // a guide has no path
  std::span<const std::int32_t> consensus;    // nodes of the consensus, in its order
  std::span<const std::int32_t> sequence;     // number of the sequence that was merged first, second, ... without the guide
  std::span<const std::uint8_t> is_reversed;  // of each merged sequence, guide and all: its reverse complement was merged; empty: of none
};

// S and L lines of the nodes by number, with ew:f (the edge's weight) and ic:Z:true (on the consensus), then a P line for each sequence and one for
// the consensus. Sequences without letters have none. gfa_header is not among them. What a name may not have in GFA 1 (blanks, commas, letters beyond
// ASCII, a '*' or '=' at its beginning) becomes '_'.
void append_gfa(const PartialOrderGraph& graph, const GraphLabels& labels, Overlaps overlaps, std::string& text);

// A digraph named after the window.
void append_dot(const PartialOrderGraph& graph, const GraphLabels& labels, std::string& text);

}  // namespace sluice::poa_consensus
