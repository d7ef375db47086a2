// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Is a read one of the targets? A decision by its alignment score and by thresholds that depend on how much of it has been aligned.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::read_until_decision {

enum class Decision : std::uint8_t { wait, accept, reject };

// Scores are costs per level, in standard deviations of the current: smaller is more alike.
struct Threshold {
  std::int64_t levels = 0;   // of a query of this length
  double threshold = 0;      // at or below: accept, else reject
  double accept_below = -1;  // at or below: accept before the prefix is complete; -1: never
  double reject_above = -1;  // above: reject before the prefix is complete; -1: never
};

// Thresholds by length of the query. Between two lengths they are interpolated, before the first and behind the last they are constant.
class Thresholds {
 public:
  Thresholds() = default;
  // `rows`: by levels, ascending.
  explicit Thresholds(std::span<const Threshold> rows) : rows_(rows.begin(), rows.end()) {}
  // The same for every length.
  static Thresholds constant(double threshold);
  // A table as read_until_calibration writes it: a line of column names, among them levels and threshold, accept_below and reject_above if they are
  // there; then numbers. Lines that begin with # are left out. False with `problem` set: line and what is wrong with it.
  static bool parse(std::string_view table, Thresholds& thresholds, std::string& problem);

  Threshold at(std::int64_t levels) const;
  std::span<const Threshold> rows() const { return rows_; }

 private:
  std::vector<Threshold> rows_;  // at least one, by levels, ascending
};

// Cost per level, in standard deviations: `score` is the sum of the costs in steps (squiggle_steps). Without a level: 0.
double score_per_level(std::int64_t score, std::int32_t levels);

enum class Prefix : std::uint8_t { partial, whole };  // whole: there is no more to come
enum class BeforeWhole : std::uint8_t { wait, decide };

// wait: fewer than minimum_levels, or a partial prefix that is not clear enough.
Decision decide(double score, std::int32_t levels, Prefix prefix, const Threshold& threshold, BeforeWhole before_whole, std::int32_t minimum_levels);

}  // namespace sluice::read_until_decision
