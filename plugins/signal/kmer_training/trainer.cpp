// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_training/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sluice/call.hpp>
#include <sluice/methods/abea/abea.hpp>
#include <sluice/resume.hpp>
#include <string>
#include <utility>

namespace sluice::kmer_training {
namespace {

constexpr float nothing = std::numeric_limits<float>::quiet_NaN();
// A rough model explains good reads badly; which reads are good is for the fit's var to say. f5c's limit of -5 is for finished models.
constexpr abea::AlignmentLimits limits{.min_average_emission = -50};
constexpr float least_stdv = 0.1F;  // pA; no pore is quieter, and an emission needs a spread
// How many observations the expected spread of a k-mer counts as, and the factor between a spread and the expected one at most. What few observations
// spread tells more of misaligned events than of the pore: README.md has what other weights gave.
constexpr double spread_weight = 1000, most_spread = 2;
constexpr double least_variance = 0.1;  // pA^2, of a k-mer's level: a k-mer that is seen without end does not set the units alone

// What the observations say of a level, in their units.
Belief seen_level(const LevelFit& fit, double stdv) {
  return {static_cast<double>(fit.mean), stdv * stdv * static_cast<double>(fit.mean_square_var) / static_cast<double>(fit.kept)};
}

Belief combined(const Belief& prior, const Belief& seen) {
  const double weight = prior.variance / (prior.variance + seen.variance) * outlier_weight(seen.mean - prior.mean, prior.variance + seen.variance);
  return {prior.mean + weight * (seen.mean - prior.mean), prior.variance * (1 - weight)};
}

}  // namespace

struct Trainer::Scratch {
  abea::AlignmentWorkspace workspace;
  std::vector<std::int32_t> first, last;
};

Trainer::Trainer(Levels start, const Motif& motif, const TrainingParameters& parameters)
    : start_(std::move(start)),
      levels_(start_),
      parameters_(parameters),
      base_(motif.base),
      may_train_(start_.mean.size(), 1),
      begin_(start_.mean.size() + 1, 0),
      observations_(start_.mean.size(), 0) {
  for (std::size_t rank = 0; rank < may_train_.size(); ++rank) {
    const std::string kmer = spell(rank, start_.alphabet, start_.k);
    may_train_[rank] = is_possible(kmer, motif) ? 1 : 0;
    if (kmer.find('M') == std::string::npos)
      plain_.push_back(rank);
    else if (may_train_[rank] != 0)
      modified_.push_back(rank);
  }
}

AddStatus Trainer::add(std::span<const float> event_mean, std::string_view bases) {
  if (event_mean.empty()) return AddStatus::no_events;
  SavedRead read;
  read.bases = bases.size();
  read.ranks.resize(event_scaling::read_kmer_count(bases.size(), start_.k));
  if (event_scaling::kmer_ranks(bases, start_.alphabet, start_.k, read.ranks) != event_scaling::ScalingStatus::ok) return AddStatus::read_too_short;
  read.event_mean.assign(event_mean.begin(), event_mean.end());
  add(std::move(read));
  return AddStatus::added;
}

void Trainer::add(SavedRead&& read) {
  bases_ += read.bases;
  memory_bytes_ +=
      sizeof(Read) + read.event_mean.size() * sizeof(float) + read.ranks.size() * (sizeof(std::uint32_t) + sizeof(float) + sizeof(Observation));
  reads_.push_back({.event_mean = std::move(read.event_mean), .ranks = std::move(read.ranks), .bases = read.bases, .level = {}});
}

void Trainer::save(StateWriter& to) const {
  to.value(std::uint64_t{reads_.size()});
  for (const Read& read : reads_) {
    to.value(read.bases);
    to.values(read.event_mean);
    to.values(read.ranks);
  }
}

void Trainer::restore(StateReader& from, const std::function<void(SavedRead&&)>& take) const {
  for (auto count = from.value<std::uint64_t>(); count > 0; --count) {
    SavedRead read{from.value<std::uint64_t>(), from.values<float>(), from.values<std::uint32_t>()};
    const bool is_known = std::all_of(read.ranks.begin(), read.ranks.end(), [this](std::uint32_t rank) { return rank < start_.mean.size(); });
    if (!is_known || read.event_mean.empty() || read.ranks.empty()) throw damaged_state();
    take(std::move(read));
  }
}

// What the read says of its k-mers, by the model so far.
void Trainer::observe(Read& read, Scratch& scratch) const {
  using event_scaling::ScalingStatus;
  read.inverse_var = 0;
  read.level.assign(read.ranks.size(), nothing);
  scratch.first.resize(read.ranks.size());
  scratch.last.resize(read.ranks.size());
  const KmerModelView model = levels_.view();

  event_scaling::MomentScaling moments;
  // The order decides last bits only, and no other program's are to be met here.
  if (event_scaling::moments(read.event_mean, event_scaling::EventOrder::ascending, read.ranks, model, moments) != ScalingStatus::ok) return;
  const abea::AlignmentInput input{read.event_mean, read.ranks, model, {moments.scale, moments.shift}, limits};
  if (abea::align_events(input, scratch.workspace, scratch.first, scratch.last).status != abea::AlignmentStatus::ok) return;
  event_scaling::Recalibration fit;
  if (event_scaling::recalibrate(read.event_mean, read.ranks, scratch.first, scratch.last, model, parameters_.recalibration, fit) !=
          ScalingStatus::ok ||
      !(fit.scale > 0) || !(fit.var > 0))
    return;

  read.inverse_var = 1 / fit.var;
  // Where a neighbour has no event of its own the two may share one, whose mean lies between their levels.
  for (std::size_t kmer = 1; kmer + 1 < read.ranks.size(); ++kmer) {
    if (scratch.first[kmer - 1] < 0 || scratch.first[kmer] < 0 || scratch.first[kmer + 1] < 0) continue;
    double sum = 0;
    for (std::int32_t event = scratch.first[kmer]; event <= scratch.last[kmer]; ++event)
      sum += static_cast<double>(read.event_mean[static_cast<std::size_t>(event)]);
    const double mean = sum / (scratch.last[kmer] - scratch.first[kmer] + 1);
    read.level[kmer] = static_cast<float>((mean - static_cast<double>(fit.shift)) / static_cast<double>(fit.scale));
  }
}

// Observations of each k-mer beside each other, in the order of the reads.
void Trainer::gather_observations() {
  std::fill(begin_.begin(), begin_.end(), 0);
  const auto for_each = [&](auto&& use) {
    for (const Read& read : reads_) {
      if (read.inverse_var == 0) continue;
      for (std::size_t kmer = 0; kmer < read.ranks.size(); ++kmer)
        if (std::isfinite(read.level[kmer]) && may_train_[read.ranks[kmer]] != 0)
          use(read.ranks[kmer], Observation{read.level[kmer], read.inverse_var});
    }
  };
  for_each([&](std::uint32_t rank, const Observation&) { ++begin_[rank + 1]; });
  for (std::size_t rank = 0; rank < observations_.size(); ++rank) {
    observations_[rank] = static_cast<std::uint32_t>(std::min<std::size_t>(begin_[rank + 1], std::numeric_limits<std::uint32_t>::max()));
    begin_[rank + 1] += begin_[rank];
  }
  gathered_.resize(begin_.back());
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for_each([&](std::uint32_t rank, const Observation& one) { gathered_[next[rank]++] = one; });
}

std::vector<LevelFit> Trainer::fit_kmers(const Parallel& parallel) {
  std::vector<LevelFit> fits(levels_.mean.size());
  parallel(fits.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t rank = begin; rank < end; ++rank)
      if (begin_[rank + 1] > begin_[rank])
        fits[rank] = fit_level({gathered_.data() + begin_[rank], begin_[rank + 1] - begin_[rank]},
                               static_cast<float>(spread_ * static_cast<double>(start_.stdv[rank])));
  });
  double squares = 0, freedom = 0;
  for (const std::size_t rank : plain_) {
    if (fits[rank].kept < 2) continue;
    const double ratio = static_cast<double>(fits[rank].stdv) / static_cast<double>(start_.stdv[rank]);
    squares += (fits[rank].kept - 1) * ratio * ratio;
    freedom += fits[rank].kept - 1;
  }
  if (freedom >= 1 && squares > 0) spread_ = std::sqrt(squares / freedom);
  return fits;
}

bool Trainer::has_own_level(std::size_t rank) const {
  return may_train_[rank] != 0 && observations_[rank] >= std::max(parameters_.min_observations, 1U);
}

// The spread that was seen, and the expected one as so many observations more.
double Trainer::spread_of(std::size_t rank, const LevelFit& fit, double expected) const {
  double variance = expected * expected;
  if (has_own_level(rank) && fit.kept > 1) {
    const double freedom = fit.kept - 1, seen = static_cast<double>(fit.stdv);
    variance = (spread_weight * variance + freedom * seen * seen) / (spread_weight + freedom);
  }
  return std::clamp(std::sqrt(variance), expected / most_spread, expected * most_spread);
}

// Levels and spreads in units of the observations.
void Trainer::fit_plain(std::span<const LevelFit> fits, Estimates& to) const {
  const BaseTerms bases(start_);
  std::vector<std::size_t> seen;
  std::vector<LevelPrior::Sample> samples;
  for (const std::size_t rank : plain_) {
    to.stdv[rank] = spread_of(rank, fits[rank], spread_ * static_cast<double>(start_.stdv[rank]));
    if (!has_own_level(rank)) continue;
    const Belief level = seen_level(fits[rank], to.stdv[rank]);
    seen.push_back(rank);
    samples.push_back({level.mean - static_cast<double>(start_.mean[rank]), level.variance});
  }
  LevelPrior errors(bases.columns(), bases.groups());
  errors.fit(samples, [&](std::size_t i, std::vector<Term>& terms) { bases.add(seen[i], terms); });
  std::vector<Term> terms;
  for (const std::size_t rank : plain_) {
    terms.clear();
    bases.add(rank, terms);
    to.level[rank] = {static_cast<double>(start_.mean[rank]) + errors.predict(terms), errors.deviation_variance()};
    if (has_own_level(rank)) to.level[rank] = combined(to.level[rank], seen_level(fits[rank], to.stdv[rank]));
  }
}

// From those of the k-mers without M.
void Trainer::fit_modified(std::span<const LevelFit> fits, Estimates& to) const {
  const ShiftTerms shifts(start_, base_);
  // The shift that the model of the start has, 0 if it is one of nucleotides, goes with the level of the unmodified k-mer.
  const auto unshifted = [&](std::size_t rank) {
    const std::size_t plain = shifts.unmodified(rank);
    return Belief{to.level[plain].mean + static_cast<double>(start_.mean[rank]) - static_cast<double>(start_.mean[plain]), to.level[plain].variance};
  };
  std::vector<std::size_t> seen;
  std::vector<LevelPrior::Sample> samples;
  for (const std::size_t rank : modified_) {
    to.stdv[rank] = spread_of(rank, fits[rank], to.stdv[shifts.unmodified(rank)]);
    if (!has_own_level(rank)) continue;
    const Belief level = seen_level(fits[rank], to.stdv[rank]), plain = unshifted(rank);
    seen.push_back(rank);
    samples.push_back({level.mean - plain.mean, level.variance + plain.variance});
  }
  LevelPrior shift(shifts.columns(), shifts.groups());
  shift.fit(samples, [&](std::size_t i, std::vector<Term>& terms) { shifts.add(seen[i], terms); });
  std::vector<Term> terms;
  for (const std::size_t rank : modified_) {
    terms.clear();
    shifts.add(rank, terms);
    const Belief plain = unshifted(rank);
    to.level[rank] = {plain.mean + shift.predict(terms), plain.variance + shift.deviation_variance()};
    if (has_own_level(rank)) to.level[rank] = combined(to.level[rank], seen_level(fits[rank], to.stdv[rank]));
  }
}

Round Trainer::fit_levels(const Parallel& parallel) {
  const std::vector<LevelFit> fits = fit_kmers(parallel);
  Round round;
  for (const std::uint32_t count : observations_) round.observations += count;
  if (round.observations == 0) return round;
  Estimates estimates{std::vector<Belief>(fits.size()), std::vector<double>(fits.size())};
  fit_plain(fits, estimates);
  if (!modified_.empty()) fit_modified(fits, estimates);

  std::vector<float> trained(fits.size());
  std::vector<Anchor> anchors;
  for (const std::size_t rank : plain_) {
    trained[rank] = static_cast<float>(estimates.level[rank].mean);
    if (has_own_level(rank)) anchors.push_back({rank, 1 / (least_variance + seen_level(fits[rank], estimates.stdv[rank]).variance)});
  }
  const Units units = to_start_units(start_.mean, trained, anchors);

  const auto take = [&](std::size_t rank) {
    const auto mean = static_cast<float>(units.offset + units.factor * estimates.level[rank].mean);
    if (has_own_level(rank)) {
      ++round.trained_kmers;
      round.mean_change += std::fabs(static_cast<double>(mean - levels_.mean[rank]));
    }
    levels_.mean[rank] = mean;
    levels_.stdv[rank] = std::max(static_cast<float>(estimates.stdv[rank] / spread_), least_stdv);
    levels_.log_stdv[rank] = static_cast<float>(std::log(static_cast<double>(levels_.stdv[rank])));
  };
  for (const std::size_t rank : plain_) take(rank);
  const std::uint64_t trained_plain = round.trained_kmers;
  for (const std::size_t rank : modified_) take(rank);
  round.trained_modified_kmers = round.trained_kmers - trained_plain;
  if (round.trained_kmers > 0) round.mean_change /= static_cast<double>(round.trained_kmers);
  return round;
}

Round Trainer::run_round(const Parallel& parallel) {
  Workspaces<Scratch> workspaces;
  parallel(reads_.size(), [&](std::size_t begin, std::size_t end) {
    const auto scratch = workspaces.take();
    for (std::size_t i = begin; i < end; ++i) observe(reads_[i], *scratch);
  });
  gather_observations();
  Round round = fit_levels(parallel);
  for (const Read& read : reads_) round.aligned_reads += read.inverse_var != 0 ? 1 : 0;
  return round;
}

}  // namespace sluice::kmer_training
