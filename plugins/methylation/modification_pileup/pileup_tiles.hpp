// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Counts of what reads show at the positions of a contig: how many are in which state. Tiles of 1,024 positions come into being under the first read
// that reaches them, so several threads count at once, each in tiles of its own.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <sluice/saved_state.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "modification_pileup/base_calls.hpp"

namespace sluice::modification_pileup {

enum class Strand : std::uint8_t { forward, reverse };

// What one counter of a position counts: reads of one partition on one strand in one state.
struct Slot {
  enum class Kind : std::uint8_t { deleted, other, no_call, canonical, failed, modified };
  std::uint32_t partition = 0;
  Strand strand = Strand::forward;
  Kind kind = Kind::other;
  std::uint8_t base = 0;                 // on its strand; of all kinds but the first two
  ModificationCode code = 0;             // modified
  std::vector<ModificationCode> choice;  // of the last three kinds: codes that had been looked for, ascending
};

// What a read says, with the views of a batch.
struct ReadStates {
  Strand strand = Strand::forward;
  std::string_view partition;
  std::span<const std::int64_t> block_start, block_length;
  std::span<const std::uint8_t> base, opposite;
  std::span<const std::int32_t> kinds;
};

// Numbers slots and partitions as they are met.
class SlotTable {
 public:
  // The slots of a read's states on a strand, by state: those before state_call first. Throws std::runtime_error for what is no read of
  // modification_calls, or when there are more kinds than anybody has.
  using List = std::shared_ptr<const std::vector<std::uint32_t>>;
  List slots_of(const ReadStates& read, Strand strand);

  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<std::string>& partitions() const { return partitions_; }
  void save(StateWriter& to) const;
  // Adds the slots that were saved: their numbers here, by those that they had. Throws Failure::input.
  std::vector<std::uint32_t> restore(StateReader& from);

 private:
  static constexpr std::size_t most_slots = std::size_t{1} << 16, most_partitions = 1000, most_lists = 4096;  // of the last, remembered
  std::uint32_t partition_index(std::string_view name);
  std::uint32_t slot_index(Slot slot);
  std::vector<Slot> slots_;
  std::map<std::vector<std::int32_t>, std::uint32_t> slot_indices_;
  std::vector<std::string> partitions_;
  std::map<std::string, std::uint32_t, std::less<>> partition_indices_;
  std::map<std::vector<std::int32_t>, List> lists_;  // of reads with the same kinds in the same order
};

inline constexpr std::int64_t tile_positions = 1024;

class Tile {
 public:
  using Plane = std::array<std::uint32_t, static_cast<std::size_t>(tile_positions)>;
  // nullptr: nothing has been counted there.
  const Plane* plane(std::uint32_t slot) const { return slot < planes_.size() ? planes_[slot].get() : nullptr; }
  Plane& at(std::uint32_t slot);
  std::size_t memory_bytes() const { return planes_.size() * sizeof(void*) + used_ * sizeof(Plane); }
  void save(StateWriter& to) const;
  // Adds the counts that were saved. slots: see SlotTable::restore.
  void restore(StateReader& from, std::span<const std::uint32_t> slots);

 private:
  std::vector<std::unique_ptr<Plane>> planes_;
  std::size_t used_ = 0;
};

// The tiles of one contig by number: tile i has positions from i * tile_positions on.
using Tiles = std::map<std::int64_t, Tile>;

// Calls body(i) for each i below count, on any thread and in any order; back when all are done.
using Parallel = std::function<void(std::size_t count, const std::function<void(std::size_t)>& body)>;

// Counts reads of one contig. Throws std::runtime_error for what is no read of modification_calls.
void count_reads(std::span<const ReadStates> reads, SlotTable& table, Tiles& tiles, const Parallel& parallel);

}  // namespace sluice::modification_pileup
