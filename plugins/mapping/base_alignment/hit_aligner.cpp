// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/hit_aligner.hpp"

#include <algorithm>

#include "base_alignment/finished_path.hpp"

namespace sluice::base_alignment {
namespace {

Codes query_part(Codes query, std::int32_t begin, std::int32_t end) { return begin < end ? part(query, begin, end) : Codes(); }

}  // namespace

// The exclusive end of what is left of an anchor and the first base of what is right of it.
Point HitAligner::cut_at(const ReadStrands& read, const Anchor& anchor, const AlignedHit& hit) const {
  if (!settings_.homopolymer_compressed) return {anchor.on_target() - half_seed_, anchor.on_read() - half_seed_};
  const std::int32_t query = anchor.on_read() == 0 ? 0 : std::max(1, run_start(read.strand(hit.reverse), anchor.on_read()));
  return {run_start(index_, static_cast<std::size_t>(hit.target), anchor.on_target()), query};
}

void HitAligner::extend_left(Codes query, const Reach& reach, const AlignedHit& hit, Ends& ends) {
  const Point from = ends.begin;
  if (from.query <= 0 || from.target <= 0) return;
  align_piece_backwards(settings_,
                        {.query = query_part(query, reach.query_begin, from.query),
                         .target = target_part(reach.target_begin, from.target),
                         .band = static_cast<std::int32_t>(settings_.bw * 1.5 + 1.0),
                         .z_drop = hit.split_at_inversion ? settings_.z_drop_inversion : settings_.z_drop,
                         .end_bonus = settings_.end_bonus,
                         .goal = Goal::extension},
                        memory_);
  const Alignment& made = memory_.piece;
  if (!made.cigar.empty()) {
    append(cigar_, made.cigar);
    score_ += made.best;
  }
  ends.begin.target -= made.reached_end ? made.query_end_target + 1 : made.best_target + 1;
  ends.begin.query -= made.reached_end ? from.query - reach.query_begin : made.best_query + 1;
}

void HitAligner::extend_right(Codes query, const Reach& reach, Ends& ends) {
  const Point from = ends.end;
  if (from.query >= reach.query_end || from.target >= reach.target_end) return;
  align_piece(settings_,
              {.query = query_part(query, from.query, reach.query_end),
               .target = target_part(from.target, reach.target_end),
               .band = static_cast<std::int32_t>(settings_.bw * 1.5 + 1.0),
               .z_drop = settings_.z_drop,
               .end_bonus = settings_.end_bonus,
               .goal = Goal::extension},
              memory_);
  const Alignment& made = memory_.piece;
  if (!made.cigar.empty()) {
    append(cigar_, made.cigar);
    score_ += made.best;
  }
  ends.end.target += made.reached_end ? made.query_end_target + 1 : made.best_target + 1;
  ends.end.query += made.reached_end ? reach.query_end - from.query : made.best_query + 1;
}

std::optional<AlignedHit> HitAligner::split(std::span<const Anchor> anchors, AnchorRange range, std::int32_t behind, std::int32_t target_end,
                                            Fall why, std::int32_t read_length, AlignedHit& hit) const {
  std::int32_t last = behind - 1;
  while (last >= 0 && anchors[static_cast<std::size_t>(range.first + last)].on_target() > target_end) --last;
  last = std::max(last, 0);
  const std::int32_t kept = range.first + last + 1 - hit.first_anchor;
  if (range.count - (last + 1) < settings_.min_count || kept <= 0 || kept >= hit.anchors) return std::nullopt;
  AlignedHit rest = hit;
  rest.id = AlignedHit::none;
  rest.leads = false;
  rest.split_at_inversion = why == Fall::inversion;
  rest.anchors = hit.anchors - kept;
  rest.first_anchor = hit.first_anchor + kept;
  const float share = static_cast<float>(rest.anchors) / static_cast<float>(hit.anchors);
  rest.chain_score = static_cast<std::int32_t>(static_cast<double>(static_cast<float>(hit.chain_score) * share) + .499);
  if (hit.parent == hit.id) rest.parent = AlignedHit::split_from_primary;
  hit.anchors = kept;
  hit.chain_score -= rest.chain_score;
  measure_chain(anchors, read_length, hit);
  measure_chain(anchors, read_length, rest);
  rest.split |= 2;
  hit.split |= 1;
  return rest;
}

std::optional<AlignedHit> HitAligner::fill_gaps(const ReadStrands& read, std::span<Anchor> anchors, AnchorRange range, AlignedHit& hit, Ends& ends,
                                                bool& broken_off) {
  const Codes query = read.strand(hit.reverse);
  const auto band = static_cast<std::int32_t>(settings_.bw * 1.5 + 1.0);
  const std::int32_t wide_band = std::max(band, static_cast<std::int32_t>(settings_.bw_long * 1.5 + 1.0));
  Point from = cut_at(read, anchors[static_cast<std::size_t>(range.first)], hit);
  ends.end = from;
  for (std::int32_t i = 1; i < range.count; ++i) {
    const Anchor& anchor = anchors[static_cast<std::size_t>(range.first + i)];
    const bool is_last = i + 1 == range.count, joins = anchor.has(long_join);
    if (anchor.has(left_out | tandem) && !is_last) continue;
    const Point to = cut_at(read, anchor, hit);
    ends.end = to;
    if (!is_last && !joins && (to.query - from.query < settings_.min_fill_length || to.target - from.target < settings_.min_fill_length)) continue;
    Piece piece{.query = query_part(query, from.query, to.query),
                .target = target_part(from.target, to.target),
                .band = joins ? std::max(to.query - from.query, to.target - from.target) : wide_band,
                .z_drop = settings_.z_drop};
    align_piece(settings_, piece, memory_);
    const Fall fall = look_for_fall(settings_, piece, memory_.piece.cigar, memory_);
    if (fall != Fall::none) {
      piece.goal = Goal::ends_or_drop;
      if (fall == Fall::inversion) piece.z_drop = settings_.z_drop_inversion;
      align_piece(settings_, piece, memory_);
    }
    const Alignment& made = memory_.piece;
    append(cigar_, made.cigar);
    if (made.dropped) {
      score_ += made.best;
      ends.end = {from.target + made.best_target + 1, from.query + made.best_query + 1};
      broken_off = true;
      return split(anchors, range, i, from.target + made.best_target, fall, read.length(), hit);
    }
    score_ += made.score;
    from = to;
  }
  return std::nullopt;
}

std::optional<AlignedHit> HitAligner::align(const ReadStrands& read, std::span<Anchor> anchors, AlignedHit& hit) {
  const AnchorRange range = trim_ends(anchors, hit, settings_);
  const std::span<Anchor> used = anchors.subspan(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.count));
  flag_bad_seeds(used, settings_.max_gap, jumps_);
  // Exact matches may be shorter than the index's k-mers.
  half_seed_ = settings_.k;
  for (const Anchor& anchor : used) half_seed_ = std::min(half_seed_, anchor.span());
  half_seed_ >>= 1;

  const Point begin = cut_at(read, used.front(), hit), end = cut_at(read, used.back(), hit);
  const Lengths lengths{index_.contig_length[static_cast<std::size_t>(hit.target)], read.length()};
  const Reach reach = reach_of(anchors, hit, begin, end, lengths, settings_);
  target_begin_ = std::min(reach.target_begin, begin.target);
  copy_contig(index_, static_cast<std::size_t>(hit.target), target_begin_, std::max(reach.target_end, end.target), target_);

  cigar_.clear();
  score_ = 0;
  const Codes query = read.strand(hit.reverse);
  Ends ends{begin, begin};
  extend_left(query, reach, hit, ends);
  bool broken_off = false;
  std::optional<AlignedHit> rest = fill_gaps(read, anchors, range, hit, ends, broken_off);
  if (!broken_off) extend_right(query, reach, ends);

  hit.target_start = ends.begin.target;
  hit.target_end = ends.end.target;
  hit.query_start = hit.reverse ? read.length() - ends.end.query : ends.begin.query;
  hit.query_end = hit.reverse ? read.length() - ends.begin.query : ends.end.query;
  hit.score = score_;
  hit.cigar = cigar_;
  if (!hit.cigar.empty())
    finish_path(settings_, query_part(query, ends.begin.query, ends.end.query), target_part(ends.begin.target, ends.end.target), hit);
  return rest;
}

std::optional<AlignedHit> HitAligner::find_inversion(const ReadStrands& read, const AlignedHit& left, const AlignedHit& right) {
  const auto may_have = [](const AlignedHit& hit) { return hit.primary() || hit.parent == AlignedHit::split_from_primary; };
  if ((left.split & 1) == 0 || (right.split & 2) == 0 || !may_have(left) || !may_have(right)) return std::nullopt;
  if (left.target != right.target || left.reverse != right.reverse) return std::nullopt;
  const std::int32_t on_query = left.reverse ? left.query_start - right.query_end : right.query_start - left.query_end;
  const std::int32_t on_target = right.target_start - left.target_end;
  for (const std::int32_t bases : {on_query, on_target})
    if (bases < settings_.min_chain_score || bases > settings_.max_gap || bases < 1) return std::nullopt;

  AlignedHit found;
  found.target = left.target;
  found.reverse = !left.reverse;
  found.inversion = true;
  const Codes query = read.strand(found.reverse);
  const std::int32_t query_from = left.reverse ? right.query_end : read.length() - right.query_start;
  target_begin_ = left.target_end;
  copy_contig(index_, static_cast<std::size_t>(left.target), left.target_end, right.target_start, target_);
  memory_.query.assign(query.rend() - (query_from + on_query), query.rend() - query_from);
  memory_.target.assign(target_.rbegin(), target_.rend());
  const LocalEnd local = align_locally(settings_.scores, memory_.query, memory_.target, memory_.local);
  if (local.score < settings_.min_score) return std::nullopt;
  // The first base may lie up to seven bases before the gap: see LocalEnd.
  const std::int32_t query_offset = on_query - 1 - local.query, target_offset = on_target - 1 - local.target;
  const std::int32_t query_begin = query_from + query_offset, target_begin = left.target_end + target_offset;
  if (query_begin < 0) return std::nullopt;
  align_piece(settings_,
              {.query = query_part(query, query_begin, query_from + on_query),
               .target = target_part(target_begin, right.target_start),
               .band = static_cast<std::int32_t>(settings_.bw * 1.5),
               .z_drop = settings_.z_drop,
               .goal = Goal::extension},
              memory_);
  const Alignment& made = memory_.piece;
  if (made.cigar.empty()) return std::nullopt;
  found.cigar = made.cigar;
  found.score = made.best;
  const std::int32_t query_end = query_begin + made.best_query + 1;
  found.query_start = found.reverse ? read.length() - query_end : query_begin;
  found.query_end = found.reverse ? read.length() - query_begin : query_end;
  found.target_start = target_begin;
  found.target_end = target_begin + made.best_target + 1;
  finish_path(settings_, query_part(query, query_begin, query_end), target_part(target_begin, found.target_end), found);
  return found;
}

}  // namespace sluice::base_alignment
