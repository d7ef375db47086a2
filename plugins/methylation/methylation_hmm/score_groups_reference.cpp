// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The Forward recurrence as published, one problem at a time: all six terms of every state, f5c's log-sum rule word for word.

#include <cmath>

#include "methylation_hmm/profile_hmm.hpp"

namespace sluice::methylation_hmm {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

float log_sum(float a, float b) {
  const float high = a > b ? a : b;
  const float low = a > b ? b : a;
  if (low == kMinusInfinity || high - low >= 15.7F) return high;
  return high + log_sum_table()[static_cast<std::int32_t>((high - low) * kLogSumScale)];
}

struct States {
  float match = kMinusInfinity;
  float bad = kMinusInfinity;
  float skip = kMinusInfinity;
};

float forward(const ReadSignal& read, const GroupProblem& problem, const Transitions& transitions, std::span<const ScaledLevel> levels,
              std::span<const float> clipping) {
  const std::int64_t rows = event_count(problem);
  const std::int64_t step = problem.first_event <= problem.last_event ? 1 : -1;
  const std::size_t columns = levels.size();
  std::vector<States> previous(columns + 1);
  std::vector<States> current(columns + 1);
  float end = kMinusInfinity;
  for (std::int64_t t = 1; t <= rows; ++t) {
    const float event = read.event_mean[static_cast<std::size_t>(problem.first_event + (t - 1) * step)];
    for (std::size_t j = 1; j <= columns; ++j) {
      const ScaledLevel& level = levels[j - 1];
      const float a = (event - level.mean) / level.stdv;
      const float emission = level.constant + -0.5F * a * a;

      float match = log_sum(previous[j].match + transitions.match_stay, previous[j - 1].match + transitions.match_next);
      match = log_sum(match, previous[j].bad + transitions.bad_match);
      match = log_sum(match, previous[j - 1].bad + transitions.bad_match);
      match = log_sum(match, previous[j - 1].skip + transitions.skip_match);
      match = log_sum(match, j == 1 ? clipping[static_cast<std::size_t>(t - 1)] : kMinusInfinity);
      current[j].match = match + emission;

      float bad = log_sum(previous[j].match + transitions.match_bad, kMinusInfinity);
      bad = log_sum(bad, previous[j].bad + transitions.bad_stay);
      current[j].bad = bad;

      float skip = log_sum(kMinusInfinity, current[j - 1].match + transitions.match_skip);
      skip = log_sum(skip, current[j - 1].bad + transitions.bad_skip);
      skip = log_sum(skip, current[j - 1].skip + transitions.skip_stay);
      current[j].skip = skip;
    }
    const float after = clipping[static_cast<std::size_t>(rows - t)];
    end = log_sum(end, current[columns].match + after);
    end = log_sum(end, current[columns].bad + after);
    end = log_sum(end, current[columns].skip + after);
    previous.swap(current);
  }
  return end;
}

}  // namespace

bool score_groups_reference(std::span<const ReadSignal> reads, std::span<const GroupProblem> problems, const KmerModelView& model, const Motif& motif,
                            EventsPerBase events_per_base, std::span<GroupScore> scores) {
  if (!is_usable(model) || problems.size() != scores.size()) return false;
  std::vector<float> clipping;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const GroupProblem& problem = problems[i];
    GroupScore& score = scores[i];
    score = {.methylated = kNotANumber, .unmethylated = kNotANumber, .status = check_problem(reads, problem, model.k)};
    if (score.status != ScoreStatus::ok) continue;
    const ReadSignal& read = reads[problem.read];
    const auto transitions = make_transitions(read.events_per_base, events_per_base);
    if (!transitions) {
      score.status = ScoreStatus::bad_events_per_base;
      continue;
    }
    const std::size_t columns = problem.sequence.size() - model.k + 1;
    std::vector<std::uint32_t> unmethylated(columns);
    std::vector<std::uint32_t> methylated(columns);
    hypothesis_ranks(problem.sequence, model.k, read.strand, motif.sites(read.strand), unmethylated.data(), methylated.data());
    std::vector<ScaledLevel> unmethylated_levels;
    std::vector<ScaledLevel> methylated_levels;
    bool usable = true;
    for (std::size_t j = 0; j < columns; ++j) {
      unmethylated_levels.push_back(scale_level(model, unmethylated[j], read));
      methylated_levels.push_back(scale_level(model, methylated[j], read));
      usable = usable && is_usable(unmethylated_levels.back()) && is_usable(methylated_levels.back());
    }
    if (!usable) {
      score.status = ScoreStatus::not_finite;
      continue;
    }
    extend_clipping(clipping, static_cast<std::size_t>(event_count(problem)));
    score.unmethylated = forward(read, problem, *transitions, unmethylated_levels, clipping);
    score.methylated = forward(read, problem, *transitions, methylated_levels, clipping);
  }
  return true;
}

}  // namespace sluice::methylation_hmm
