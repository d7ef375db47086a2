// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time. long_join_search.hpp has the idea.

#include "chaining/long_join_search.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "chaining/long_join_search.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "chaining/step_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace sluice::chaining::HWY_NAMESPACE {

using DoubleTag = hn::CappedTag<double, 8>;
constexpr std::int32_t cost_lanes = static_cast<std::int32_t>(hn::MaxLanes(DoubleTag()));

constexpr int query_lane_shift = 9;
constexpr double unreachable = std::numeric_limits<double>::infinity();
constexpr double highest_cost = std::numeric_limits<double>::max();

// The best of the anchors near by. They are met in descending order of (query position, index), and the first of equally good ones is taken.
struct NearChoice {
  explicit NearChoice(std::int32_t span) : best(span), wanted(span + 1) {}

  HWY_INLINE void take(Ints scores, const std::int32_t* queries, const std::int32_t* indices) {
    const IntTag tag;
    if (hn::AllFalse(tag, hn::Gt(scores, hn::Set(tag, wanted - 1)))) return;
    const auto highest = hn::MaxOfLanes(tag, scores);
    const std::int32_t score = hn::GetLane(highest);
    if (score > best) chosen = -1;
    best = wanted = score;
    for (std::uint32_t bits = lanes_of(tag, hn::Eq(scores, highest)); bits != 0; bits &= bits - 1) {
      const int place = std::countr_zero(bits);
      if (chosen >= 0 && (queries[place] < query || (queries[place] == query && indices[place] < chosen))) continue;
      query = queries[place];
      chosen = indices[place];
    }
  }

  std::int32_t best;
  std::int32_t wanted;  // the lowest score that changes the choice
  std::int32_t chosen = -1;
  std::int32_t query = -1;
};

template <SkipCost skip_cost>
class JoinSearcher {
 public:
  JoinSearcher(Anchors anchors, std::size_t first, std::size_t last, const ChainingParameters& parameters, JoinLimits limits,
               JoinSearchScratch& scratch, PredecessorTable table)
      : anchors_{anchors.x.subspan(first, last - first), anchors.y.subspan(first, last - first)},
        n_(static_cast<std::int32_t>(last - first)),
        first_(static_cast<std::int32_t>(first)),
        x_(anchors.x.data() + first),
        y_(anchors.y.data() + first),
        score_(table.score.data() + first),
        predecessor_(table.predecessor.data() + first),
        limits_(limits),
        size_cap_(parameters.rmq_size_cap),
        costs_(step_costs(parameters)),
        scratch_(scratch) {}

  void fill() {
    make_lanes();
    for (std::int32_t i = 0; i < n_; ++i) {
      if (continue_run(i)) continue;
      move_reach(i);
      choose(i);
    }
  }

 private:
  struct Outcome {
    std::int32_t score, chosen;
    bool operator==(const Outcome&) const = default;
  };

  // Whether the anchor before it adjoins and has the lowest cost for sure, so that nothing else is looked at: along a run of anchors on one diagonal
  // the cost falls from each to the next.
  HWY_INLINE bool continue_run(std::int32_t i) {
    if (i == 0) return false;
    const Point to = point(i), before = point(i - 1);
    const double cost = join_cost(score_[i - 1], before, costs_);
    const bool is_lowest = cost < lowest_before_;
    lowest_before_ = std::min(lowest_before_, cost);
    const std::int32_t along = to.query - before.query;
    if (!is_lowest || along <= 0 || x_[i] - x_[i - 1] != distance(along) || along > std::min(before.span, limits_.distance - 1)) return false;
    const std::int32_t sum = score_[i - 1] + along;
    if (sum <= to.span) return false;
    score_[i] = sum;
    predecessor_[i] = i - 1 + first_;
    return true;
  }

  // Brings what is within reach up to date, from where the last anchor that asked for it left it.
  HWY_INLINE void move_reach(std::int32_t i) {
    while (x_[inserted_] != x_[i]) append(inserted_++);
    for (; start_ < inserted_ && (x_[i] > x_[start_] + distance(limits_.distance) || inserted_ - start_ > size_cap_); ++start_) remove(start_);
    while (near_start_ < inserted_ && (x_[i] > x_[near_start_] + distance(limits_.inner_distance) || inserted_ - near_start_ > size_cap_))
      ++near_start_;
  }

  static std::uint64_t distance(std::int32_t bases) { return static_cast<std::uint64_t>(bases); }
  Point point(std::int32_t i) const { return point_of(x_[i], y_[i]); }
  QueryLane& lane(std::int32_t number) { return scratch_.lanes[static_cast<std::size_t>(number)]; }
  double& lane_cost(std::int32_t number) { return scratch_.lane_cost[static_cast<std::size_t>(number)]; }
  double* costs_of(std::int32_t block) { return &scratch_.costs[static_cast<std::size_t>(block) * block_anchors]; }
  double& block_cost(std::int32_t block) { return scratch_.block_cost[static_cast<std::size_t>(block)]; }
  std::int32_t& ceiling_of(std::int32_t block) { return scratch_.ceilings[static_cast<std::size_t>(block + block_anchors)]; }
  AnchorBlock& block_at(std::int32_t block) { return scratch_.blocks[static_cast<std::size_t>(block)]; }
  LowestCost& queue_at(std::int32_t place) { return scratch_.queue[static_cast<std::size_t>(place)]; }

  void make_lanes() {
    std::int32_t longest = 0;
    for (std::int32_t i = 0; i < n_; ++i) longest = std::max(longest, query_position(y_[i]));
    const auto lane_count = static_cast<std::size_t>(longest >> query_lane_shift) + 1;
    scratch_.lanes.assign(lane_count, {0, 0, 0, 0});
    scratch_.lane_cost.assign(lane_count + static_cast<std::size_t>(cost_lanes), unreachable);
    for (std::int32_t i = 0; i < n_; ++i) ++lane(query_position(y_[i]) >> query_lane_shift).end;
    std::int32_t block = 0;
    for (QueryLane& l : scratch_.lanes) {
      const std::int32_t place = block * block_anchors;
      block += block_of(l.end + block_anchors - 1);
      l = {place, place, place, place};
    }
    const auto blocks = static_cast<std::size_t>(block);
    if (scratch_.blocks.size() < blocks) {
      scratch_.blocks.resize(blocks);
      scratch_.ceilings.resize(blocks + 2 * block_anchors);
      scratch_.queue.resize(blocks * block_anchors);
      scratch_.costs.resize(blocks * block_anchors);
      scratch_.block_cost.resize(blocks);
    }
  }

  HWY_INLINE void append(std::int32_t i) {
    const Point at = point(i);
    const std::int32_t lane_number = at.query >> query_lane_shift;
    QueryLane& l = lane(lane_number);
    const std::int32_t number = block_of(l.end), place = place_in_block(l.end);
    AnchorBlock& block = block_at(number);
    if (place == 0) {
      std::fill_n(block.score, block_anchors, out_of_reach);
      ceiling_of(number) = out_of_reach;
      std::fill_n(costs_of(number), block_anchors, unreachable);
      block_cost(number) = unreachable;
    }
    block.target[place] = at.target;
    block.query[place] = at.query;
    block.span[place] = at.span;
    block.score[place] = score_[i];
    block.index[place] = i;
    ceiling_of(number) = std::max(ceiling_of(number), score_[i] + at.span);
    ++l.end;
    const double cost = join_cost(score_[i], at, costs_);
    costs_of(number)[place] = cost;
    block_cost(number) = std::min(block_cost(number), cost);
    while (l.lowest_end > l.lowest && queue_at(l.lowest_end - 1).cost > cost) --l.lowest_end;
    queue_at(l.lowest_end++) = {cost, i};
    lane_cost(lane_number) = queue_at(l.lowest).cost;
  }

  // `i` is the first anchor of its lane.
  HWY_INLINE void remove(std::int32_t i) {
    const std::int32_t lane_number = query_position(y_[i]) >> query_lane_shift;
    QueryLane& l = lane(lane_number);
    costs_of(block_of(l.begin))[place_in_block(l.begin)] = unreachable;
    ++l.begin;
    if (queue_at(l.lowest).anchor != i) return;
    ++l.lowest;
    lane_cost(lane_number) = l.lowest == l.lowest_end ? unreachable : queue_at(l.lowest).cost;
  }

  // The lowest cost of the lanes first .. last.
  HWY_INLINE double lowest_of_lanes(std::int32_t first, std::int32_t last) {
    const DoubleTag tag;
    auto lowest = hn::Set(tag, unreachable);
    std::int32_t at = first;
    for (; at + cost_lanes <= last + 1; at += cost_lanes) lowest = hn::Min(lowest, hn::LoadU(tag, &lane_cost(at)));
    double cost = hn::GetLane(hn::MinOfLanes(tag, lowest));
    for (; at <= last; ++at) cost = std::min(cost, lane_cost(at));
    return cost;
  }

  // Of the lanes first .. last, the anchors of this cost, which is the lowest of those lanes.
  HWY_INLINE void take_tied_of_lanes(std::int32_t first, std::int32_t last, double cost) {
    const DoubleTag tag;
    for (std::int32_t at = first; at <= last; at += cost_lanes) {
      std::uint32_t bits = lanes_of(tag, hn::Eq(hn::LoadU(tag, &lane_cost(at)), hn::Set(tag, cost)));
      for (; bits != 0; bits &= bits - 1) {
        const std::int32_t number = at + std::countr_zero(bits);
        if (number > last) return;
        const QueryLane& l = lane(number);
        for (std::int32_t place = l.lowest; place < l.lowest_end && queue_at(place).cost == cost; ++place) take_tied(queue_at(place).anchor, cost);
      }
    }
  }

  // Anchors of a lane with query positions in [low, high], those of the lowest cost.
  HWY_INLINE void find_lowest_of_lane(std::int32_t lane_number, std::int32_t low, std::int32_t high) {
    if (lane_cost(lane_number) > tied_cost_ || lane_cost(lane_number) == unreachable) return;
    const QueryLane& l = lane(lane_number);
    const auto is_inside = [&](std::int32_t anchor) { return query_position(y_[anchor]) >= low && query_position(y_[anchor]) <= high; };
    if (is_inside(queue_at(l.lowest).anchor)) {
      const double lowest = lane_cost(lane_number);
      for (std::int32_t place = l.lowest; place < l.lowest_end && queue_at(place).cost == lowest; ++place)
        if (is_inside(queue_at(place).anchor)) take_tied(queue_at(place).anchor, lowest);
      return;
    }
    const IntTag tag;
    const auto below = hn::Set(tag, low - 1), above = hn::Set(tag, high + 1);
    const std::int32_t first = block_of(l.begin);
    for (std::int32_t b = block_of(l.end - 1); b >= first; --b) {
      if (block_cost(b) > tied_cost_) continue;
      const AnchorBlock& block = block_at(b);
      const double* const costs = costs_of(b);
      std::uint32_t bits = 0;
      for (int part = 0; part < block_anchors; part += lanes) {
        const auto query = hn::Load(tag, block.query + part);
        bits |= lanes_of(tag, hn::And(hn::Gt(query, below), hn::Gt(above, query))) << part;
      }
      const DoubleTag cost_tag;
      std::uint32_t low_cost = 0;
      for (std::int32_t part = 0; part < block_anchors; part += cost_lanes)
        low_cost |= lanes_of(cost_tag, hn::Le(hn::LoadU(cost_tag, costs + part), hn::Set(cost_tag, std::min(tied_cost_, highest_cost)))) << part;
      for (bits &= low_cost; bits != 0; bits &= bits - 1) {
        const int place = std::countr_zero(bits);
        take_tied(block.index[place], costs[place]);
      }
    }
  }

  // Keeps an anchor if its cost is the lowest so far.
  HWY_INLINE void take_tied(std::int32_t anchor, double cost) {
    if (cost > tied_cost_) return;
    if (cost < tied_cost_) scratch_.tied.clear();
    tied_cost_ = cost;
    scratch_.tied.push_back(anchor);
  }

  // Anchors of the lowest cost with query positions in [low, high] go to scratch_.tied, and the read's very first anchor if it is at `first_at`.
  HWY_INLINE void find_lowest(std::int32_t low, std::int32_t high, std::int32_t first_at) {
    scratch_.tied.clear();
    tied_cost_ = unreachable;
    if (first_ == 0 && start_ == 0 && inserted_ > 0 && query_position(y_[0]) == first_at) take_tied(0, join_cost(score_[0], point(0), costs_));
    if (high < low) return;
    const std::int32_t last_lane = std::min(high >> query_lane_shift, static_cast<std::int32_t>(scratch_.lanes.size()) - 1);
    const std::int32_t first_lane = low >> query_lane_shift;
    if (first_lane < last_lane) {
      const double whole = lowest_of_lanes(first_lane + 1, last_lane - 1);
      if (whole <= tied_cost_ && whole < unreachable) take_tied_of_lanes(first_lane + 1, last_lane - 1, whole);
      find_lowest_of_lane(first_lane, low, high);
    }
    find_lowest_of_lane(last_lane, low, high);
  }

  HWY_INLINE NearChoice look_near(Point to, std::int32_t wanted) {
    const IntTag tag;
    NearChoice choice(to.span);
    choice.wanted = wanted;
    const StepVectors<skip_cost> step(to, {limits_.inner_distance, limits_.inner_distance, limits_.band}, costs_);
    const std::int32_t lowest_lane = std::max(to.query - limits_.inner_distance, 0) >> query_lane_shift;
    for (std::int32_t number = (to.query - 1) >> query_lane_shift; number >= lowest_lane; --number) {
      const QueryLane& l = lane(number);
      if (l.begin == l.end) continue;
      const std::int32_t first = block_of(l.begin);
      for (std::int32_t b = block_of(l.end - 1); b >= first; --b) {
        const AnchorBlock& block = block_at(b);
        const std::int32_t filled = std::min(block_anchors, l.end - b * block_anchors);
        if (block.index[filled - 1] < near_start_) break;
        if (ceiling_of(b) < choice.wanted) continue;
        for (int part = 0; part < block_anchors; part += lanes) {
          const auto scores = step.scores(hn::Load(tag, block.target + part), hn::Load(tag, block.query + part), hn::Load(tag, block.span + part),
                                          hn::Load(tag, block.score + part));
          const auto is_near = hn::Gt(hn::Load(tag, block.index + part), hn::Set(tag, near_start_ - 1));
          choice.take(hn::IfThenElse(is_near, scores, hn::Set(tag, out_of_reach)), block.query + part, block.index + part);
        }
      }
    }
    return choice;
  }

  HWY_INLINE void choose(std::int32_t i) {
    const Point to = point(i);
    find_lowest(std::max(to.query - limits_.distance + 1, 0), to.query - 1, to.query);
    Outcome outcome{to.span, -1};
    const std::vector<std::int32_t>& tied = scratch_.tied;
    if (tied.size() == 1) {
      const Join join = join_to(to, tied[0]);
      if (join.score > to.span) outcome = {join.score, tied[0]};
      if (!join.adjoins && limits_.inner_distance > 0 && to.query > 0) {
        const NearChoice near = look_near(to, outcome.score + 1);
        if (near.chosen >= 0) outcome = {near.best, near.chosen};
      }
    } else if (!tied.empty()) {
      NearChoice near(to.span);
      if (limits_.inner_distance > 0 && to.query > 0) near = look_near(to, to.span + 1);
      outcome = of_tied(to, tied[0], near);
      const auto differs = [&](std::int32_t anchor) { return !(of_tied(to, anchor, near) == outcome); };
      if (std::any_of(tied.begin() + 1, tied.end(), differs)) outcome = of_tied(to, lowest_by_tree(i, to.query), near);
    }
    score_[i] = outcome.score;
    predecessor_[i] = outcome.chosen < 0 ? -1 : outcome.chosen + first_;
  }

  // What comes of an anchor of the lowest cost.
  Outcome of_tied(Point to, std::int32_t anchor, const NearChoice& near) const {
    const Join join = join_to(to, anchor);
    Outcome outcome{to.span, -1};
    if (join.score > to.span) outcome = {join.score, anchor};
    if (!join.adjoins && near.best > outcome.score) outcome = {near.best, near.chosen};
    return outcome;
  }

  HWY_NOINLINE std::int32_t lowest_by_tree(std::int32_t i, std::int32_t query) {
    if (!has_tree_) scratch_.tree.begin(anchors_.x, anchors_.y, {limits_.distance, size_cap_, costs_, first_ == 0});
    has_tree_ = true;
    scratch_.tree.move_to(i, score_);
    return scratch_.tree.lowest_cost(query);
  }

  struct Join {
    std::int32_t score;  // at most 0: not allowed
    bool adjoins;        // nothing near by is looked at
  };
  HWY_INLINE Join join_to(Point to, std::int32_t j) const {
    const Point from = point(j);
    const std::int32_t query = to.query - from.query, target = to.target - from.target;
    const bool allowed = std::abs(target - query) <= limits_.band;
    return {allowed ? score_[j] + join_score(to, from, costs_) : 0, target == query && query <= from.span};
  }

  Anchors anchors_;  // of the run
  std::int32_t n_, first_;
  const std::uint64_t* x_;
  const std::uint64_t* y_;
  std::int32_t* score_;
  std::int32_t* predecessor_;
  JoinLimits limits_;
  std::int32_t size_cap_;
  StepCosts costs_;
  JoinSearchScratch& scratch_;
  std::int32_t start_ = 0, near_start_ = 0, inserted_ = 0;
  double tied_cost_ = unreachable;  // of the anchors in scratch_.tied
  double lowest_before_ = unreachable;
  bool has_tree_ = false;
};

void SearchJoins(Anchors anchors, std::size_t first, std::size_t last, const ChainingParameters& parameters, JoinLimits limits,
                 JoinSearchScratch& scratch, PredecessorTable table) {
  if (step_costs(parameters).skip == 0.0F)
    JoinSearcher<SkipCost::none>(anchors, first, last, parameters, limits, scratch, table).fill();
  else
    JoinSearcher<SkipCost::some>(anchors, first, last, parameters, limits, scratch, table).fill();
}

}  // namespace sluice::chaining::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::chaining {

HWY_EXPORT(SearchJoins);

void search_joins(Anchors anchors, std::size_t first, std::size_t last, const ChainingParameters& parameters, JoinLimits limits,
                  JoinSearchScratch& scratch, PredecessorTable table) {
  HWY_DYNAMIC_DISPATCH(SearchJoins)(anchors, first, last, parameters, limits, scratch, table);
}

}  // namespace sluice::chaining
#endif  // HWY_ONCE
