// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Votes on the consensuses of windows on a CUDA device: the same bytes as consensus_vote.hpp gives. A warp takes a window through all its votes, a
// lane each of 32 sequences at a time (window_vote.hpp).
//
//   plan_votes      checks the windows, and says how long their consensuses are; waits for the device
//   cast_votes      consensuses and which of their bases are sites
//   place_votes     where the outcome of each window goes
//   write_votes     writes it there: consensuses, and the letters at the sites, which are aligned once more for that
//
// Windows that a device can't do are left to the CPU: those of more than most_voters sequences, of consensuses for which most_columns are no room,
// and of sequences with about 128 differences or more, whose paths may leave the band.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace sluice::read_correction::cuda {

inline constexpr std::int32_t most_columns = 640;

enum class Outcome : std::uint8_t {
  absent,  // the row has failed before
  bad,     // lengths, letters and qualities of the sequences do not fit each other
  kept,    // nobody votes
  voted,
  left,  // to the CPU
};

// The columns of windows on the device. Offsets are those of Arrow lists: count + 1 each.
struct DeviceWindows {
  std::int64_t count = 0;
  const std::int64_t* text_offsets = nullptr;  // of a window's letters
  const char* letters = nullptr;               // sequence after sequence
  const std::int64_t* sequence_offsets = nullptr;
  const std::int32_t* length = nullptr;           // of a sequence
  const std::int64_t* quality_offsets = nullptr;  // null: every letter has one vote; as in windows with no qualities
  const char* qualities = nullptr;                // Phred + 33
  const std::int64_t* consensus_offsets = nullptr;
  const char* consensus = nullptr;
  const std::uint8_t* is_polished = nullptr;
  const std::uint16_t* row_status = nullptr;  // not 0: the row has failed; null: none has
};

struct VoteRules {
  std::int32_t rounds = 1;
  bool wants_sites = false;
};

// Room for a consensus that may become longer by votes. Longer ones are left to the CPU.
constexpr std::int64_t room_of(std::int64_t bases) { return bases + bases / 4 + 32; }

// Of a batch.
struct VotePlan {
  std::uint32_t windows = 0;  // that are voted on
  std::int32_t columns = 0;   // room of the longest of their consensuses
};
constexpr std::size_t mask_words(const VotePlan& plan) { return (static_cast<std::size_t>(plan.columns) + 31) / 32; }

// Results on the device. Windows that are left, or have failed, have no letters.
struct DeviceVotes {
  Outcome* outcome = nullptr;
  // count + 1 each: of window i how many there are at i + 1; behind place_votes() where those of window i begin at i.
  std::int64_t* text = nullptr;          // letters of the consensus
  std::int64_t* sites = nullptr;         // null, as what follows: not wanted
  std::int64_t* site_letters = nullptr;  // one of each sequence for each site
  // Of each window in a place of its own, from plan_votes() on.
  char* room = nullptr;                // plan.columns
  std::uint32_t* site_mask = nullptr;  // a bit for each base: mask_words(plan)
};

// On the device, as long as place_votes() says.
struct WrittenVotes {
  char* text = nullptr;
  std::int32_t* site_places = nullptr;
  char* site_letters = nullptr;
};

// Gives memory of the device until the work is done; a Failure where there is none.
using Allocate = std::function<void*(std::size_t bytes)>;

// Fills all of `votes` that has count values.
VotePlan plan_votes(const DeviceWindows& windows, const VoteRules& rules, const DeviceVotes& votes, cudaStream_t stream, const Allocate& allocate);

// What the warps of the kernels work in.
struct VoteScratch {
  std::byte* memory = nullptr;
  unsigned int blocks = 0;
  std::uint32_t* turn = nullptr;  // whose turn it is
};
// `most_bytes` at the most, if that is enough for one block, and less where `allocate` says that there is no more (SLUICE_ERROR_DEVICE_MEMORY).
VoteScratch make_scratch(const DeviceWindows& windows, const VotePlan& plan, int device, std::size_t most_bytes, const Allocate& allocate);

// These do not wait.
void cast_votes(const DeviceWindows& windows, const VoteRules& rules, const VotePlan& plan, const VoteScratch& scratch, const DeviceVotes& votes,
                cudaStream_t stream);
void place_votes(const DeviceWindows& windows, const DeviceVotes& votes, cudaStream_t stream, const Allocate& allocate);
void write_votes(const DeviceWindows& windows, const VotePlan& plan, const VoteScratch& scratch, const DeviceVotes& votes,
                 const WrittenVotes& written, cudaStream_t stream);

}  // namespace sluice::read_correction::cuda
