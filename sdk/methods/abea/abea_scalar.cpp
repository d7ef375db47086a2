// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The reference: one cell at a time, every band kept whole, sums in f64 rounded to f32 once per cell.

#include <algorithm>
#include <cmath>
#include <limits>
#include <sluice/methods/abea/abea.hpp>
#include <sluice/methods/abea/transitions.hpp>

namespace sluice::abea {
namespace {

enum class Trace : std::uint8_t { diagonal, up, left };

struct Corner {
  std::int64_t event;
  std::int64_t kmer;
};

struct BandedMatrix {
  std::vector<Corner> corners;  // of offset 0
  std::vector<float> scores;    // band * width + offset
  std::vector<Trace> traces;

  std::int64_t width;

  BandedMatrix(std::size_t band_count, std::int32_t width_)
      : corners(band_count),
        scores(band_count * static_cast<std::size_t>(width_), -std::numeric_limits<float>::infinity()),
        traces(band_count * static_cast<std::size_t>(width_), Trace::diagonal),
        width(width_) {}

  std::size_t index(std::int64_t band, std::int64_t offset) const { return static_cast<std::size_t>(band * width + offset); }
  bool in_band(std::int64_t offset) const { return offset >= 0 && offset < width; }
  float score(std::int64_t band, std::int64_t offset) const {
    return in_band(offset) ? scores[index(band, offset)] : -std::numeric_limits<float>::infinity();
  }
  std::int64_t offset_of_kmer(std::int64_t band, std::int64_t kmer) const { return kmer - corners[static_cast<std::size_t>(band)].kmer; }
};

}  // namespace

AlignmentResult align_events_scalar(const AlignmentInput& input, std::span<std::int32_t> first_event, std::span<std::int32_t> last_event,
                                    std::vector<AlignedPair>* pairs) {
  AlignmentResult result;
  std::fill(first_event.begin(), first_event.end(), -1);
  std::fill(last_event.begin(), last_event.end(), -1);
  if (pairs != nullptr) pairs->clear();
  if (const auto reason = reject_before_alignment(input, first_event.size(), last_event.size())) {
    result.status = *reason;
    return result;
  }

  const auto event_count = static_cast<std::int64_t>(input.event_means.size());
  const auto kmer_count = static_cast<std::int64_t>(input.kmer_ranks.size());
  const std::int64_t band_count = event_count + kmer_count + 2;
  const Transitions log_probability = transitions(input.event_means.size(), input.kmer_ranks.size());
  const auto emission_of = [&](std::int64_t event, std::int64_t kmer) {
    const std::uint32_t rank = input.kmer_ranks[static_cast<std::size_t>(kmer)];
    const float scaled = input.scaling.scale * input.model.level_mean[rank];
    return emission(input.event_means[static_cast<std::size_t>(event)], scaled + input.scaling.shift, input.model.level_stdv[rank],
                    log_normal_constant - input.model.log_level_stdv[rank]);
  };

  const bool is_guided = !input.guide.empty();
  const std::int32_t width = is_guided ? guided_band_width : band_width;
  BandedMatrix matrix(static_cast<std::size_t>(band_count), width);
  matrix.corners[0] = {width / 2 - 1, -1 - width / 2};
  matrix.corners[1] = {width / 2, -1 - width / 2};
  matrix.scores[matrix.index(0, width / 2)] = 0.0F;
  matrix.scores[matrix.index(1, width / 2)] = static_cast<float>(log_probability.trim);

  constexpr float impossible = -std::numeric_limits<float>::infinity();
  for (std::int64_t band = 2; band < band_count; ++band) {
    const float lower_left = matrix.score(band - 1, 0);
    const float upper_right = matrix.score(band - 1, width - 1);
    const bool is_right = is_guided                                               ? moves_right(input.guide, band)
                          : lower_left == impossible && upper_right == impossible ? band % 2 == 1
                                                                                  : lower_left < upper_right;
    Corner& corner = matrix.corners[static_cast<std::size_t>(band)];
    corner = matrix.corners[static_cast<std::size_t>(band - 1)];
    ++(is_right ? corner.kmer : corner.event);

    const std::int64_t trim_offset = -1 - corner.kmer;
    if (matrix.in_band(trim_offset)) {
      const std::int64_t event = corner.event - trim_offset;
      if (event >= 0 && event < event_count) {
        matrix.scores[matrix.index(band, trim_offset)] = static_cast<float>(log_probability.trim * static_cast<double>(event + 1));
      }
    }

    const std::int64_t begin = std::max({std::int64_t{0}, -corner.kmer, corner.event - (event_count - 1)});
    const std::int64_t end = std::min({std::int64_t{width}, kmer_count - corner.kmer, corner.event + 1});
    for (std::int64_t offset = begin; offset < end; ++offset) {
      const std::int64_t event = corner.event - offset;
      const std::int64_t kmer = corner.kmer + offset;
      const double up_score = matrix.score(band - 1, matrix.offset_of_kmer(band - 1, kmer));
      const double left_score = matrix.score(band - 1, matrix.offset_of_kmer(band - 1, kmer - 1));
      const double diagonal_score = matrix.score(band - 2, matrix.offset_of_kmer(band - 2, kmer - 1));
      const double log_likelihood = emission_of(event, kmer);
      const auto diagonal = static_cast<float>((diagonal_score + log_probability.step) + log_likelihood);
      const auto up = static_cast<float>((up_score + log_probability.stay) + log_likelihood);
      const auto left = static_cast<float>(left_score + log_probability.skip);
      float best = diagonal;
      Trace trace = Trace::diagonal;
      if (up > best) best = up;
      if (best == up) trace = Trace::up;
      if (left > best) best = left;
      if (best == left) trace = Trace::left;
      matrix.scores[matrix.index(band, offset)] = best;
      matrix.traces[matrix.index(band, offset)] = trace;
    }
  }

  std::int64_t event = -1;
  float best_end = impossible;
  for (std::int64_t candidate = 0; candidate < event_count; ++candidate) {
    const std::int64_t band = candidate + kmer_count + 1;
    const double cell = matrix.score(band, matrix.offset_of_kmer(band, kmer_count - 1));
    const auto score = static_cast<float>(cell + static_cast<double>(event_count - candidate) * log_probability.trim);
    if (score > best_end) {
      best_end = score;
      event = candidate;
    }
  }
  if (event < 0) {
    result.status = AlignmentStatus::no_end_cell_in_band;
    return result;
  }

  std::vector<AlignedPair> path;
  double sum = 0.0;
  std::int32_t skipped = 0;
  for (std::int64_t kmer = kmer_count - 1; kmer >= 0 && event >= 0;) {
    path.push_back({static_cast<std::int32_t>(kmer), static_cast<std::int32_t>(event)});
    sum += static_cast<double>(emission_of(event, kmer));
    const std::int64_t band = event + kmer + 2;
    const std::int64_t offset = matrix.offset_of_kmer(band, kmer);
    switch (matrix.in_band(offset) ? matrix.traces[matrix.index(band, offset)] : Trace::diagonal) {
      case Trace::diagonal:
        --event, --kmer, skipped = 0;
        break;
      case Trace::up:
        --event, skipped = 0;
        break;
      case Trace::left:
        --kmer, ++skipped;
        break;
    }
    result.longest_skip = std::max(result.longest_skip, skipped);
  }
  std::reverse(path.begin(), path.end());
  result.pair_count = path.size();
  result.average_emission = sum / static_cast<double>(path.size());

  if (result.average_emission < input.limits.min_average_emission) {
    result.status = AlignmentStatus::low_average_emission;
  } else if (path.front().kmer != 0) {
    result.status = AlignmentStatus::not_spanning;
  } else if (result.longest_skip > input.limits.max_skipped_kmers) {
    result.status = AlignmentStatus::too_many_skipped_kmers;
  }
  if (result.status != AlignmentStatus::ok) return result;

  std::int32_t previous_event = -1;
  for (const AlignedPair& pair : path) {
    if (pair.event != previous_event) {
      std::int32_t& first = first_event[static_cast<std::size_t>(pair.kmer)];
      if (first == -1) first = pair.event;
      last_event[static_cast<std::size_t>(pair.kmer)] = pair.event;
    }
    previous_event = pair.event;
  }
  result.events_per_base = static_cast<double>(path.back().event - path.front().event) / static_cast<double>(kmer_count);
  if (pairs != nullptr) *pairs = std::move(path);
  return result;
}

}  // namespace sluice::abea
