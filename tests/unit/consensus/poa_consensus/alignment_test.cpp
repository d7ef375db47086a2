// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/alignment.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "poa_consensus/align_vectors.hpp"
#include "unit/consensus/poa_consensus/noisy_copies.hpp"
#include "unit/instruction_sets.hpp"

using namespace sluice::poa_consensus;
using testing::MadeWindow;
using testing::make_window;

namespace {

std::string name(AlignmentMode mode) { return mode == AlignmentMode::global ? "global" : mode == AlignmentMode::local ? "local" : "semi-global"; }

// Merges the window's sequences; every alignment by vectors must be that of the definition.
void check_window(const MadeWindow& window, const Scoring& scoring) {
  CAPTURE(name(scoring.mode));
  PartialOrderGraph graph;
  AlignmentWorkspace workspace;
  std::vector<AlignedPair> expected, path;
  for (std::size_t i = 0; i < window.sequences.size(); ++i) {
    CAPTURE(i);
    const std::string& sequence = window.sequences[i];
    NodeRange range;
    if (i > 0 && !window.layer_begin.empty()) range = {window.layer_begin[i], window.layer_end[i]};
    expected.clear();
    if (graph.node_count() > 0) {
      graph.list_rows(range, workspace.rows);
      align_scalar(graph, workspace.rows, sequence, scoring, workspace, expected);
      const std::int32_t expected_score = workspace.score;
      const VectorUse use = align_vectors(graph, graph.kept_rows(range), sequence, scoring, workspace, path);
      if (use == VectorUse::done) {
        REQUIRE(path == expected);
        REQUIRE(workspace.score == expected_score);
      }
    }
    graph.add(expected, sequence, {});
  }
}

}  // namespace

TEST_CASE("vectors of every instruction set find the path of the definition") {
  sluice::testing::for_each_instruction_set([] {
    std::mt19937 random(1);
    for (int round = 0; round < 60; ++round) {
      const Scoring scorings[] = {{AlignmentMode::global, 3, -5, -4, -4},
                                  {AlignmentMode::global, 5, -4, -8, -8},
                                  {AlignmentMode::local, 5, -10, -4, -4},
                                  {AlignmentMode::semi_global, 5, -4, -8, -8},
                                  {AlignmentMode::global, 1, -1, 0, 0},
                                  {AlignmentMode::local, 2, 1, 0, 0},
                                  {AlignmentMode::semi_global, 1, -1, -1, -1},
                                  {AlignmentMode::local, 1, -1, -1, -1},
                                  {AlignmentMode::global, 0, 0, -1, -1},
                                  {AlignmentMode::global, 5, -4, -8, -6},
                                  {AlignmentMode::local, 5, -4, -8, -6},
                                  {AlignmentMode::semi_global, 5, -4, -8, -6},
                                  {AlignmentMode::global, 2, -4, -6, -2},
                                  {AlignmentMode::global, 1, -1, -2, 0},
                                  {AlignmentMode::local, 2, -1, -2, 0},
                                  {AlignmentMode::semi_global, 1, -1, -2, -1},
                                  {AlignmentMode::local, 1, -1, -2, -1},
                                  {AlignmentMode::global, 5, -4, -8, -6, -10, -4},
                                  {AlignmentMode::local, 5, -4, -8, -6, -10, -4},
                                  {AlignmentMode::semi_global, 5, -4, -8, -6, -10, -4},
                                  {AlignmentMode::global, 2, -4, -4, -2, -24, -1},
                                  {AlignmentMode::local, 2, -4, -4, -2, -24, -1},
                                  {AlignmentMode::global, 1, -1, -3, -2, -4, 0},
                                  {AlignmentMode::local, 1, -1, -3, -2, -4, 0}};
      const std::string_view alphabet = round % 3 == 0 ? "AC" : round % 3 == 1 ? "ACGT" : "ACGTNRY";
      const MadeWindow window = make_window(random, random() % 150, 2 + random() % 7, 20 + random() % 100, alphabet);
      for (const Scoring& scoring : scorings) check_window(window, scoring);
    }
  });
}

TEST_CASE("scores that 16 bits can't hold are computed in 32") {
  sluice::testing::for_each_instruction_set([] {
    std::mt19937 random(2);
    for (const AlignmentMode mode : {AlignmentMode::global, AlignmentMode::local, AlignmentMode::semi_global}) {
      check_window(make_window(random, 300, 5), {mode, 127, -128, -128, -128});
      check_window(make_window(random, 60, 4), {mode, 127, 127, -128, -128});
      check_window(make_window(random, 300, 5), {mode, 127, -128, -128, -100});
      check_window(make_window(random, 200, 5), {mode, 127, -128, -128, -1});
    }
    // The graph is deep and the sequence short: only the first column is far down.
    MadeWindow window;
    window.sequences = {testing::random_bases(random, 600), "ACGT", "", "A"};
    check_window(window, {AlignmentMode::global, 5, -4, -100, -100});
    check_window(window, {AlignmentMode::global, 5, -4, -100, -90});
  });
}

TEST_CASE("parts of a graph are aligned like whole ones") {
  sluice::testing::for_each_instruction_set([] {
    std::mt19937 random(3);
    for (int round = 0; round < 20; ++round) {
      MadeWindow window = make_window(random, 40 + random() % 100, 9);
      if (window.sequences[0].empty()) continue;
      add_layers(random, window);
      check_window(window, {AlignmentMode::global, 3, -5, -4, -4});
      check_window(window, {AlignmentMode::global, 5, -4, -8, -6});
      check_window(window, {AlignmentMode::local, 5, -4, -8, -6});
      check_window(window, {AlignmentMode::semi_global, 5, -4, -8, -2});
    }
  });
}

TEST_CASE("an alignment goes up in rows and positions, one step at a time") {
  std::mt19937 random(4);
  for (const GapCost gaps : {GapCost::linear, GapCost::affine}) {
    for (const AlignmentMode mode : {AlignmentMode::global, AlignmentMode::local, AlignmentMode::semi_global}) {
      const MadeWindow window = make_window(random, 80, 8, 80);
      const Scoring scoring = {mode, 5, -4, -8, gaps == GapCost::affine ? -2 : -8};
      PartialOrderGraph graph;
      AlignmentWorkspace workspace;
      std::vector<AlignedPair> path;
      for (const std::string& sequence : window.sequences) {
        graph.list_rows({}, workspace.rows);
        align_scalar(graph, workspace.rows, sequence, scoring, workspace, path);
        std::int32_t node = -1, position = -1;
        for (const AlignedPair& pair : path) {
          REQUIRE((pair.node >= 0 || pair.position >= 0));
          if (pair.position >= 0) {
            if (position >= 0) REQUIRE(pair.position == position + 1);
            position = pair.position;
          }
          if (pair.node < 0) continue;
          bool follows = node < 0;
          for (std::int32_t e = graph.node(pair.node).first_in_edge; e >= 0; e = graph.edge(e).next) follows = follows || graph.edge(e).tail == node;
          REQUIRE(follows);
          node = pair.node;
        }
        if (mode == AlignmentMode::global && !path.empty()) {
          REQUIRE(position + 1 == static_cast<std::int32_t>(sequence.size()));
          REQUIRE(graph.node(node).out_edges == 0);
        }
        graph.add(path, sequence, {});
      }
    }
  }
}
