// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/aligned_hit.hpp"

#include <algorithm>

namespace sluice::base_alignment {

void measure_chain(std::span<const Anchor> anchors, std::int32_t read_length, AlignedHit& hit) {
  const std::span<const Anchor> own = anchors.subspan(static_cast<std::size_t>(hit.first_anchor), static_cast<std::size_t>(hit.anchors));
  const Anchor &first = own.front(), &last = own.back();
  hit.target_start = std::max(0, first.target_start());
  hit.target_end = last.on_target() + 1;
  const std::int32_t start = first.read_start(), end = last.on_read() + 1;
  hit.query_start = hit.reverse ? read_length - end : start;
  hit.query_end = hit.reverse ? read_length - start : end;
  hit.matches = hit.columns = first.span();
  for (std::size_t i = 1; i < own.size(); ++i) {
    const std::int32_t on_target = own[i].on_target() - own[i - 1].on_target(), on_read = own[i].on_read() - own[i - 1].on_read();
    hit.columns += std::max(on_target, on_read);
    hit.matches += on_target > own[i].span() && on_read > own[i].span() ? own[i].span() : std::min(on_target, on_read);
  }
}

double identity_of(const AlignedHit& hit) {
  std::int32_t gaps = 0, gap_bases = 0;
  for (const std::uint32_t operation : hit.cigar) {
    if (!is_gap(operation)) continue;
    ++gaps;
    gap_bases += bases_of(operation);
  }
  return static_cast<double>(hit.matches) / (hit.columns + hit.ambiguous - gap_bases + gaps);
}

}  // namespace sluice::base_alignment
