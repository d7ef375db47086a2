// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The Viterbi recurrence as published: all six terms of every state, one trace per state.

#include <algorithm>
#include <array>

#include "event_alignment/segment.hpp"

namespace sluice::event_alignment {
namespace {

using event_hmm::kMinusInfinity;

enum Movement : std::uint8_t { kSameMatch, kPreviousMatch, kSameBad, kPreviousBad, kPreviousSkip, kStart };
enum Kind : std::size_t { kMatch, kBad, kSkip, kKinds };

struct Best {
  float score;
  std::uint8_t movement;
};

Best last_of_the_best(const std::array<float, 6>& terms) {
  Best best{terms[0], 0};
  for (const float term : terms) best.score = term > best.score ? term : best.score;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i] == best.score) best.movement = static_cast<std::uint8_t>(i);
  }
  return best;
}

}  // namespace

void segment_path_reference(const Segment& segment, const KmerModelView& model, Workspace& workspace) {
  const std::size_t columns = column_count(segment, model.k);
  std::array<std::uint32_t, kMaximumColumns> ranks;
  segment_ranks(segment, model.k, ranks);

  const std::size_t width = (columns + 1) * kKinds;
  const auto rows = static_cast<std::size_t>(segment.rows);
  workspace.scores.assign(2 * width, kMinusInfinity);
  workspace.traces.resize((rows + 1) * width);
  const event_hmm::Transitions& log = segment.transitions;
  float* before = workspace.scores.data();
  float* now = before + width;
  for (std::size_t t = 1; t <= rows; ++t) {
    const float event = segment.event_mean[static_cast<std::size_t>(segment.first_event + (static_cast<std::int64_t>(t) - 1) * segment.step)];
    for (std::size_t j = 1; j <= columns; ++j) {
      const event_hmm::ScaledLevel level = event_hmm::scale_level(model, ranks[j - 1], segment.scaling);
      const float a = (event - level.mean) / level.stdv;
      const float emission = level.constant + -0.5F * a * a;
      const float* above = before + j * kKinds;
      const float* diagonal = above - kKinds;
      float* here = now + j * kKinds;
      const float* left = here - kKinds;
      std::uint8_t* trace = workspace.traces.data() + t * width + j * kKinds;

      const Best match =
          last_of_the_best({above[kMatch] + log.match_stay, diagonal[kMatch] + log.match_next, above[kBad] + log.bad_match,
                            diagonal[kBad] + log.bad_match, diagonal[kSkip] + log.skip_match, t == 1 && j == 1 ? kLogStart : kMinusInfinity});
      here[kMatch] = match.score + emission;
      trace[kMatch] = match.movement;
      const Best bad = last_of_the_best(
          {above[kMatch] + log.match_bad, kMinusInfinity, above[kBad] + log.bad_stay, kMinusInfinity, kMinusInfinity, kMinusInfinity});
      here[kBad] = bad.score;
      trace[kBad] = bad.movement;
      const Best skip = last_of_the_best(
          {kMinusInfinity, left[kMatch] + log.match_skip, kMinusInfinity, left[kBad] + log.bad_skip, left[kSkip] + log.skip_stay, kMinusInfinity});
      here[kSkip] = skip.score;
      trace[kSkip] = skip.movement;
    }
    std::swap(before, now);
  }

  workspace.path.clear();
  std::size_t t = rows;
  std::size_t j = columns;
  Kind kind = kMatch;
  while (t > 0) {
    if (kind != kSkip)
      workspace.path.push_back({static_cast<std::int32_t>(t - 1), static_cast<std::int16_t>(j - 1), kind == kMatch ? State::match : State::bad});
    const auto movement = static_cast<Movement>(workspace.traces[t * width + j * kKinds + kind]);
    if (movement == kStart) break;
    if (kind != kSkip) --t;
    if (movement == kPreviousMatch || movement == kPreviousBad || movement == kPreviousSkip) --j;
    kind = movement == kSameMatch || movement == kPreviousMatch ? kMatch : movement == kPreviousSkip ? kSkip : kBad;
  }
}

}  // namespace sluice::event_alignment
