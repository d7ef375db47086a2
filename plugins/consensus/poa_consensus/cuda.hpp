// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Partial order alignment and consensus on a CUDA device: the same bytes as graph.hpp, alignment.hpp, heaviest_bundle.hpp and columns.hpp give for
// global alignment with linear gaps. A warp takes a window from the first sequence to the consensus; nothing returns to the host between.
//
// Windows that do not fit are left to the CPU, and counted by reason. What fits: sequences of up to most_letters_of_sequence letters of ACGTNU, nodes
// with up to most_in_edges in-edges, graphs of 65,000 nodes, scores of 15 bits, sums of weights of 31 bits. Sequences are counted in 32 bits, as on
// the CPU.

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace sluice::poa_consensus::cuda {

constexpr int most_in_edges = 32;
constexpr int most_letters_of_sequence = 1023;

enum class Outcome : std::uint8_t {
  done,
  too_long_sequence,
  unknown_letter,
  too_many_nodes,
  too_many_in_edges,
  too_many_kept_rows,  // that rows far behind them are reached from
  too_large_scores,
  too_long_consensus,
  unfit_input,  // fewer than min_sequences, or columns that do not fit each other: the CPU knows what to do
};
constexpr int outcomes = 9;

struct LinearScoring {  // in [-128, 127]; the gap in [-127, -1]
  std::int32_t match, mismatch, gap;
};

enum class Consensus : std::uint8_t { heaviest_bundle, majority };
enum class UndecidedColumn : std::uint8_t { keep_template, take_letter };
struct Majority {
  UndecidedColumn undecided = UndecidedColumn::take_letter;
  std::uint32_t support = 0;
};

struct WindowRules {
  LinearScoring scoring{5, -4, -8};
  Consensus consensus = Consensus::heaviest_bundle;
  Majority majority;
  std::int32_t min_sequences = 1;
  std::int32_t rounds = 1;  // of merging all sequences, as in window_consensus.hpp; more than one with Consensus::majority only
};

// The columns of windows on the device. What may be null says what then holds. Offsets are those of Arrow lists: count + 1 each.
struct DeviceWindows {
  std::int64_t count = 0;
  std::int64_t sequences = 0;                  // of all windows
  std::int64_t letter_count = 0;               // of all windows
  const std::int64_t* text_offsets = nullptr;  // of a window's letters
  const char* letters = nullptr;               // upper case, sequence after sequence
  const std::int64_t* sequence_offsets = nullptr;
  const std::int32_t* length = nullptr;               // of a sequence
  const std::int64_t* quality_offsets = nullptr;      // null: every letter weighs 1; as in windows with no qualities
  const char* qualities = nullptr;                    // Phred + 33
  const std::int64_t* layer_begin_offsets = nullptr;  // null: every sequence is aligned to the whole graph
  const std::int32_t* layer_begin = nullptr;          // of a sequence, on sequence 0
  const std::int64_t* layer_end_offsets = nullptr;
  const std::int32_t* layer_end = nullptr;    // inclusive
  const std::int32_t* order = nullptr;        // of a sequence: which of its window's sequences has its turn; null: as they come
  const std::uint16_t* row_status = nullptr;  // not 0: the window is passed over; null: none is
};

// The graphs of windows on the device, for graph_paths.hpp; all null: not wanted. A window's letters begin where its text does, its nodes where its
// text and its consensus do, and its guide where its consensus does.
struct DeviceGraphs {
  std::uint16_t* node = nullptr;          // of a letter
  std::uint16_t* aligned_from = nullptr;  // of a node: an older one of its column, or 0xFFFF
  char* guide = nullptr;                  // the consensus of the round before the last
  std::uint32_t* nodes = nullptr;         // of a window
  std::uint32_t* guide_length = nullptr;  // of a window
};

// Results on the device. A window's consensus begins at offsets[window].
struct DeviceConsensus {
  std::int64_t* offsets = nullptr;   // count + 1
  char* bases = nullptr;             // offsets[count]
  std::int32_t* coverage = nullptr;  // likewise; null: not wanted
  std::int32_t* support = nullptr;   // likewise
  std::uint32_t* length = nullptr;   // count
  Outcome* outcome = nullptr;        // count
  DeviceGraphs graph;
};

// Gives memory of the device until the work is done.
using Allocate = std::function<void*(std::size_t bytes)>;

// Sizes of a batch of windows, and the order in which they are taken.
struct WindowPlan {
  static constexpr int widths = 8;  // words of two columns a lane: see cuda.cu
  static constexpr int capacities = 12;
  std::array<std::uint32_t, widths * capacities> windows{};  // by width and capacity
  std::int64_t consensus_room = 0;
  const std::uint32_t* order = nullptr;           // on the device, windows by falling width, capacity and work
  const std::uint32_t* sequence_begin = nullptr;  // on the device, of a sequence in its window's letters
};

// Measures the windows, fills result.offsets, outcome of windows that are left to the CPU from the start, and the plan. Waits for the device.
WindowPlan plan_windows(const DeviceWindows& windows, const WindowRules& rules, const DeviceConsensus& result, cudaStream_t stream,
                        const Allocate& allocate);

// Fills result. `scratch_bytes`: memory of all kernels that may be used beside the results; less is taken where `allocate` says that there is none
// (Failure, SLUICE_ERROR_DEVICE_MEMORY), down to one block of each. Does not wait.
void make_consensus(const DeviceWindows& windows, const WindowRules& rules, const WindowPlan& plan, const DeviceConsensus& result, int device,
                    std::size_t scratch_bytes, cudaStream_t stream, const Allocate& allocate);

// The consensuses one after the other, without the room between them. `result` as make_consensus() left it.
struct PackedConsensus {
  std::int64_t* begin = nullptr;     // on the device, count + 1
  char* bases = nullptr;             // on the device
  std::int32_t* coverage = nullptr;  // on the device; null if it was not wanted
  std::int32_t* support = nullptr;   // likewise
};
PackedConsensus pack_consensus(const DeviceConsensus& result, std::int64_t count, std::int64_t consensus_room, cudaStream_t stream,
                               const Allocate& allocate);

}  // namespace sluice::poa_consensus::cuda
