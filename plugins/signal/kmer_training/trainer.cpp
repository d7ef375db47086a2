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

}  // namespace

struct Trainer::Scratch {
  abea::AlignmentWorkspace workspace;
  std::vector<std::int32_t> first, last;
};

Trainer::Trainer(Levels start, const Motif& motif, const TrainingParameters& parameters)
    : start_(std::move(start)),
      levels_(start_),
      parameters_(parameters),
      may_train_(start_.mean.size(), 1),
      begin_(start_.mean.size() + 1, 0),
      observations_(start_.mean.size(), 0) {
  for (std::size_t rank = 0; rank < may_train_.size(); ++rank) {
    const std::string kmer = spell(rank, start_.alphabet, start_.k);
    may_train_[rank] = is_possible(kmer, motif) ? 1 : 0;
    if (kmer.find('M') == std::string::npos) anchors_.push_back(rank);
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

Round Trainer::fit_levels(const Parallel& parallel) {
  Levels fitted = levels_;
  parallel(fitted.mean.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t rank = begin; rank < end; ++rank) {
      if (observations_[rank] < parameters_.min_observations) continue;
      const LevelFit fit = fit_level({gathered_.data() + begin_[rank], begin_[rank + 1] - begin_[rank]});
      fitted.mean[rank] = fit.mean;
      fitted.stdv[rank] = std::max(fit.stdv, least_stdv);
    }
  });
  std::vector<std::size_t> anchors;
  for (const std::size_t rank : anchors_)
    if (observations_[rank] >= parameters_.min_observations) anchors.push_back(rank);
  const Units units = to_start_units(start_.mean, start_.stdv, fitted.mean, fitted.stdv, anchors);
  Round round;
  for (std::size_t rank = 0; rank < fitted.mean.size(); ++rank) {
    round.observations += observations_[rank];
    if (observations_[rank] < parameters_.min_observations) continue;
    const auto mean = static_cast<float>(units.offset + units.factor * static_cast<double>(fitted.mean[rank]));
    ++round.trained_kmers;
    round.mean_change += std::fabs(static_cast<double>(mean - levels_.mean[rank]));
    levels_.mean[rank] = mean;
    levels_.stdv[rank] = static_cast<float>(units.stdv_factor * static_cast<double>(fitted.stdv[rank]));
    levels_.log_stdv[rank] = static_cast<float>(std::log(static_cast<double>(levels_.stdv[rank])));
  }
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
