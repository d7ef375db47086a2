// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How a record is walked, for the CPU and for CUDA: its aligned bases from the CIGAR, cut as f5c eventalign cuts them, and its segments. No
// allocation, so that device code can call everything here.

#include <cstdint>
#include <limits>
#include <sluice/base_to_event.hpp>
#include <span>

#include "event_alignment/event_alignment.hpp"

namespace sluice::event_alignment {

// The parts of a record and of the settings that decide which bases are aligned.
struct Walk {
  std::int64_t contig_length = 0;
  std::int64_t ref_start = 0;
  std::int64_t read_length = 0;
  std::int64_t k = 0;
  Strand strand = Strand::forward;
  std::span<const std::int32_t> first_event;
  HardClips hard_clips = HardClips::count;
  std::int64_t clip_start = 0;
  std::int64_t clip_end = std::numeric_limits<std::int64_t>::max();
};

// One operation of a CIGAR.
struct CigarStep {
  std::int64_t length;
  std::int64_t on_contig, on_read;  // how far it advances
  bool is_aligned;
  bool ends_stretch;
  bool is_defined;  // in BAM
};

constexpr CigarStep cigar_step(std::uint32_t word, HardClips hard_clips) {
  const std::int64_t length = word >> 4U;
  switch (static_cast<CigarOperation>(word & 0xFU)) {
    case CigarOperation::match:
    case CigarOperation::equal:
    case CigarOperation::difference:
      return {length, length, length, true, false, true};
    case CigarOperation::insertion:
    case CigarOperation::soft_clip:
      return {length, 0, length, false, false, true};
    case CigarOperation::deletion:
      return {length, length, 0, false, false, true};
    case CigarOperation::reference_skip:
      return {length, length, 0, false, true, true};
    case CigarOperation::hard_clip:
      return {length, 0, hard_clips == HardClips::count ? length : 0, false, false, true};
    case CigarOperation::padding:
      return {length, 0, 0, false, false, true};
    case CigarOperation::back:
    default:
      return {length, 0, 0, false, false, false};
  }
}

// Whether aligned bases are outside the contig, or behind 2^31 - 1.
constexpr bool are_outside(const Walk& walk, std::int64_t position, std::int64_t length) {
  constexpr std::int64_t last_position = std::numeric_limits<std::int32_t>::max();
  const std::int64_t contig_end = walk.contig_length < last_position ? walk.contig_length : last_position;
  return length > 0 && (position < 0 || position + length > contig_end);
}

// The bases of a run between clip_start and clip_end whose read position is at most read_length - k; none if the length is not above 0.
constexpr AlignedBlock walked_part(const Walk& walk, std::int64_t position, std::int64_t read_position, std::int64_t length) {
  const auto lower = [](std::int64_t a, std::int64_t b) { return a < b ? a : b; };
  const std::int64_t skipped = walk.clip_start > position ? walk.clip_start - position : 0;
  const std::int64_t kept = lower(lower(length - 1, walk.clip_end - position), walk.read_length - walk.k - read_position) + 1 - skipped;
  return {position + skipped, read_position + skipped, kept};
}

// Calls add(block) for each run of aligned bases that is walked, and end_stretch() behind the runs of each stretch: CIGAR's N operations divide. The
// first stretch without any is the last (f5c stops a record there).
template <class Add, class EndStretch>
constexpr RecordStatus list_aligned_bases(const Walk& walk, std::span<const std::uint32_t> cigar, const Add& add, const EndStretch& end_stretch) {
  std::int64_t position = walk.ref_start;
  std::int64_t read_position = 0;
  bool is_empty = true, stopped = false;
  for (const std::uint32_t word : cigar) {
    const CigarStep step = cigar_step(word, walk.hard_clips);
    if (!step.is_defined) return RecordStatus::bad_cigar;
    if (step.is_aligned) {
      if (are_outside(walk, position, step.length)) return RecordStatus::outside_contig;
      const AlignedBlock block = walked_part(walk, position, read_position, step.length);
      if (block.length > 0 && !stopped) {
        add(block);
        is_empty = false;
      }
    }
    position += step.on_contig;
    read_position += step.on_read;
    if (step.ends_stretch) {
      stopped = stopped || is_empty;
      if (!stopped) end_stretch();
      is_empty = true;
    }
  }
  if (!stopped && !is_empty) end_stretch();
  return RecordStatus::ok;
}

// The aligned bases of one stretch, walked from its first to its last.
class AlignedBases {
 public:
  struct Pair {
    std::int64_t position;
    std::int64_t read_position;
    bool is_last;
  };
  constexpr explicit AlignedBases(std::span<const AlignedBlock> blocks) : blocks_(blocks) {}

  constexpr Pair first() const { return at_or_before(0, blocks_.front().position); }
  constexpr Pair last() const { return at_or_before(blocks_.size() - 1, std::numeric_limits<std::int64_t>::max()); }
  // The last pair at or before `position`, which is not before the place that advance() was given.
  constexpr Pair last_within(std::int64_t position) const { return at_or_before(block_of(position), position); }
  // Later questions are about positions from this one on.
  constexpr void advance(std::int64_t position) { current_ = block_of(position); }
  // The same for any position, in logarithmic time.
  constexpr void seek(std::int64_t position) {
    current_ = last_block([position](const AlignedBlock& block) { return block.position <= position; });
  }
  // On the contig: that of the last aligned base at or before a read position, or the first one's.
  constexpr std::int64_t position_of(std::int64_t read_position) const {
    const AlignedBlock& block = blocks_[last_block([read_position](const AlignedBlock& b) { return b.read_position <= read_position; })];
    const std::int64_t wanted = read_position - block.read_position;
    return block.position + (wanted < 0 ? 0 : wanted < block.length ? wanted : block.length - 1);
  }

 private:
  constexpr std::size_t block_of(std::int64_t position) const {
    std::size_t block = current_;
    while (block + 1 < blocks_.size() && blocks_[block + 1].position <= position) ++block;
    return block;
  }
  // The last block for which `begins_before` holds, or the first one.
  template <class BeginsBefore>
  constexpr std::size_t last_block(const BeginsBefore& begins_before) const {
    std::size_t low = 0, high = blocks_.size();
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      (begins_before(blocks_[middle]) ? low : high) = middle;
    }
    return low;
  }
  constexpr Pair at_or_before(std::size_t block, std::int64_t position) const {
    const AlignedBlock& found = blocks_[block];
    const std::int64_t wanted = position - found.position;
    const std::int64_t offset = wanted < found.length - 1 ? wanted : found.length - 1;
    return {found.position + offset, found.read_position + offset, block + 1 == blocks_.size() && offset == found.length - 1};
  }

  std::span<const AlignedBlock> blocks_;
  std::size_t current_ = 0;
};

// One segment of a stretch. Its rows are the events first_event + t * step.
struct SegmentPlace {
  std::int64_t first_event;
  std::int64_t rows;
  std::int64_t step;
  std::int64_t position;  // of its first base
  std::int64_t length;    // bases
  bool is_last;           // its path is kept whole
};

// Where the kept part of a path ends; that there is none: written is 0.
struct SegmentEnd {
  std::int64_t written;
  std::int64_t event;
  std::int64_t position;
};

// An event of the path, and the position of its k-mer.
struct PathPlace {
  std::int64_t event;
  std::int64_t position;
};

// Where the walk of a stretch begins and ends.
struct StretchEnds {
  PathPlace first;
  std::int64_t last_event;
  bool is_walked;  // false: there are no events
  constexpr std::int64_t step() const { return first.event < last_event ? 1 : -1; }
};

constexpr std::int64_t event_at(const Walk& walk, std::int64_t read_position) {
  return nearest_event(walk.first_event, walk.strand == Strand::forward ? read_position : walk.read_length - read_position - walk.k);
}

constexpr StretchEnds ends_of(const Walk& walk, const AlignedBases& bases) {
  const AlignedBases::Pair first = bases.first();
  const std::int64_t event = event_at(walk, first.read_position), last_event = event_at(walk, bases.last().read_position);
  return {{event, first.position}, last_event, event >= 0 && last_event >= 0};
}

// The segment that begins at `at`. False: the walk ends there.
constexpr bool next_segment(const Walk& walk, const AlignedBases& bases, const StretchEnds& ends, const PathPlace& at, SegmentPlace& segment) {
  if (ends.step() > 0 ? at.event >= ends.last_event : at.event <= ends.last_event) return false;
  const AlignedBases::Pair end = bases.last_within(at.position + kSegmentReach);
  const std::int64_t length = end.position - at.position + 1;
  if (length < 2 * walk.k) return false;
  const std::int64_t stop_event = event_at(walk, end.read_position);
  const std::int64_t distance = stop_event < at.event ? at.event - stop_event : stop_event - at.event;
  if (stop_event < 0 || distance < 2) return false;
  segment = {at.event, distance + 1, stop_event < at.event ? -1 : 1, at.position, length, end.is_last};
  return true;
}

// Walks one stretch: align(segment) finds a segment's path, keeps its part, and says where that ends. `most_rows`: a segment with more ends the walk.
template <class Align>
constexpr RecordStatus walk_segments(const Walk& walk, AlignedBases bases, std::int64_t most_rows, const Align& align) {
  const StretchEnds ends = ends_of(walk, bases);
  if (!ends.is_walked) return RecordStatus::ok;
  PathPlace at = ends.first;
  SegmentPlace segment{};
  while (next_segment(walk, bases, ends, at, segment)) {
    if (segment.rows > most_rows) return RecordStatus::stalled;
    const SegmentEnd kept = align(segment);
    if (kept.written == 0) break;
    at = {kept.event, kept.position};
    bases.advance(at.position);
  }
  return RecordStatus::ok;
}

// A likely position of the path at `event`: that of the k-mer to which the base-to-event map gives the event.
constexpr std::int64_t likely_position(const Walk& walk, const AlignedBases& bases, std::int64_t event) {
  // k-mers below `low` begin at or before the event, or have none; those from `high` on begin behind it, or have none.
  std::size_t low = 0, high = walk.first_event.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    std::size_t present = middle + 1;
    while (present > low && walk.first_event[present - 1] < 0) --present;
    if (present > low && walk.first_event[present - 1] > event) {
      high = present - 1;
    } else {
      low = middle + 1;
    }
  }
  const std::int64_t kmer = low == 0 ? 0 : static_cast<std::int64_t>(low) - 1;
  return bases.position_of(walk.strand == Strand::forward ? kmer : walk.read_length - kmer - walk.k);
}

}  // namespace sluice::event_alignment
