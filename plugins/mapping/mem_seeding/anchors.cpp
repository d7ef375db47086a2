// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "mem_seeding/anchors.hpp"

#include <algorithm>
#include <tuple>

namespace sluice::mem_seeding {

namespace {

struct Span {
  std::int32_t begin, end;
};
// On the read as it is, whatever was searched, so that occurrences on both strands share their seeds.
Span on_read(const Match& match, Strand searched, std::int32_t read_length) {
  if (searched == Strand::forward) return {match.start, match.end};
  return {read_length - match.end, read_length - match.start};
}
bool lies_in(Span inner, Span outer) { return outer.begin <= inner.begin && inner.end <= outer.end; }

}  // namespace

void join_strands(const Matches& forward, const Matches& reverse, std::int32_t read_length, std::uint64_t max_occurrences, StrandUses& uses) {
  const std::size_t forward_count = forward.matches.size(), reverse_count = reverse.matches.size();
  uses.forward.assign(forward_count, Use::places);
  uses.reverse.assign(reverse_count, Use::places);
  // Both begin and end of supermaximal matches ascend, those of the other strand from its last to its first.
  for (std::size_t f = 0, r = 0; f < forward_count && r < reverse_count;) {
    const Match &ahead = forward.matches[f], &behind = reverse.matches[reverse_count - 1 - r];
    const Span one = on_read(ahead, Strand::forward, read_length), other = on_read(behind, Strand::reverse, read_length);
    Use &use = uses.forward[f], &other_use = uses.reverse[reverse_count - 1 - r];
    if (lies_in(one, other) && lies_in(other, one)) {
      const std::uint64_t count = std::uint64_t{ahead.count} + behind.count;
      if (max_occurrences != 0 && count > max_occurrences) use = other_use = Use::too_frequent;
      ++f, ++r;
    } else if (lies_in(one, other)) {
      use = Use::none;
      ++f;
    } else if (lies_in(other, one)) {
      other_use = Use::none;
      ++r;
    } else if (one.begin < other.begin) {
      ++f;
    } else {
      ++r;
    }
  }
}

void add_anchors(const FmIndexView& index, const Matches& matches, Strand searched, std::int32_t read_length, std::span<const Use> uses,
                 Anchors& anchors) {
  const auto bases = static_cast<std::int64_t>(index.tables.bases), text_length = static_cast<std::int64_t>(index.tables.text_length);
  const std::uint32_t* next_places = matches.places.data();
  for (std::size_t number = 0; number < matches.matches.size(); ++number) {
    const Match& match = matches.matches[number];
    const std::uint32_t* places = next_places;
    next_places += match.listed;
    const Use use = uses.empty() ? Use::places : uses[number];
    if (use == Use::none) continue;
    const auto [begin, end] = on_read(match, searched, read_length);
    const std::int32_t length = end - begin;
    if (match.listed == 0 || use == Use::too_frequent) {
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
