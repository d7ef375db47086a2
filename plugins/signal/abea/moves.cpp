// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "abea/moves.hpp"

#include <algorithm>
#include <cstdlib>

namespace sluice::abea {

std::vector<std::int32_t> base_starts(std::span<const std::int8_t> moves) {
  std::vector<std::int32_t> starts;
  if (moves.empty() || moves[0] <= 0) return starts;
  const std::int32_t stride = moves[0];
  std::int64_t at = 0;
  for (const std::int8_t move : moves.subspan(1)) {
    if (move == 1) starts.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(at, INT32_MAX)));
    at += stride;
  }
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

MovedKmers::Agreement MovedKmers::agreement(std::span<const std::int32_t> first_event, std::span<const std::int32_t> last_event,
                                            std::int32_t within) const {
  Agreement agreement;
  for (std::size_t kmer = 0; kmer < kmers_; ++kmer) {
    const std::int32_t event = (is_rna_ ? last_event : first_event)[kmer], block = block_start(kmer);
    if (event < 0 || static_cast<std::size_t>(event) >= event_start_.size() || block < 0) continue;
    ++agreement.kmers;
    agreement.near += std::abs(event_start_[static_cast<std::size_t>(event)] - block) <= within ? 1 : 0;
  }
  return agreement;
}

}  // namespace sluice::abea
