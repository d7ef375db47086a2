// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which channel sequences each simulated read, when, and which two molecules come as one read of the sequencer, which the basecaller splits.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulate_signal/simulate_read.hpp"

namespace sluice::simulate_signal {

inline constexpr std::int32_t flow_cell_channels = 512;

// The sequencer's read that a molecule is in.
struct SequencedRead {
  std::int64_t start_sample = 0;  // since the run began
  std::int32_t channel = 1;       // from 1
  std::int32_t mux = 1;           // 1 to 4
  std::int32_t read_number = 0;   // on the channel
  // Place of the other molecule of a read that the basecaller splits, -1: there is none.
  std::int64_t partner = -1;
  bool is_first = true;  // in time, of the two
};

// One a place, in their order. Reads of a channel do not overlap: each has half as much time again as its k-mers take on average.
// `split_share` of the molecules are in reads of two, neighbours in the order of places.
std::vector<SequencedRead> plan_sequencing(const SimulationParameters& parameters, std::span<const Placement> places, double split_share);

// The id of the sequencer's read of two molecules, of which `index` is the number of the first in the order of places.
std::string parent_id(std::uint64_t seed, std::int64_t index);

// Why the sequencer ended the read of this number: signal_positive, of a few unblock_mux_change or mux_change.
std::string_view end_reason(std::uint64_t seed, std::int64_t index);

}  // namespace sluice::simulate_signal
