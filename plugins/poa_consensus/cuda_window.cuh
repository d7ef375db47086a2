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

template <int halves>
__device__ inline Outcome consensus_of_window(Graph& g, SharedMemory<halves>& shared, const DeviceWindows& windows, const WindowRules& rules,
                                              const std::uint32_t* sequence_begin, std::int64_t window, const DeviceConsensus& result,
                                              std::uint32_t& length) {
  const int lane = lane_id();
  const std::int64_t first = windows.sequence_offsets[window];
  const auto sequences = static_cast<std::uint32_t>(windows.sequence_offsets[window + 1] - first);
  const char* const letters = windows.letters + windows.text_offsets[window];
  const char* qualities = nullptr;
  if (windows.quality_offsets != nullptr && windows.quality_offsets[window] < windows.quality_offsets[window + 1])
    qualities = windows.qualities + windows.quality_offsets[window];
  const LinearScoring& scoring = rules.scoring;
  const std::int32_t largest = max(max(abs(scoring.match), abs(scoring.mismatch)), abs(scoring.gap));
  g.nodes = 0;
  g.rows = 0;
  for (std::uint32_t turn = 0; turn < sequences; ++turn) {
    const std::uint32_t index = windows.order == nullptr ? turn : static_cast<std::uint32_t>(windows.order[first + turn]);
    const std::uint32_t begin = sequence_begin[first + index];
    const Sequence sequence{letters + begin, qualities == nullptr ? nullptr : qualities + begin, static_cast<std::uint32_t>(windows.length[first + index]), turn == 0};
    if (sequence.length == 0) continue;
    std::uint32_t first_row = 0;
    if (g.nodes == 0) {
      for (std::uint32_t i = static_cast<std::uint32_t>(lane); i < sequence.length; i += warp_lanes) shared.path[i] = 0;
      synchronize_warp();
    } else {
      const Outcome listed = list_rows(g, part_of_layer(windows, window, index, windows.length[first]), Columns<halves>::ring);
      if (listed != Outcome::done) return listed;
      if ((static_cast<std::int32_t>(g.rows) + Columns<halves>::count) * largest > most_score) return Outcome::too_large_scores;
      const std::uint32_t end = fill_directions<halves>(g, sequence, scoring, shared.ring);
      first_row = walk_back<halves>(g, sequence.length, end, shared.ring, shared.path);
    }
    const Outcome added = add_sequence(g, sequence, shared.path, first_row, shared.behind);
    if (added != Outcome::done) return added;
  }
  length = 0;
  if (g.nodes == 0) return Outcome::done;
  const Outcome listed = list_rows(g, {}, g.node_capacity);
  if (listed != Outcome::done) return listed;
  const std::int64_t place = result.offsets[window];
  const ConsensusText text{result.bases + place, result.coverage == nullptr ? nullptr : result.coverage + place,
                           static_cast<std::uint32_t>(result.offsets[window + 1] - place)};
  if (rules.consensus == Consensus::majority) return column_majority(g, sequences, rules.majority, text, length);
  return heaviest_bundle(g, shared.ring, Columns<halves>::ring_bytes / sizeof(std::uint32_t), text, length);
}

}  // namespace sluice::poa_consensus::cuda
