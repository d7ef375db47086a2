// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/chain_ends.hpp"

#include <algorithm>
#include <cstdlib>

namespace sluice::base_alignment {
namespace {

// Bases of the way along a chain from one of its ends.
class EndWalk {
 public:
  EndWalk(const AlignedHit& hit, const AlignmentSettings& settings, std::int32_t span)
      : band_(settings.bw), enough_(2 * std::int64_t{settings.min_chain_score}), half_(hit.matches >> 1), way_(span), covered_(span) {}
  // Does the gap between neighbours cut off what has been passed?
  bool cuts(const Anchor& left, const Anchor& right) {
    const std::int32_t on_target = right.on_target() - left.on_target(), on_read = right.on_read() - left.on_read();
    const auto [shorter, longer] = std::minmax(on_target, on_read);
    const bool cut = longer - shorter > way_ >> 1;
    way_ += shorter;
    covered_ += std::min(shorter, right.span());
    return cut;
  }
  bool far_enough() const { return way_ >= 2 * band_ || (covered_ >= enough_ && covered_ >= band_) || covered_ >= half_; }

 private:
  std::int64_t band_, enough_;  // options, which may be as large as they like
  std::int32_t half_, way_, covered_;
};

// Differences of the gaps on read and target in front of anchor j.
std::int32_t jump(std::span<const Anchor> range, std::int32_t j) {
  const Anchor &left = range[static_cast<std::size_t>(j) - 1], &right = range[static_cast<std::size_t>(j)];
  return (right.on_read() - left.on_read()) - (right.on_target() - left.on_target());
}

void find_jumps(std::span<const Anchor> range, std::int32_t more_than, Jumps& jumps) {
  jumps.clear();
  for (std::int32_t j = 1; j < static_cast<std::int32_t>(range.size()); ++j)
    if (std::abs(jump(range, j)) > more_than) jumps.push_back(j);
}

// Insertions and deletions that follow each other and take each other back.
void flag_opposite_jumps(std::span<Anchor> range, std::int32_t far, const Jumps& jumps) {
  constexpr std::size_t most_ahead = 10;
  constexpr std::int32_t least = 40;
  std::int32_t best = 0;
  std::size_t best_begin = 0, best_end = 0;
  const auto at = [&](std::size_t k) -> const Anchor& { return range[static_cast<std::size_t>(jumps[k])]; };
  for (std::size_t k = 0;; ++k) {
    if (k == jumps.size() || k >= best_end) {
      if (best_end > 0)
        for (std::int32_t j = jumps[best_begin]; j < jumps[best_end]; ++j) range[static_cast<std::size_t>(j)].y |= left_out;
      best = 0;
      best_begin = best_end = 0;
      if (k == jumps.size()) return;
    }
    std::int32_t inserted = 0, deleted = 0, most = 0;
    std::size_t end = 0;
    const auto count = [&](std::size_t l) {
      const std::int32_t bases = jump(range, jumps[l]);
      (bases > 0 ? inserted : deleted) += std::abs(bases);
    };
    count(k);
    const Anchor& before = range[static_cast<std::size_t>(jumps[k]) - 1];
    for (std::size_t l = k + 1; l < jumps.size() && l <= k + most_ahead; ++l) {
      if (at(l).on_read() - before.on_read() > far || at(l).on_target() - before.on_target() > far) break;
      count(l);
      const std::int32_t taken_back = inserted + deleted - std::abs(inserted - deleted);
      if (taken_back > most) {
        most = taken_back;
        end = l;
      }
    }
    if (most > least && most > best) {
      best = most;
      best_begin = k;
      best_end = end;
    }
  }
}

// One long gap that a few anchors seem to interrupt.
void join_jumps(std::span<Anchor> range, std::int32_t far, const Jumps& jumps) {
  for (std::size_t k = 0; k < jumps.size();) {
    const Anchor& first = range[static_cast<std::size_t>(jumps[k])];
    std::int32_t target_end = first.on_target(), read_end = first.on_read();
    std::int32_t before = std::abs(jump(range, jumps[k]));
    std::size_t l = k + 1;
    for (; l < jumps.size(); ++l) {
      const std::int32_t j = jumps[l];
      const Anchor &anchor = range[static_cast<std::size_t>(j)], &previous = range[static_cast<std::size_t>(j) - 1];
      if (anchor.on_read() - read_end > far || anchor.on_target() - target_end > far) break;
      const std::int32_t behind = std::abs(jump(range, j));
      const std::int32_t between = std::min(previous.on_target() - target_end, previous.on_read() - read_end) + previous.span();
      if (between > before + behind) break;
      target_end = anchor.on_target();
      read_end = anchor.on_read();
      before = behind;
    }
    if (l > k + 1) {
      const std::int32_t last = jumps[l - 1];
      for (std::int32_t j = jumps[k]; j < last; ++j) range[static_cast<std::size_t>(j)].y |= left_out;
      range[static_cast<std::size_t>(last)].y |= long_join;
    }
    k = l;
  }
}

}  // namespace

AnchorRange trim_ends(std::span<const Anchor> anchors, const AlignedHit& hit, const AlignmentSettings& settings) {
  AnchorRange range{hit.first_anchor, hit.anchors};
  if (!settings.trim_ends || hit.anchors < 3) return range;
  const auto at = [&](std::int32_t i) -> const Anchor& { return anchors[static_cast<std::size_t>(i)]; };
  const std::int32_t last = hit.first_anchor + hit.anchors - 1;
  EndWalk from_left(hit, settings, at(hit.first_anchor).span());
  for (std::int32_t i = hit.first_anchor + 1; i < last && !at(i).has(long_join); ++i) {
    if (from_left.cuts(at(i - 1), at(i))) range.first = i;
    if (from_left.far_enough()) break;
  }
  range.count = last + 1 - range.first;
  EndWalk from_right(hit, settings, at(last).span());
  for (std::int32_t i = last - 1; i > range.first && !at(i + 1).has(long_join); --i) {
    if (from_right.cuts(at(i), at(i + 1))) range.count = i + 1 - range.first;
    if (from_right.far_enough()) break;
  }
  return range;
}

void flag_bad_seeds(std::span<Anchor> range, std::int32_t max_gap, Jumps& jumps) {
  find_jumps(range, 10, jumps);
  if (jumps.size() > 1) flag_opposite_jumps(range, max_gap >> 1, jumps);
  find_jumps(range, 30, jumps);
  if (jumps.size() > 1) join_jumps(range, max_gap >> 1, jumps);
}

Reach reach_of(std::span<const Anchor> anchors, const AlignedHit& hit, Point begin, Point end, Lengths lengths, const AlignmentSettings& settings) {
  Reach reach;
  const Scores& scores = settings.scores;
  // Bases of the target for so many of the read: all gaps that its score can pay for.
  const auto with_gaps = [&](std::int32_t bases) {
    const std::int64_t score = std::int64_t{bases} * scores.match;
    return score > scores.gap_open ? bases + (score - scores.gap_open) / scores.gap_extend : bases;
  };
  // Not beyond the chain next to this one.
  const Anchor& first = anchors[static_cast<std::size_t>(hit.first_anchor)];
  reach.target_begin = std::max(0, first.target_start());
  reach.query_begin = first.read_start();
  std::int32_t least_target = 0, least_query = 0;
  for (std::int32_t i = hit.first_anchor - 1, met = 0; i >= 0; --i) {
    const Anchor& other = anchors[static_cast<std::size_t>(i)];
    if (other.strand_and_target() != first.strand_and_target()) break;
    if (other.target_start() >= reach.target_begin || other.read_start() >= reach.query_begin || ++met <= settings.min_count) continue;
    const std::int32_t distance = std::max(reach.target_begin - other.target_start(), reach.query_begin - other.read_start());
    least_target = std::max(0, reach.target_begin - distance);
    least_query = reach.query_begin - distance;
    break;
  }
  if (begin.query > 0 && begin.target > 0) {
    std::int32_t bases = std::min(begin.query, settings.max_gap);
    least_query = std::max(least_query, begin.query - bases);
    reach.query_begin = std::min(reach.query_begin, least_query);
    bases = static_cast<std::int32_t>(std::min<std::int64_t>({with_gaps(bases), settings.max_gap, begin.target}));
    least_target = std::max(least_target, begin.target - bases);
    reach.target_begin = std::min({reach.target_begin, least_target, begin.target});
  } else {
    reach.target_begin = begin.target;
    reach.query_begin = begin.query;
  }

  const Anchor& last = anchors[static_cast<std::size_t>(hit.first_anchor + hit.anchors) - 1];
  reach.target_end = last.on_target() + 1;
  reach.query_end = last.on_read() + 1;
  std::int32_t most_target = lengths.target, most_query = lengths.read;
  std::int32_t met = 0;
  for (auto i = static_cast<std::size_t>(hit.first_anchor + hit.anchors); i < anchors.size(); ++i) {
    const Anchor& other = anchors[i];
    if (other.strand_and_target() != last.strand_and_target()) break;
    const std::int32_t target = other.on_target() + 1, query = other.on_read() + 1;
    if (target <= reach.target_end || query <= reach.query_end || ++met <= settings.min_count) continue;
    const std::int32_t distance = std::max(target - reach.target_end, query - reach.query_end);
    most_target = reach.target_end + distance;
    most_query = reach.query_end + distance;
    break;
  }
  if (end.query < lengths.read && end.target < lengths.target) {
    std::int32_t bases = std::min(lengths.read - end.query, settings.max_gap);
    most_query = std::min(most_query, end.query + bases);
    reach.query_end = std::max(reach.query_end, most_query);
    bases = static_cast<std::int32_t>(std::min<std::int64_t>({with_gaps(bases), settings.max_gap, lengths.target - end.target}));
    most_target = std::min(most_target, end.target + bases);
    reach.target_end = std::max(reach.target_end, most_target);
  } else {
    reach.target_end = end.target;
    reach.query_end = end.query;
  }

  if (first.has(self)) {
    const std::int32_t before = std::abs(hit.query_start - hit.target_start), behind = std::abs(hit.query_end - hit.target_end);
    reach.target_begin = std::max(reach.target_begin, hit.target_start - before);
    reach.query_begin = std::max(reach.query_begin, hit.query_start - before);
    reach.target_end = std::min(reach.target_end, hit.target_end + behind);
    reach.query_end = std::min(reach.query_end, hit.query_end + behind);
  }
  return reach;
}

}  // namespace sluice::base_alignment
