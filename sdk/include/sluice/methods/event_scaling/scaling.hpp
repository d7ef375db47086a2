// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Fitting a k-mer model to one read: expected event mean = scale * level_mean + shift, and the spread of events is
// var * level_stdv. Methods of nanopolish 0.14 as f5c 1.6 computes them. See README.md.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <sluice/kmer_model.hpp>
#include <span>
#include <string_view>

namespace sluice::event_scaling {

enum class ScalingStatus : std::uint8_t {
  ok,
  no_events,
  read_too_short,  // fewer bases than one k-mer
  bad_model,       // k outside [1, max_k], or columns that do not hold one entry per k-mer
  bad_input,       // a k-mer rank outside the model, an event index outside the events, arrays of unequal size
  too_few_events,  // recalibration has fewer than min_recalibration_events events to go by
  singular,        // all these events lie on one level, or a value is not finite: there is no fit
  var_too_large,   // the events do not follow the model: var exceeds max_var
};

// Reason code of a failed read, as it appears in the per-read account: the enumerator's name.
std::string_view name(ScalingStatus status);

// Ranks of longer k-mers would not fit 32 bits in the methylation alphabet.
inline constexpr std::uint32_t max_k = 13;

// Number of k-mers of a read; 0 if it has fewer than k bases or k is 0.
constexpr std::size_t read_kmer_count(std::size_t bases, std::uint32_t k) { return k == 0 || bases < k ? 0 : bases - k + 1; }

// Ranks of all k-mers of a read, in order. `bases` is in sequencing orientation and upper case; a letter outside the
// alphabet, lower case included, counts as A, as in f5c. `ranks` must have read_kmer_count elements (bad_input
// otherwise). Returns ok, read_too_short, bad_model (k outside [1, max_k]) or bad_input.
ScalingStatus kmer_ranks(std::string_view bases, Alphabet alphabet, std::uint32_t k, std::span<std::uint32_t> ranks);

// How the events of a read follow each other in time: those of RNA, whose 3' end passes the pore first, descend.
enum class EventOrder : std::uint8_t { ascending, descending };

// The first scaling of a read, before any alignment.
struct MomentScaling {
  float shift = 0.0F;  // pA
  float scale = 1.0F;
};

// Method of moments. shift is the difference between the means of the events and of the model levels of the read's
// k-mers. scale is the ratio of the mean of (event - shift)^2 to that of level^2: not its square root, as in nanopolish.
// event_means: pA; f64 sums over them are taken in order of time, as f5c does. On a status other than ok, `scaling` is left alone. bad_input: a rank
// outside the model; singular: the result is not finite.
ScalingStatus moments(std::span<const float> event_means, EventOrder order, std::span<const std::uint32_t> read_kmer_ranks,
                      const KmerModelView& model, MomentScaling& scaling);

struct RecalibrationParams {
  std::uint32_t min_recalibration_events = 200;
  float max_var = 2.5F;
};

struct Recalibration {
  float scale = 1.0F;
  float shift = 0.0F;  // pA
  float var = 1.0F;    // factor on level_stdv: a standard deviation, in spite of nanopolish's name
  float log_var = 0.0F;
  std::uint32_t events_used = 0;
};

// Weighted least squares of aligned events on the model levels of their k-mers, weight 1 / level_stdv^2. Of the events of
// a k-mer the first is used, and none where the k-mer equals the one before that has events (homopolymers).
// first_event, last_event: per k-mer of the read, the events aligned to it, inclusive; first_event < 0 for none.
// The fit is in f64, sums in order of k-mers, results rounded to f32. On any status `recalibration` holds what was
// computed up to there; it is a usable scaling only on ok.
// Returns ok, bad_model, bad_input, too_few_events, singular or var_too_large.
ScalingStatus recalibrate(std::span<const float> event_means, std::span<const std::uint32_t> read_kmer_ranks,
                          std::span<const std::int32_t> first_event, std::span<const std::int32_t> last_event, const KmerModelView& model,
                          const RecalibrationParams& params, Recalibration& recalibration);

}  // namespace sluice::event_scaling
