// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The tags that dorado would have written of a simulated read (dorado's SAM specification and source up to 1.4, tried out on its test files).

#include <cstdint>
#include <sluice/sequencing_run.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "simulate_signal/sequencing_plan.hpp"
#include "simulate_signal/simulate_read.hpp"

namespace sluice::simulate_signal {

// Samples that the basecaller has cut from the front of the sequencer's read before it looked for adapters and split it. RNA: none.
inline constexpr std::int64_t trimmed_front = 10;

// How the basecaller writes the start of a part of a split read (sp): dorado before 2.1.0 does not count what was cut from the front of DNA.
enum class SplitStart : std::uint8_t { behind_trimmed_front, in_the_read };
// "2.1.0": by numbers, as far as there are any.
SplitStart split_start_of(std::string_view dorado_version);

struct TagParameters {
  bool moves = false;            // mv
  bool poly_a = false;           // pt and pa, of the true tail
  std::int64_t stride = 5;       // samples a block of moves
  bool is_scaled_in_pa = false;  // sv: pa, else med_mad
  SplitStart split_start = SplitStart::in_the_read;
};

// Where the parts of a read begin, in samples of its own signal.
struct ReadBorders {
  std::vector<std::int64_t> base;  // of each base of the read, in the order of time: where its block begins
  std::int64_t tail = 0;           // RNA: where the poly(A) tail begins, or the molecule if it has none
  std::int64_t molecule = 0;       // where the molecule begins
};
// Of DNA a base begins with the k-mer that has it one behind its dominant base, as moves do: the 8th of 9-mers (R10.4.1), the 4th of 6-mers (R9); of
// RNA with the k-mer whose third (9-mers) or second base from 5' it is. Bases before the first and behind the last k-mer begin with these.
// `read` must have its signal.
ReadBorders borders_of(const Simulator::Read& read, const Placement& place, Molecule molecule, std::uint32_t k);

// Of all that is needed to write the tags of one read.
struct TaggedRead {
  const Simulator::Read* read = nullptr;
  Placement place;
  SequencedRead sequenced;
  std::string parent_id;             // "": not split
  std::int64_t start_in_parent = 0;  // samples
};
// Encoded as in BAM. No mv if the signal has fewer blocks than the read bases.
std::string basecaller_tags(const TaggedRead& tagged, const SequencingRun& run, const TagParameters& parameters, Molecule molecule, std::uint32_t k);

}  // namespace sluice::simulate_signal
