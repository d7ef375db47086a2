// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time. predecessor_search.hpp has the idea.

#include "chaining/predecessor_search.hpp"

#include <algorithm>
#include <bit>

#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "chaining/predecessor_search.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "chaining/step_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace sluice::chaining::HWY_NAMESPACE {

// From bw / 2 to bw, so that two lanes on either side are enough. (Widths around bw and bw / 4 are slower.)
int lane_shift(std::int32_t bw) { return std::max(0, static_cast<int>(std::bit_width(static_cast<std::uint32_t>(bw - 1))) - 1); }

// Diagonals of a lane share a row of least penalties: wide lanes have this many rows.
constexpr int penalty_rows_shift = 8;

using RowTag = hn::CappedTag<std::int32_t, row_lanes>;
constexpr int row_part = static_cast<int>(hn::MaxLanes(RowTag()));
constexpr std::int32_t out_of_question = 1 << 30;

class PredecessorSearch {
 public:
  PredecessorSearch(Anchors anchors, const ChainingParameters& parameters, PredecessorSearchScratch& scratch, PredecessorTable table)
      : anchors_(anchors),
        limits_(step_limits(parameters)),
        costs_(step_costs(parameters)),
        max_iter_(parameters.max_chain_iter),
        scratch_(scratch),
        score_(table.score.data()),
        predecessor_(table.predecessor.data()),
        shift_(lane_shift(limits_.band)),
        row_shift_(std::max(0, shift_ - penalty_rows_shift)),
        shortest_gap_limit_(std::min(limits_.query_gap, limits_.target_gap)) {}

  template <SkipCost skip_cost>
  void fill() {
    make_penalty_table();
    make_lanes();
    const auto n = static_cast<std::int32_t>(anchors_.size());
    for (std::int32_t i = 0; i < n; ++i) {
      const Point to = point(i);
      if (!continue_run(i, to)) look_around<skip_cost>(i, to);
      highest_ = std::max(highest_, score_[i] + to.span);
      append(i, to, score_[i]);
    }
  }

 private:
  std::uint64_t x(std::int32_t i) const { return anchors_.x[static_cast<std::size_t>(i)]; }
  std::uint64_t reach() const { return static_cast<std::uint64_t>(limits_.target_gap); }
  Point point(std::int32_t i) const { return point_of(anchors_.x[static_cast<std::size_t>(i)], anchors_.y[static_cast<std::size_t>(i)]); }
  std::int32_t lane_of(std::int32_t diagonal) const { return diagonal >> shift_; }
  std::uint32_t slot_of(std::int32_t lane_number) const { return static_cast<std::uint32_t>(lane_number) & lane_mask_; }
  DiagonalLane& lane_at(std::uint32_t slot) { return scratch_.lanes[slot]; }
  std::int32_t* ceiling_at(std::uint32_t slot) { return &scratch_.lane_ceilings[slot + row_lanes]; }
  void set_ceiling(std::uint32_t slot, std::int32_t ceiling) {
    *ceiling_at(slot) = ceiling;
    if (slot < row_lanes) ceiling_at(slot)[lane_mask_ + 1] = ceiling;
    if (slot > lane_mask_ - row_lanes) *(ceiling_at(slot) - lane_mask_ - 1) = ceiling;
  }

  // Whether the anchor before it is its predecessor for sure, as nearly always where a read has few errors. A run of anchors lies on one diagonal,
  // each no further from the one before it than that one's span. From the last of a run a step adds the whole distance, and no step adds more, so
  // that f - query position is highest at the last; from anchors before the run it adds no more than their span. Of equal sums the
  // nearest anchor wins.
  HWY_INLINE bool continue_run(std::int32_t i, Point to) {
    if (i == 0) return false;
    const Point before = point(i - 1);
    const std::int32_t distance = to.query - before.query;
    const std::uint64_t along_target = x(i) - x(i - 1);
    if (distance <= 0 || along_target != static_cast<std::uint64_t>(distance) || distance > std::min(before.span, shortest_gap_limit_)) {
      highest_before_run_ = along_target > reach() ? out_of_reach : highest_;
      if (along_target > reach()) highest_ = out_of_reach;
      return false;
    }
    const std::int32_t sum = score_[i - 1] + distance;
    if (sum <= std::max(highest_before_run_, to.span)) return false;
    score_[i] = sum;
    predecessor_[i] = i - 1;
    peak_ = i;
    return true;
  }

  template <SkipCost skip_cost>
  HWY_INLINE void look_around(std::int32_t i, Point to) {
    advance_start(i);
    Choice choice(to.span);
    look_for_predecessor<skip_cost>(to, choice);
    look_at_peak(i, to, choice);
    score_[i] = choice.best;
    predecessor_[i] = choice.chosen;
    if (peak_ < 0 || (x(i) - x(peak_) <= reach() && score_[peak_] < choice.best)) peak_ = i;
  }

  // Kept from read to read.
  void make_penalty_table() {
    if (!scratch_.penalties.empty() && scratch_.penalty_limits == limits_ && scratch_.penalty_costs == costs_) return;
    scratch_.penalty_limits = limits_;
    scratch_.penalty_costs = costs_;
    // What a difference of at least so many bases costs; from the last one on, as much as that one.
    const std::int32_t size = std::min(limits_.band, std::int32_t{1024}) + 1;
    std::vector<std::int32_t> least_penalty(static_cast<std::size_t>(size));
    std::int32_t least = INT32_MAX;
    for (std::int32_t difference = size; difference-- > 0;) {
      least = std::min(least, step_penalty(difference, 0, costs_));
      least_penalty[static_cast<std::size_t>(difference)] = least;
    }
    const auto penalty_from = [&](std::int32_t difference) {
      return difference > limits_.band ? out_of_question : least_penalty[static_cast<std::size_t>(std::min(difference, size - 1))];
    };
    const std::int32_t width = std::int32_t{1} << shift_, rows = width >> row_shift_, row_width = width / rows;
    scratch_.penalties.assign(static_cast<std::size_t>(rows), {});
    for (std::int32_t row = 0; row < rows; ++row) {
      std::int32_t* const of_lane = scratch_.penalties[static_cast<std::size_t>(row)].of_lane;
      std::fill_n(of_lane, row_lanes, out_of_question);  // the own lane, too: it is looked into first
      for (std::int32_t away = 1; away <= lanes_beside; ++away) {
        of_lane[lanes_beside - away] = penalty_from(row * row_width + 1 + (away - 1) * width);
        of_lane[lanes_beside + away] = penalty_from(away * width - (row + 1) * row_width + 1);
      }
    }
  }

  // Lanes are reused modulo a power of two. Two lanes within reach rarely share one; when they do, the differences of their diagonals are told apart
  // like any other.
  void make_lanes() {
    std::int32_t longest = 0;
    for (const std::uint64_t y : anchors_.y) longest = std::max(longest, query_position(y));
    const std::uint64_t wanted = ((static_cast<std::uint64_t>(longest) + reach()) >> shift_) + 4;
    const std::uint32_t slots = std::bit_ceil(static_cast<std::uint32_t>(std::min<std::uint64_t>(std::max<std::uint64_t>(wanted, 16), 1 << 16)));
    lane_mask_ = slots - 1;
    scratch_.lanes.assign(slots, {0, 0});
    scratch_.lane_ceilings.assign(slots + 2 * row_lanes, out_of_reach);
    const std::size_t n = anchors_.size();
    for (std::size_t i = 0; i < n; ++i) ++lane_at(slot_of(lane_of(target_position(anchors_.x[i]) - query_position(anchors_.y[i])))).end;
    std::int32_t block = 0;
    for (DiagonalLane& l : scratch_.lanes) {
      const std::int32_t first = block * block_anchors;
      block += block_of(l.end + block_anchors - 1);
      l.begin = l.end = first;
    }
    const auto blocks = static_cast<std::size_t>(block);
    if (scratch_.blocks.size() < blocks) {
      scratch_.blocks.resize(blocks);
      scratch_.ceilings.resize(blocks + 2 * block_anchors);
    }
  }

  std::int32_t& ceiling_of(std::int32_t block) { return scratch_.ceilings[static_cast<std::size_t>(block + block_anchors)]; }
  AnchorBlock& block_at(std::int32_t block) { return scratch_.blocks[static_cast<std::size_t>(block)]; }

  void advance_start(std::int32_t i) {
    while (x(i) - x(start_) > reach()) ++start_;  // also over anchors of another target: they are 2^31 bases away or more
    start_ = std::max(start_, i - max_iter_);
  }

  // Forgets what is no longer within reach.
  HWY_INLINE void trim(DiagonalLane& l, std::uint32_t slot) {
    while (l.begin < l.end) {
      AnchorBlock& block = block_at(block_of(l.begin));
      const std::int32_t place = place_in_block(l.begin);
      if (block.index[place] >= start_) return;
      block.score[place] = out_of_reach;
      ++l.begin;
    }
    set_ceiling(slot, out_of_reach);
  }

  template <SkipCost skip_cost>
  HWY_INLINE void look_for_predecessor(Point to, Choice& choice) {
    const StepVectors<skip_cost> step(to, limits_, costs_);
    const std::int32_t diagonal = to.target - to.query;
    const std::uint32_t own = slot_of(lane_of(diagonal));
    if (*ceiling_at(own) >= choice.wanted) look_into<skip_cost>(own, 0, step, choice);
    const std::int32_t in_lane = diagonal & ((std::int32_t{1} << shift_) - 1);
    const std::int32_t* const penalties = scratch_.penalties[static_cast<std::size_t>(in_lane >> row_shift_)].of_lane;
    const std::int32_t* const ceilings = ceiling_at(own) - lanes_beside;
    const RowTag tag;
    for (int part = 0; part < row_lanes; part += row_part) {
      const auto possible = hn::Sub(hn::LoadU(tag, ceilings + part), hn::Load(tag, penalties + part));
      std::uint32_t bits = lanes_of(tag, hn::Gt(possible, hn::Set(tag, choice.wanted - 1)));
      for (; bits != 0; bits &= bits - 1) {
        const int beside = part + std::countr_zero(bits);
        if (ceilings[beside] - penalties[beside] < choice.wanted) continue;
        look_into<skip_cost>((own + static_cast<std::uint32_t>(beside - lanes_beside)) & lane_mask_, penalties[beside], step, choice);
      }
    }
  }

  template <SkipCost skip_cost>
  HWY_INLINE void look_into(std::uint32_t slot, std::int32_t penalty, const StepVectors<skip_cost>& step, Choice& choice) {
    DiagonalLane& l = lane_at(slot);
    trim(l, slot);
    if (l.begin == l.end) return;
    const IntTag tag;
    const std::int32_t first = block_of(l.begin);
    for (std::int32_t last = block_of(l.end - 1); last >= first; last -= lanes) {
      const auto ceilings = hn::LoadU(tag, &ceiling_of(last - lanes + 1));
      const auto candidates = [&] { return lanes_of(tag, hn::Gt(ceilings, hn::Set(tag, choice.wanted + penalty - 1))); };
      const std::uint32_t inside = last - first >= lanes ? ~0U : ~0U << (lanes - 1 - (last - first));
      std::uint32_t bits = candidates() & inside;
      while (bits != 0) {
        const int top = 31 - std::countl_zero(bits);
        const std::int32_t block = last - lanes + 1 + top;
        look_into_block(block_at(block), step, choice);
        bits = candidates() & inside & ((1U << top) - 1);
      }
    }
  }

  template <SkipCost skip_cost>
  HWY_INLINE void look_into_block(const AnchorBlock& block, const StepVectors<skip_cost>& step, Choice& choice) {
    const IntTag tag;
    scratch_.pairs += block_anchors;
    for (int part = block_anchors - lanes; part >= 0; part -= lanes) {
      const auto scores = step.scores(hn::Load(tag, block.target + part), hn::Load(tag, block.query + part), hn::Load(tag, block.span + part),
                                      hn::Load(tag, block.score + part));
      choice.take(scores, block.index + part);
    }
  }

  // minimap2 remembers the best anchor within reach also beyond max_chain_iter, and tries it last.
  HWY_INLINE void look_at_peak(std::int32_t i, Point to, Choice& choice) {
    if (peak_ < 0 || x(i) - x(peak_) > reach()) {
      peak_ = -1;
      for (std::int32_t m = i - 1; m >= start_; --m)
        if (peak_ < 0 || score_[m] > score_[peak_]) peak_ = m;
    }
    if (peak_ < 0 || peak_ >= start_ - 1) return;
    const std::int32_t s = step_score(to, point(peak_), limits_, costs_);
    if (s != no_step && choice.best < s + score_[peak_]) {
      choice.best = s + score_[peak_];
      choice.chosen = peak_;
    }
  }

  HWY_INLINE void append(std::int32_t i, Point at, std::int32_t score) {
    const std::uint32_t slot = slot_of(lane_of(at.target - at.query));
    DiagonalLane& l = lane_at(slot);
    const std::int32_t number = block_of(l.end), place = place_in_block(l.end);
    AnchorBlock& block = block_at(number);
    std::int32_t& ceiling = ceiling_of(number);
    if (place == 0) {
      std::fill_n(block.score, block_anchors, out_of_reach);
      ceiling = out_of_reach;
    }
    block.target[place] = at.target;
    block.query[place] = at.query;
    block.span[place] = at.span;
    block.score[place] = score;
    block.index[place] = i;
    ceiling = std::max(ceiling, score + at.span);
    if (score + at.span > *ceiling_at(slot)) set_ceiling(slot, score + at.span);
    ++l.end;
  }

  Anchors anchors_;
  StepLimits limits_;
  StepCosts costs_;
  std::int32_t max_iter_;
  PredecessorSearchScratch& scratch_;
  std::int32_t* score_;
  std::int32_t* predecessor_;
  int shift_;
  int row_shift_;
  std::uint32_t lane_mask_ = 0;
  std::int32_t start_ = 0;
  std::int32_t peak_ = -1;
  std::int32_t shortest_gap_limit_;
  std::int32_t highest_ = out_of_reach;             // score plus span of the anchors so far that may be within reach
  std::int32_t highest_before_run_ = out_of_reach;  // of those before the run of anchors on one diagonal
};

void SearchPredecessors(Anchors anchors, const ChainingParameters& parameters, PredecessorSearchScratch& scratch, PredecessorTable table) {
  PredecessorSearch search(anchors, parameters, scratch, table);
  if (step_costs(parameters).skip == 0.0F) {
    search.fill<SkipCost::none>();
  } else {
    search.fill<SkipCost::some>();
  }
}

}  // namespace sluice::chaining::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::chaining {

HWY_EXPORT(SearchPredecessors);

void search_predecessors(Anchors anchors, const ChainingParameters& parameters, PredecessorSearchScratch& scratch, PredecessorTable table) {
  HWY_DYNAMIC_DISPATCH(SearchPredecessors)(anchors, parameters, scratch, table);
}

}  // namespace sluice::chaining
#endif  // HWY_ONCE
