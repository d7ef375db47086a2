// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The aligned bases of a record: from the CIGAR, cut as f5c eventalign cuts them.

#include "event_alignment/event_alignment.hpp"

namespace sluice::event_alignment {

// Fills workspace.blocks with the runs of aligned bases between clip_start and clip_end whose read position is at most read_length - k, stretch by
// stretch: CIGAR's N operations divide. Stretches end at workspace.block_ends; the first empty one is the last (f5c stops a record there).
RecordStatus list_aligned_bases(const Record& record, std::uint32_t k, const Settings& settings, Workspace& workspace);

// The aligned bases of one stretch, walked from its first to its last.
class AlignedBases {
 public:
  struct Pair {
    std::int64_t position;
    std::int64_t read_position;
    bool is_last;
  };
  explicit AlignedBases(std::span<const Workspace::AlignedBlock> blocks) : blocks_(blocks) {}

  Pair first() const { return {blocks_.front().position, blocks_.front().read_position, blocks_.size() == 1 && blocks_.front().length == 1}; }
  Pair last() const { return at_or_before(blocks_.size() - 1, std::numeric_limits<std::int64_t>::max()); }
  // The last pair at or before `position`, which is not before the place that advance() was given.
  Pair last_within(std::int64_t position) const;
  // Later questions are about positions from this one on.
  void advance(std::int64_t position);

 private:
  std::size_t block_of(std::int64_t position) const;
  Pair at_or_before(std::size_t block, std::int64_t position) const;

  std::span<const Workspace::AlignedBlock> blocks_;
  std::size_t current_ = 0;
};

}  // namespace sluice::event_alignment
