// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// All sums are f64 and taken in the order of the definition; compile with -ffp-contract=off. They are chains of dependent
// additions (4 cycles each), so that vectors could not help: independent sums run beside each other instead.
#include <algorithm>
#include <array>
#include <cmath>
#include <sluice/methods/event_scaling/scaling.hpp>
#include <sluice/natural_log.hpp>

namespace sluice::event_scaling {
namespace {

constexpr std::array<std::uint8_t, 256> codes_of(Alphabet alphabet) {
  std::array<std::uint8_t, 256> codes{};
  for (std::size_t letter = 0; letter < codes.size(); ++letter) {
    const std::uint8_t code = base_code(alphabet, static_cast<char>(letter));
    codes[letter] = code == 0xFF ? 0 : code;
  }
  return codes;
}

constexpr auto nucleotide_codes = codes_of(Alphabet::nucleotide);
constexpr auto methylation_codes = codes_of(Alphabet::methylation);

// Rank of the next k-mer = (rank without its first base) * alphabet size + next base. In the base-4 alphabet the first base
// drops out of a mask; in base 5 its share is subtracted.
template <std::uint32_t size>
void roll_ranks(std::string_view bases, const std::array<std::uint8_t, 256>& codes, std::uint32_t k, std::uint32_t* ranks) {
  const auto code = [&](std::size_t i) -> std::uint32_t { return codes[static_cast<unsigned char>(bases[i])]; };
  std::uint32_t first_weight = 1;
  for (std::uint32_t i = 1; i < k; ++i) first_weight *= size;
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i + 1 < k; ++i) rank = rank * size + code(i);
  for (std::size_t i = k - 1; i < bases.size(); ++i) {
    rank = rank * size + code(i);
    const std::size_t first = i + 1 - k;
    ranks[first] = rank;
    rank -= code(first) * first_weight;
  }
}

bool is_usable(const KmerModelView& model) {
  if (model.k == 0 || model.k > max_k) return false;
  const std::size_t count = kmer_count(model.alphabet, model.k);
  return model.level_mean.size() == count && model.level_stdv.size() == count;
}

}  // namespace

std::string_view name(ScalingStatus status) {
  switch (status) {
    case ScalingStatus::ok:
      return "ok";
    case ScalingStatus::no_events:
      return "no_events";
    case ScalingStatus::read_too_short:
      return "read_too_short";
    case ScalingStatus::bad_model:
      return "bad_model";
    case ScalingStatus::bad_input:
      return "bad_input";
    case ScalingStatus::too_few_events:
      return "too_few_events";
    case ScalingStatus::singular:
      return "singular";
    case ScalingStatus::var_too_large:
      return "var_too_large";
  }
  return "unknown";
}

ScalingStatus kmer_ranks(std::string_view bases, Alphabet alphabet, std::uint32_t k, std::span<std::uint32_t> ranks) {
  if (k == 0 || k > max_k) return ScalingStatus::bad_model;
  const std::size_t count = read_kmer_count(bases.size(), k);
  if (count == 0) return ScalingStatus::read_too_short;
  if (ranks.size() != count) return ScalingStatus::bad_input;
  if (alphabet == Alphabet::nucleotide) {
    roll_ranks<4>(bases, nucleotide_codes, k, ranks.data());
  } else {
    roll_ranks<5>(bases, methylation_codes, k, ranks.data());
  }
  return ScalingStatus::ok;
}

ScalingStatus moments(std::span<const float> event_means, EventOrder order, std::span<const std::uint32_t> read_kmer_ranks,
                      const KmerModelView& model, MomentScaling& scaling) {
  if (!is_usable(model)) return ScalingStatus::bad_model;
  if (event_means.empty()) return ScalingStatus::no_events;
  if (read_kmer_ranks.empty()) return ScalingStatus::read_too_short;
  const auto events = static_cast<double>(event_means.size());
  const auto kmers = static_cast<double>(read_kmer_ranks.size());

  double event_sum = 0.0;
  double level_sum = 0.0;
  double level_square_sum = 0.0;
  // The i-th event in time.
  const bool descends = order == EventOrder::descending;
  const auto event_mean = [&](std::size_t i) { return static_cast<double>(event_means[descends ? event_means.size() - 1 - i : i]); };
  const auto add_event = [&](std::size_t i) { event_sum += event_mean(i); };
  const auto add_level = [&](std::size_t i) {
    const std::uint32_t rank = read_kmer_ranks[i];
    if (rank >= model.level_mean.size()) return false;
    const auto level = static_cast<double>(model.level_mean[rank]);
    level_sum += level;
    level_square_sum += level * level;
    return true;
  };
  const std::size_t both = std::min(event_means.size(), read_kmer_ranks.size());
  for (std::size_t i = 0; i < both; ++i) {
    add_event(i);
    if (!add_level(i)) return ScalingStatus::bad_input;
  }
  for (std::size_t i = both; i < event_means.size(); ++i) add_event(i);
  for (std::size_t i = both; i < read_kmer_ranks.size(); ++i) {
    if (!add_level(i)) return ScalingStatus::bad_input;
  }

  const double shift = event_sum / events - level_sum / kmers;
  double event_square_sum = 0.0;
  for (std::size_t i = 0; i < event_means.size(); ++i) {
    const double difference = event_mean(i) - shift;
    event_square_sum += difference * difference;
  }
  const double scale = (event_square_sum / events) / (level_square_sum / kmers);
  const MomentScaling result{static_cast<float>(shift), static_cast<float>(scale)};
  if (!std::isfinite(result.shift) || !std::isfinite(result.scale)) return ScalingStatus::singular;
  scaling = result;
  return ScalingStatus::ok;
}

ScalingStatus recalibrate(std::span<const float> event_means, std::span<const std::uint32_t> read_kmer_ranks,
                          std::span<const std::int32_t> first_event, std::span<const std::int32_t> last_event, const KmerModelView& model,
                          const RecalibrationParams& params, Recalibration& recalibration) {
  recalibration = {};
  if (!is_usable(model)) return ScalingStatus::bad_model;
  const std::size_t kmers = read_kmer_ranks.size();
  if (first_event.size() != kmers || last_event.size() != kmers) return ScalingStatus::bad_input;

  // Calls use(event mean, level mean, level stdv) for each event of the fit; false if an index is out of range.
  const auto for_each_event = [&](auto&& use) {
    std::uint32_t previous_rank = 0xFFFFFFFFU;  // no rank: 4^13 and 5^13 are smaller
    for (std::size_t kmer = 0; kmer < kmers; ++kmer) {
      const std::int32_t first = first_event[kmer];
      // An interval that ends before it begins holds no event.
      if (first < 0 || last_event[kmer] < first) continue;
      const std::uint32_t rank = read_kmer_ranks[kmer];
      if (rank == previous_rank) continue;
      if (rank >= model.level_mean.size()) return false;
      if (static_cast<std::size_t>(first) >= event_means.size()) return false;
      use(static_cast<double>(event_means[static_cast<std::size_t>(first)]), static_cast<double>(model.level_mean[rank]),
          static_cast<double>(model.level_stdv[rank]));
      previous_rank = rank;
    }
    return true;
  };

  // The normal equations: [a00 a01; a01 a11] (shift, scale) = (b0, b1).
  double a00 = 0.0;
  double a01 = 0.0;
  double a11 = 0.0;
  double b0 = 0.0;
  double b1 = 0.0;
  std::uint32_t used = 0;
  const bool in_range = for_each_event([&](double event, double level, double stdv) {
    const double weight = 1.0 / (stdv * stdv);
    a00 += weight;
    a01 += level * weight;
    a11 += level * level * weight;
    b0 += event * weight;
    b1 += level * event * weight;
    ++used;
  });
  if (!in_range) return ScalingStatus::bad_input;
  recalibration.events_used = used;
  if (used == 0 || used < params.min_recalibration_events) return ScalingStatus::too_few_events;

  const double determinant = a00 * a11 - a01 * a01;
  const double shift = -(a01 * b1 - a11 * b0) / determinant;
  const double scale = (a00 * b1 - a01 * b0) / determinant;
  double square_sum = 0.0;
  for_each_event([&](double event, double level, double stdv) {
    const double residual = event - shift - scale * level;
    square_sum += residual * residual / (stdv * stdv);
  });
  const double var = std::sqrt(square_sum / static_cast<double>(used));

  recalibration.shift = static_cast<float>(shift);
  recalibration.scale = static_cast<float>(scale);
  recalibration.var = static_cast<float>(var);
  const bool finite = std::isfinite(recalibration.shift) && std::isfinite(recalibration.scale) && std::isfinite(recalibration.var);
  // A var of (nearly) zero has no logarithm and leaves the emissions undefined.
  if (!finite || recalibration.var < std::numeric_limits<float>::min()) return ScalingStatus::singular;
  recalibration.log_var = static_cast<float>(natural_log(var));
  return recalibration.var > params.max_var ? ScalingStatus::var_too_large : ScalingStatus::ok;
}

}  // namespace sluice::event_scaling
