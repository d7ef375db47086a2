// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poly_a_length/cdna_tail.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "poly_a_length/flat_stretch.hpp"

namespace sluice::poly_a_length {
namespace {

constexpr double usual_bases_per_second = 400;  // R10.4.1
constexpr std::size_t searched_bases = 200;     // primers, barcodes and UMIs have less
constexpr int least_score = 10, error_cost = 2;
// The signal is looked at from so many bases in front of the run on; without moves nobody knows better where it lies.
constexpr double margin_with_moves = 15, margin_without = 60;

struct Run {
  std::size_t begin = 0, end = 0;
  int score = 0;
};
// The stretch of `bases` with the most letters, less twice the others.
Run best_run(std::string_view bases, char letter) {
  Run best, run;
  for (std::size_t i = 0; i < bases.size(); ++i) {
    if (run.score <= 0) run = {i, i, 0};
    run.score += bases[i] == letter ? 1 : -error_cost;
    run.end = i + 1;
    if (run.score > best.score) best = run;
  }
  return best;
}

// The first sample of a base.
std::int64_t sample_of(std::size_t base, std::size_t bases, std::int64_t samples, std::span<const std::int8_t> moves) {
  if (moves.size() > 1 && moves[0] > 0) {
    std::size_t seen = 0;
    for (std::size_t block = 1; block < moves.size(); ++block)
      if (moves[block] == 1 && seen++ == base) return std::min<std::int64_t>(samples, std::int64_t{moves[0]} * static_cast<std::int64_t>(block - 1));
    return samples;
  }
  return static_cast<std::int64_t>(static_cast<double>(samples) * static_cast<double>(base) / static_cast<double>(std::max<std::size_t>(bases, 1)));
}

}  // namespace

std::optional<TailBases> find_tail_bases(std::string_view bases) {
  const std::size_t searched = std::min(searched_bases, bases.size());
  const Run front = best_run(bases.substr(0, searched), 'T'), rear = best_run(bases.substr(bases.size() - searched), 'A');
  if (std::max(front.score, rear.score) < least_score) return std::nullopt;
  if (front.score >= rear.score) return TailBases{TailSide::front, front.begin, front.end};
  const std::size_t skipped = bases.size() - searched;
  return TailBases{TailSide::rear, skipped + rear.begin, skipped + rear.end};
}

TailLength cdna_tail_length(std::span<const std::int16_t> raw, double digitisation, double range, double sampling_rate, std::string_view bases,
                            std::span<const std::int8_t> moves) {
  TailLength found;
  const std::optional<TailBases> run = find_tail_bases(bases);
  if (!run) return found;
  found.bases = TailLength::no_tail;
  const double usual = sampling_rate / usual_bases_per_second;
  const std::int64_t samples = std::ssize(raw);
  const auto margin = static_cast<std::int64_t>(usual * (moves.empty() ? margin_without : margin_with_moves));
  // Looked for from the outside, where the run begins: a long tail ends in the transcript, of which more looks flat.
  std::int64_t expected_begin = sample_of(run->begin, bases.size(), samples, moves), expected_end = sample_of(run->end, bases.size(), samples, moves);
  std::vector<std::int16_t> turned;
  std::span<const std::int16_t> outside_first = raw;
  if (run->side == TailSide::rear) {
    turned.assign(raw.rbegin(), raw.rend());
    outside_first = turned;
    expected_begin = std::exchange(expected_end, samples - expected_begin);
    expected_begin = samples - expected_begin;
  }
  const std::int64_t from = std::clamp<std::int64_t>(expected_begin - margin, 0, samples);
  const std::optional<Stretch> stretch = flat_stretch(outside_first.subspan(static_cast<std::size_t>(from)), usual, range / digitisation);
  if (!stretch) return found;
  std::int64_t begin = from + stretch->begin, end = from + stretch->end;
  if (begin > expected_end + margin) return found;  // another stretch
  if (run->side == TailSide::rear) begin = samples - std::exchange(end, samples - begin);
  found.anchor = run->side == TailSide::front ? begin : end;
  found.begin = begin;
  found.end = end;
  found.bases = bases_of_stretch(end - begin, samples - (end - begin), std::ssize(bases) - static_cast<std::int64_t>(run->end - run->begin), usual);
  return found;
}

}  // namespace sluice::poly_a_length
