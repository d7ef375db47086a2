// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "abea/moves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::abea {

std::vector<std::int32_t> base_starts(std::span<const std::int8_t> moves) {
  std::vector<std::int32_t> starts;
  if (moves.empty() || moves[0] <= 0) return starts;
  const std::span<const std::int8_t> blocks = moves.subspan(1);
  const std::int64_t stride = moves[0], most_blocks = std::numeric_limits<std::int32_t>::max() / stride;
  const std::size_t count = std::min(blocks.size(), static_cast<std::size_t>(most_blocks));
  // Without branches: where a base begins can't be foreseen.
  starts.resize(count);
  std::size_t bases = 0;
  std::int32_t at = 0;
  for (std::size_t block = 0; block < count; ++block, at += static_cast<std::int32_t>(stride)) {
    starts[bases] = at;
    bases += blocks[block] == 1 ? 1 : 0;
  }
  starts.resize(bases);
  return starts;
}

std::int32_t base_of_kmer(std::uint32_t k, bool is_rna) { return static_cast<std::int32_t>(is_rna ? k / 4 : 7 * k / 9); }

MovedKmers::MovedKmers(std::span<const std::int8_t> moves, std::span<const std::int32_t> event_start, std::size_t kmers, std::uint32_t k)
    : starts_(base_starts(moves)),
      event_start_(event_start),
      kmers_(kmers),
      is_rna_(event_start.size() > 1 && event_start.front() > event_start.back()),
      fit_(kmers > 0 && starts_.size() == kmers + k - 1) {
  offset_ = base_of_kmer(k, is_rna_);
  if (!starts_.empty())
    samples_per_base_ = static_cast<double>(moves[0]) * static_cast<double>(moves.size() - 1) / static_cast<double>(starts_.size());
}

std::int32_t MovedKmers::block_start(std::size_t kmer) const {
  const auto bases = static_cast<std::int64_t>(starts_.size());
  const std::int64_t base = static_cast<std::int64_t>(kmer) + offset_;
  if (base < 0 || base >= bases) return -1;
  return starts_[static_cast<std::size_t>(is_rna_ ? bases - 1 - base : base)];
}

std::vector<std::int32_t> MovedKmers::expected_kmers() const {
  const std::size_t events = event_start_.size();
  std::vector<std::int32_t> expected(events, -1);
  const auto bases = static_cast<std::int64_t>(starts_.size());
  std::int64_t base = -1;  // in the order of time
  for (std::size_t in_time = 0; in_time < events; ++in_time) {
    const std::size_t event = is_rna_ ? events - 1 - in_time : in_time;
    std::int64_t middle = event_start_[event];
    if (in_time + 1 < events) middle += (std::int64_t{event_start_[is_rna_ ? event - 1 : event + 1]} - middle) / 2;
    while (base + 1 < bases && starts_[static_cast<std::size_t>(base + 1)] <= middle) ++base;
    const std::int64_t in_read = is_rna_ ? bases - 1 - std::max<std::int64_t>(base, 0) : base;
    expected[event] = static_cast<std::int32_t>(std::clamp<std::int64_t>(in_read - offset_, -1, static_cast<std::int64_t>(kmers_) - 1));
  }
  return expected;
}

LevelScaling MovedKmers::scaling(std::span<const std::int32_t> expected, std::span<const float> event_mean, std::span<const std::uint32_t> kmer_rank,
                                 const KmerModelView& model, LevelScaling moments) const {
  constexpr std::size_t least_events = 30, enough_events = 1000;
  // Not the first and the last base, whose blocks reach into what comes before and behind them.
  const auto last = static_cast<std::int32_t>(kmers_) - 1;
  std::vector<float> residuals;
  residuals.reserve(2 * enough_events);
  const std::size_t step = std::max<std::size_t>(1, expected.size() / enough_events);
  for (std::size_t event = 0; event < expected.size(); event += step) {
    const std::int32_t kmer = expected[event];
    if (kmer <= 0 || kmer >= last || kmer_rank[static_cast<std::size_t>(kmer)] >= model.level_mean.size()) continue;
    const float residual = event_mean[event] - moments.scale * model.level_mean[kmer_rank[static_cast<std::size_t>(kmer)]];
    if (std::isfinite(residual)) residuals.push_back(residual);
  }
  if (residuals.size() < least_events) return moments;
  const auto middle = residuals.begin() + static_cast<std::ptrdiff_t>(residuals.size() / 2);
  std::nth_element(residuals.begin(), middle, residuals.end());
  return {moments.scale, *middle};
}

MovedKmers::Agreement MovedKmers::agreement(std::span<const std::int32_t> first_event, std::span<const std::int32_t> last_event,
                                            double within) const {
  Agreement agreement;
  for (std::size_t kmer = 0; kmer < kmers_; ++kmer) {
    const std::int32_t event = (is_rna_ ? last_event : first_event)[kmer], block = block_start(kmer);
    if (event < 0 || static_cast<std::size_t>(event) >= event_start_.size() || block < 0) continue;
    ++agreement.kmers;
    agreement.near += std::abs(static_cast<double>(event_start_[static_cast<std::size_t>(event)]) - block) <= within ? 1 : 0;
  }
  return agreement;
}

}  // namespace sluice::abea
