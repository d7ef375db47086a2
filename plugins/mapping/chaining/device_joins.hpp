// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The table of scan_joins (predecessor_search.hpp) for a run of anchors by a warp: as many anchors at a time as there are threads, one each. Anchors
// before them are met in tiles, which are passed over when their lowest cost or highest score can't change anything; those among them follow in
// order. As in long_join_search.cpp, anchors of equal cost that lead to different steps leave the run undecided.

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
  std::uint32_t most_tiles;  // that are gone through for a run; a run with more is undecided: other threads would wait for it
};

// Anchors of a row, ascending, and what is found for them.
struct RowToJoin {
  const std::uint64_t* x;
  const std::uint64_t* y;
  std::int32_t anchors;
  std::int32_t* score;
  std::int32_t* predecessor;
  std::uint32_t* group;  // the first anchor of the run
  // Working memory, an element per anchor; of tiles that of their first.
  double* cost;
  double* lowest_cost;
  std::int32_t* ceiling;
};

// No join leads over the place before such an anchor.
SLUICE_HOST_DEVICE inline bool begins_run(const std::uint64_t* x, std::int32_t anchor, std::int32_t distance) {
  return anchor == 0 || x[anchor] >> 32 != x[anchor - 1] >> 32 || x[anchor] > x[anchor - 1] + static_cast<std::uint64_t>(distance);
}

struct JoinOutcome {
  std::int32_t score, chosen;
  SLUICE_HOST_DEVICE bool differs(JoinOutcome other) const { return score != other.score || chosen != other.chosen; }
};

// A tile's anchors, for all threads of the warp.
template <class Warp>
struct JoinTile {
  static constexpr std::uint32_t lanes = Warp::most_threads;
  double cost[lanes];
  std::int32_t target[lanes], query[lanes], span[lanes], score[lanes];
};

template <class Warp>
class RunJoiner {
 public:
  static constexpr auto lanes = static_cast<std::int32_t>(Warp::most_threads);
  using Tile = JoinTile<Warp>;

  SLUICE_HOST_DEVICE RunJoiner(Warp& warp, const RowToJoin& row, std::int32_t first, const JoinRules& rules, Tile& tile)
      : warp_(warp), row_(row), rules_(rules), tile_(tile), first_(first), lane_(static_cast<std::int32_t>(warp.rank())) {}

  // False: undecided.
  SLUICE_HOST_DEVICE bool join() {
    for (std::int32_t begin = first_;; begin += lanes) {
      const std::int32_t i = begin + lane_;
      const bool is_beyond = i >= row_.anchors || (i > first_ && begins_run(row_.x, i, rules_.limits.distance));
      const auto count = static_cast<std::int32_t>(warp_.first(is_beyond));
      if (count == 0) return true;
      take_up(begin, count);
      meet_costs(begin);
      if (rules_.limits.inner_distance > 0) meet_near(begin);
      if (!decide(begin, count)) return false;
      if (count < lanes) return true;
    }
  }

 private:
  static constexpr double unreachable = std::numeric_limits<double>::infinity();

  // This thread's anchor and the anchors that it could follow: [start, inserted), near by [near_start, inserted).
  SLUICE_HOST_DEVICE void take_up(std::int32_t begin, std::int32_t count) {
    const std::int32_t i = begin + lane_;
    active_ = lane_ < count;
    lowest_ = unreachable;
    lowest_anchor_ = near_anchor_ = -1;
    is_tied_ = false;
    inserted_ = start_ = near_start_ = first_;
    to_ = {0, 0, 0};
    if (active_) {
      to_ = point_of(row_.x[i], row_.y[i]);
      inserted_ = first_at(earliest_, i, to_.target);
      start_ = highest(first_at(earliest_, inserted_, to_.target - rules_.limits.distance), inserted_ - rules_.size_cap);
      near_start_ = highest(first_at(start_, inserted_, to_.target - rules_.limits.inner_distance), inserted_ - rules_.size_cap);
    }
    near_score_ = to_.span;
    near_query_ = -1;
    earliest_ = warp_.from(start_, 0);
  }
  SLUICE_HOST_DEVICE static std::int32_t highest(std::int32_t a, std::int32_t b) { return a > b ? a : b; }

  // The first of the anchors [low, high) that is not before a place on the target; high if there is none.
  SLUICE_HOST_DEVICE std::int32_t first_at(std::int32_t low, std::int32_t high, std::int32_t target) const {
    while (low < high) {
      const std::int32_t middle = low + (high - low) / 2;
      if (target_position(row_.x[middle]) >= target) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  SLUICE_HOST_DEVICE bool is_reached(std::int32_t j, std::int32_t query) const {
    // The read's very first anchor counts with an equal position as well.
    const std::int32_t gap = to_.query - query;
    return j >= start_ && j < inserted_ && ((gap > 0 && gap < rules_.limits.distance) || (j == 0 && gap == 0));
  }
  SLUICE_HOST_DEVICE void meet_cost(std::int32_t j, double cost) {
    if (cost < lowest_) {
      lowest_ = cost;
      lowest_anchor_ = j;
      is_tied_ = false;
    } else if (cost == lowest_) {
      is_tied_ = true;
    }
  }

  SLUICE_HOST_DEVICE void meet_costs(std::int32_t begin) {
    for (std::int32_t end = begin; end > first_ && end > earliest_; end -= lanes * lanes) {
      const std::int32_t mine = end - lanes * (lane_ + 1);
      const double lowest_of_mine = mine >= first_ ? row_.lowest_cost[mine] : unreachable;
      for (std::int32_t t = 0; t < lanes; ++t) {
        const std::int32_t from = end - lanes * (t + 1);
        if (from < first_ || from + lanes <= earliest_) break;
        const double lowest = warp_.from(lowest_of_mine, static_cast<std::uint32_t>(t));
        const bool wants = active_ && from + lanes > start_ && lowest <= lowest_;
        if (!warp_.any(wants)) continue;
        ++tiles_;
        tile_.cost[lane_] = row_.cost[from + lane_];
        tile_.query[lane_] = query_position(row_.y[from + lane_]);
        warp_.sync();
        if (wants)
          for (std::int32_t k = lanes; k-- > 0;)
            if (is_reached(from + k, tile_.query[k])) meet_cost(from + k, tile_.cost[k]);
        warp_.sync();
      }
    }
    if (lowest_anchor_ < 0) return;
    lowest_point_ = point_of(row_.x[lowest_anchor_], row_.y[lowest_anchor_]);
    lowest_score_ = row_.score[lowest_anchor_];
  }

  // Anchors near by are met by the method in descending order of (position on the read, number); of equal scores the first is taken.
  SLUICE_HOST_DEVICE void meet_near_anchor(std::int32_t j, Point from, std::int32_t score) {
    const std::int32_t query = to_.query - from.query, target = to_.target - from.target;
    if (j < near_start_ || j >= inserted_ || query <= 0 || query > rules_.limits.inner_distance) return;
    const std::int32_t difference = target > query ? target - query : query - target;
    if (difference > rules_.limits.band) return;
    const std::int32_t sum = score + join_score(to_, from, rules_.costs);
    if (sum < near_score_ ||
        (sum == near_score_ && (near_anchor_ < 0 || from.query < near_query_ || (from.query == near_query_ && j < near_anchor_))))
      return;
    near_score_ = sum;
    near_query_ = from.query;
    near_anchor_ = j;
  }

  SLUICE_HOST_DEVICE void meet_near(std::int32_t begin) {
    const std::int32_t earliest = warp_.from(near_start_, 0);
    for (std::int32_t from = begin - lanes; from >= first_ && from + lanes > earliest; from -= lanes) {
      const std::int32_t ceiling = row_.ceiling[from];
      const bool wants = active_ && from + lanes > near_start_ && ceiling >= near_score_;
      if (!warp_.any(wants)) continue;
      const Point mine = point_of(row_.x[from + lane_], row_.y[from + lane_]);
      stage(mine, row_.score[from + lane_]);
      warp_.sync();
      if (wants)
        for (std::int32_t k = lanes; k-- > 0;) meet_near_anchor(from + k, staged(k), tile_.score[k]);
      warp_.sync();
    }
  }
  SLUICE_HOST_DEVICE void stage(Point point, std::int32_t score) {
    tile_.target[lane_] = point.target;
    tile_.query[lane_] = point.query;
    tile_.span[lane_] = point.span;
    tile_.score[lane_] = score;
  }
  SLUICE_HOST_DEVICE Point staged(std::int32_t k) const { return {tile_.target[k], tile_.query[k], tile_.span[k]}; }

  // What comes of an anchor of the lowest cost.
  SLUICE_HOST_DEVICE JoinOutcome outcome_of(Point to, JoinOutcome near, std::int32_t j, Point from, std::int32_t score) const {
    const std::int32_t query = to.query - from.query, target = to.target - from.target;
    const std::int32_t difference = target > query ? target - query : query - target;
    JoinOutcome outcome{to.span, -1};
    if (difference <= rules_.limits.band) {
      const std::int32_t sum = score + join_score(to, from, rules_.costs);
      if (sum > to.span) outcome = {sum, j};
    }
    const bool adjoins = difference == 0 && query <= from.span;
    if (!adjoins && near.chosen >= 0 && near.score > outcome.score) outcome = near;
    return outcome;
  }

  // By all threads for that of `owner`. False: undecided.
  SLUICE_HOST_DEVICE bool decide_tie(std::uint32_t owner, JoinOutcome& outcome) {
    const Point to{warp_.from(to_.target, owner), warp_.from(to_.query, owner), warp_.from(to_.span, owner)};
    const JoinOutcome near{warp_.from(near_score_, owner), warp_.from(near_anchor_, owner)};
    const std::int32_t start = warp_.from(start_, owner), inserted = warp_.from(inserted_, owner);
    const double lowest = warp_.from(lowest_, owner);
    bool has = false, differs = false;
    JoinOutcome mine{0, 0};
    for (std::int32_t j = start + lane_; j < inserted; j += lanes) {
      if (row_.cost[j] != lowest) continue;
      const Point from = point_of(row_.x[j], row_.y[j]);
      const std::int32_t gap = to.query - from.query;
      if (!((gap > 0 && gap < rules_.limits.distance) || (j == 0 && gap == 0))) continue;
      const JoinOutcome here = outcome_of(to, near, j, from, row_.score[j]);
      if (has && here.differs(mine)) differs = true;
      mine = here;
      has = true;
    }
    const std::uint32_t someone = warp_.first(has);
    outcome = {warp_.from(mine.score, someone), warp_.from(mine.chosen, someone)};
    return !warp_.any(differs || (has && mine.differs(outcome)));
  }

  SLUICE_HOST_DEVICE bool decide(std::int32_t begin, std::int32_t count) {
    stage(to_, 0);
    warp_.sync();
    double cost = unreachable;
    std::int32_t ceiling = std::numeric_limits<std::int32_t>::min();
    for (std::int32_t k = 0; k < count; ++k) {
      const auto owner = static_cast<std::uint32_t>(k);
      JoinOutcome outcome{to_.span, -1};
      if (lowest_anchor_ >= 0) outcome = outcome_of(to_, {near_score_, near_anchor_}, lowest_anchor_, lowest_point_, lowest_score_);
      if (warp_.from(is_tied_ ? 1 : 0, owner) != 0 && !decide_tie(owner, outcome)) return false;
      const std::int32_t score = warp_.from(outcome.score, owner);
      const Point from = staged(k);
      const double cost_of_k = join_cost(score, from, rules_.costs);
      const std::int32_t anchor = begin + k;
      if (lane_ == k) {
        row_.score[anchor] = score;
        row_.predecessor[anchor] = outcome.chosen;
        row_.group[anchor] = static_cast<std::uint32_t>(first_);
        row_.cost[anchor] = cost = cost_of_k;
        ceiling = score + from.span;
      }
      warp_.sync();
      if (lane_ <= k || !active_) continue;
      if (is_reached(anchor, from.query)) {
        meet_cost(anchor, cost_of_k);
        if (lowest_anchor_ == anchor) {
          lowest_point_ = from;
          lowest_score_ = score;
        }
      }
      if (rules_.limits.inner_distance > 0) meet_near_anchor(anchor, from, score);
    }
    const double lowest = warp_.lowest(cost);
    const std::int32_t highest_sum = warp_.highest(ceiling);
    if (lane_ == 0) {
      row_.lowest_cost[begin] = lowest;
      row_.ceiling[begin] = highest_sum;
    }
    warp_.sync();
    return tiles_ <= rules_.most_tiles;
  }

  Warp& warp_;
  const RowToJoin& row_;
  const JoinRules& rules_;
  Tile& tile_;
  const std::int32_t first_, lane_;
  std::int32_t earliest_ = first_;  // no anchor from here on reaches further back
  std::uint32_t tiles_ = 0;
  bool active_ = false, is_tied_ = false;
  Point to_{0, 0, 0}, lowest_point_{0, 0, 0};
  std::int32_t inserted_ = 0, start_ = 0, near_start_ = 0;
  double lowest_ = unreachable;
  std::int32_t lowest_anchor_ = -1, lowest_score_ = 0;
  std::int32_t near_score_ = 0, near_query_ = -1, near_anchor_ = -1;
};

}  // namespace sluice::chaining
