// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "squiggle_reference/levels.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::squiggle_reference {
namespace {

// Ranks of the k-mer that ends with the base taken last, and of its reverse complement.
class RollingKmer {
 public:
  explicit RollingKmer(std::uint32_t k) : k_(k), mask_((std::uint64_t{1} << (2 * k)) - 1), top_(2 * (k - 1)) {}
  void take(char base) {
    const std::uint8_t code = base_code(Alphabet::nucleotide, base);
    known_ = code == 0xFF ? 0 : known_ + 1;
    const std::uint64_t bits = code & 3U;
    forward_ = ((forward_ << 2U) | bits) & mask_;
    reverse_ = (reverse_ >> 2U) | ((3U - bits) << top_);
  }
  // Are the last k letters all bases?
  bool known() const { return known_ >= k_; }
  std::size_t forward() const { return forward_; }
  std::size_t reverse() const { return reverse_; }

 private:
  std::uint32_t k_;
  std::uint64_t mask_;
  std::uint32_t top_;
  std::uint64_t forward_ = 0, reverse_ = 0;
  std::size_t known_ = 0;
};

}  // namespace

KmerCounts::KmerCounts(std::uint32_t k) : k_(k), counts_(kmer_count(Alphabet::nucleotide, k)) {}

void KmerCounts::add(std::string_view bases, Strands strands) {
  RollingKmer kmer(k_);
  for (const char base : bases) {
    kmer.take(base);
    if (!kmer.known()) continue;
    if (strands != Strands::reverse) ++counts_[kmer.forward()];
    if (strands != Strands::forward) ++counts_[kmer.reverse()];
  }
}

void KmerCounts::add(const KmerCounts& others) {
  for (std::size_t rank = 0; rank < counts_.size(); ++rank) counts_[rank] += others.counts_[rank];
}

LevelScaling level_scaling(std::span<const float> level_mean, std::span<const std::uint64_t> counts) {
  const bool each_once = std::all_of(counts.begin(), counts.end(), [](std::uint64_t count) { return count == 0; });
  const auto weight = [&](std::size_t rank) { return each_once ? 1.0 : static_cast<double>(counts[rank]); };
  double total = 0, sum = 0;
  for (std::size_t rank = 0; rank < level_mean.size(); ++rank) {
    total += weight(rank);
    sum += weight(rank) * static_cast<double>(level_mean[rank]);
  }
  const double mean = sum / total;
  double squares = 0;
  for (std::size_t rank = 0; rank < level_mean.size(); ++rank) {
    const double distance = static_cast<double>(level_mean[rank]) - mean;
    squares += weight(rank) * (distance * distance);
  }
  const auto scale = static_cast<float>(std::sqrt(squares / total));
  // A hundred-thousandth of a level is what rounding of the mean can leave where all levels are the same number.
  return {static_cast<float>(mean), scale > 1e-5F * static_cast<float>(std::abs(mean)) && std::isfinite(scale) ? scale : 0.0F};
}

std::vector<std::int16_t> quantized_levels(std::span<const float> level_mean, LevelScaling scaling) {
  std::vector<std::int16_t> levels;
  levels.reserve(level_mean.size());
  for (const float level : level_mean) levels.push_back(squiggle_quantized(level, scaling.shift, scaling.scale));
  return levels;
}

void write_levels(std::string_view bases, std::uint32_t k, std::span<const std::int16_t> levels, FirstEnd first_end, std::size_t begin,
                  std::size_t end, std::span<std::int16_t> forward, std::span<std::int16_t> reverse) {
  if (begin >= end) return;
  const std::size_t last = kmers_of(bases.size(), k) - 1;
  const auto place = [&](std::size_t i, FirstEnd ascends) { return first_end == ascends ? i : last - i; };
  RollingKmer kmer(k);
  for (std::size_t i = begin; i < begin + k - 1; ++i) kmer.take(bases[i]);
  for (std::size_t i = begin; i < end; ++i) {
    kmer.take(bases[i + k - 1]);
    if (!forward.empty()) forward[place(i, FirstEnd::five_prime)] = kmer.known() ? levels[kmer.forward()] : squiggle_unknown_level;
    if (!reverse.empty()) reverse[place(i, FirstEnd::three_prime)] = kmer.known() ? levels[kmer.reverse()] : squiggle_unknown_level;
  }
}

}  // namespace sluice::squiggle_reference
