// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/hit_aligner.hpp"

#include <algorithm>

#include "base_alignment/finished_path.hpp"

namespace sluice::base_alignment {
namespace {

Codes part_or_none(Codes codes, std::int32_t begin, std::int32_t end) { return begin < end ? part(codes, begin, end) : Codes(); }

}  // namespace

// The exclusive end of what is left of an anchor and the first base of what is right of it.
Point HitAligner::cut_at(const ReadStrands& read, const Anchor& anchor, const AlignedHit& hit) const {
  if (!settings_.homopolymer_compressed) return {anchor.on_target() - half_seed_, anchor.on_read() - half_seed_};
  const std::int32_t query = anchor.on_read() == 0 ? 0 : std::max(1, run_start(read.strand(hit.reverse), anchor.on_read()));
  return {run_start(index_, static_cast<std::size_t>(hit.target), anchor.on_target()), query};
}

Piece HitPlan::piece(Codes strand, std::size_t i) const {
  const PlannedPiece& planned = pieces[i];
  return {.query = part_or_none(strand, planned.begin.query, planned.end.query),
          .target = target_part(planned.begin.target, planned.end.target),
          .band = planned.band,
          .z_drop = planned.z_drop,
          .end_bonus = planned.end_bonus,
          .goal = planned.goal,
          .contig = contig,
          .target_begin = planned.begin.target,
          .sites = sites};
}

// Bases of the contig and of the read around an anchor.
std::int32_t HitAligner::score_around(const ReadStrands& read, const Anchor& anchor, const AlignedHit& hit) {
  constexpr std::int32_t around = 20;
  const auto contig = static_cast<std::size_t>(hit.target);
  const std::int32_t query_begin = std::max(0, anchor.read_start() - around);
  const std::int32_t query_end = std::min(read.length(), anchor.on_read() + 1 + around);
  copy_contig(index_, contig, std::max(0, anchor.target_start() - around), std::min(index_.contig_length[contig], anchor.on_target() + 1 + around),
              target_);
  return align_locally(settings_.scores, part(read.strand(hit.reverse), query_begin, query_end), target_, Padding::costs, memory_.local).score;
}

void HitAligner::plan(const ReadStrands& read, std::span<Anchor> anchors, const AlignedHit& hit, HitPlan& plan) {
  plan.contig = hit.target;
  plan.range = !settings_.splice.enabled
                   ? trim_ends(anchors, hit, settings_)
                   : trim_spliced_ends(anchors, hit, settings_, [&](const Anchor& anchor) { return score_around(read, anchor, hit); });
  const std::span<Anchor> used = anchors.subspan(static_cast<std::size_t>(plan.range.first), static_cast<std::size_t>(plan.range.count));
  flag_bad_seeds(used, settings_.max_gap, jumps_);
  // Exact matches may be shorter than the index's k-mers.
  half_seed_ = settings_.k;
  for (const Anchor& anchor : used) half_seed_ = std::min(half_seed_, anchor.span());
  half_seed_ >>= 1;

  plan.begin = cut_at(read, used.front(), hit);
  plan.end = cut_at(read, used.back(), hit);
  const Lengths lengths{index_.contig_length[static_cast<std::size_t>(hit.target)], read.length()};
  plan.reach = reach_of(anchors, hit, plan.begin, plan.end, lengths, settings_);
  plan.target_begin = std::min(plan.reach.target_begin, plan.begin.target);
  copy_contig(index_, static_cast<std::size_t>(hit.target), plan.target_begin, std::max(plan.reach.target_end, plan.end.target), plan.target);
  plan_pieces(read, anchors, hit, plan);
}

void HitAligner::plan_pieces(const ReadStrands& read, std::span<const Anchor> anchors, const AlignedHit& hit, HitPlan& plan) const {
  const Reach& reach = plan.reach;
  const auto band = static_cast<std::int32_t>(settings_.bw * 1.5 + 1.0);
  const std::int32_t wide_band = std::max(band, static_cast<std::int32_t>(settings_.bw_long * 1.5 + 1.0));
  // 2.24 has no bonus across introns.
  const std::int32_t end_bonus = settings_.splice.enabled && settings_.release == overlap::Minimap2Release::v2_24 ? -1 : settings_.end_bonus;
  plan.pieces.clear();
  plan.extends_left = plan.begin.query > 0 && plan.begin.target > 0;
  if (plan.extends_left)
    plan.pieces.push_back({.begin = {reach.target_begin, reach.query_begin},
                           .end = plan.begin,
                           .band = band,
                           .z_drop = hit.split_at_inversion ? settings_.z_drop_inversion : settings_.z_drop,
                           .end_bonus = end_bonus,
                           .goal = Goal::extension,
                           .ties = TieOrder::gap_left});
  Point from = plan.begin;
  for (std::int32_t i = 1; i < plan.range.count; ++i) {
    const Anchor& anchor = anchors[static_cast<std::size_t>(plan.range.first + i)];
    const bool is_last = i + 1 == plan.range.count, joins = anchor.has(long_join);
    if (anchor.has(left_out | tandem) && !is_last) continue;
    const Point to = cut_at(read, anchor, hit);
    if (!is_last && !joins && (to.query - from.query < settings_.min_fill_length || to.target - from.target < settings_.min_fill_length)) continue;
    plan.pieces.push_back({.begin = from,
                           .end = to,
                           .band = joins ? std::max(to.query - from.query, to.target - from.target) : wide_band,
                           .z_drop = settings_.z_drop,
                           .anchor = i});
    from = to;
  }
  plan.extends_right = plan.end.query < reach.query_end && plan.end.target < reach.target_end;
  if (plan.extends_right)
    plan.pieces.push_back({.begin = plan.end,
                           .end = {reach.target_end, reach.query_end},
                           .band = band,
                           .z_drop = settings_.z_drop,
                           .end_bonus = end_bonus,
                           .goal = Goal::extension});
}

std::int64_t HitAligner::take_piece(const HitPlan& plan, Codes query, std::size_t i, const PieceAnswers* answers) {
  constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::max();
  if (settings_.splice.enabled && take_without_introns(plan, query, i)) return unknown;
  Piece piece = plan.piece(query, i);
  piece.may_be_doubtful = may_doubt_;
  memory_.doubt = {};
  if (PieceAnswer answer; answers != nullptr && answers->take(i, plan.sites, memory_.piece, answer)) {
    if (answer.cuts == nullptr) return answer.deepest_fall;
    piece.cuts = answer.cuts;
    if (put_cuts_back(settings_, piece, answer.highest_through_cuts, memory_) && takes_doubt(piece)) return unknown;
    answers->count_unproven();
  }
  if (plan.pieces[i].ties == TieOrder::gap_left) {
    align_piece_backwards(settings_, piece, memory_);
    return unknown;
  }
  if (settings_.splice.enabled && piece.cuts == nullptr && piece.goal == Goal::ends) {
    CommonPiece& common = common_[i];
    if (!common.is_cut) find_cuts(settings_, problem_of(piece, TieOrder::gap_right), memory_.cut_scratch, common.cuts);
    common.is_cut = true;
    piece.cuts = &common.cuts;
  }
  align_piece(settings_, piece, memory_);
  if (!takes_doubt(piece)) {
    piece.may_be_doubtful = false;
    align_piece(settings_, piece, memory_);
  }
  return unknown;
}

// Takes memory_.piece though it is doubtful; false: it can't be.
bool HitAligner::takes_doubt(const Piece& piece) {
  if (!memory_.doubt.any) return true;
  const Scores& scores = settings_.scores;
  if (scores.match < scores.gap_extend) return false;
  // All that an alignment scores less than equal bases do: along no path the score falls deeper, but by an insertion in front of the target, of which
  // more bases than an intron costs are free. Where it may fall too deep the hit may end with the piece, and the score with that of a part of it.
  const std::int64_t most = static_cast<std::int64_t>(piece.query.size()) * scores.match, less = most - memory_.piece.score;
  if (less + std::max<std::int64_t>(0, less + scores.gap_open - 2 * std::int64_t{scores.gap_open_long}) > settings_.z_drop) {
    if (look_for_fall(settings_, piece, memory_) != Fall::none) return false;
    doubt_.highest_broken_off = std::max(doubt_.highest_broken_off, score_ + doubt_.less + most);
  }
  doubt_.any = true;
  doubt_.less += memory_.doubt.less;
  return true;
}

bool HitAligner::take_without_introns(const HitPlan& plan, Codes query, std::size_t i) {
  CommonPiece& common = common_[i];
  if (!common.is_asked) {
    common.is_asked = true;
    common.is_made = align_piece_without_introns(settings_, plan.piece(query, i), plan.pieces[i].ties, memory_);
    if (common.is_made) std::swap(common.made, memory_.piece);
  }
  if (common.is_made) memory_.piece = common.made;
  return common.is_made;
}

void HitAligner::take_left_end(const HitPlan& plan, Codes query, const PieceAnswers* answers, Ends& ends) {
  if (!plan.extends_left) return;
  take_piece(plan, query, 0, answers);
  const Alignment& made = memory_.piece;
  if (!made.cigar.empty()) {
    append(cigar_, made.cigar);
    score_ += made.best;
  }
  ends.begin.target -= made.reached_end ? made.query_end_target + 1 : made.best_target + 1;
  ends.begin.query -= made.reached_end ? plan.begin.query - plan.reach.query_begin : made.best_query + 1;
}

void HitAligner::take_right_end(const HitPlan& plan, Codes query, const PieceAnswers* answers, Ends& ends) {
  if (!plan.extends_right) return;
  take_piece(plan, query, plan.pieces.size() - 1, answers);
  const Alignment& made = memory_.piece;
  if (!made.cigar.empty()) {
    append(cigar_, made.cigar);
    score_ += made.best;
  }
  ends.end.target += made.reached_end ? made.query_end_target + 1 : made.best_target + 1;
  ends.end.query += made.reached_end ? plan.reach.query_end - plan.end.query : made.best_query + 1;
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

std::optional<AlignedHit> HitAligner::take_gaps(const ReadStrands& read, std::span<const Anchor> anchors, const HitPlan& plan,
                                                const PieceAnswers* answers, AlignedHit& hit, Ends& ends, bool& broken_off) {
  const Codes query = read.strand(hit.reverse);
  const std::size_t end = plan.pieces.size() - (plan.extends_right ? 1 : 0);
  for (std::size_t i = plan.extends_left ? 1 : 0; i < end; ++i) {
    const PlannedPiece& planned = plan.pieces[i];
    const std::int64_t deepest_fall = take_piece(plan, query, i, answers);
    Fall fall = Fall::none;
    if (deepest_fall > settings_.z_drop_inversion) {
      Piece piece = plan.piece(query, i);
      fall = look_for_fall(settings_, piece, memory_);
      if (fall != Fall::none) {
        piece.goal = Goal::ends_or_drop;
        if (fall == Fall::inversion) piece.z_drop = settings_.z_drop_inversion;
        align_piece(settings_, piece, memory_);
      }
    }
    const Alignment& made = memory_.piece;
    append(cigar_, made.cigar);
    if (made.dropped) {
      score_ += made.best;
      ends.end = {planned.begin.target + made.best_target + 1, planned.begin.query + made.best_query + 1};
      broken_off = true;
      return split(anchors, plan.range, planned.anchor, planned.begin.target + made.best_target, fall, read.length(), hit);
    }
    // Several gaps that could not be aligned sum up beyond the lowest number, and minimap2's wrap around.
    score_ = static_cast<std::int32_t>(static_cast<std::uint32_t>(score_) + static_cast<std::uint32_t>(made.score));
  }
  return std::nullopt;
}

std::optional<AlignedHit> HitAligner::align(const ReadStrands& read, std::span<const Anchor> anchors, HitPlan& plan, const PieceAnswers* answers,
                                            AlignedHit& hit) {
  return settings_.splice.enabled ? align_spliced_hit(read, anchors, plan, answers, hit) : align_along(read, anchors, plan, answers, hit);
}

std::span<const Sites> ways_of(const SpliceSettings& splice, const AlignedHit& hit) {
  // Along the transcript, then against it.
  static constexpr Sites none[] = {Sites::none}, of_forward[] = {Sites::forward, Sites::reverse}, of_reverse[] = {Sites::reverse, Sites::forward};
  if (!splice.enabled || (!splice.along && !splice.against)) return none;
  const std::span<const Sites> both = hit.reverse ? of_reverse : of_forward;
  return splice.along && splice.against ? both : splice.along ? both.first(1) : both.last(1);
}

// Along its transcript, against it, or both ways, of which the better one is taken: S.7 of the specification.
std::optional<AlignedHit> HitAligner::align_spliced_hit(const ReadStrands& read, std::span<const Anchor> anchors, HitPlan& plan,
                                                        const PieceAnswers* answers, AlignedHit& hit) {
  const std::span<const Sites> ways = ways_of(settings_.splice, hit);
  common_.resize(std::max(common_.size(), plan.pieces.size()));
  for (CommonPiece& common : common_) common.is_asked = common.is_cut = false;
  struct Way {
    Transcript transcript;
    Sites sites;
    AlignedHit made;
    std::optional<AlignedHit> rest;
    bool is_doubtful = false;
    std::int64_t highest = 0;  // that it may score
  };
  const auto align_way = [&](Way& way, bool may_doubt) {
    plan.sites = way.sites;
    way.made = hit;
    way.made.transcript = way.transcript;
    may_doubt_ = may_doubt;
    doubt_ = {};
    way.rest = align_along(read, anchors, plan, answers, way.made);
    may_doubt_ = false;
    way.is_doubtful = doubt_.any;
    way.highest = std::max(way.made.score + doubt_.less, doubt_.highest_broken_off);
  };
  if (ways.size() == 1) {
    Way only{settings_.splice.along ? Transcript::along : Transcript::against, ways[0], {}, {}};
    align_way(only, false);
    hit = std::move(only.made);
    return only.rest;
  }
  Way along{Transcript::along, ways[0], {}, {}}, against{Transcript::against, ways[1], {}, {}};
  align_way(along, true);
  align_way(against, true);
  Way &likely = against.made.score > along.made.score ? against : along, &other = &likely == &along ? against : along;
  if (likely.is_doubtful) align_way(likely, false);
  // One that scores less however much more it may score need not be known.
  if (other.is_doubtful && other.highest >= likely.made.score) align_way(other, false);
  const bool undecided = along.made.score == against.made.score;
  // As good as thrown dice.
  const bool takes_other = undecided ? ((read.length() + along.made.score) & 1) != 0 : against.made.score > along.made.score;
  Way& better = takes_other ? against : along;
  hit = std::move(better.made);
  if (undecided) hit.transcript = Transcript::undecided;
  if (hit.spliced && settings_.release != overlap::Minimap2Release::v2_24) {
    const std::int32_t sum = settings_.scores.match + settings_.scores.mismatch;
    hit.best_score += undecided ? -sum : sum + (sum >> 1);
  }
  return std::move(better.rest);
}

std::optional<AlignedHit> HitAligner::align_along(const ReadStrands& read, std::span<const Anchor> anchors, const HitPlan& plan,
                                                  const PieceAnswers* answers, AlignedHit& hit) {
  cigar_.clear();
  score_ = 0;
  const Codes query = read.strand(hit.reverse);
  Ends ends{plan.begin, plan.end};
  take_left_end(plan, query, answers, ends);
  bool broken_off = false;
  std::optional<AlignedHit> rest = take_gaps(read, anchors, plan, answers, hit, ends, broken_off);
  if (!broken_off) take_right_end(plan, query, answers, ends);

  hit.target_start = ends.begin.target;
  hit.target_end = ends.end.target;
  hit.query_start = hit.reverse ? read.length() - ends.end.query : ends.begin.query;
  hit.query_end = hit.reverse ? read.length() - ends.begin.query : ends.end.query;
  hit.score = score_;
  hit.cigar = cigar_;
  if (!hit.cigar.empty())
    finish_path(settings_, part_or_none(query, ends.begin.query, ends.end.query), plan.target_part(ends.begin.target, ends.end.target), hit);
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
  copy_contig(index_, static_cast<std::size_t>(left.target), left.target_end, right.target_start, target_);
  const auto target_part = [&](std::int32_t begin, std::int32_t end) {
    return part_or_none(target_, begin - left.target_end, end - left.target_end);
  };
  memory_.query.assign(query.rend() - (query_from + on_query), query.rend() - query_from);
  memory_.target.assign(target_.rbegin(), target_.rend());
  const Padding padding = settings_.release == overlap::Minimap2Release::v2_24 ? Padding::passes : Padding::costs;
  const LocalEnd local = align_locally(settings_.scores, memory_.query, memory_.target, padding, memory_.local);
  if (local.score < settings_.min_score) return std::nullopt;
  // With 2.24 the first base may lie up to seven bases before the gap: see LocalEnd.
  const std::int32_t query_offset = on_query - 1 - local.query, target_offset = on_target - 1 - local.target;
  const std::int32_t query_begin = query_from + query_offset, target_begin = left.target_end + target_offset;
  if (query_begin < 0) return std::nullopt;
  align_piece(settings_,
              {.query = part_or_none(query, query_begin, query_from + on_query),
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
  finish_path(settings_, part_or_none(query, query_begin, query_end), target_part(target_begin, found.target_end), found);
  return found;
}

}  // namespace sluice::base_alignment
