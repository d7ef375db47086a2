// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Joins of a long run by a whole team: reads in satellites have tens of thousands of anchors in one run, each with thousands before it within reach.
// Anchors are entered by their place on the read, in lanes of equal width; tiles of a lane know their lowest cost. For each anchor of a batch a
// warp looks through its own lane, and into those tiles of the other lanes that could have a lower cost. One warp then takes the batch in order.

#include <bit>
#include <cstdint>

#include "chaining/device_joins.hpp"

namespace sluice::chaining {

template <class Team>
struct LongRunMemory {
  static constexpr std::uint32_t lanes = 512, batch = Team::Warp::most_threads;
  std::uint32_t lane_begin[lanes], lane_end[lanes];  // places within reach
  Point to[batch];
  std::int32_t start[batch], inserted[batch], near_start[batch];
  double lowest[batch];
  std::int32_t lowest_anchor[batch], is_tied[batch], near_score[batch], near_query[batch], near_anchor[batch];
  std::int32_t count, earliest;
  std::uint32_t undecided;
};

template <class Team>
class LongRunJoiner : JoinBatch<typename Team::Warp> {
  using Warp = typename Team::Warp;
  using Base = JoinBatch<Warp>;
  using Base::active_, Base::cost_, Base::lane_, Base::lowest_, Base::lowest_anchor_, Base::is_tied_, Base::near_anchor_, Base::near_query_,
      Base::near_score_, Base::row_, Base::rules_, Base::run_, Base::to_, Base::warp_;
  using Memory = LongRunMemory<Team>;
  static constexpr std::uint32_t tile_places = 32, read_lanes = Memory::lanes;
  static constexpr auto threads = static_cast<std::uint32_t>(Base::lanes);

 public:
  SLUICE_HOST_DEVICE LongRunJoiner(Team& team, Warp& warp, const RowToJoin& row, JoinRun run, const JoinRules& rules, typename Base::Tile& tile,
                                   Memory& memory)
      : Base(warp, row, run, rules, tile), team_(team), memory_(memory) {
    while (row.read_length >> lane_shift_ >= static_cast<std::int32_t>(read_lanes)) ++lane_shift_;
    cost_origin_ = join_cost(0, point_of(row.x[run.first], row.y[run.first]), rules.costs);
  }

  // False: undecided.
  SLUICE_HOST_DEVICE bool join() {
    make_lanes();
    int until_expiry = batches_between_expiries;
    for (std::int32_t begin = run_.first; begin < run_.last; begin += Base::lanes) {
      if (warp_.part() == 0) share_batch(begin);
      team_.sync();
      if (--until_expiry == 0) {
        expire();
        until_expiry = batches_between_expiries;
      }
      for (auto k = static_cast<std::int32_t>(warp_.part()); k < memory_.count; k += static_cast<std::int32_t>(Team::most_parts)) meet_for(k);
      team_.sync();
      if (warp_.part() == 0) finish_batch(begin);
      team_.sync();
      if (memory_.undecided != 0) return false;
    }
    return true;
  }

 private:
  static constexpr int batches_between_expiries = 16;
  static constexpr std::uint32_t nothing = UINT32_MAX;

  SLUICE_HOST_DEVICE std::uint32_t lane_of(std::int32_t query) const { return query < 0 ? 0 : static_cast<std::uint32_t>(query >> lane_shift_); }
  // Ascends with the cost, and is lower than `nothing`.
  SLUICE_HOST_DEVICE std::uint32_t floor_of(double cost) const {
    const double steps = (cost - cost_origin_) * 16 + 2147483648.0;
    return steps < 0 ? 0 : steps < 4294967294.0 ? static_cast<std::uint32_t>(steps) : nothing - 1;
  }
  SLUICE_HOST_DEVICE static std::int32_t number_of(std::uint64_t lane_anchor) { return static_cast<std::int32_t>(lane_anchor >> 32); }
  SLUICE_HOST_DEVICE static std::int32_t query_of(std::uint64_t lane_anchor) { return static_cast<std::int32_t>(lane_anchor); }

  SLUICE_HOST_DEVICE void make_lanes() {
    for (std::uint32_t lane = team_.rank(); lane < read_lanes; lane += team_.size()) memory_.lane_end[lane] = 0;
    if (team_.rank() == 0) memory_.undecided = 0;
    team_.sync();
    const std::int32_t team_size = static_cast<std::int32_t>(team_.size());
    for (std::int32_t i = run_.first + static_cast<std::int32_t>(team_.rank()); i < run_.last; i += team_size) {
      team_.add(&memory_.lane_end[lane_of(query_position(row_.y[i]))], 1);
    }
    const std::uint32_t tiles = static_cast<std::uint32_t>(run_.last - run_.first) / tile_places + 1;
    for (std::uint32_t tile = team_.rank(); tile < tiles; tile += team_.size()) row_.lane_floor[tile] = nothing;
    team_.sync();
    std::uint32_t at = 0, sum = 0;
    for (std::uint32_t first = 0; first < read_lanes; first += team_.size()) {
      const std::uint32_t lane = first + team_.rank();
      const std::uint32_t begin = at + team_.sum_before(lane < read_lanes ? memory_.lane_end[lane] : 0, sum);
      if (lane < read_lanes) memory_.lane_begin[lane] = memory_.lane_end[lane] = begin;
      at += sum;
    }
    team_.sync();
  }

  // Anchors of a lane come in the order of their numbers but for those of one batch.
  SLUICE_HOST_DEVICE void expire() {
    for (std::uint32_t lane = team_.rank(); lane < read_lanes; lane += team_.size()) {
      std::uint32_t begin = memory_.lane_begin[lane];
      while (begin + tile_places <= memory_.lane_end[lane] && number_of(row_.lane_anchor[begin + tile_places - 1]) + Base::lanes <= memory_.earliest)
        begin += tile_places;
      memory_.lane_begin[lane] = begin;
    }
    team_.sync();
  }

  SLUICE_HOST_DEVICE void share_batch(std::int32_t begin) {
    const std::int32_t count = this->take_up(begin);
    memory_.to[lane_] = to_;
    memory_.start[lane_] = this->start_;
    memory_.inserted[lane_] = this->inserted_;
    memory_.near_start[lane_] = this->near_start_;
    if (lane_ == 0) {
      memory_.count = count;
      memory_.earliest = this->earliest_;
    }
  }

  // By a warp for the batch's anchor k: all its threads have that anchor now.
  SLUICE_HOST_DEVICE void meet_for(std::int32_t k) {
    const Kept mine{to_, this->start_, this->inserted_, this->near_start_};
    to_ = memory_.to[k];
    this->start_ = memory_.start[k];
    this->inserted_ = memory_.inserted[k];
    this->near_start_ = memory_.near_start[k];
    lowest_ = Base::unreachable;
    lowest_anchor_ = near_anchor_ = near_query_ = -1;
    is_tied_ = false;
    near_score_ = to_.span;
    meet_own_lane();
    meet_other_lanes();
    if (rules_.limits.inner_distance > 0) meet_near();
    give_lowest(k);
    give_near(k);
    to_ = mine.to;
    this->start_ = mine.start;
    this->inserted_ = mine.inserted;
    this->near_start_ = mine.near_start;
  }
  struct Kept {
    Point to;
    std::int32_t start, inserted, near_start;
  };

  SLUICE_HOST_DEVICE void meet_place(std::uint64_t lane_anchor, std::uint64_t cost) {
    const std::int32_t number = number_of(lane_anchor);
    if (this->is_reached(number, query_of(lane_anchor))) this->meet_cost(number, std::bit_cast<double>(cost));
  }

  SLUICE_HOST_DEVICE void meet_own_lane() {
    constexpr std::uint32_t at_once = 4;  // loads that don't wait for each other
    const std::uint32_t lane = lane_of(to_.query), begin = memory_.lane_begin[lane], end = memory_.lane_end[lane];
    for (std::uint32_t from = begin; from < end; from += at_once * threads) {
      std::uint64_t cost[at_once], anchor[at_once];
      for (std::uint32_t i = 0; i < at_once; ++i) {
        const std::uint32_t place = from + i * threads + warp_.rank();
        cost[i] = anchor[i] = place < end ? 0 : UINT64_MAX;  // the number -1
        if (place >= end) continue;
        cost[i] = row_.lane_cost[place];
        anchor[i] = row_.lane_anchor[place];
      }
      for (std::uint32_t i = 0; i < at_once; ++i) meet_place(anchor[i], cost[i]);
      tiles_ += at_once;
    }
  }

  SLUICE_HOST_DEVICE void meet_tile(std::uint32_t lane, std::uint32_t tile) {
    const std::uint32_t from = tile * tile_places, begin = memory_.lane_begin[lane], end = memory_.lane_end[lane];
    for (std::uint32_t place = from + warp_.rank(); place < from + tile_places; place += threads)
      if (place >= begin && place < end) meet_place(row_.lane_anchor[place], row_.lane_cost[place]);
    ++tiles_;
  }

  // Tiles of the lanes [lowest_lane, top] that a thread has, from the nearest lane down.
  struct Tiles {
    std::int32_t lane, lowest_lane;
    std::uint32_t tile, end;
  };
  SLUICE_HOST_DEVICE void open_lane(Tiles& tiles) const {
    for (; tiles.lane >= tiles.lowest_lane; tiles.lane -= Base::lanes) {
      const std::uint32_t begin = memory_.lane_begin[tiles.lane], end = memory_.lane_end[tiles.lane];
      if (begin == end) continue;
      tiles.tile = begin / tile_places;
      tiles.end = (end - 1) / tile_places + 1;
      return;
    }
  }
  SLUICE_HOST_DEVICE Tiles tiles_below(std::int32_t top, std::int32_t query) const {
    Tiles tiles{top - lane_, static_cast<std::int32_t>(lane_of(query - rules_.limits.distance)), 0, 0};
    open_lane(tiles);
    return tiles;
  }
  SLUICE_HOST_DEVICE void advance(Tiles& tiles) const {
    if (++tiles.tile < tiles.end) return;
    tiles.lane -= Base::lanes;
    open_lane(tiles);
  }
  SLUICE_HOST_DEVICE static bool is_at_end(const Tiles& tiles) { return tiles.lane < tiles.lowest_lane; }

  // The tile of the lowest cost first: others then seldom have to be met.
  SLUICE_HOST_DEVICE void meet_other_lanes() {
    const std::int32_t top = static_cast<std::int32_t>(lane_of(to_.query)) - 1;
    std::uint32_t best = nothing;
    Tiles best_tile{};
    for (Tiles tiles = tiles_below(top, to_.query); !is_at_end(tiles); advance(tiles)) {
      const std::uint32_t floor = row_.lane_floor[tiles.tile];
      if (floor >= best) continue;
      best = floor;
      best_tile = tiles;
    }
    const std::uint32_t best_of_all = warp_.lowest(best);
    std::uint32_t bound = bound_now();
    if (best_of_all == nothing || best_of_all > bound) return;
    const std::uint32_t owner = warp_.first(best == best_of_all);
    const std::int32_t met_lane = warp_.from(best_tile.lane, owner);
    const std::uint32_t met_tile = warp_.from(best_tile.tile, owner);
    meet_tile(static_cast<std::uint32_t>(met_lane), met_tile);
    bound = bound_now();
    for (Tiles tiles = tiles_below(top, to_.query);;) {
      while (!is_at_end(tiles) && (row_.lane_floor[tiles.tile] > bound || (tiles.lane == met_lane && tiles.tile == met_tile))) advance(tiles);
      const std::uint32_t next = warp_.first(!is_at_end(tiles));
      if (next == warp_.size()) return;
      meet_tile(static_cast<std::uint32_t>(warp_.from(tiles.lane, next)), warp_.from(tiles.tile, next));
      bound = bound_now();
      if (warp_.rank() == next) advance(tiles);
    }
  }
  // No tile above this has an anchor to take.
  SLUICE_HOST_DEVICE std::uint32_t bound_now() { return warp_.lowest(lowest_ == Base::unreachable ? nothing - 1 : floor_of(lowest_)); }

  // The newest of a few lanes at once.
  SLUICE_HOST_DEVICE void meet_near() {
    constexpr std::uint32_t of_lane = threads >= 8 ? threads / 8 : 1, lanes_at_once = threads / of_lane;
    constexpr std::uint32_t at_once = 2;  // loads that don't wait for each other
    const std::uint32_t top = lane_of(to_.query), bottom = lane_of(to_.query - rules_.limits.inner_distance);
    for (std::uint32_t first = bottom; first <= top; first += lanes_at_once) {
      const std::uint32_t lane = first + warp_.rank() / of_lane;
      const std::uint32_t begin = lane <= top ? memory_.lane_begin[lane] : 0, end = lane <= top ? memory_.lane_end[lane] : 0;
      bool goes_on = true;
      for (std::uint32_t back = warp_.rank() % of_lane + 1; warp_.any(goes_on); back += at_once * of_lane) {
        std::uint64_t lane_anchor[at_once];
        for (std::uint32_t i = 0; i < at_once; ++i) {
          const bool is_there = goes_on && begin + back + i * of_lane <= end;
          lane_anchor[i] = is_there ? row_.lane_anchor[end - back - i * of_lane] : UINT64_MAX;  // the number -1
        }
        for (std::uint32_t i = 0; i < at_once; ++i) meet_near_place(lane_anchor[i]);
        goes_on = number_of(lane_anchor[at_once - 1]) + Base::lanes > this->near_start_ && lane_anchor[at_once - 1] != UINT64_MAX;
        ++tiles_;
      }
    }
  }
  SLUICE_HOST_DEVICE void meet_near_place(std::uint64_t lane_anchor) {
    const std::int32_t number = number_of(lane_anchor), gap = to_.query - query_of(lane_anchor);
    if (gap > 0 && gap <= rules_.limits.inner_distance && number >= this->near_start_ && number < this->inserted_)
      this->meet_near_anchor(number, point_of(row_.x[number], row_.y[number]), row_.score[number]);
  }

  SLUICE_HOST_DEVICE void give_lowest(std::int32_t k) {
    const double lowest = warp_.lowest(lowest_);
    const bool has = lowest_anchor_ >= 0 && lowest_ == lowest;
    const std::uint32_t owner = warp_.first(has);
    const bool is_tied = warp_.any(has && (is_tied_ || warp_.rank() != owner));
    if (owner < warp_.size() ? warp_.rank() != owner : warp_.rank() != 0) return;
    memory_.lowest[k] = lowest;
    memory_.lowest_anchor[k] = has ? lowest_anchor_ : -1;
    memory_.is_tied[k] = is_tied ? 1 : 0;
  }
  SLUICE_HOST_DEVICE void give_near(std::int32_t k) {
    const bool has = near_anchor_ >= 0;
    const std::int32_t score = warp_.highest(has ? near_score_ : -1);
    const std::int32_t query = warp_.highest(has && near_score_ == score ? near_query_ : -1);
    const std::int32_t anchor = warp_.highest(has && near_score_ == score && near_query_ == query ? near_anchor_ : -1);
    if (warp_.rank() != 0) return;
    memory_.near_score[k] = anchor < 0 ? to_.span : score;
    memory_.near_query[k] = query;
    memory_.near_anchor[k] = anchor;
  }

  // By the first warp.
  SLUICE_HOST_DEVICE void finish_batch(std::int32_t begin) {
    const std::int32_t count = memory_.count;
    active_ = lane_ < count;
    lowest_ = Base::unreachable;
    lowest_anchor_ = near_anchor_ = -1;
    if (active_) {
      lowest_ = memory_.lowest[lane_];
      lowest_anchor_ = memory_.lowest_anchor[lane_];
      is_tied_ = memory_.is_tied[lane_] != 0;
      near_score_ = memory_.near_score[lane_];
      near_query_ = memory_.near_query[lane_];
      near_anchor_ = memory_.near_anchor[lane_];
    } else {
      is_tied_ = false;
    }
    this->look_up_lowest();
    const auto each_of_cost = [&](const typename Base::Reach& reach, const auto& meet) { meet_all_of_cost(begin, reach, meet); };
    const bool decided = this->decide(begin, count, each_of_cost);
    if (lane_ == 0 && (!decided || tiles_ > rules_.most_tiles)) memory_.undecided = 1;
    if (decided && active_) enter(begin + lane_);
  }

  SLUICE_HOST_DEVICE void enter(std::int32_t anchor) {
    const std::uint32_t place = team_.add(&memory_.lane_end[lane_of(to_.query)], 1);
    row_.lane_cost[place] = std::bit_cast<std::uint64_t>(cost_);
    row_.lane_anchor[place] = static_cast<std::uint64_t>(anchor) << 32 | static_cast<std::uint32_t>(to_.query);
    team_.lower(&row_.lane_floor[place / tile_places], floor_of(cost_));
  }

  template <class Meet>
  SLUICE_HOST_DEVICE void meet_all_of_cost(std::int32_t begin, const typename Base::Reach& reach, const Meet& meet) {
    const std::uint32_t floor = floor_of(reach.lowest);
    Tiles tiles = tiles_below(static_cast<std::int32_t>(lane_of(reach.to.query)), reach.to.query);
    for (;; advance(tiles)) {
      while (!is_at_end(tiles) && row_.lane_floor[tiles.tile] > floor) advance(tiles);
      if (is_at_end(tiles)) break;
      const std::uint32_t from = tiles.tile * tile_places;
      const auto lane = static_cast<std::uint32_t>(tiles.lane);
      for (std::uint32_t place = from; place < from + tile_places; ++place) {
        if (place < memory_.lane_begin[lane] || place >= memory_.lane_end[lane]) continue;
        if (std::bit_cast<double>(row_.lane_cost[place]) != reach.lowest) continue;
        const std::int32_t number = number_of(row_.lane_anchor[place]);
        if (number >= reach.start && number < reach.inserted) meet(number);
      }
    }
    for (std::int32_t j = begin + lane_; j < reach.inserted; j += Base::lanes)
      if (j >= reach.start && row_.cost[j] == reach.lowest) meet(j);
    warp_.sync();
  }

  Team& team_;
  Memory& memory_;
  int lane_shift_ = 8;
  double cost_origin_ = 0;
  std::uint32_t tiles_ = 0;  // that this warp went through
};

}  // namespace sluice::chaining
