// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "modification_pileup/aligned_states.hpp"

#include "modification_pileup/base_calls.hpp"

namespace sluice::modification_pileup {
namespace {

// Deletions take a byte for each base. The longest that are real have some hundred thousand.
constexpr std::int64_t most_deleted = std::int64_t{1} << 22;

// The states of `length` bases from `first` on, as the record stores them.
void append(std::span<const std::uint8_t> states, std::size_t first, std::size_t length, bool is_reverse, std::vector<std::uint8_t>& to) {
  if (states.empty()) return;
  if (is_reverse) {
    const auto end = states.rbegin() + static_cast<std::ptrdiff_t>(first);
    to.insert(to.end(), end, end + static_cast<std::ptrdiff_t>(length));
  } else {
    const auto begin = states.begin() + static_cast<std::ptrdiff_t>(first);
    to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(length));
  }
}

}  // namespace

bool align_states(const AlignmentRecord& record, std::span<const std::uint8_t> sequenced, std::span<const std::uint8_t> opposite,
                  AlignedStates& aligned) {
  aligned = {};
  std::int64_t position = record.position(), deleted = 0;
  std::size_t base = 0;
  bool in_block = false;
  const auto extend_block = [&](std::int64_t length) {
    if (!in_block) aligned.block_start.push_back(position), aligned.block_length.push_back(0);
    in_block = true;
    aligned.block_length.back() += length;
    position += length;
  };
  for (std::size_t i = 0; i < record.cigar_parts(); ++i) {
    const auto [operation, length] = record.cigar_part(i);
    if (length == 0) continue;
    const auto bases = static_cast<std::size_t>(length);
    switch (operation) {
      case CigarOperation::match:
      case CigarOperation::equal:
      case CigarOperation::different:
        if (bases > sequenced.size() - base) return false;
        append(sequenced, base, bases, record.is_reverse(), aligned.base);
        append(opposite, base, bases, record.is_reverse(), aligned.opposite);
        base += bases;
        extend_block(length);
        break;
      case CigarOperation::insertion:
      case CigarOperation::soft_clip:
        if (bases > sequenced.size() - base) return false;
        base += bases;
        break;
      case CigarOperation::deletion:
        if ((deleted += length) > most_deleted) return false;
        aligned.base.insert(aligned.base.end(), bases, state_deleted);
        if (!opposite.empty()) aligned.opposite.insert(aligned.opposite.end(), bases, state_deleted);
        extend_block(length);
        break;
      case CigarOperation::reference_skip:
        position += length;
        in_block = false;
        break;
      case CigarOperation::hard_clip:
      case CigarOperation::padding:
        break;
    }
  }
  return base == sequenced.size() && record.position() >= 0;
}

bool align_positions(const AlignmentRecord& record, std::vector<std::int64_t>& positions) {
  positions.assign(record.base_count(), -1);
  std::int64_t position = record.position();
  std::size_t base = 0;
  for (std::size_t i = 0; i < record.cigar_parts(); ++i) {
    const auto [operation, length] = record.cigar_part(i);
    const bool takes_base = operation == CigarOperation::match || operation == CigarOperation::equal || operation == CigarOperation::different ||
                            operation == CigarOperation::insertion || operation == CigarOperation::soft_clip;
    const bool takes_position = operation == CigarOperation::match || operation == CigarOperation::equal || operation == CigarOperation::different ||
                                operation == CigarOperation::deletion || operation == CigarOperation::reference_skip;
    if (takes_base) {
      if (static_cast<std::size_t>(length) > positions.size() - base) return false;
      if (takes_position)
        for (std::int64_t at = 0; at < length; ++at) {
          const std::size_t stored = base + static_cast<std::size_t>(at);
          positions[record.is_reverse() ? positions.size() - 1 - stored : stored] = position + at;
        }
      base += static_cast<std::size_t>(length);
    }
    if (takes_position) position += length;
  }
  return record.cigar_parts() == 0 || (base == positions.size() && record.position() >= 0);
}

}  // namespace sluice::modification_pileup
