// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Some cells of each row of the narrow band that kernel/narrow_band-inl.hpp describes, in the registers of one lane; the lanes of a job hold the
// whole row. Pieces without N only.
//
// Differences of scores are held eight times as large, two in a word. The three low bits of a candidate say which it is: of equal scores the one with
// the higher number is taken, as the order of gap_right wants it, and one maximum gives both the score and the step.

#include "base_alignment/cuda/pairs.hpp"
#include "base_alignment/kernel/progress.hpp"

namespace sluice::base_alignment::cuda {

// A candidate's number; the step is 4 less it.
inline constexpr std::int32_t number_of_match = 4, number_of_deletion = 3, number_of_insertion = 2, number_of_long_deletion = 1;
// Of a byte that BandLane has made, as kernel/rows.hpp encodes it.
constexpr std::uint8_t step_of_band(std::uint8_t byte) { return static_cast<std::uint8_t>((byte & ~step_mask) | (4 - (byte & step_mask))); }

struct BandRule {
  static constexpr std::int32_t scale = 8;

  Pair match, closed, less_extend, less_extend_long;
  Pair closed_x, closed_y, closed_x2, closed_y2;
  Pair opened_x, opened_y, opened_x2, opened_y2;  // the same, negative
  std::uint32_t substitution;                     // by the exclusive or of two codes, a byte each
};

inline BandRule band_rule(const Scores& scores) {
  const std::int32_t closed = -(scores.gap_open + scores.gap_extend) * BandRule::scale,
                     closed_long = -(scores.gap_open_long + scores.gap_extend_long) * BandRule::scale;
  BandRule rule{};
  rule.match = twice(scores.match * BandRule::scale);
  rule.closed = twice(closed);
  rule.less_extend = twice(1 - scores.gap_extend * BandRule::scale);
  rule.less_extend_long = twice(1 - scores.gap_extend_long * BandRule::scale);
  rule.closed_x = twice(closed + number_of_deletion);
  rule.closed_y = twice(closed + number_of_insertion);
  rule.closed_x2 = twice(closed_long + number_of_long_deletion);
  rule.closed_y2 = twice(closed_long);
  rule.opened_x = twice(-(closed + number_of_deletion));
  rule.opened_y = twice(-(closed + number_of_insertion));
  rule.opened_x2 = twice(-(closed_long + number_of_long_deletion));
  rule.opened_y2 = twice(-closed_long);
  const auto match = static_cast<std::uint32_t>(scores.match & 255), mismatch = static_cast<std::uint32_t>(-scores.mismatch & 255);
  rule.substitution = match | mismatch << 8 | mismatch << 16 | mismatch << 24;
  return rule;
}

// What a lane gives to its neighbour.
struct Passing {
  std::uint32_t gaps, difference;
};

template <bool two_pieces, int words>
class BandLane {
 public:
  static constexpr int cells = 2 * words;
  static constexpr int step_words = words > 1 ? words / 2 : 1;
  static_assert(words == 1 || words == 2 || words == 4);

  SLUICE_HOST_DEVICE void start(const BandRule& rule) {
    for (int k = 0; k < words; ++k) {
      x_[k] = rule.closed_x;
      y_[k] = rule.closed_y;
      x2_[k] = rule.closed_x2;
      y2_[k] = rule.closed_y2;
      u_[k] = v_[k] = rule.closed;
    }
    target_ = query_ = 0;
  }

  // Codes of the lane's cells move by one: along the target towards its end, along the query towards its end.
  SLUICE_HOST_DEVICE void move_target(std::uint32_t entering) { target_ = target_ >> 4 | entering << 4 * (cells - 1); }
  SLUICE_HOST_DEVICE void move_query(std::uint32_t entering) { query_ = query_ << 4 | entering; }

  // What stands to the left comes from the cell below.
  SLUICE_HOST_DEVICE Passing to_next() const { return {select_bytes(x_[words - 1], x2_[words - 1], 0x7632), v_[words - 1]}; }
  SLUICE_HOST_DEVICE static Passing before_first(const BandRule& rule) { return {select_bytes(rule.closed_x, rule.closed_x2, 0x7632), rule.closed}; }
  SLUICE_HOST_DEVICE void take_left(Passing before) {
    for (int k = words - 1; k > 0; --k) {
      x_[k] = select_bytes(x_[k - 1], x_[k], 0x5432);
      if constexpr (two_pieces) x2_[k] = select_bytes(x2_[k - 1], x2_[k], 0x5432);
      v_[k] = select_bytes(v_[k - 1], v_[k], 0x5432);
    }
    x_[0] = select_bytes(before.gaps, x_[0], 0x5410);
    if constexpr (two_pieces) x2_[0] = select_bytes(before.gaps, x2_[0], 0x5432);
    v_[0] = select_bytes(before.difference, v_[0], 0x5432);
  }
  // What stands above comes from the cell above.
  SLUICE_HOST_DEVICE Passing to_previous() const { return {select_bytes(y_[0], y2_[0], 0x5410), u_[0]}; }
  SLUICE_HOST_DEVICE static Passing behind_last(const BandRule& rule) { return {select_bytes(rule.closed_y, rule.closed_y2, 0x5410), rule.closed}; }
  SLUICE_HOST_DEVICE void take_upper(Passing behind) {
    for (int k = 0; k < words - 1; ++k) {
      y_[k] = select_bytes(y_[k], y_[k + 1], 0x5432);
      if constexpr (two_pieces) y2_[k] = select_bytes(y2_[k], y2_[k + 1], 0x5432);
      u_[k] = select_bytes(u_[k], u_[k + 1], 0x5432);
    }
    y_[words - 1] = select_bytes(y_[words - 1], behind.gaps, 0x5432);
    if constexpr (two_pieces) y2_[words - 1] = select_bytes(y2_[words - 1], behind.gaps, 0x7632);
    u_[words - 1] = select_bytes(u_[words - 1], behind.difference, 0x5432);
  }
  // The band's last cell on rows between lies beyond its highest diagonal.
  SLUICE_HOST_DEVICE void close_last(const BandRule& rule) {
    y_[words - 1] = select_bytes(y_[words - 1], rule.closed_y, 0x7610);
    if constexpr (two_pieces) y2_[words - 1] = select_bytes(y2_[words - 1], rule.closed_y2, 0x7610);
    u_[words - 1] = select_bytes(u_[words - 1], rule.closed, 0x7610);
  }

  // The cell right of the target's border, the cell below the query's, if they are among the lane's. difference: along the border.
  SLUICE_HOST_DEVICE void enter_borders(const BandRule& rule, std::int32_t left_cell, std::int32_t upper_cell, Pair difference) {
    for (int k = 0; k < words; ++k) {
      const Pair left = half_with(k, left_cell), upper = half_with(k, upper_cell);
      put(left, rule.closed_x, x_[k]);
      put(left, rule.closed_x2, x2_[k]);
      put(left, difference, v_[k]);
      put(upper, rule.closed_y, y_[k]);
      put(upper, rule.closed_y2, y2_[k]);
      put(upper, difference, u_[k]);
    }
  }

  // The cells, whose neighbours have been taken; steps: a byte each, the first one lowest.
  SLUICE_HOST_DEVICE void fill(const BandRule& rule, std::uint32_t (&steps)[step_words]) {
    const std::uint32_t unlike = target_ ^ query_;
    std::uint32_t scores[step_words];
    for (int i = 0; i < step_words; ++i) scores[i] = select_bytes(rule.substitution, 0, unlike >> 16 * i);
    Pair made[words];
    for (int k = 0; k < words; ++k) {
      const Pair wide = select_bytes(scores[k / 2], 0, k % 2 == 0 ? 0x9180 : 0xB3A2);
      made[k] = fill_pair(rule, k, (wide << 3 & twice(~7)) | twice(number_of_match));
    }
    if constexpr (words == 1) {
      steps[0] = select_bytes(made[0], 0, 0x4420);
    } else {
      for (int i = 0; i < step_words; ++i) steps[i] = select_bytes(made[2 * i], made[2 * i + 1], 0x6420);
    }
  }

 private:
  SLUICE_HOST_DEVICE static Pair half_with(int word, std::int32_t cell) {
    return cell == 2 * word ? 0x0000FFFFU : cell == 2 * word + 1 ? 0xFFFF0000U : 0U;
  }
  SLUICE_HOST_DEVICE static void put(Pair where, Pair value, Pair& to) { to = (to & ~where) | (value & where); }

  // Replaces the neighbours of two cells by the cells themselves, and gives their steps.
  SLUICE_HOST_DEVICE Pair fill_pair(const BandRule& rule, int k, Pair candidate) {
    candidate = add_higher(x_[k], v_[k], candidate);
    candidate = add_higher(y_[k], u_[k], candidate);
    if constexpr (two_pieces) {
      candidate = add_higher(x2_[k], v_[k], candidate);
      candidate = add_higher(y2_[k], u_[k], candidate);
    }
    const Pair score = lower(candidate & twice(~7), rule.match);
    Pair steps = candidate & twice(7);
    // ~a is -a - 1, which less_extend makes up for.
    const Pair fallen_u = add(v_[k], ~score), fallen_v = add(u_[k], ~score);
    u_[k] = ~fallen_u;
    v_[k] = ~fallen_v;
    x_[k] = add_higher(x_[k], add(fallen_u, rule.less_extend), rule.closed_x);
    y_[k] = add_higher(y_[k], add(fallen_v, rule.less_extend), rule.closed_y);
    steps += add_lower(x_[k], rule.opened_x, twice(8));
    steps += 2 * add_lower(y_[k], rule.opened_y, twice(8));
    if constexpr (two_pieces) {
      x2_[k] = add_higher(x2_[k], add(fallen_u, rule.less_extend_long), rule.closed_x2);
      y2_[k] = add_higher(y2_[k], add(fallen_v, rule.less_extend_long), rule.closed_y2);
      steps += 4 * add_lower(x2_[k], rule.opened_x2, twice(8));
      steps += 8 * add_lower(y2_[k], rule.opened_y2, twice(8));
    }
    return steps;
  }

  Pair x_[words], x2_[words], v_[words];  // of the cell to the left, once taken
  Pair y_[words], y2_[words], u_[words];  // of the cell above
  std::uint32_t target_, query_;          // codes, a nibble each
};

// A lane's part of one job, row by row.
template <bool two_pieces, int words, int lanes>
class BandWalk {
 public:
  using Lane = BandLane<two_pieces, words>;
  static constexpr std::int32_t width = lanes * Lane::cells;

  SLUICE_HOST_DEVICE void start(const BandRule& rule, const std::uint8_t* query, const std::uint8_t* target, std::int32_t query_length,
                                std::int32_t target_length, std::int32_t lowest, int lane) {
    query_codes_ = query;
    target_codes_ = target;
    query_length_ = query_length;
    target_length_ = target_length;
    first_ = lowest / 2;  // even
    lane_ = lane;
    cells_.start(rule);
    const std::int32_t i = first_ + lane * Lane::cells;
    for (int c = 0; c < Lane::cells; ++c) cells_.move_target(target_at(i + c));
    for (int c = Lane::cells; c-- > 0;) cells_.move_query(query_at(-1 - i - c));
    next_query_ = query_at(-i);
    next_target_ = target_at(i + Lane::cells);
  }

  SLUICE_HOST_DEVICE Passing passing_even() const { return cells_.to_next(); }
  SLUICE_HOST_DEVICE Passing passing_odd() const { return cells_.to_previous(); }

  template <bool has_border>
  SLUICE_HOST_DEVICE void fill_even(const BandRule& rule, const Scores& scores, std::int32_t row, Passing before,
                                    std::uint32_t (&steps)[Lane::step_words]) {
    cells_.take_left(lane_ == 0 ? Lane::before_first(rule) : before);
    if (lane_ == lanes - 1) cells_.close_last(rule);
    cells_.move_query(next_query_);
    next_query_ = query_at(row + 1 - first_ - lane_ * Lane::cells);
    fill<has_border>(rule, scores, row, steps);
  }
  template <bool has_border>
  SLUICE_HOST_DEVICE void fill_odd(const BandRule& rule, const Scores& scores, std::int32_t row, Passing behind,
                                   std::uint32_t (&steps)[Lane::step_words]) {
    cells_.take_upper(lane_ == lanes - 1 ? Lane::behind_last(rule) : behind);
    ++first_;
    cells_.move_target(next_target_);
    next_target_ = target_at(first_ + (lane_ + 1) * Lane::cells);
    fill<has_border>(rule, scores, row, steps);
  }

 private:
  template <bool has_border>
  SLUICE_HOST_DEVICE void fill(const BandRule& rule, const Scores& scores, std::int32_t row, std::uint32_t (&steps)[Lane::step_words]) {
    if constexpr (has_border) {
      const std::int32_t before = first_ + lane_ * Lane::cells;
      cells_.enter_borders(rule, -before, row - before, twice(border_difference(scores, row + 1) * BandRule::scale));
    }
    cells_.fill(rule, steps);
  }
  SLUICE_HOST_DEVICE std::uint32_t query_at(std::int32_t j) const {
    return static_cast<std::uint32_t>(j) < static_cast<std::uint32_t>(query_length_) ? query_codes_[j] : 0;
  }
  SLUICE_HOST_DEVICE std::uint32_t target_at(std::int32_t i) const {
    return static_cast<std::uint32_t>(i) < static_cast<std::uint32_t>(target_length_) ? target_codes_[i] : 0;
  }

  Lane cells_;
  const std::uint8_t *query_codes_, *target_codes_;
  std::int32_t query_length_, target_length_;
  std::int32_t first_;  // target base of the row's first cell
  int lane_;
  std::uint32_t next_query_, next_target_;
};

}  // namespace sluice::base_alignment::cuda
