// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The table of scan_joins (predecessor_search.hpp): as many anchors at a time as a warp has threads, one each. What the anchors before them offer is
// found first, by a warp for its run (RunJoiner) or by a team for a long one (device_long_joins.hpp); those among them follow in order. As in
// long_join_search.cpp, anchors of equal cost that lead to different steps leave the run undecided.

#include <cstdint>
#include <limits>

#include "chaining/chain_score.hpp"
#include "chaining/predecessor_search.hpp"
#include "chaining/thread_team.hpp"

namespace sluice::chaining {

struct JoinRules {
  JoinLimits limits;
  std::int32_t size_cap;  // rmq_size_cap
  StepCosts costs;
  std::uint32_t most_tiles;       // that a warp goes through for a run; a run with more is undecided: other threads would wait for it
  std::int32_t long_run_anchors;  // runs with more are joined by all threads together
};

// Anchors of a row, ascending, and what is found for them.
struct RowToJoin {
  const std::uint64_t* x;
  const std::uint64_t* y;
  std::int32_t anchors, read_length;
  std::int32_t* score;
  std::int32_t* predecessor;
  std::uint32_t* group;  // the first anchor of the run
  // Working memory, an element per anchor; of tiles that of their first.
  double* cost;
  double* lowest_cost;
  std::int32_t* ceiling;
  // Of long runs (device_long_joins.hpp).
  std::uint64_t* lane_cost;
  std::uint64_t* lane_anchor;
  std::uint32_t* lane_floor;
};

// Anchors [first, last).
struct JoinRun {
  std::int32_t first, last;
};

// No join leads over the place before such an anchor.
SLUICE_HOST_DEVICE inline bool begins_run(const std::uint64_t* x, std::int32_t anchor, std::int32_t distance) {
  return anchor == 0 || x[anchor] >> 32 != x[anchor - 1] >> 32 || x[anchor] > x[anchor - 1] + static_cast<std::uint64_t>(distance);
}

struct JoinOutcome {
  std::int32_t score, chosen;
  SLUICE_HOST_DEVICE bool differs(JoinOutcome other) const { return score != other.score || chosen != other.chosen; }
};

// A step as far as it does not depend on scores.
struct JoinStep {
  std::int32_t score = 0;
  bool is_in_band = false, adjoins = false;
};
SLUICE_HOST_DEVICE inline JoinStep join_step(Point to, Point from, const JoinRules& rules) {
  const std::int32_t query = apart(to.query, from.query), target = apart(to.target, from.target);
  const std::int32_t difference = target > query ? apart(target, query) : apart(query, target);
  return {join_score(to, from, rules.costs), difference <= rules.limits.band, difference == 0 && query <= from.span};
}
// What comes of an anchor j of the lowest cost, with its score.
SLUICE_HOST_DEVICE inline JoinOutcome join_outcome(std::int32_t span, JoinOutcome near, std::int32_t j, JoinStep step, std::int32_t score) {
  JoinOutcome outcome{span, -1};
  if (step.is_in_band && score + step.score > span) outcome = {score + step.score, j};
  if (!step.adjoins && near.chosen >= 0 && near.score > outcome.score) outcome = near;
  return outcome;
}

// A tile's anchors, for all threads of the warp.
template <class Warp>
struct JoinTile {
  static constexpr std::uint32_t lanes = Warp::most_threads;
  double cost[lanes];
  std::int32_t target[lanes], query[lanes], span[lanes], score[lanes];
};

// The anchors that a warp's threads have at a time, one each, and the best of what they met.
template <class Warp>
class JoinBatch {
 public:
  static constexpr auto lanes = static_cast<std::int32_t>(Warp::most_threads);
  using Tile = JoinTile<Warp>;
  static constexpr double unreachable = std::numeric_limits<double>::infinity();

  SLUICE_HOST_DEVICE JoinBatch(Warp& warp, const RowToJoin& row, JoinRun run, const JoinRules& rules, Tile& tile)
      : warp_(warp), row_(row), rules_(rules), tile_(tile), run_(run), lane_(static_cast<std::int32_t>(warp.rank())) {}

  // The next anchors, and those that they could follow: [start, inserted), near by [near_start, inserted). Returns how many they are.
  SLUICE_HOST_DEVICE std::int32_t take_up(std::int32_t begin) {
    const std::int32_t left = run_.last - begin, count = left < lanes ? left : lanes;
    active_ = lane_ < count;
    lowest_ = unreachable;
    lowest_anchor_ = near_anchor_ = -1;
    is_tied_ = false;
    to_ = {std::numeric_limits<std::int32_t>::max(), 0, 0};
    if (active_) to_ = point_of(row_.x[begin + lane_], row_.y[begin + lane_]);
    const std::int32_t before = threads_below(to_.target, to_.target);
    inserted_ = before == 0 && begin > run_.first && last_target_ == to_.target ? last_inserted_ : begin + before;
    const std::int32_t limit = inserted_ - rules_.size_cap;
    start_ = highest(first_at(earliest_, begin + count, to_.target - rules_.limits.distance), limit);
    near_start_ = highest(first_at(near_earliest_, begin + count, to_.target - rules_.limits.inner_distance), limit);
    earliest_ = warp_.from(start_, 0);
    near_earliest_ = warp_.from(near_start_, 0);
    last_target_ = warp_.from(to_.target, static_cast<std::uint32_t>(count - 1));
    last_inserted_ = warp_.from(inserted_, static_cast<std::uint32_t>(count - 1));
    near_score_ = to_.span;
    near_query_ = -1;
    return count;
  }

 protected:
  SLUICE_HOST_DEVICE static std::int32_t highest(std::int32_t a, std::int32_t b) { return a > b ? a : b; }

  // How many threads have a value below mine; their values ascend.
  SLUICE_HOST_DEVICE std::int32_t threads_below(std::int32_t value, std::int32_t mine) {
    std::int32_t below = 0;
    for (std::int32_t step = lanes; step > 0; step /= 2) {
      const std::int32_t probe = below + step - 1;
      const std::int32_t there = warp_.from(value, static_cast<std::uint32_t>(probe < lanes ? probe : lanes - 1));
      if (probe < lanes && there < mine) below += step;
    }
    return below;
  }
  // The first of the anchors [low, high) of the run that is not before a place on the target; high if there is none.
  SLUICE_HOST_DEVICE std::int32_t first_at(std::int32_t low, std::int32_t high, std::int32_t target) {
    std::int32_t found = low;
    if (!active_) target = std::numeric_limits<std::int32_t>::min();
    for (;; low += lanes) {
      const std::int32_t anchor = low + lane_;
      const std::int32_t there = anchor < high ? target_position(row_.x[anchor]) : std::numeric_limits<std::int32_t>::max();
      const std::int32_t before = threads_below(there, target);
      found += before;
      if (!warp_.any(before == lanes)) return found;
    }
  }

  SLUICE_HOST_DEVICE bool is_reached(std::int32_t j, std::int32_t query) const {
    // The read's very first anchor counts with an equal position as well.
    const std::int32_t gap = to_.query - query;
    return j >= start_ && j < inserted_ && ((gap > 0 && gap < rules_.limits.distance) || (j == 0 && gap == 0));
  }
  SLUICE_HOST_DEVICE void meet_cost(std::int32_t j, double cost) {
    if (cost > lowest_) return;
    is_tied_ = cost == lowest_;
    lowest_ = cost;
    if (!is_tied_) lowest_anchor_ = j;
  }
  SLUICE_HOST_DEVICE bool is_near(std::int32_t j, Point from) const {
    const std::int32_t query = to_.query - from.query;
    return j >= near_start_ && j < inserted_ && query > 0 && query <= rules_.limits.inner_distance;
  }
  // Anchors near by are met by the method in descending order of (position on the read, number); of equal scores the first is taken.
  SLUICE_HOST_DEVICE void meet_near_step(std::int32_t j, std::int32_t query, JoinStep step, std::int32_t score) {
    const std::int32_t sum = score + step.score;
    if (!step.is_in_band || sum < near_score_) return;
    if (sum == near_score_ && (near_anchor_ < 0 || query < near_query_ || (query == near_query_ && j < near_anchor_))) return;
    near_score_ = sum;
    near_query_ = query;
    near_anchor_ = j;
  }
  SLUICE_HOST_DEVICE void meet_near_anchor(std::int32_t j, Point from, std::int32_t score) {
    if (is_near(j, from)) meet_near_step(j, from.query, join_step(to_, from, rules_), score);
  }
  // What is known of the anchor of the lowest cost when the anchors of the batch begin to be met.
  SLUICE_HOST_DEVICE void look_up_lowest() {
    if (lowest_anchor_ < 0) return;
    lowest_step_ = join_step(to_, point_of(row_.x[lowest_anchor_], row_.y[lowest_anchor_]), rules_);
    lowest_score_ = row_.score[lowest_anchor_];
  }
  SLUICE_HOST_DEVICE void stage(Point point, std::int32_t score) {
    tile_.target[lane_] = point.target;
    tile_.query[lane_] = point.query;
    tile_.span[lane_] = point.span;
    tile_.score[lane_] = score;
  }
  SLUICE_HOST_DEVICE Point staged(std::int32_t k) const { return {tile_.target[k], tile_.query[k], tile_.span[k]}; }

  // By all threads for that of `owner`. `each_of_cost(reach, meet)` calls meet(anchor), by any thread, for every anchor of reach.lowest that `reach`
  // may reach. False: undecided.
  struct Reach {
    Point to;
    std::int32_t start, inserted;
    double lowest;
  };
  template <class EachOfCost>
  SLUICE_HOST_DEVICE bool decide_tie(std::uint32_t owner, JoinOutcome& outcome, const EachOfCost& each_of_cost) {
    const Reach reach{{warp_.from(to_.target, owner), warp_.from(to_.query, owner), warp_.from(to_.span, owner)},
                      warp_.from(start_, owner),
                      warp_.from(inserted_, owner),
                      warp_.from(lowest_, owner)};
    const JoinOutcome near{warp_.from(near_score_, owner), warp_.from(near_anchor_, owner)};
    bool has = false, differs = false;
    JoinOutcome mine{0, 0};
    each_of_cost(reach, [&](std::int32_t j) {
      const Point from = point_of(row_.x[j], row_.y[j]);
      const std::int32_t gap = reach.to.query - from.query;
      if (!((gap > 0 && gap < rules_.limits.distance) || (j == 0 && gap == 0))) return;
      const JoinOutcome here = join_outcome(reach.to.span, near, j, join_step(reach.to, from, rules_), row_.score[j]);
      if (has && here.differs(mine)) differs = true;
      mine = here;
      has = true;
    });
    const std::uint32_t someone = warp_.first(has);
    outcome = {warp_.from(mine.score, someone), warp_.from(mine.chosen, someone)};
    return !warp_.any(differs || (has && mine.differs(outcome)));
  }

  // What the anchors of the batch are to this thread's, as far as it does not depend on scores.
  struct Met {
    std::int32_t query = 0;
    double advance = 0;
    JoinStep step;
    bool is_reached = false, is_near = false;
  };
  SLUICE_HOST_DEVICE Met met(std::int32_t begin, std::int32_t k) const {
    const Point from = staged(k);
    const bool follows = active_ && lane_ > k;
    return {from.query, tile_.cost[k], join_step(to_, from, rules_), follows && is_reached(begin + k, from.query),
            follows && is_near(begin + k, from)};
  }

  // One anchor after the other. False: undecided.
  template <class EachOfCost>
  SLUICE_HOST_DEVICE bool decide(std::int32_t begin, std::int32_t count, const EachOfCost& each_of_cost) {
    stage(to_, 0);
    tile_.cost[lane_] = join_advance(to_, rules_.costs);
    warp_.sync();
    Met next = met(begin, 0);
    std::int32_t chosen = -1;
    for (std::int32_t k = 0; k < count; ++k) {
      const Met now = next;
      const auto owner = static_cast<std::uint32_t>(k);
      JoinOutcome outcome{to_.span, -1};
      if (lowest_anchor_ >= 0) outcome = join_outcome(to_.span, {near_score_, near_anchor_}, lowest_anchor_, lowest_step_, lowest_score_);
      if (warp_.any(lane_ == k && is_tied_)) {
        give(begin, k, chosen);
        warp_.sync();
        if (!decide_tie(owner, outcome, each_of_cost)) return false;
      }
      const std::int32_t score = warp_.from(outcome.score, owner);
      next = met(begin, k + 1 < count ? k + 1 : k);  // before the score is there
      const double cost = join_cost(score, now.advance);
      if (lane_ == k) {
        score_ = score;
        cost_ = cost;
        chosen = outcome.chosen;
      }
      if (now.is_reached) {
        meet_cost(begin + k, cost);
        if (lowest_anchor_ == begin + k) {
          lowest_step_ = now.step;
          lowest_score_ = score;
        }
      }
      if (now.is_near) meet_near_step(begin + k, now.query, now.step, score);
    }
    give(begin, count, chosen);
    warp_.sync();
    return true;
  }
  // The anchors of the batch before the given one are decided.
  SLUICE_HOST_DEVICE void give(std::int32_t begin, std::int32_t decided, std::int32_t chosen) const {
    if (lane_ >= decided) return;
    const std::int32_t anchor = begin + lane_;
    row_.score[anchor] = score_;
    row_.predecessor[anchor] = chosen;
    row_.group[anchor] = static_cast<std::uint32_t>(run_.first);
    row_.cost[anchor] = cost_;
  }

  Warp& warp_;
  const RowToJoin& row_;
  const JoinRules& rules_;
  Tile& tile_;
  const JoinRun run_;
  const std::int32_t lane_;
  std::int32_t earliest_ = run_.first, near_earliest_ = run_.first;  // no anchor from here on reaches further back
  std::int32_t last_target_ = 0, last_inserted_ = 0;                 // of the last anchor taken up
  bool active_ = false, is_tied_ = false;
  Point to_{0, 0, 0};
  std::int32_t inserted_ = 0, start_ = 0, near_start_ = 0;
  double lowest_ = unreachable;
  std::int32_t lowest_anchor_ = -1, lowest_score_ = 0;
  JoinStep lowest_step_;
  std::int32_t near_score_ = 0, near_query_ = -1, near_anchor_ = -1;
  // Decided.
  std::int32_t score_ = 0;
  double cost_ = unreachable;
};

// A run by a warp. Anchors before those of the batch are met in tiles, which are passed over when their lowest cost or highest score can't change
// anything.
template <class Warp>
class RunJoiner : JoinBatch<Warp> {
  using Base = JoinBatch<Warp>;
  using Base::active_, Base::cost_, Base::earliest_, Base::lane_, Base::lanes, Base::lowest_, Base::near_earliest_, Base::row_, Base::rules_,
      Base::run_, Base::tile_, Base::to_, Base::unreachable, Base::warp_;

 public:
  using Base::Base;

  // False: undecided.
  SLUICE_HOST_DEVICE bool join() {
    for (std::int32_t begin = run_.first; begin < run_.last; begin += lanes) {
      const std::int32_t count = this->take_up(begin);
      meet_costs(begin);
      if (rules_.limits.inner_distance > 0) meet_near(begin);
      const auto each_of_cost = [&](const typename Base::Reach& reach, const auto& meet) {
        for (std::int32_t j = reach.start + lane_; j < reach.inserted; j += lanes)
          if (row_.cost[j] == reach.lowest) meet(j);
      };
      if (!this->decide(begin, count, each_of_cost) || tiles_ > rules_.most_tiles) return false;
      close_tile(begin);
    }
    return true;
  }

 private:
  SLUICE_HOST_DEVICE void meet_costs(std::int32_t begin) {
    for (std::int32_t end = begin; end > run_.first && end > earliest_; end -= lanes * lanes) {
      const std::int32_t mine = end - lanes * (lane_ + 1);
      const double lowest_of_mine = mine >= run_.first ? row_.lowest_cost[mine] : unreachable;
      for (std::int32_t t = 0; t < lanes; ++t) {
        const std::int32_t from = end - lanes * (t + 1);
        if (from < run_.first || from + lanes <= earliest_) break;
        const double lowest = warp_.from(lowest_of_mine, static_cast<std::uint32_t>(t));
        const bool wants = active_ && from + lanes > this->start_ && lowest <= lowest_;
        if (!warp_.any(wants)) continue;
        ++tiles_;
        tile_.cost[lane_] = row_.cost[from + lane_];
        tile_.query[lane_] = query_position(row_.y[from + lane_]);
        warp_.sync();
        if (wants)
          for (std::int32_t k = lanes; k-- > 0;)
            if (this->is_reached(from + k, tile_.query[k])) this->meet_cost(from + k, tile_.cost[k]);
        warp_.sync();
      }
    }
    this->look_up_lowest();
  }

  SLUICE_HOST_DEVICE void meet_near(std::int32_t begin) {
    for (std::int32_t from = begin - lanes; from >= run_.first && from + lanes > near_earliest_; from -= lanes) {
      const std::int32_t ceiling = row_.ceiling[from];
      const bool wants = active_ && from + lanes > this->near_start_ && ceiling >= this->near_score_;
      if (!warp_.any(wants)) continue;
      ++tiles_;
      const Point mine = point_of(row_.x[from + lane_], row_.y[from + lane_]);
      this->stage(mine, row_.score[from + lane_]);
      warp_.sync();
      if (wants)
        for (std::int32_t k = lanes; k-- > 0;) this->meet_near_anchor(from + k, this->staged(k), tile_.score[k]);
      warp_.sync();
    }
  }

  SLUICE_HOST_DEVICE void close_tile(std::int32_t begin) {
    const double lowest = warp_.lowest(active_ ? cost_ : unreachable);
    const std::int32_t ceiling = warp_.highest(active_ ? this->score_ + to_.span : std::numeric_limits<std::int32_t>::min());
    if (lane_ == 0) {
      row_.lowest_cost[begin] = lowest;
      row_.ceiling[begin] = ceiling;
    }
    warp_.sync();
  }

  std::uint32_t tiles_ = 0;
};

}  // namespace sluice::chaining
