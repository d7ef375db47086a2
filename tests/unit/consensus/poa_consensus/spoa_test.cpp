// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The same graphs, alignments and consensuses as spoa 4.0.8.
#include <doctest/doctest.h>

#include "unit/consensus/poa_consensus/noisy_copies.hpp"

#ifdef SLUICE_WITH_SPOA
#include <spoa/spoa.hpp>

using namespace sluice::poa_consensus;
using testing::MadeWindow;
using testing::make_window;

namespace {

std::unique_ptr<spoa::AlignmentEngine> engine_of(const Scoring& scoring) {
  const auto type = scoring.mode == AlignmentMode::global  ? spoa::AlignmentType::kNW
                    : scoring.mode == AlignmentMode::local ? spoa::AlignmentType::kSW
                                                           : spoa::AlignmentType::kOV;
  const auto small = [](std::int32_t score) { return static_cast<std::int8_t>(score); };
  if (scoring.gap_cost() == GapCost::convex)
    return spoa::AlignmentEngine::Create(type, small(scoring.match), small(scoring.mismatch), small(scoring.gap_open), small(scoring.gap_extend),
                                         small(scoring.second_gap_open), small(scoring.second_gap_extend));
  return spoa::AlignmentEngine::Create(type, small(scoring.match), small(scoring.mismatch), small(scoring.gap_open), small(scoring.gap_extend));
}

// The graph as racon builds it: layers that span the backbone are aligned to the whole graph, others to a part.
spoa::Graph spoa_graph(const MadeWindow& window, const Scoring& scoring) {
  const auto engine = engine_of(scoring);
  spoa::Graph graph;
  const auto backbone = static_cast<std::uint32_t>(window.sequences[0].size());
  for (std::size_t i = 0; i < window.sequences.size(); ++i) {
    const std::string& sequence = window.sequences[i];
    if (sequence.empty()) continue;
    spoa::Alignment alignment;
    const auto offset = static_cast<std::uint32_t>(0.01 * backbone);
    if (i == 0 || window.layer_begin.empty() ||
        (static_cast<std::uint32_t>(window.layer_begin[i]) < offset && static_cast<std::uint32_t>(window.layer_end[i]) > backbone - offset)) {
      alignment = engine->Align(sequence, graph);
    } else {
      std::vector<const spoa::Graph::Node*> nodes;
      const auto part = graph.Subgraph(static_cast<std::uint32_t>(window.layer_begin[i]), static_cast<std::uint32_t>(window.layer_end[i]), &nodes);
      alignment = engine->Align(sequence, part);
      part.UpdateAlignment(nodes, &alignment);
    }
    if (window.qualities.empty())
      graph.AddAlignment(alignment, sequence);
    else
      graph.AddAlignment(alignment, sequence, window.qualities[i]);
  }
  return graph;
}

void check_same(MadeWindow& window, const Scoring& scoring) {
  ConsensusParameters parameters;
  parameters.scoring = scoring;
  WindowConsensus maker(parameters);
  WindowResult result;
  REQUIRE(maker.make(window.view(), result) == WindowProblem::none);
  spoa::Graph graph = spoa_graph(window, scoring);
  std::vector<std::uint32_t> coverage;
  REQUIRE(result.consensus == graph.GenerateConsensus(&coverage));
  REQUIRE(std::vector<std::uint32_t>(result.coverage.begin(), result.coverage.end()) == coverage);
  std::string rows, expected;
  maker.append_alignment(rows);
  for (const std::string& row : graph.GenerateMultipleSequenceAlignment()) expected += row + "\n";
  REQUIRE(rows == expected);
}

}  // namespace

TEST_CASE("consensus, coverage and alignment are spoa's") {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    for (const Scoring& scoring : {Scoring{AlignmentMode::global, 3, -5, -4, -4}, Scoring{AlignmentMode::global, 5, -4, -8, -8},
                                   Scoring{AlignmentMode::local, 5, -10, -4, -4}, Scoring{AlignmentMode::semi_global, 5, -4, -8, -8},
                                   Scoring{AlignmentMode::global, 5, -4, -8, -6}, Scoring{AlignmentMode::local, 5, -4, -8, -6}}) {
      // spoa's semi-global SIMD engine ends elsewhere in some windows of a few letters.
      MadeWindow window = make_window(random, 20 + random() % 200, 2 + random() % 20);
      check_same(window, scoring);
    }
  }
}

TEST_CASE("consensus, coverage and alignment with convex gaps are spoa's") {
  std::mt19937 random(13);
  for (int round = 0; round < 60; ++round) {
    for (const Scoring& scoring : {Scoring{AlignmentMode::local, 5, -4, -8, -6, -10, -4}, Scoring{AlignmentMode::global, 5, -4, -8, -6, -10, -4},
                                   Scoring{AlignmentMode::semi_global, 5, -4, -8, -6, -10, -4},
                                   Scoring{AlignmentMode::global, 2, -4, -4, -2, -24, -1}, Scoring{AlignmentMode::local, 2, -4, -4, -2, -24, -1}}) {
      // Errors come as single letters and, in every other window, as long deletions: those are what the second piece is for.
      MadeWindow window = make_window(random, 60 + random() % 300, 2 + random() % 20);
      if (round % 2 == 0) cut_out(random, window);
      if (round % 3 == 0) add_qualities(random, window);
      check_same(window, scoring);
    }
  }
}

TEST_CASE("long sequences with convex gaps, whose scores take 32 bits, have spoa's consensus") {
  std::mt19937 random(14);
  for (int round = 0; round < 4; ++round) {
    MadeWindow window = make_window(random, 2500 + random() % 1000, 3);
    cut_out(random, window);
    check_same(window, {round % 2 == 0 ? AlignmentMode::global : AlignmentMode::local, 5, -4, -8, -6, -10, -4});
  }
}

TEST_CASE("quality weights and parts of the graph are spoa's") {
  std::mt19937 random(12);
  for (int round = 0; round < 40; ++round) {
    MadeWindow window = make_window(random, 60 + random() % 200, 3 + random() % 20);
    if (round % 2 == 0) add_layers(random, window);
    add_qualities(random, window);
    check_same(window, {AlignmentMode::global, 3, -5, -4, -4});
    check_same(window, {AlignmentMode::global, 5, -4, -8, -6, -10, -4});
  }
}

#else
TEST_CASE("consensus, coverage and alignment are spoa's") { MESSAGE("SKIPPED: libspoa is not installed"); }
#endif
