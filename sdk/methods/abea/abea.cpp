// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors

#include <algorithm>
#include <cmath>
#include <limits>
#include <sluice/methods/abea/abea.hpp>
#include <sluice/methods/abea/band_fill.hpp>
#include <sluice/methods/abea/transitions.hpp>

namespace sluice::abea {
namespace {

constexpr std::size_t cache_line = 64;
// Indices of bands and lanes stay in 32 bits with room for a band and its spare lanes.
constexpr std::size_t largest_band_count = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) - 1024;

std::size_t column_bytes(std::size_t kmer_count) { return (kmer_count * sizeof(float) + cache_line - 1) / cache_line * cache_line; }

std::size_t trace_bytes(std::size_t event_count, std::size_t kmer_count) {
  return ((event_count + kmer_count + 2) * bytes_per_band_trace + cache_line - 1) / cache_line * cache_line;
}

struct Levels {
  float* mean;
  float* stdv;
  float* inverse_stdv;
  float* peak;
};

// Fills the columns; the ranges exclude every narrow arithmetic when a value is NaN.
LevelRanges load_levels(const AlignmentInput& input, const Levels& levels) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  LevelRanges ranges{infinity, -infinity, infinity, -infinity, infinity, -infinity};
  const float scale = input.scaling.scale;
  const float shift = input.scaling.shift;
  bool ordered = true;
  for (std::size_t kmer = 0; kmer < input.kmer_ranks.size(); ++kmer) {
    const std::uint32_t rank = input.kmer_ranks[kmer];
    const float scaled = scale * input.model.level_mean[rank];
    const float mean = scaled + shift;
    const float stdv = input.model.level_stdv[rank];
    const float peak = log_normal_constant - input.model.log_level_stdv[rank];
    levels.mean[kmer] = mean;
    levels.stdv[kmer] = stdv;
    levels.inverse_stdv[kmer] = 1.0F / stdv;
    levels.peak[kmer] = peak;
    ranges.lowest_mean = std::min(ranges.lowest_mean, mean);
    ranges.highest_mean = std::max(ranges.highest_mean, mean);
    ranges.lowest_stdv = std::min(ranges.lowest_stdv, stdv);
    ranges.highest_stdv = std::max(ranges.highest_stdv, stdv);
    ranges.lowest_peak = std::min(ranges.lowest_peak, peak);
    ranges.highest_peak = std::max(ranges.highest_peak, peak);
    ordered &= mean == mean && stdv == stdv && peak == peak;
  }
  if (!ordered) ranges.highest_peak = infinity;
  return ranges;
}

bool are_moderate(std::span<const float> event_means) {
  bool moderate = true;
  for (const float mean : event_means) moderate &= mean > -0x1p20F && mean < 0x1p20F;
  return moderate;
}

// The two trace bits of a cell. Rows are walked backwards, one or two bands per step.
struct TraceBits {
  const std::uint8_t* rows;
  bool came_from_left(std::int64_t band, std::int32_t lane) const { return bit(band, lane, bytes_per_band_trace / 2); }
  bool came_from_above(std::int64_t band, std::int32_t lane) const { return bit(band, lane, 0); }

 private:
  bool bit(std::int64_t band, std::int32_t lane, std::size_t half) const {
    const std::uint8_t* const row = rows + static_cast<std::size_t>(band) * bytes_per_band_trace + half;
    return ((row[static_cast<std::size_t>(lane) / 8] >> (static_cast<std::uint32_t>(lane) % 8)) & 1U) != 0;
  }
};

}  // namespace

std::size_t abea_workspace_bytes(std::size_t event_count, std::size_t kmer_count) {
  return trace_bytes(event_count, kmer_count) + 4 * column_bytes(kmer_count);
}

std::optional<AlignmentStatus> reject_before_alignment(const AlignmentInput& input, std::size_t first_event_size, std::size_t last_event_size) {
  const std::size_t event_count = input.event_means.size();
  const std::size_t kmer_count = input.kmer_ranks.size();
  const KmerModelView& model = input.model;
  if (first_event_size != kmer_count || last_event_size != kmer_count) return AlignmentStatus::output_size_mismatch;
  if (model.k == 0 || model.level_mean.size() != model.level_stdv.size() || model.level_mean.size() != model.log_level_stdv.size()) {
    return AlignmentStatus::invalid_model;
  }
  if (kmer_count == 0) return AlignmentStatus::too_few_kmers;
  if (event_count == 0) return AlignmentStatus::no_events;
  if (!input.guide.empty() && input.guide.size() != guide_words(event_count, kmer_count)) return AlignmentStatus::output_size_mismatch;
  if (event_count > largest_band_count || kmer_count > largest_band_count - event_count) return AlignmentStatus::read_too_long;
  const std::size_t base_count = kmer_count + model.k - 1;
  if (static_cast<float>(event_count) / static_cast<float>(base_count) >= input.limits.max_events_per_base) {
    return AlignmentStatus::too_many_events_per_base;
  }
  std::uint32_t highest_rank = 0;
  for (const std::uint32_t rank : input.kmer_ranks) highest_rank = std::max(highest_rank, rank);
  if (highest_rank >= model.level_mean.size()) return AlignmentStatus::kmer_outside_model;
  return std::nullopt;
}

std::vector<std::uint64_t> guide_along(std::span<const std::int32_t> expected_kmer, std::size_t kmer_count) {
  std::vector<std::uint64_t> guide(guide_words(expected_kmer.size(), kmer_count));
  const auto last = static_cast<std::int32_t>(kmer_count) - 1;
  std::size_t band = 1;
  std::int32_t kmer = -1;
  const auto go_right_to = [&](std::int32_t wanted) {
    // Band 1 lies below band 0, so that a way that begins to the right is one k-mer late.
    for (; kmer < std::min(wanted, last); ++kmer, ++band)
      if (band > 1) guide[band / 64] |= std::uint64_t{1} << (band % 64);
  };
  for (const std::int32_t wanted : expected_kmer) {
    if (band > 1) go_right_to(wanted);
    ++band;
  }
  go_right_to(last);
  return guide;
}

AlignmentResult align_events(const AlignmentInput& input, AlignmentWorkspace& workspace, std::span<std::int32_t> first_event,
                             std::span<std::int32_t> last_event, std::vector<AlignedPair>* pairs) {
  AlignmentResult result;
  std::fill(first_event.begin(), first_event.end(), -1);
  std::fill(last_event.begin(), last_event.end(), -1);
  if (pairs != nullptr) pairs->clear();
  if (const auto reason = reject_before_alignment(input, first_event.size(), last_event.size())) {
    result.status = *reason;
    return result;
  }

  const std::size_t event_count = input.event_means.size();
  const std::size_t kmer_count = input.kmer_ranks.size();
  std::byte* const memory = workspace.start(abea_workspace_bytes(event_count, kmer_count));
  std::byte* const columns = memory + trace_bytes(event_count, kmer_count);
  const std::size_t stride = column_bytes(kmer_count);
  const Levels levels{reinterpret_cast<float*>(columns), reinterpret_cast<float*>(columns + stride), reinterpret_cast<float*>(columns + 2 * stride),
                      reinterpret_cast<float*>(columns + 3 * stride)};
  BandFillInput fill{};
  fill.event_means = input.event_means;
  fill.kmer_count = static_cast<std::int32_t>(kmer_count);
  fill.ranges = load_levels(input, levels);
  fill.levels = {levels.mean, levels.stdv, levels.inverse_stdv, levels.peak};
  fill.log_probability = transitions(event_count, kmer_count);
  fill.guide = input.guide;
  fill.events_are_moderate = are_moderate(input.event_means);
  fill.traces = memory;
  const std::optional<BandFillResult> vector_fill = fill_bands(fill);
  if (!vector_fill) return align_events_scalar(input, first_event, last_event, pairs);
  const BandFillResult& filled = *vector_fill;
  result.bands = filled.bands;
  if (filled.end_event < 0) {
    result.status = AlignmentStatus::no_end_cell_in_band;
    return result;
  }

  // Backwards along the traces, without branches on the move: it is as unpredictable as the signal. An event entered from the left belongs to the
  // k-mer before, except for the very first pair.
  const TraceBits traces{reinterpret_cast<const std::uint8_t*>(memory)};
  std::int32_t event = filled.end_event;
  std::int32_t kmer = fill.kmer_count - 1;
  std::int32_t lane = kmer % filled.lanes;
  std::int32_t skipped = 0;
  std::int32_t first_pair_event = event;
  std::int32_t first_pair_kmer = kmer;
  double sum = 0.0;
  while (kmer >= 0 && event >= 0) {
    if (pairs != nullptr) pairs->push_back({kmer, event});
    first_pair_event = event;
    first_pair_kmer = kmer;
    sum += static_cast<double>(emission(input.event_means[static_cast<std::size_t>(event)], levels.mean[kmer], levels.stdv[kmer], levels.peak[kmer]));
    ++result.pair_count;
    const std::int64_t band = std::int64_t{event} + kmer + 2;
    const bool left = traces.came_from_left(band, lane);
    const bool up = !left && traces.came_from_above(band, lane);
    std::int32_t& first = first_event[static_cast<std::size_t>(kmer)];
    std::int32_t& last = last_event[static_cast<std::size_t>(kmer)];
    first = left ? first : event;
    last = std::max(last, left ? -1 : event);
    skipped = left ? skipped + 1 : 0;
    result.longest_skip = std::max(result.longest_skip, skipped);
    event -= left ? 0 : 1;
    kmer -= up ? 0 : 1;
    lane -= up ? 0 : 1;
    lane = lane < 0 ? filled.lanes - 1 : lane;
  }
  result.average_emission = sum / static_cast<double>(result.pair_count);

  if (result.average_emission < input.limits.min_average_emission) {
    result.status = AlignmentStatus::low_average_emission;
  } else if (first_pair_kmer != 0) {
    result.status = AlignmentStatus::not_spanning;
  } else if (result.longest_skip > input.limits.max_skipped_kmers) {
    result.status = AlignmentStatus::too_many_skipped_kmers;
  }
  if (result.status != AlignmentStatus::ok) {
    std::fill(first_event.begin(), first_event.end(), -1);
    std::fill(last_event.begin(), last_event.end(), -1);
    if (pairs != nullptr) pairs->clear();
    return result;
  }
  first_event[0] = first_pair_event;
  last_event[0] = std::max(last_event[0], first_pair_event);
  result.events_per_base = static_cast<double>(filled.end_event - first_pair_event) / static_cast<double>(kmer_count);
  if (pairs != nullptr) std::reverse(pairs->begin(), pairs->end());
  return result;
}

}  // namespace sluice::abea
