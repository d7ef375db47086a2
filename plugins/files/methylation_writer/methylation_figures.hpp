// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a run found of methylation, for its report.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sluice/call_verdict.hpp>
#include <sluice/result_figures.hpp>
#include <sluice/sequence_windows.hpp>
#include <utility>
#include <vector>

namespace sluice::methylation_writer {

class MethylationFigures {
 public:
  // Sites are judged as methylation_frequency judges them. The names behind the windows must live as long as this.
  MethylationFigures(SequenceWindows windows, double call_threshold) : windows_(std::move(windows)), call_threshold_(call_threshold) {}

  // Of the calls of one batch.
  class Counts {
   public:
    explicit Counts(const MethylationFigures& home) : home_(&home), windows_(home.windows_.windows().size()) {}

    // A group of `sites` sites, the first of them at base `start` of the sequence.
    void add(std::size_t sequence, std::int64_t start, std::int32_t sites, double log_lik_ratio) {
      using methylation::Verdict;
      if (sites <= 0 || std::isnan(log_lik_ratio)) return;
      const auto n = static_cast<std::uint64_t>(sites);
      // The class of the ratio that the table shows: two decimals.
      const double steps = std::floor(std::round(methylation::detail::printed_ratio(std::clamp(log_lik_ratio, -1e6, 1e6)) * 100) / 50);
      ++ratios_[static_cast<std::size_t>(std::clamp(steps, -double{farthest}, double{farthest - 1}) + farthest)];
      all_ += n;
      const Verdict verdict = methylation::judge(log_lik_ratio, home_->call_threshold_);
      if (verdict != Verdict::methylated && verdict != Verdict::unmethylated) return;
      const std::uint64_t methylated = verdict == Verdict::methylated ? n : 0;
      called_ += n, methylated_ += methylated;
      home_->windows_.each(sequence, start, start + 1, [&](std::size_t window, std::int64_t) {
        windows_[window].first += methylated;
        windows_[window].second += n;
      });
    }
    void give(const Host& host) const {
      ResultFigures figures;
      figures.add_share(methylated, methylated_, called_);
      figures.add_share(called, called_, all_);
      for (std::size_t i = 0; i < ratios_.size(); ++i)
        if (ratios_[i] > 0) figures.add_class(ratio_histogram, static_cast<std::int64_t>(i) - farthest, ratios_[i]);
      for (std::size_t i = 0; i < windows_.size(); ++i)
        if (windows_[i].second > 0) figures.add_window(along, home_->windows_.windows()[i], windows_[i].first, windows_[i].second);
      figures.give(host);
    }

   private:
    const MethylationFigures* home_;
    std::uint64_t methylated_ = 0, called_ = 0, all_ = 0;
    std::array<std::uint64_t, 80> ratios_{};
    std::vector<std::pair<std::uint64_t, std::uint64_t>> windows_;  // methylated, called
  };

  // From finish().
  void describe(const Host& host) const {
    ResultFigures figures;
    for (const Figure& figure : {methylated, called, ratio_histogram, along}) figures.describe(figure);
    for (const FigureWindow& window : windows_.windows()) figures.add_window(along, window, 0, 0);
    figures.give(host);
  }

 private:
  static constexpr int farthest = 40;  // classes on either side of 0, of half a unit each

  static constexpr Figure methylated{0, FigureKind::share, "methylated", "", "methylated sites of the called ones, over all reads"};
  static constexpr Figure called{1, FigureKind::share, "called sites", "site",
                                 "sites of reads whose log-likelihood ratio is at least the call threshold away from 0, of all that were scored"};
  static constexpr Figure along{2, FigureKind::along, "methylation along the reference", "%",
                                "methylated sites of the called ones, by where their groups begin"};
  static constexpr Figure ratio_histogram{
      3,
      FigureKind::histogram,
      "log-likelihood ratios",
      "",
      "groups of sites by the ratio methylated over not, natural logarithm; the last classes hold all beyond -20 and 20",
      0.5};

  SequenceWindows windows_;
  double call_threshold_;
};

}  // namespace sluice::methylation_writer
