// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The profile hidden Markov model over events of nanopolish (Simpson et al. 2017) in the arithmetic of f5c 1.6: transitions and emissions, for stages
// that sum over its paths (methylation_hmm) or look for the best one (event_alignment). Three states per k-mer: match (the event belongs to the
// k-mer), bad (a bad event: emits with log-probability 0), skip (the k-mer has no event: silent).

#include <cstdint>
#include <limits>
#include <optional>
#include <sluice/kmer_model.hpp>
#include <sluice/natural_log.hpp>

namespace sluice::event_hmm {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// What to do with fewer than one event per base, where 1 - 1/events_per_base is no probability.
enum class EventsPerBase : std::uint8_t {
  raised,  // below 1 it counts as 1.25, nanopolish's floor; from 1 upwards nothing changes, so rows equal f5c's wherever those are numbers
  compat,  // as f5c, whose logarithm of it is not a number
};

// Natural logarithms of the transition probabilities of one read.
struct Transitions {
  float match_stay;
  float match_next;
  float match_bad;
  float match_skip;
  float bad_match;  // to the match state of the same or of the next k-mer
  float bad_stay;
  float bad_skip;
  float skip_match;
  float skip_stay;
};

// Transition probabilities that are the same for all reads, and their logarithms. Logarithms are natural_log rounded to single, not std::log: C
// libraries differ in the last place, and CUDA's has its own.
constexpr float log_of(float probability) {
  return probability > 0.0F ? static_cast<float>(natural_log(static_cast<double>(probability))) : kMinusInfinity;
}
inline constexpr float kSkip = 0.0025F;
inline constexpr float kBad = 0.001F;
inline constexpr float kSkipSelf = 0.3F;
inline constexpr float kLogSkip = log_of(kSkip);
inline constexpr float kLogBad = log_of(kBad);
inline constexpr float kLogBadOut = log_of((1.0F - kBad) / 3.0F);
inline constexpr float kLogSkipOut = log_of(1.0F - kSkipSelf);
inline constexpr float kLogSkipSelf = log_of(kSkipSelf);

// The two that depend on the read. False where events_per_base leaves no probability to stay (below 1) or to move on (above 285).
constexpr bool make_read_transitions(double events_per_base, EventsPerBase floor, float& match_stay, float& match_next) {
  constexpr double kRaisedEventsPerBase = 1.25;
  constexpr double kLargest = std::numeric_limits<double>::max();
  if (!(events_per_base >= -kLargest && events_per_base <= kLargest)) return false;
  if (events_per_base < 1.0) {
    if (floor == EventsPerBase::compat) return false;
    events_per_base = kRaisedEventsPerBase;
  }
  const auto stay = static_cast<float>(1.0 - 1.0 / events_per_base);
  const float next = 1.0F - stay - kSkip - kBad;
  if (!(next > 0.0F)) return false;
  match_stay = log_of(stay);
  match_next = log_of(next);
  return true;
}

// All of them; nothing where make_read_transitions has none.
constexpr std::optional<Transitions> make_transitions(double events_per_base, EventsPerBase floor) {
  Transitions all{.match_stay = 0.0F,
                  .match_next = 0.0F,
                  .match_bad = kLogBad,
                  .match_skip = kLogSkip,
                  .bad_match = kLogBadOut,
                  .bad_stay = kLogBad,
                  .bad_skip = kLogBadOut,
                  .skip_match = kLogSkipOut,
                  .skip_stay = kLogSkipSelf};
  if (!make_read_transitions(events_per_base, floor, all.match_stay, all.match_next)) return std::nullopt;
  return all;
}

// The calibration of one read: an event of a k-mer is expected at scale * level_mean + shift pA, with the deviation var * level_stdv.
struct ReadScaling {
  float scale = 1.0F;
  float shift = 0.0F;    // pA
  float var = 1.0F;      // factor on level_stdv
  float log_var = 0.0F;  // its natural logarithm
};

// The emission of an event x for a k-mer: a = (x - mean) / stdv; constant + (-0.5 * a) * a.
struct ScaledLevel {
  float mean;
  float stdv;
  float constant;
};

constexpr ScaledLevel scale_level(float level_mean, float level_stdv, float log_level_stdv, const ReadScaling& read) {
  return {.mean = read.scale * level_mean + read.shift, .stdv = level_stdv * read.var, .constant = -0.918938F - (log_level_stdv + read.log_var)};
}
inline ScaledLevel scale_level(const KmerModelView& model, std::uint32_t rank, const ReadScaling& read) {
  return scale_level(model.level_mean[rank], model.level_stdv[rank], model.log_level_stdv[rank], read);
}

// Keeps every intermediate value of the recurrence away from NaN: (x - mean) / stdv is at most 2e30, its square at worst +inf.
inline constexpr float kLargestValue = 1e15F;
constexpr bool is_usable(const ScaledLevel& level) {
  const auto within = [](float value) { return value >= -kLargestValue && value <= kLargestValue; };
  return within(level.mean) && within(level.constant) && level.stdv >= 1.0F / kLargestValue && level.stdv <= kLargestValue;
}
constexpr bool is_usable(float event_mean) { return event_mean >= -kLargestValue && event_mean <= kLargestValue; }

}  // namespace sluice::event_hmm
