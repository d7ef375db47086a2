// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment/aligned_bases.hpp"

#include <algorithm>

namespace sluice::event_alignment {

RecordStatus list_aligned_bases(const Record& record, std::uint32_t k, const Settings& settings, Workspace& workspace) {
  workspace.blocks.clear();
  workspace.block_ends.clear();
  const auto contig_length = std::min<std::int64_t>(static_cast<std::int64_t>(record.contig.size()), std::numeric_limits<std::int32_t>::max());
  const std::int64_t last_read_position = static_cast<std::int64_t>(record.read_length) - k;
  std::int64_t position = record.ref_start;
  std::int64_t read_position = 0;
  const auto begin_of_stretch = [&] { return workspace.block_ends.empty() ? 0 : workspace.block_ends.back(); };
  bool stopped = false;
  for (const std::uint32_t word : record.cigar) {
    const std::int64_t length = word >> 4U;
    switch (static_cast<CigarOperation>(word & 0xFU)) {
      case CigarOperation::match:
      case CigarOperation::equal:
      case CigarOperation::difference: {
        if (length > 0 && (position < 0 || position + length > contig_length)) return RecordStatus::outside_contig;
        const std::int64_t skipped = std::max<std::int64_t>(0, settings.clip_start - position);
        const std::int64_t kept = std::min({length - 1, settings.clip_end - position, last_read_position - read_position}) + 1 - skipped;
        if (kept > 0 && !stopped) workspace.blocks.push_back({position + skipped, read_position + skipped, kept});
        position += length;
        read_position += length;
        break;
      }
      case CigarOperation::insertion:
      case CigarOperation::soft_clip:
        read_position += length;
        break;
      case CigarOperation::deletion:
        position += length;
        break;
      case CigarOperation::reference_skip:
        position += length;
        stopped = stopped || workspace.blocks.size() == begin_of_stretch();
        if (!stopped) workspace.block_ends.push_back(workspace.blocks.size());
        break;
      case CigarOperation::hard_clip:
        if (settings.hard_clips == HardClips::count) read_position += length;
        break;
      case CigarOperation::padding:
        break;
      case CigarOperation::back:
      default:
        return RecordStatus::bad_cigar;
    }
  }
  if (!stopped && workspace.blocks.size() > begin_of_stretch()) workspace.block_ends.push_back(workspace.blocks.size());
  return RecordStatus::ok;
}

AlignedBases::Pair AlignedBases::last_within(std::int64_t position) const { return at_or_before(block_of(position), position); }

void AlignedBases::advance(std::int64_t position) { current_ = block_of(position); }

std::size_t AlignedBases::block_of(std::int64_t position) const {
  std::size_t block = current_;
  while (block + 1 < blocks_.size() && blocks_[block + 1].position <= position) ++block;
  return block;
}

AlignedBases::Pair AlignedBases::at_or_before(std::size_t block, std::int64_t position) const {
  const auto& [begin, read_begin, length] = blocks_[block];
  const std::int64_t offset = std::min(position - begin, length - 1);
  return {begin + offset, read_begin + offset, block + 1 == blocks_.size() && offset == length - 1};
}

}  // namespace sluice::event_alignment
