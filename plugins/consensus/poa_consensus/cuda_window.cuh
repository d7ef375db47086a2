// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A window from its first sequence to the consensus, by one warp.

#include "poa_consensus/cuda_alignment.cuh"
#include "poa_consensus/cuda_consensus.cuh"

namespace sluice::poa_consensus::cuda {

// The part of the graph that a sequence is aligned to, as window_consensus.cpp has it.
__device__ inline Part part_of_layer(const DeviceWindows& windows, std::int64_t window, std::uint32_t index, std::int32_t template_length) {
  if (windows.layer_begin_offsets == nullptr || windows.layer_begin_offsets[window] == windows.layer_begin_offsets[window + 1]) return {};
  const std::int32_t begin = windows.layer_begin[windows.layer_begin_offsets[window] + index];
  const std::int32_t end = windows.layer_end[windows.layer_end_offsets[window] + index];
  const auto tolerance = static_cast<std::int32_t>(0.01 * template_length);
  if (begin < tolerance && end > template_length - tolerance) return {};
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

// Merges the sequences of a window, and behind the last lists the rows of the whole graph. `guide`: the consensus of the round before, if there was
// one.
template <int halves>
__device__ inline Outcome merge_sequences(Graph& g, SharedMemory<halves>& shared, const DeviceWindows& windows, const WindowRules& rules,
                                          const std::uint32_t* sequence_begin, std::int64_t window, const Sequence& guide,
                                          const DeviceGraphs& wanted) {
  const int lane = lane_id();
  const std::int64_t first = windows.sequence_offsets[window], first_of_batch = windows.sequence_offsets[0];
  const auto sequences = static_cast<std::int32_t>(windows.sequence_offsets[window + 1] - first);
  const std::int64_t text = windows.text_offsets[window];
  const char* qualities = nullptr;
  if (windows.quality_offsets != nullptr && windows.quality_offsets[window] < windows.quality_offsets[window + 1])
    qualities = windows.qualities + windows.quality_offsets[window];
  const LinearScoring& scoring = rules.scoring;
  const std::int32_t largest = max(max(abs(scoring.match), abs(scoring.mismatch)), abs(scoring.gap));
  g.nodes = 0;
  g.rows = 0;
  if (lane == 0) *g.blocks_taken() = 0;
  for (std::int32_t turn = guide.is_template ? -1 : 0; turn <= sequences; ++turn) {
    Sequence sequence = guide;
    Part part;
    if (turn >= 0 && turn < sequences) {
      const std::uint32_t index =
          windows.order == nullptr ? static_cast<std::uint32_t>(turn) : static_cast<std::uint32_t>(windows.order[first - first_of_batch + turn]);
      const std::uint32_t begin = sequence_begin[first - first_of_batch + index];
      sequence = {windows.letters + text + begin,
                  qualities == nullptr ? nullptr : qualities + begin,
                  static_cast<std::uint32_t>(windows.length[first + index]),
                  1,
                  turn == 0 && !guide.is_template,
                  wanted.node == nullptr ? nullptr : wanted.node + (text - windows.text_offsets[0]) + begin};
      part = part_of_layer(windows, window, index, windows.length[first]);
    }
    const bool is_last = turn == sequences;
    if (sequence.length == 0 && !is_last) continue;
    std::uint32_t first_row = 0;
    if (g.nodes == 0) {
      for (std::uint32_t i = static_cast<std::uint32_t>(lane); i < sequence.length; i += warp_lanes) shared.path[i] = 0;
      synchronize_warp();
    } else {
      const Outcome listed = list_rows(g, part, is_last ? g.node_capacity : Columns<halves>::ring);
      if (listed != Outcome::done || is_last) return listed;
      if ((static_cast<std::int32_t>(g.rows) + Columns<halves>::count) * largest > most_score) return Outcome::too_large_scores;
      const std::uint32_t end = fill_directions<halves>(g, sequence, scoring, shared);
      first_row = walk_back<halves>(g, sequence.length, end, shared);
    }
    if (is_last) break;
    const Outcome added = add_sequence(g, sequence, shared.path, first_row, shared.behind);
    if (added != Outcome::done) return added;
  }
  return Outcome::done;
}

// What is left of a graph behind its paths: by the warp.
__device__ inline void give_graph(const Graph& g, const DeviceGraphs& wanted, std::int64_t window, std::int64_t text, std::int64_t place,
                                  const Sequence& guide) {
  const auto lane = static_cast<std::uint32_t>(lane_id());
  const std::uint32_t guide_length = guide.is_template ? guide.length : 0;
  for (std::uint32_t node = lane; node < g.nodes; node += warp_lanes) {
    wanted.aligned_from[text + place + node] = g.aligned_from()[node];
    if (node < guide_length) wanted.guide[place + node] = letter_of(g.letter()[node]);
  }
  if (lane == 0) {
    wanted.nodes[window] = g.nodes;
    wanted.guide_length[window] = guide_length;
  }
}

template <int halves>
__device__ inline Outcome consensus_of_window(Graph& g, SharedMemory<halves>& shared, const DeviceWindows& windows, const WindowRules& rules,
                                              const std::uint32_t* sequence_begin, std::int64_t window, const DeviceConsensus& result,
                                              std::uint32_t& length) {
  const auto sequences = static_cast<std::uint32_t>(windows.sequence_offsets[window + 1] - windows.sequence_offsets[window]);
  const std::int64_t place = result.offsets[window];
  const ConsensusText text{result.bases + place, result.coverage == nullptr ? nullptr : result.coverage + place,
                           result.support == nullptr ? nullptr : result.support + place,
                           static_cast<std::uint32_t>(result.offsets[window + 1] - place)};
  const bool has_layers = windows.layer_begin_offsets != nullptr && windows.layer_begin_offsets[window] < windows.layer_begin_offsets[window + 1];
  const std::int32_t rounds = has_layers ? 1 : rules.rounds;
  Sequence guide{text.bases, nullptr, 0, 0, false};
  for (std::int32_t round = 0; round < rounds; ++round) {
    if (round > 0) {
      if (length >= Columns<halves>::count) return Outcome::too_long_sequence;
      guide.length = length;
      guide.is_template = true;
    }
    const Outcome merged = merge_sequences<halves>(g, shared, windows, rules, sequence_begin, window, guide, result.graph);
    if (merged != Outcome::done) return merged;
    if (result.graph.node != nullptr) give_graph(g, result.graph, window, windows.text_offsets[window] - windows.text_offsets[0], place, guide);
    length = 0;
    if (g.nodes == 0) return Outcome::done;
    const Outcome made = rules.consensus == Consensus::majority
                             ? column_majority(g, sequences, rules.majority, guide.is_template ? Template::is_guide : Template::counts, text, length)
                             : heaviest_bundle(g, shared.ring, Columns<halves>::ring_bytes / sizeof(std::uint32_t), text, length);
    if (made != Outcome::done) return made;
    synchronize_warp();
  }
  return Outcome::done;
}

}  // namespace sluice::poa_consensus::cuda
