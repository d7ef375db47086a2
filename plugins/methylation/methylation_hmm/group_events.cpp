// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The events of each group of sites, through the CIGAR and the base-to-event map.

#include <algorithm>
#include <cstdlib>

#include "methylation_hmm/methylation.hpp"

namespace sluice::methylation_hmm {
namespace {

// Fills `blocks` with the runs of aligned bases, cut to the read positions k .. read_length - k - 1.
RecordStatus list_aligned_blocks(const RecordAlignment& alignment, std::uint32_t k, HardClips hard_clips,
                                 std::vector<LocateWorkspace::AlignedBlock>& blocks) {
  blocks.clear();
  const std::int64_t lowest = k;
  const std::int64_t end = static_cast<std::int64_t>(alignment.read_length) - k;
  std::int64_t reference_offset = 0;
  std::int64_t read_position = 0;
  for (const std::uint32_t word : alignment.cigar) {
    const std::int64_t length = word >> 4U;
    switch (static_cast<CigarOperation>(word & 0xFU)) {
      case CigarOperation::match:
      case CigarOperation::equal:
      case CigarOperation::difference: {
        const std::int64_t skipped = std::max<std::int64_t>(0, lowest - read_position);
        const std::int64_t kept = std::min(length, end - read_position) - skipped;
        if (kept > 0) blocks.push_back({reference_offset + skipped, read_position + skipped, kept});
        reference_offset += length;
        read_position += length;
        break;
      }
      case CigarOperation::insertion:
      case CigarOperation::soft_clip:
        read_position += length;
        break;
      case CigarOperation::deletion:
        reference_offset += length;
        break;
      case CigarOperation::hard_clip:
        if (hard_clips == HardClips::count) read_position += length;
        break;
      case CigarOperation::padding:
        break;
      case CigarOperation::reference_skip:
        return RecordStatus::reference_skip;
      case CigarOperation::back:
      default:
        return RecordStatus::bad_cigar;
    }
  }
  return blocks.empty() ? RecordStatus::no_aligned_events : RecordStatus::ok;
}

}  // namespace

RecordStatus locate_group_events(const RecordAlignment& alignment, std::span<const std::int32_t> first_event, std::uint32_t k, HardClips hard_clips,
                                 std::span<const SiteGroup> groups, LocateWorkspace& workspace, std::span<GroupEvents> events) {
  const std::size_t count = std::min(groups.size(), events.size());
  for (GroupEvents& result : events) result = {};
  if (k == 0 || alignment.read_length < k || alignment.read_length > std::size_t{0x7FFFFFFF} || first_event.size() != alignment.read_length - k + 1) {
    return RecordStatus::bad_base_to_event_map;
  }
  const auto& blocks = workspace.blocks;
  if (const RecordStatus status = list_aligned_blocks(alignment, k, hard_clips, workspace.blocks); status != RecordStatus::ok) return status;

  const auto event_at = [&](std::int64_t read_position) {
    const std::int64_t q = alignment.strand == Strand::forward ? read_position : static_cast<std::int64_t>(alignment.read_length) - read_position - k;
    return nearest_event(first_event, q);
  };
  if (event_at(blocks.front().read_position) == event_at(blocks.back().read_position + blocks.back().length - 1)) return RecordStatus::degenerate;

  // The block that holds the first aligned base at or after a reference offset.
  const auto block_at_or_after = [&blocks](std::int64_t offset) {
    return std::ranges::partition_point(blocks, [offset](const auto& block) { return block.reference_offset + block.length <= offset; });
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t start = calling_start(groups[i]);
    const std::int64_t end = calling_end(groups[i]);
    const auto start_block = block_at_or_after(start);
    const auto end_block = block_at_or_after(end);
    GroupEvents& result = events[i];
    if (start_block == blocks.end() || end_block == blocks.end() || start < blocks.front().reference_offset) {
      result.status = GroupStatus::outside_alignment;
      continue;
    }
    const auto position_in = [](const LocateWorkspace::AlignedBlock& block, std::int64_t offset) {
      return block.read_position + std::max<std::int64_t>(0, offset - block.reference_offset);
    };
    result.first_event = event_at(position_in(*start_block, start));
    result.last_event = event_at(position_in(*end_block, end));
    const std::int64_t distance = static_cast<std::int64_t>(result.last_event) - result.first_event;
    if (result.first_event < 0 || result.last_event < 0) {
      result.status = GroupStatus::no_event;
    } else if (std::abs(distance) <= kMinimumEventDistance) {
      result.status = GroupStatus::too_few_events;
    } else if ((distance > 0) != (alignment.strand == Strand::forward)) {
      result.status = GroupStatus::wrong_direction;
    } else {
      result.status = GroupStatus::ok;
    }
  }
  return RecordStatus::ok;
}

}  // namespace sluice::methylation_hmm
