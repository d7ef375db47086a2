// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How slowly strands pass the pore, measured where they were aligned: a slow strand has fewer bases in a prefix of so many samples, and so few fit
// somewhere by chance. Thresholds hold for the speed of the reads that they were made of.

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <optional>

namespace sluice::read_until_decision {

// Any thread may add.
class StrandSpeed {
 public:
  // Of the reads that thresholds were made of: samples that a k-mer stays in the pore; 0: nothing is measured.
  explicit StrandSpeed(double calibrated_dwell) : calibrated_dwell_(calibrated_dwell) {}

  void add(double samples, std::int64_t kmers) {
    if (calibrated_dwell_ <= 0 || kmers <= 0) return;
    const double bin = samples / static_cast<double>(kmers) / calibrated_dwell_ * bins_a_unit;
    const std::lock_guard lock(mutex_);
    ++reads_;
    ++counts_[static_cast<std::size_t>(std::clamp(bin, 0.0, static_cast<double>(counts_.size() - 1)))];
  }
  struct Slow {
    double dwell = 0, calibrated_dwell = 0;  // samples a base; dwell: the median
    std::int64_t reads = 0;
  };
  // Nothing where the strands are no slower, or where there are too few of them to tell.
  std::optional<Slow> slow() const {
    const std::lock_guard lock(mutex_);
    if (reads_ < least_reads) return std::nullopt;
    std::size_t bin = 0;
    for (std::int64_t below = counts_[0]; 2 * below < reads_; below += counts_[bin]) ++bin;
    const double ratio = (static_cast<double>(bin) + 0.5) / bins_a_unit;
    return ratio > least_ratio ? std::optional<Slow>({ratio * calibrated_dwell_, calibrated_dwell_, reads_}) : std::nullopt;
  }

 private:
  // Alignments of unrelated reads measure 3 to 7 % more than those of targets, and single ones scatter by 15 %: the median of 100 of them by 2 %.
  // With dwells that are longer by a fifth 26 % of unrelated reads are accepted instead of 2 % (simulated RNA004).
  static constexpr double least_ratio = 1.12;
  static constexpr std::int64_t least_reads = 100;
  static constexpr double bins_a_unit = 100;
  double calibrated_dwell_;
  mutable std::mutex mutex_;
  std::int64_t reads_ = 0;
  std::array<std::int64_t, 1001> counts_{};  // by the ratio to the calibrated dwell; the last one is of all beyond
};

}  // namespace sluice::read_until_decision
