// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Thresholds between reads of the targets and other reads, and how well they separate them. Scores are costs: smaller is more alike.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::read_until_calibration {

enum class Label : std::uint8_t { other, target };

struct LabelledScore {
  double score = 0;
  Label label = Label::other;
};

// What comes of accepting all scores at or below a threshold.
struct OperatingPoint {
  double threshold = 0;
  std::size_t accepted_targets = 0;  // true positives
  std::size_t accepted_others = 0;   // false positives
  double recall = 0;                 // of the targets
  double false_positive_rate = 0;    // of the others
  double f1 = 0;                     // 2 tp / (2 tp + fp + fn)
};

struct RocCurve {
  std::size_t targets = 0, others = 0;
  double area = 0;                     // under the curve; equal scores count half
  std::vector<OperatingPoint> points;  // one per different score, ascending; before them one that accepts nothing, threshold -1
};

// Needs at least one target and one other read. Scores must be finite.
RocCurve roc_curve(std::span<const LabelledScore> scores);

// The points of a curve that decide. Each threshold lies halfway to the next larger score, where there is one.
struct ChosenThresholds {
  OperatingPoint best;    // largest F1; of several the one that accepts most
  OperatingPoint accept;  // accepts most with a false positive rate of at most early_error, and not more than `best`
  OperatingPoint reject;  // accepts least with a recall of at least 1 - early_error, and not less than `best`
};
ChosenThresholds choose_thresholds(const RocCurve& curve, double early_error);

// The curve's counts at a threshold.
OperatingPoint operating_point(const RocCurve& curve, double threshold);

}  // namespace sluice::read_until_calibration
