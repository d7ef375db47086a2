// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_normalization/prefix_normalizer.hpp"

#include <algorithm>
#include <cmath>
#include <sluice/squiggle_reference.hpp>

namespace sluice::signal_normalization {
namespace {

std::int64_t levels_in(double bases, double samples_per_base, std::int32_t samples_per_level) {
  return std::max<std::int64_t>(1, samples_in(bases, samples_per_base) / samples_per_level);
}

bool is_positive(double value) { return std::isfinite(value) && value > 0; }

}  // namespace

NormalizationStatus PrefixNormalizer::begin(const NormalizationParameters& parameters, double digitisation, double range, double sampling_rate) {
  samples_ = 0;
  in_level_ = level_sum_ = 0;
  block_.clear();
  block_samples_.clear();
  given_ = 0;
  sum_ = squares_ = 0;
  alike_ = true;
  prefix_levels_ = 0;
  if (!is_positive(sampling_rate) || !is_positive(parameters.prefix_bases)) return NormalizationStatus::bad_calibration;
  const double samples_per_base = sampling_rate / parameters.bases_per_second;
  const MoleculeStartParameters start{parameters.adapter_bases, parameters.stall_stdv, parameters.bases_per_second, parameters.tail};
  if (!start_.begin(start, digitisation, range, sampling_rate)) return NormalizationStatus::bad_calibration;
  samples_per_level_ = parameters.samples_per_level;
  prefix_levels_ = levels_in(parameters.prefix_bases, samples_per_base, samples_per_level_);
  calibration_levels_ = levels_in(parameters.calibration_bases, samples_per_base, samples_per_level_);
  recalibration_levels_ = levels_in(parameters.recalibration_bases, samples_per_base, samples_per_level_);
  return NormalizationStatus::ok;
}

std::int64_t PrefixNormalizer::prefix_samples() const { return given_ == 0 ? samples_ : start_.first() + given_ * samples_per_level_; }

void PrefixNormalizer::add_level(std::int32_t sum) {
  if (given_ == 0 && block_.empty()) origin_ = sum;
  const std::int64_t distance = std::int64_t{sum} - origin_;
  alike_ = alike_ && distance == 0;
  sum_ += distance;
  squares_ += distance * distance;
  block_.push_back(sum);
}

NormalizationStatus PrefixNormalizer::give_block(NormalizedSignal& to) {
  if (block_.empty()) return NormalizationStatus::ok;
  if (alike_) return NormalizationStatus::flat_signal;
  const auto count = static_cast<double>(given_ + static_cast<std::int64_t>(block_.size()));
  const double mean = static_cast<double>(sum_) / count;
  const double variance = static_cast<double>(squares_) / count - mean * mean;
  // One level in 10^7 that differs a little can vanish in the rounding of the sums.
  if (!(variance > 0)) return NormalizationStatus::flat_signal;
  const auto shift = static_cast<float>(mean);
  const auto scale = static_cast<float>(std::sqrt(variance));
  for (const std::int32_t sum : block_) to.levels.push_back(squiggle_quantized(static_cast<float>(sum - origin_), shift, scale));
  if (to.wants == NormalizedSignal::Samples::wanted) give_samples(shift, scale, to.samples);
  given_ += static_cast<std::int64_t>(block_.size());
  block_.clear();
  return NormalizationStatus::ok;
}

// A sample weighs as much as a level of which all samples are like it.
void PrefixNormalizer::give_samples(float shift, float scale, std::vector<std::int16_t>& to) {
  const std::size_t whole = block_.size() * static_cast<std::size_t>(samples_per_level_);
  for (std::size_t i = 0; i < whole; ++i)
    to.push_back(squiggle_sample_quantized(static_cast<float>(block_samples_[i] * samples_per_level_ - origin_), shift, scale));
  block_samples_.erase(block_samples_.begin(), block_samples_.begin() + static_cast<std::ptrdiff_t>(whole));
}

NormalizationStatus PrefixNormalizer::take(std::span<const std::int16_t> samples, NormalizedSignal& to) {
  if (complete()) return NormalizationStatus::ok;
  if (!start_.found()) {
    const std::size_t used = start_.take(samples);
    samples_ += static_cast<std::int64_t>(used);
    samples = samples.subspan(used);
    if (!start_.found()) return NormalizationStatus::ok;
    const NormalizationStatus status = take_kept(to);
    if (status != NormalizationStatus::ok || complete()) return status;
  }
  if (samples_ < start_.first()) {
    const auto skipped = std::min(start_.first() - samples_, static_cast<std::int64_t>(samples.size()));
    samples_ += skipped;
    samples = samples.subspan(static_cast<std::size_t>(skipped));
  }
  return add_samples(samples, to);
}

// What was looked at before it was known that the molecule had begun.
NormalizationStatus PrefixNormalizer::take_kept(NormalizedSignal& to) {
  const std::span<const std::int16_t> kept = start_.kept();
  samples_ -= static_cast<std::int64_t>(kept.size());
  return add_samples(kept, to);
}

NormalizationStatus PrefixNormalizer::add_samples(std::span<const std::int16_t> samples, NormalizedSignal& to) {
  for (const std::int16_t sample : samples) {
    ++samples_;
    level_sum_ += sample;
    if (to.wants == NormalizedSignal::Samples::wanted) block_samples_.push_back(sample);
    if (++in_level_ < samples_per_level_) continue;
    add_level(level_sum_);
    in_level_ = level_sum_ = 0;
    const auto waiting = static_cast<std::int64_t>(block_.size());
    const bool full = waiting == (given_ == 0 ? calibration_levels_ : recalibration_levels_);
    if (!full && given_ + waiting < prefix_levels_) continue;
    const NormalizationStatus status = give_block(to);
    if (status != NormalizationStatus::ok || complete()) return status;
  }
  return NormalizationStatus::ok;
}

NormalizationStatus PrefixNormalizer::end(NormalizedSignal& to) {
  if (!start_.found()) {
    start_.finish();
    if (start_.found())
      if (const NormalizationStatus status = take_kept(to); status != NormalizationStatus::ok) return status;
  }
  return complete() ? NormalizationStatus::ok : give_block(to);
}

}  // namespace sluice::signal_normalization
