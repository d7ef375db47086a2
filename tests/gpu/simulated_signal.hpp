// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Squiggles of random sequences, and normalised signal of reads of them: for the bench and the device's program of signal_seeding.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <sluice/squiggle_reference.hpp>
#include <span>
#include <vector>

#include "signal_seeding/squiggle_index.hpp"

namespace sluice::gpu_test {

// A target a size, both strands, by a model of 6-mers with levels of standard deviation 1. Some levels of the last target are unknown, if there are
// two or more. `repeats`: half of each target is copies of a few hundred k-mers.
class SquiggleTargets {
 public:
  SquiggleTargets(const std::vector<std::size_t>& sizes, std::mt19937_64& random, bool repeats = false) {
    std::normal_distribution<double> level(0.0, static_cast<double>(squiggle_steps));
    for (std::int16_t& of_kmer : model_)
      of_kmer = static_cast<std::int16_t>(std::clamp(level(random), -double{squiggle_limit}, double{squiggle_limit}));
    for (const std::size_t size : sizes) {
      std::vector<std::uint8_t> bases(size + kmer_bases - 1);
      for (std::uint8_t& base : bases) base = static_cast<std::uint8_t>(random() % 4);
      constexpr std::size_t unit = 300;
      if (repeats)
        for (std::size_t at = 4 * unit; at + unit < bases.size(); at += 2 * unit)
          std::copy_n(bases.begin() + static_cast<std::ptrdiff_t>(random() % 3 * unit), unit, bases.begin() + static_cast<std::ptrdiff_t>(at));
      levels_.push_back(levels_of(bases));
      std::reverse(bases.begin(), bases.end());
      for (std::uint8_t& base : bases) base = static_cast<std::uint8_t>(3 - base);
      levels_.push_back(levels_of(bases));
    }
    if (sizes.size() > 1)
      for (std::size_t at = levels_.back().size() / 2, end = std::min(levels_.back().size(), at + 6); at < end; ++at)
        levels_.back()[at] = squiggle_unknown_level;
  }

  signal_seeding::SquiggleIndex index(const signal_seeding::IndexParameters& parameters = {}) const {
    std::vector<signal_seeding::Strand> strands;
    std::int64_t column = 0;
    for (const std::vector<std::int16_t>& strand : levels_) {
      strands.push_back({strand, column});
      column += static_cast<std::int64_t>(strand.size());
    }
    return build_index(strands, parameters, [](std::size_t count, const std::function<void(std::size_t)>& body) {
      for (std::size_t i = 0; i < count; ++i) body(i);
    });
  }

  // Signal of `bases` k-mers from anywhere on any strand: dwells of 1 to 19 samples, noise of a fifth standard deviation.
  std::vector<std::vector<std::int16_t>> reads(std::size_t count, std::size_t bases, std::mt19937_64& random) const {
    std::vector<std::vector<std::int16_t>> result(count);
    for (std::vector<std::int16_t>& read : result) {
      const std::vector<std::int16_t>& strand = levels_[random() % levels_.size()];
      const std::size_t length = std::min(bases, strand.size());
      read = signal_of(std::span(strand).subspan(random() % (strand.size() - length + 1), length), random);
    }
    return result;
  }

  static std::vector<std::int16_t> signal_of(std::span<const std::int16_t> levels, std::mt19937_64& random) {
    std::normal_distribution<double> noise(0.0, 0.2 * squiggle_sample_steps);
    std::vector<std::int16_t> samples;
    for (const std::int16_t level : levels)
      for (std::uint64_t dwell = 1 + random() % 10 + random() % 10; dwell > 0; --dwell)
        samples.push_back(
            static_cast<std::int16_t>(std::clamp(4.0 * level + noise(random), -double{squiggle_sample_limit}, double{squiggle_sample_limit})));
    return samples;
  }

 private:
  static constexpr std::size_t kmer_bases = 6;
  std::vector<std::int16_t> levels_of(std::span<const std::uint8_t> bases) const {
    std::vector<std::int16_t> levels;
    std::size_t kmer = 0;
    for (std::size_t i = 0; i < bases.size(); ++i) {
      kmer = (kmer << 2U | bases[i]) % model_.size();
      if (i + 1 >= kmer_bases) levels.push_back(model_[kmer]);
    }
    return levels;
  }
  std::array<std::int16_t, 4096> model_ = {};
  std::vector<std::vector<std::int16_t>> levels_;  // of each strand of each target
};

}  // namespace sluice::gpu_test
