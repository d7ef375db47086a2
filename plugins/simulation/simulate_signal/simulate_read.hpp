// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Makes nanopore reads with known truth: where they come from, which cytosines are methylated, how they align.
//
// A read is a stretch of the reference, on either strand, without errors: the molecule. Its signal is that of the molecule's k-mers: each
// k-mer stays for a gamma-distributed number of samples at its model level, with Gaussian noise. The bases are the molecule's with errors:
// what a basecaller would have made of it. Everything is a function of the seed and the number of the read.

#include <cstdint>
#include <sluice/kmer_model.hpp>
#include <sluice/motif.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulate_signal/counter_random.hpp"
#include "simulate_signal/distributions.hpp"

namespace sluice::simulate_signal {

enum class LengthDistribution : std::uint8_t { gamma, lognormal, fixed };
enum class Strands : std::uint8_t { both, forward, reverse };
// RNA passes the pore with its 3' end first: its signal is turned around, its bases are not.
enum class Molecule : std::uint8_t { dna, rna };

struct SimulationParameters {
  std::uint64_t seed = 1;
  // Lengths of molecules, in bases.
  LengthDistribution length_distribution = LengthDistribution::gamma;
  double mean_length = 8000;
  double length_variation = 0.8;  // standard deviation / mean
  std::int64_t minimum_length = 500;
  Strands strands = Strands::both;
  Molecule molecule = Molecule::dna;
  // Errors of the basecaller, per base of the molecule.
  double error_rate = 0.05;
  double substitution_share = 0.4;
  double insertion_share = 0.25;  // the rest are deletions
  // Whose modified base is methylated in some molecules.
  Motif motif = parse_motif("cpg");
  // Write a modified base as M into the bases, as the alphabet of methylation models has it; else as the base, as basecallers do.
  bool modified_bases = false;
  // Samples a k-mer: minimum + gamma.
  double mean_dwell = 4000.0 / 450.0;
  double dwell_shape = 2.0;
  std::int32_t minimum_dwell = 2;
  // What passes the pore before the molecule, in that order: A, C, G, T. Its signal comes first; the bases do not have it.
  std::string adapter;
  double missing_adapters = 0;  // share of the reads without it
  // Of RNA, whose adapters are DNA and have another current: mean level of the adapter's k-mers, pA; 0: that of RNA.
  double adapter_level = 0;
  // Of RNA: mean length of the poly(A) tail that passes the pore between adapter and molecule, gamma-distributed with half of it as standard
  // deviation; 0: none. In the signal only, as the adapter.
  double tail_length = 0;
  // Noise, in standard deviations of the k-mer's level.
  double noise = 1.0;        // of every sample
  double level_noise = 0.5;  // of the level at each visit of a k-mer
  // Per read: picoamps = shift + scale * level + drift * seconds.
  double scale_jitter = 0.03;  // standard deviation around 1
  double shift_jitter = 2.0;   // pA, standard deviation around 0
  double drift_jitter = 0.0;   // pA/s, standard deviation around 0
  // Methylation of the motif's sites. A site is at its first base on the forward strand (CpG: the C); strands that have it both share its frequency.
  double methylated_sites = 0.7;  // share of sites with a frequency above 0
  double frequency_alpha = 0.8;   // of those: Beta(alpha, beta), rounded to thousandths
  double frequency_beta = 0.4;
  // The instrument. raw = round(picoamps / (range / digitisation) - offset), clamped to 16 bits.
  double sampling_rate = 4000;
  double digitisation = 8192;
  double range = 1402.882;
  double offset = 6;
};

// What a set of parameters can't be simulated for: a sentence without a full stop, or "" if all is well.
std::string problem_with(const SimulationParameters& parameters);

struct Contig {
  std::string_view name;
  std::string_view bases;  // A, C, G, T, upper case; another letter counts as A
};

// Where a molecule lies on the reference.
struct Placement {
  std::int64_t contig = 0;
  std::int64_t start = 0;   // 0-based
  std::int64_t length = 0;  // bases
  std::int64_t index = 0;   // the read's number before sorting: what its random numbers depend on
  bool is_reverse = false;
};

// What does not change from read to read.
class Simulator {
 public:
  // The views must outlive the simulator. `methylation` may be null: then nothing is methylated in the signal, and no site is drawn.
  // Both models must have the same k.
  Simulator(const SimulationParameters& parameters, std::span<const Contig> contigs, const KmerModelView& nucleotide,
            const KmerModelView* methylation);

  // The places of `count` reads, sorted by contig, start and index. Contigs shorter than the minimum length get none, nor do stretches of which more
  // than one in 20 is N; fewer than `count` if there is hardly anything else, empty if no contig is long enough. 40 bytes a read.
  std::vector<Placement> place_reads(std::int64_t count) const;

  // The share of molecules in which the site at `position` is methylated; 0 without a methylation model. The same for all reads.
  double site_frequency(std::int64_t contig, std::int64_t position) const;

  struct Read {
    std::string bases;                 // with errors, in sequencing orientation
    std::string qualities;             // Phred + 33, as many as bases
    std::vector<std::uint32_t> cigar;  // M, I, D as in BAM (length << 4 | operation), in reference orientation
    std::vector<std::int16_t> raw_signal;
    std::int64_t adapter_bases = 0, tail_bases = 0;  // of this strand, if it has a signal
    double median = 0, spread = 1;                   // of the signal, pA, about: those of the model's levels with the read's shift and scale
    // The sites of the molecule's strand, by ascending position on the forward strand.
    std::vector<std::int64_t> sites;
    std::vector<std::uint8_t> methylated;  // 1 if this molecule's is
    std::vector<float> frequencies;        // site_frequency
    // Working memory.
    std::vector<std::uint8_t> molecule;  // codes in sequencing orientation: A0 C1 G2 T3, modified 4
    std::vector<std::uint8_t> strand;    // the molecule with its tail and adapter, if it has them
    std::vector<std::uint16_t> dwells;   // samples of each k-mer
  };
  enum class Signal : std::uint8_t { make, leave_out };
  // Fills `read` for the molecule at `place`. Thread-safe for distinct reads; allocates nothing once the read's vectors are large enough.
  void simulate(const Placement& place, Signal signal, Read& read) const;

  // 36 characters in the form of a UUID, unique within a seed.
  static std::string read_id(std::uint64_t seed, std::int64_t index);

 private:
  bool lies_on_gap(const Placement& place) const;
  void make_molecule(const Placement& place, Read& read) const;
  void make_bases(const Placement& place, Read& read) const;
  // What passes the pore: the molecule, or its working copy with tail and adapter.
  const std::vector<std::uint8_t>& strand_of(const Placement& place, Read& read) const;
  void make_signal(const Placement& place, Read& read) const;

  SimulationParameters parameters_;
  std::span<const Contig> contigs_;
  KmerModelView nucleotide_;
  KmerModelView methylation_;
  bool has_methylation_;
  QuantileTable normal_;
  QuantileTable dwell_;
  QuantileTable length_;
  QuantileTable tail_length_;
  double level_mean_ = 0, level_stdv_ = 0;  // of all k-mers
};

// `length` random bases with this share of G and C, in which a CpG is as frequent as `cpg_ratio` times what independent bases would give
// (1: as in lambda phage or E. coli, 0.2: as in the human genome). The same bases for the same seed and index. For demos without a genome.
std::string synthesize_contig(std::uint64_t seed, std::uint64_t index, std::int64_t length, double gc_content, double cpg_ratio);

}  // namespace sluice::simulate_signal
