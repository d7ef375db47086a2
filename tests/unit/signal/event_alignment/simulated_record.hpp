// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Alignments of simulated reads with their events, for the tests and the benchmarks of event_alignment.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "event_alignment/event_alignment.hpp"

namespace sluice::event_alignment::simulation {

// Levels of 58 to 120 pA, deviations of 1.2 to 5 pA: the ranges of the R9.4 6-mer model.
struct Model {
  std::vector<float> level_mean, level_stdv, log_level_stdv;
  KmerModelView view;

  explicit Model(std::uint32_t k, std::uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> unit(0.0F, 1.0F);
    for (std::size_t rank = 0; rank < kmer_count(Alphabet::nucleotide, k); ++rank) {
      const float spread = unit(random);
      level_mean.push_back(58.0F + 62.0F * unit(random));
      level_stdv.push_back(1.2F + 3.8F * spread * spread * spread);
      log_level_stdv.push_back(static_cast<float>(std::log(static_cast<double>(level_stdv.back()))));
    }
    view = {k, Alphabet::nucleotide, level_mean, level_stdv, log_level_stdv};
  }
};

struct Options {
  std::size_t aligned_bases = 400;  // of the reference
  double errors = 0.06;             // of the read's bases, a third each substitutions, insertions, deletions
  double splices = 0.0;             // chance of an N per base of the reference
  double long_deletions = 0.0;      // chance of a deletion of up to 150 bases per base
  double extra_events = 0.45;       // chance that a k-mer has one more event
  double missing_events = 0.05;     // chance that a k-mer has none
  bool clips = true;
};

// Owns what a Record views.
struct SimulatedRecord {
  std::string contig;
  std::int64_t ref_start = 0;
  std::vector<std::uint32_t> cigar;
  std::size_t read_length = 0;
  Strand strand = Strand::forward;
  std::vector<float> event_mean;
  std::vector<std::int32_t> first_event;
  event_hmm::ReadScaling scaling{1.02F, -3.5F, 1.1F, 0.0F};
  double events_per_base = 1.8;

  Record view() const { return {contig, ref_start, cigar, read_length, strand, event_mean, first_event, scaling, events_per_base}; }
  std::int64_t ref_end() const {
    std::int64_t end = ref_start;
    for (const std::uint32_t word : cigar)
      if (const std::uint32_t operation = word & 15U; operation == 0 || operation == 2 || operation == 3 || operation >= 7) end += word >> 4U;
    return end;
  }
};

inline void add_operation(std::vector<std::uint32_t>& cigar, CigarOperation operation, std::uint32_t length) {
  const auto code = static_cast<std::uint32_t>(operation);
  if (!cigar.empty() && (cigar.back() & 15U) == code) {
    cigar.back() += length << 4U;
  } else if (length > 0) {
    cigar.push_back(length << 4U | code);
  }
}

inline std::string reverse_complement(std::string_view bases) {
  std::string result(bases.rbegin(), bases.rend());
  for (char& base : result) base = base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : 'A';
  return result;
}

// The signal is that of the reference; the basecalled read differs from it. Events go along the reference on the forward strand, against it on the
// reverse one; the base-to-event map has the events of the aligned k-mers.
inline SimulatedRecord simulate_record(const Model& model, Strand strand, const Options& options, std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  std::normal_distribution<float> normal(0.0F, 1.0F);
  const std::size_t k = model.view.k;
  SimulatedRecord record;
  record.strand = strand;
  record.scaling.log_var = static_cast<float>(std::log(static_cast<double>(record.scaling.var)));
  record.ref_start = static_cast<std::int64_t>(random() % 20);

  struct Pair {
    std::size_t position, read_position;
  };
  std::vector<Pair> pairs;
  auto position = static_cast<std::size_t>(record.ref_start);
  const std::size_t end = position + options.aligned_bases;
  std::size_t read = 0;
  const auto clip = [&] {
    if (!options.clips || random() % 2 == 0) return;
    const std::size_t length = random() % 30;
    add_operation(record.cigar, random() % 3 == 0 ? CigarOperation::hard_clip : CigarOperation::soft_clip, static_cast<std::uint32_t>(length));
    read += length;
  };
  const auto skip_reference = [&](CigarOperation operation, std::size_t length) {
    add_operation(record.cigar, operation, static_cast<std::uint32_t>(length));
    position += length;
  };
  clip();
  while (position < end) {
    const double dice = unit(random);
    if (dice < options.errors / 3.0) {
      add_operation(record.cigar, CigarOperation::insertion, 1);
      ++read;
    } else if (dice < options.errors * 2.0 / 3.0) {
      skip_reference(CigarOperation::deletion, 1);
    } else if (dice > 1.0 - options.splices) {
      skip_reference(CigarOperation::reference_skip, 1 + random() % 300);
    } else if (dice > 1.0 - options.splices - options.long_deletions) {
      skip_reference(CigarOperation::deletion, 1 + random() % 150);
    } else {
      add_operation(record.cigar, dice < options.errors ? CigarOperation::difference : CigarOperation::match, 1);
      pairs.push_back({position++, read++});
    }
  }
  clip();
  record.read_length = std::max(read, k);
  for (std::size_t length = position + random() % 20; record.contig.size() < length;) record.contig += "ACGT"[random() % 4];

  // The events of the k-mers from ref_start on, in the order of the reference.
  std::vector<std::int32_t> first(record.contig.size(), -1), last(record.contig.size(), -1);
  for (auto at = static_cast<std::size_t>(record.ref_start); at + k <= record.contig.size() && at < position; ++at) {
    if (unit(random) < options.missing_events) continue;
    const std::string kmer =
        strand == Strand::forward ? record.contig.substr(at, k) : reverse_complement(std::string_view(record.contig).substr(at, k));
    const std::uint32_t rank = kmer_rank(Alphabet::nucleotide, kmer);
    first[at] = static_cast<std::int32_t>(record.event_mean.size());
    do {
      const float level = record.scaling.scale * model.level_mean[rank] + record.scaling.shift;
      const bool outlier = random() % 100 == 0;
      record.event_mean.push_back(level + normal(random) * (outlier ? 20.0F : 1.0F) * model.level_stdv[rank]);
    } while (unit(random) < options.extra_events);
    last[at] = static_cast<std::int32_t>(record.event_mean.size()) - 1;
  }
  const auto events = static_cast<std::int32_t>(record.event_mean.size());
  record.first_event.assign(record.read_length - k + 1, -1);
  for (const auto& [at, read_position] : pairs) {
    if (first[at] < 0 || read_position + k > record.read_length) continue;
    if (strand == Strand::forward) {
      record.first_event[read_position] = first[at];
    } else {
      record.first_event[record.read_length - read_position - k] = events - 1 - last[at];
    }
  }
  if (strand == Strand::reverse) std::ranges::reverse(record.event_mean);
  return record;
}

}  // namespace sluice::event_alignment::simulation
