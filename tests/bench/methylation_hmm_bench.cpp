// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Speed of methylation calling from events on one core, for each instruction set: methylation_hmm_bench [Mbases [runs]]
//
// The reads are simulated: bases with E. coli's CpG density (one in 12.8 bases, hence one group in about 29 bases), 1.7 events a base, alternate
// strands, a random 6-mer model. Rates are read bases per second of processor time, medians of the runs. Finding the groups and their events is timed
// apart: it needs no vector instructions.

#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "methylation_hmm/methylation.hpp"

namespace {

using namespace sluice;
using namespace sluice::methylation_hmm;

struct SimulatedModel {
  std::vector<float> mean;
  std::vector<float> stdv;
  std::vector<float> log_stdv;
  KmerModelView view;

  explicit SimulatedModel(std::mt19937_64& random) {
    constexpr std::uint32_t kK = 6;
    std::normal_distribution<float> level(90.0F, 12.0F);
    std::uniform_real_distribution<float> spread(1.0F, 3.0F);
    for (std::size_t i = 0; i < kmer_count(Alphabet::methylation, kK); ++i) {
      mean.push_back(level(random));
      stdv.push_back(spread(random));
      log_stdv.push_back(std::log(stdv.back()));
    }
    view = {.k = kK, .alphabet = Alphabet::methylation, .level_mean = mean, .level_stdv = stdv, .log_level_stdv = log_stdv};
  }
};

// A read that equals the reference under it. Everything is in forward reference order but the events and their map, which are in read order.
struct SimulatedRead {
  std::string bases;
  std::vector<float> events;
  std::vector<std::int32_t> first_event;
  std::vector<std::uint32_t> cigar;
  Strand strand;

  SimulatedRead(const SimulatedModel& model, std::size_t length, Strand read_strand, std::mt19937_64& random) : strand(read_strand) {
    std::discrete_distribution<int> base({22, 28, 28, 22});
    std::normal_distribution<float> noise(0.0F, 1.0F);
    std::geometric_distribution<int> stays(0.59);
    for (std::size_t i = 0; i < length; ++i) bases += "ACGT"[base(random)];
    cigar = {static_cast<std::uint32_t>(length) << 4U};
    std::string read = bases;
    if (strand == Strand::reverse) {
      std::ranges::reverse(read);
      for (char& letter : read) letter = letter == 'A' ? 'T' : letter == 'C' ? 'G' : letter == 'G' ? 'C' : 'A';
    }
    for (std::size_t i = 0; i + model.view.k <= length; ++i) {
      const std::uint32_t rank = kmer_rank(Alphabet::methylation, std::string_view(read).substr(i, model.view.k));
      first_event.push_back(static_cast<std::int32_t>(events.size()));
      for (int stay = stays(random); stay >= 0; --stay) events.push_back(model.mean[rank] + noise(random) * model.stdv[rank]);
    }
  }
};

// Seconds of processor time, which other programs on the machine disturb less than the clock on the wall.
double seconds(const auto& body) {
  const std::clock_t start = std::clock();
  body();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

double median_seconds(int runs, const auto& body) {
  std::vector<double> times;
  for (int run = 0; run < runs; ++run) times.push_back(seconds(body));
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace

int main(int argument_count, char** arguments) {
  const double megabases = argument_count > 1 ? std::atof(arguments[1]) : 1.0;
  const int runs = argument_count > 2 ? std::max(1, std::atoi(arguments[2])) : 5;
  constexpr std::size_t kReadLength = 8000;
  std::mt19937_64 random(1);
  const SimulatedModel model(random);
  const Motif motif = parse_motif("cpg");
  std::vector<SimulatedRead> simulated;
  const auto read_count = std::max<std::size_t>(1, static_cast<std::size_t>(megabases * 1e6 / kReadLength));
  for (std::size_t i = 0; i < read_count; ++i) simulated.emplace_back(model, kReadLength, i % 2 == 0 ? Strand::forward : Strand::reverse, random);
  const double bases = static_cast<double>(read_count * kReadLength);

  std::vector<ReadSignal> reads;
  for (const SimulatedRead& read : simulated) reads.push_back({.event_mean = read.events, .events_per_base = 1.7, .strand = read.strand});
  std::vector<GroupProblem> problems;
  std::vector<SiteGroup> groups;
  std::vector<GroupEvents> events;
  LocateWorkspace locate_workspace;
  const double locating = median_seconds(runs, [&] {
    problems.clear();
    for (std::size_t i = 0; i < simulated.size(); ++i) {
      const SimulatedRead& read = simulated[i];
      find_site_groups(read.bases, motif.forward, groups);
      events.resize(groups.size());
      locate_group_events({.cigar = read.cigar, .read_length = read.bases.size(), .strand = read.strand}, read.first_event, model.view.k,
                          HardClips::count, groups, locate_workspace, events);
      for (std::size_t group = 0; group < groups.size(); ++group) {
        if (events[group].status != GroupStatus::ok) continue;
        problems.push_back({.read = static_cast<std::uint32_t>(i),
                            .first_event = events[group].first_event,
                            .last_event = events[group].last_event,
                            .sequence = calling_sequence(read.bases, groups[group])});
      }
    }
  });
  std::printf("%.1f Mbases in %zu reads, %zu groups (one in %.1f bases)\n", bases / 1e6, read_count, problems.size(),
              bases / static_cast<double>(problems.size()));
  std::printf("%-10s %8.2f Mbases/s\n", "locate", bases / locating / 1e6);

  double cells = 0;
  for (const GroupProblem& problem : problems) {
    cells += 2.0 * static_cast<double>(problem.sequence.size() - model.view.k + 1) * (std::abs(problem.last_event - problem.first_event) + 1);
  }
  std::vector<GroupScore> scores(problems.size());
  ScoreWorkspace workspace;
  const std::int64_t supported = hwy::SupportedTargets();
  for (const std::int64_t target : {HWY_AVX3, HWY_AVX2, HWY_SSE4, HWY_NEON, HWY_SCALAR}) {
    if ((supported & target) == 0) continue;
    hwy::SetSupportedTargetsForTest(target);
    for (const LogSums log_sums : {LogSums::gathered, LogSums::computed}) {
      if (log_sums == LogSums::computed && target != HWY_AVX3) continue;
      workspace.log_sums = log_sums;
      const double scoring =
          median_seconds(runs, [&] { score_groups(reads, problems, model.view, motif, EventsPerBase::raised, workspace, scores); });
      std::printf("%-10s %8.2f Mbases/s %8.2f Mcells/s%s\n", score_groups_target(), bases / scoring / 1e6, cells / scoring / 1e6,
                  log_sums == LogSums::computed ? ", log-sums computed" : "");
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  const double reference = median_seconds(1, [&] { score_groups_reference(reads, problems, model.view, motif, EventsPerBase::raised, scores); });
  std::printf("%-10s %8.2f Mbases/s %8.2f Mcells/s\n", "reference", bases / reference / 1e6, cells / reference / 1e6);
  return EXIT_SUCCESS;
}
