// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "mem_seeding/anchors.hpp"

#include <algorithm>
#include <tuple>

namespace sluice::mem_seeding {

void add_anchors(const FmIndexView& index, const Matches& matches, Strand searched, std::int32_t read_length, Anchors& anchors) {
  const auto bases = static_cast<std::int64_t>(index.tables.bases), text_length = static_cast<std::int64_t>(index.tables.text_length);
  const std::uint32_t* places = matches.places.data();
  for (const Match& match : matches.matches) {
    // On the read as it is, whatever was searched, so that occurrences on both strands share their seeds.
    const std::int32_t begin = searched == Strand::forward ? match.start : read_length - match.end;
    const std::int32_t end = searched == Strand::forward ? match.end : read_length - match.start;
    const std::int32_t length = end - begin;
    if (match.listed == 0) {
      if (match.count != 0) anchors.skipped.push_back({begin, end});
      continue;
    }
    bool used = false;
    for (std::uint32_t i = 0; i < match.listed; ++i) {
      std::int64_t place = *places++;
      if (place < bases && place + length > bases) continue;
      const bool reverse = (searched == Strand::reverse) != (place >= bases);
      if (place >= bases) place = text_length - place - length;
      const std::size_t contig = index.contig_of(place);
      const std::int64_t on_contig = place - index.contig_begin[contig];
      if (place + length > index.contig_begin[contig + 1]) continue;
      used = true;
      for (std::int32_t first = 0; first < length; first += max_span) {
        const std::int32_t span = std::min(max_span, length - first);
        // The piece [first, first + span) of the match as it lies on the read, seen from the contig.
        const std::int64_t target = reverse ? on_contig + length - first - 1 : on_contig + first + span - 1;
        const std::int32_t query = reverse ? read_length - begin - first - 1 : begin + first + span - 1;
        const std::uint64_t x = std::uint64_t{reverse} << 63 | std::uint64_t{contig} << 32 | static_cast<std::uint64_t>(target);
        anchors.anchors.push_back({x, static_cast<std::uint64_t>(span) << 32 | static_cast<std::uint64_t>(query)});
      }
    }
    for (std::int32_t first = 0; used && first < length; first += max_span) {
      const std::int32_t span = std::min(max_span, length - first);
      anchors.seeds.push_back(static_cast<std::uint64_t>(span) << 32 | static_cast<std::uint64_t>(begin + first + span - 1));
    }
  }
}

void finish_anchors(Anchors& anchors) {
  using Anchor = Anchors::Anchor;
  std::sort(anchors.anchors.begin(), anchors.anchors.end(), [](const Anchor& a, const Anchor& b) { return std::tie(a.x, a.y) < std::tie(b.x, b.y); });
  const auto same = [](const Anchor& a, const Anchor& b) { return a.x == b.x && a.y == b.y; };
  anchors.anchors.erase(std::unique(anchors.anchors.begin(), anchors.anchors.end(), same), anchors.anchors.end());
  const auto by_place = [](std::uint64_t a, std::uint64_t b) { return std::make_tuple(a & 0xFFFFFFFFU, a) < std::make_tuple(b & 0xFFFFFFFFU, b); };
  std::sort(anchors.seeds.begin(), anchors.seeds.end(), by_place);
  anchors.seeds.erase(std::unique(anchors.seeds.begin(), anchors.seeds.end()), anchors.seeds.end());
  std::sort(anchors.skipped.begin(), anchors.skipped.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::int32_t covered = 0;
  for (const Anchors::Span& span : anchors.skipped) {
    anchors.repeat_length += std::max(0, span.end - std::max(span.begin, covered));
    covered = std::max(covered, span.end);
  }
}

}  // namespace sluice::mem_seeding
