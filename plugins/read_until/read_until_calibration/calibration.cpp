// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_until_calibration/calibration.hpp"

#include <algorithm>
#include <iterator>

namespace sluice::read_until_calibration {
namespace {

OperatingPoint point_of(const RocCurve& curve, double threshold, std::size_t accepted_targets, std::size_t accepted_others) {
  const auto tp = static_cast<double>(accepted_targets), fp = static_cast<double>(accepted_others);
  return {.threshold = threshold,
          .accepted_targets = accepted_targets,
          .accepted_others = accepted_others,
          .recall = tp / static_cast<double>(curve.targets),
          .false_positive_rate = fp / static_cast<double>(curve.others),
          .f1 = 2 * tp / (tp + fp + static_cast<double>(curve.targets))};
}

}  // namespace

RocCurve roc_curve(std::span<const LabelledScore> scores) {
  std::vector<LabelledScore> sorted(scores.begin(), scores.end());
  std::sort(sorted.begin(), sorted.end(), [](const LabelledScore& a, const LabelledScore& b) { return a.score < b.score; });
  RocCurve curve;
  for (const LabelledScore& read : sorted) ++(read.label == Label::target ? curve.targets : curve.others);
  curve.points.push_back(point_of(curve, -1, 0, 0));
  std::size_t targets = 0, others = 0;
  for (std::size_t i = 0; i < sorted.size();) {
    const double score = sorted[i].score;
    for (; i < sorted.size() && sorted[i].score == score; ++i) ++(sorted[i].label == Label::target ? targets : others);
    curve.points.push_back(point_of(curve, score, targets, others));
    const OperatingPoint &before = curve.points[curve.points.size() - 2], &now = curve.points.back();
    curve.area += (now.false_positive_rate - before.false_positive_rate) * (now.recall + before.recall) / 2;
  }
  return curve;
}

ChosenThresholds choose_thresholds(const RocCurve& curve, double early_error) {
  std::size_t best = 0, accept = 0, reject = curve.points.size() - 1;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    if (curve.points[i].f1 >= curve.points[best].f1) best = i;
    if (curve.points[i].false_positive_rate <= early_error) accept = i;
  }
  while (reject > 0 && curve.points[reject - 1].recall >= 1 - early_error) --reject;
  // Where the two kinds are far apart these cross: an early decision must not go beyond the final one.
  accept = std::min(accept, best);
  reject = std::max(reject, best);
  const auto halfway = [&](std::size_t i) {
    OperatingPoint point = curve.points[i];
    if (i > 0 && i + 1 < curve.points.size()) point.threshold += (curve.points[i + 1].threshold - point.threshold) / 2;
    return point;
  };
  return {halfway(best), halfway(accept), halfway(reject)};
}

OperatingPoint operating_point(const RocCurve& curve, double threshold) {
  const auto above = std::upper_bound(curve.points.begin(), curve.points.end(), threshold,
                                      [](double value, const OperatingPoint& point) { return value < point.threshold; });
  OperatingPoint point = above == curve.points.begin() ? curve.points.front() : *std::prev(above);
  point.threshold = threshold;
  return point;
}

}  // namespace sluice::read_until_calibration
