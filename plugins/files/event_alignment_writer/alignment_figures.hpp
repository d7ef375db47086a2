// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a run found, for its report: how well events fit the reference, and the squiggles of three reads.

#include <cstdint>
#include <sluice/stage.hpp>

#include "event_alignment_writer/event_path.hpp"
#include "event_alignment_writer/raw_signal.hpp"

namespace sluice::event_alignment_writer {

inline constexpr std::uint32_t most_squiggles = 3;

// The figures of the committed rows of a batch.
void give_figures(const Call& call, const Batch& in);
// Some tens of events from the middle of the read, with their samples. False: it has too few, or events that do not lie in its signal.
bool give_squiggle(const Call& call, const Alignment& alignment, const RawSignal& signal, std::uint32_t k, std::uint32_t number);
// From finish().
void describe_figures(const Call& call);

}  // namespace sluice::event_alignment_writer
