// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "simulate_signal/simulate_read.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <sluice/calibration.hpp>
#include <tuple>

namespace sluice::simulate_signal {
namespace {

constexpr std::uint8_t adenine = 0, cytosine = 1, guanine = 2, thymine = 3, modified = 4;
constexpr std::uint8_t methylation_code[5] = {0, 1, 2, 4, 3};  // of A C G T M in the methylation alphabet
constexpr char letters[] = "ACGT";                             // by the molecule's codes
constexpr std::uint32_t cigar_match = 0, cigar_insertion = 1, cigar_deletion = 2;
constexpr std::size_t error_free_ends = 10;  // bases at both ends without errors: alignments begin and end with M
constexpr float longest_dwell = 60000;
constexpr double adapter_spread = 0.6;  // of the levels of an adapter of RNA, as a share of that of RNA's levels; of real RNA004 8 beside 13 pA
constexpr double tail_shape = 4;        // of the gamma distribution of tails: their standard deviation is half of their mean

constexpr int most_tries = 1000;  // to place a read beside stretches of N

constexpr std::uint8_t code_of(char base) {
  switch (base) {
    case 'C':
      return cytosine;
    case 'G':
      return guanine;
    case 'T':
      return thymine;
    default:
      return adenine;
  }
}

void append(std::vector<std::uint32_t>& cigar, std::uint32_t operation) {
  if (!cigar.empty() && (cigar.back() & 0xFU) == operation)
    cigar.back() += 1U << 4U;
  else
    cigar.push_back(1U << 4U | operation);
}

// The random word below which something of this probability happens.
std::uint64_t threshold(double probability) { return static_cast<std::uint64_t>(probability * 0x1p32); }

QuantileTable length_table(const SimulationParameters& parameters) {
  if (parameters.length_distribution != LengthDistribution::gamma) return QuantileTable::normal();
  return QuantileTable::gamma(parameters.mean_length, 1 / (parameters.length_variation * parameters.length_variation));
}

}  // namespace

std::string problem_with(const SimulationParameters& p) {
  const auto within = [](double value, double low, double high) { return value >= low && value <= high; };  // false for NaN
  if (!within(p.mean_length, 50, 1e8)) return "mean_length must lie between 50 and 1e8";
  if (p.minimum_length < 50 || p.minimum_length > 100'000'000) return "minimum_length must lie between 50 and 1e8";
  if (!within(p.length_variation, 0.01, 1)) return "length_variation must lie between 0.01 and 1";
  if (!within(p.error_rate, 0, 0.5)) return "error_rate must lie between 0 and 0.5";
  if (!within(p.substitution_share, 0, 1) || !within(p.insertion_share, 0, 1) || p.substitution_share + p.insertion_share > 1)
    return "substitution_share and insertion_share must be shares that add up to at most 1";
  if (p.minimum_dwell < 1 || p.minimum_dwell > 1000) return "minimum_dwell must lie between 1 and 1000";
  if (!within(p.mean_dwell, p.minimum_dwell + 0.01, 10000)) return "mean_dwell must be above minimum_dwell and below 10000";
  if (!within(p.dwell_shape, 1, 1000)) return "dwell_shape must lie between 1 and 1000";
  if (p.adapter.size() > 10000 || p.adapter.find_first_not_of("ACGT") != std::string::npos)
    return "adapter must be of at most 10,000 letters A, C, G, T";
  if (!within(p.missing_adapters, 0, 1)) return "missing_adapters must lie between 0 and 1";
  if (!within(p.adapter_level, 0, 1000)) return "adapter_level must lie between 0 and 1000";
  if (!(p.tail_length == 0 || within(p.tail_length, 1, 10000))) return "tail_length must be 0 or lie between 1 and 10000";
  if (p.tail_length > 0 && p.molecule == Molecule::dna) return "strands of DNA have no poly(A) tail: tail_length is for RNA";
  if (!within(p.noise, 0, 100) || !within(p.level_noise, 0, 100)) return "noise and level_noise must lie between 0 and 100";
  if (!within(p.scale_jitter, 0, 0.2)) return "scale_jitter must lie between 0 and 0.2";
  if (!within(p.shift_jitter, 0, 1000) || !within(p.drift_jitter, 0, 1000)) return "shift_jitter and drift_jitter must lie between 0 and 1000";
  if (!within(p.methylated_sites, 0, 1)) return "methylated_sites must lie between 0 and 1";
  if (!within(p.frequency_alpha, 0.01, 1000) || !within(p.frequency_beta, 0.01, 1000))
    return "frequency_alpha and frequency_beta must lie between 0.01 and 1000";
  if (!is_sampling_rate(p.sampling_rate)) return "sampling_rate must lie between 100 and 1e6";
  if (!within(p.digitisation, 1, 1e9) || !within(p.range, 1e-3, 1e9) || !within(p.offset, -30000, 30000))
    return "digitisation, range or offset is out of range";
  return {};
}

Simulator::Simulator(const SimulationParameters& parameters, std::span<const Contig> contigs, const KmerModelView& nucleotide,
                     const KmerModelView* methylation)
    : parameters_(parameters),
      contigs_(contigs),
      nucleotide_(nucleotide),
      methylation_(methylation != nullptr ? *methylation : KmerModelView{}),
      has_methylation_(methylation != nullptr),
      normal_(QuantileTable::normal()),
      dwell_(QuantileTable::gamma(parameters.mean_dwell - parameters.minimum_dwell, parameters.dwell_shape)),
      length_(length_table(parameters)),
      tail_length_(QuantileTable::gamma(std::max(parameters.tail_length, 1.0), tail_shape)) {
  double squares = 0;
  for (const float level : nucleotide.level_mean) level_mean_ += level;
  level_mean_ /= static_cast<double>(nucleotide.level_mean.size());
  for (const float level : nucleotide.level_mean) squares += (level - level_mean_) * (level - level_mean_);
  level_stdv_ = std::sqrt(squares / static_cast<double>(nucleotide.level_mean.size()));
}

// More N than a read has other letters for: no molecule has such a stretch, and its bases would be A.
bool Simulator::lies_on_gap(const Placement& place) const {
  const std::string_view bases =
      contigs_[static_cast<std::size_t>(place.contig)].bases.substr(static_cast<std::size_t>(place.start), static_cast<std::size_t>(place.length));
  return std::count(bases.begin(), bases.end(), 'N') * 20 > place.length;
}

std::vector<Placement> Simulator::place_reads(std::int64_t count) const {
  std::vector<std::int64_t> usable, ends;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < contigs_.size(); ++i) {
    const auto length = static_cast<std::int64_t>(contigs_[i].bases.size());
    if (length < parameters_.minimum_length) continue;
    usable.push_back(static_cast<std::int64_t>(i));
    ends.push_back(total += length);
  }
  std::vector<Placement> places;
  if (usable.empty()) return places;
  places.reserve(static_cast<std::size_t>(count));
  const double variance = natural_logarithm(1 + parameters_.length_variation * parameters_.length_variation);
  const double log_mean = natural_logarithm(parameters_.mean_length) - variance / 2;
  const double log_stdv = std::sqrt(variance);
  for (std::int64_t index = 0; index < count; ++index) {
    RandomStream random(parameters_.seed, static_cast<std::uint64_t>(index), Purpose::placement);
    const auto draw_contig = [&] {
      const auto point = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(total)));
      return usable[static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), point) - ends.begin())];
    };
    Placement place;
    place.contig = draw_contig();
    place.index = index;
    double length = parameters_.mean_length;
    const std::uint32_t word = random.next32();
    if (parameters_.length_distribution == LengthDistribution::gamma) length = length_(word);
    if (parameters_.length_distribution == LengthDistribution::lognormal) length = exponential(log_mean + log_stdv * length_(word));
    const auto draw_start = [&] {
      const auto contig_length = static_cast<std::int64_t>(contigs_[static_cast<std::size_t>(place.contig)].bases.size());
      place.length = std::min(std::max(static_cast<std::int64_t>(length + 0.5), parameters_.minimum_length), contig_length);
      place.start = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(contig_length - place.length + 1)));
    };
    draw_start();
    int tries = most_tries;
    for (; lies_on_gap(place) && tries > 0; --tries) {
      place.contig = draw_contig();
      draw_start();
    }
    if (tries == 0) break;  // there is hardly anything else
    const bool coin = (random.next() & 1U) != 0;
    place.is_reverse = parameters_.strands == Strands::reverse || (parameters_.strands == Strands::both && coin);
    places.push_back(place);
  }
  std::sort(places.begin(), places.end(),
            [](const Placement& a, const Placement& b) { return std::tie(a.contig, a.start, a.index) < std::tie(b.contig, b.start, b.index); });
  return places;
}

double Simulator::site_frequency(std::int64_t contig, std::int64_t position) const {
  if (!has_methylation_) return 0;
  RandomStream random(parameters_.seed ^ mix(static_cast<std::uint64_t>(contig)), static_cast<std::uint64_t>(position), Purpose::site);
  if (random.uniform() >= parameters_.methylated_sites) return 0;
  return std::floor(draw_beta(random, parameters_.frequency_alpha, parameters_.frequency_beta) * 1000 + 0.5) / 1000;
}

std::string Simulator::read_id(std::uint64_t seed, std::int64_t index) {
  constexpr char digits[] = "0123456789abcdef";
  const std::uint64_t run = mix(seed);
  std::string id = "00000000-0000-4000-8000-000000000000";
  for (std::size_t i = 0; i < 8; ++i) id[i] = digits[(run >> (4 * i)) & 0xFU];
  auto rest = static_cast<std::uint64_t>(index);
  for (std::size_t i = id.size(); rest != 0 && i-- > 24; rest >>= 4U) id[i] = digits[rest & 0xFU];
  return id;
}

void Simulator::make_molecule(const Placement& place, Read& read) const {
  const std::string_view bases =
      contigs_[static_cast<std::size_t>(place.contig)].bases.substr(static_cast<std::size_t>(place.start), static_cast<std::size_t>(place.length));
  const std::size_t length = bases.size();
  read.molecule.resize(length);
  if (place.is_reverse)
    for (std::size_t i = 0; i < length; ++i) read.molecule[length - 1 - i] = static_cast<std::uint8_t>(3 - code_of(bases[i]));
  else
    for (std::size_t i = 0; i < length; ++i) read.molecule[i] = code_of(bases[i]);

  read.sites.clear();
  read.methylated.clear();
  read.frequencies.clear();
  if (!has_methylation_) return;
  RandomStream random(parameters_.seed, static_cast<std::uint64_t>(place.index), Purpose::molecule);
  const MotifSites& sites = parameters_.motif.sites(place.is_reverse ? Strand::reverse : Strand::forward);
  const auto site_length = static_cast<std::size_t>(sites.length);
  for (std::size_t i = find_motif(bases, sites); i != std::string_view::npos; i = find_motif(bases, sites, i + site_length)) {
    const std::int64_t position = place.start + static_cast<std::int64_t>(i);
    const double frequency = site_frequency(place.contig, position);
    const bool methylated = random.uniform() < frequency;
    read.sites.push_back(position);
    read.methylated.push_back(methylated ? 1 : 0);
    read.frequencies.push_back(static_cast<float>(frequency));
    const std::size_t at = i + static_cast<std::size_t>(sites.modified);
    if (methylated) read.molecule[place.is_reverse ? length - 1 - at : at] = modified;
  }
}

void Simulator::make_bases(const Placement& place, Read& read) const {
  const std::size_t length = read.molecule.size();
  read.bases.clear();
  read.cigar.clear();
  const char unmodified = parameters_.motif.base, written_if_modified = parameters_.modified_bases ? 'M' : unmodified;
  RandomStream random(parameters_.seed, static_cast<std::uint64_t>(place.index), Purpose::errors);
  const std::uint64_t any_error = threshold(parameters_.error_rate);
  const std::uint64_t substitution = threshold(parameters_.substitution_share);
  const std::uint64_t insertion = threshold(parameters_.substitution_share + parameters_.insertion_share);
  for (std::size_t i = 0; i < length; ++i) {
    const std::uint64_t word = random.next();
    const std::uint8_t code = read.molecule[i];
    const char base = code == modified ? written_if_modified : letters[code];
    if ((word >> 32U) >= any_error || i < error_free_ends || i + error_free_ends >= length) {
      append(read.cigar, cigar_match);
      read.bases.push_back(base);
      continue;
    }
    const std::uint64_t kind = word & 0xFFFFFFFFU;
    const std::uint64_t choice = random.next();
    if (kind < substitution) {
      append(read.cigar, cigar_match);
      read.bases.push_back(letters[((code == modified ? code_of(unmodified) : code) + 1 + choice % 3) & 3U]);
    } else if (kind < insertion) {
      append(read.cigar, cigar_match);
      read.bases.push_back(base);
      append(read.cigar, cigar_insertion);
      read.bases.push_back(letters[choice & 3U]);
    } else {
      append(read.cigar, cigar_deletion);
    }
  }
  if (place.is_reverse) std::reverse(read.cigar.begin(), read.cigar.end());

  // Around the Phred value of the error rate, within 3 of it.
  const double phred = parameters_.error_rate > 0 ? -10 * natural_logarithm(parameters_.error_rate) / natural_logarithm(10) : 40;
  const int middle = std::clamp(static_cast<int>(phred + 0.5), 5, 40);
  RandomStream quality(parameters_.seed, static_cast<std::uint64_t>(place.index), Purpose::qualities);
  read.qualities.resize(read.bases.size());
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < read.qualities.size(); ++i) {
    if (i % 8 == 0) word = quality.next();
    read.qualities[i] = static_cast<char>(33 + middle - 3 + static_cast<int>(((word & 0xFFU) * 7) >> 8U));
    word >>= 8U;
  }
}

const std::vector<std::uint8_t>& Simulator::strand_of(const Placement& place, Read& read) const {
  read.adapter_bases = read.tail_bases = 0;
  if (read.molecule.empty()) return read.molecule;
  read.strand.clear();
  RandomStream random(parameters_.seed, static_cast<std::uint64_t>(place.index), Purpose::adapter);
  if (!parameters_.adapter.empty() && random.uniform() >= parameters_.missing_adapters)
    for (const char base : parameters_.adapter) read.strand.push_back(code_of(base));
  read.adapter_bases = std::ssize(read.strand);
  if (parameters_.tail_length > 0) {
    RandomStream tail(parameters_.seed, static_cast<std::uint64_t>(place.index), Purpose::tail);
    read.tail_bases = static_cast<std::int64_t>(tail_length_(tail.next32()) + 0.5F);
    read.strand.insert(read.strand.end(), static_cast<std::size_t>(read.tail_bases), adenine);
  }
  if (read.strand.empty()) return read.molecule;
  // The signal of RNA is made from its 5' end on, and turned around.
  if (parameters_.molecule == Molecule::rna) {
    std::reverse(read.strand.begin(), read.strand.end());
    read.strand.insert(read.strand.begin(), read.molecule.begin(), read.molecule.end());
  } else {
    read.strand.insert(read.strand.end(), read.molecule.begin(), read.molecule.end());
  }
  return read.strand;
}

void Simulator::make_signal(const Placement& place, Read& read) const {
  const std::vector<std::uint8_t>& strand = strand_of(place, read);
  const std::size_t length = strand.size();
  const std::uint32_t k = nucleotide_.k;
  read.raw_signal.clear();
  read.dwells.clear();
  if (length < k) return;
  const std::size_t kmers = length - k + 1;

  RandomStream dwell_random(parameters_.seed, static_cast<std::uint64_t>(place.index), Purpose::dwell);
  read.dwells.resize(kmers);
  std::size_t samples = 0;
  for (std::size_t i = 0; i < kmers; ++i) {
    const float dwell = static_cast<float>(parameters_.minimum_dwell) + dwell_(dwell_random.next32());
    read.dwells[i] = static_cast<std::uint16_t>(std::min(dwell + 0.5F, longest_dwell));
    samples += read.dwells[i];
  }
  read.raw_signal.resize(samples);

  RandomStream calibration(parameters_.seed, static_cast<std::uint64_t>(place.index), Purpose::calibration);
  const double scale = 1 + parameters_.scale_jitter * normal_(calibration.next32());
  const double shift = parameters_.shift_jitter * normal_(calibration.next32());
  const double drift = parameters_.drift_jitter * normal_(calibration.next32());
  read.median = shift + scale * level_mean_;
  read.spread = scale * level_stdv_;
  const double raw_per_picoamp = parameters_.digitisation / parameters_.range;
  const auto level_factor = static_cast<float>(scale * raw_per_picoamp);
  const auto drift_factor = static_cast<float>(drift * raw_per_picoamp / parameters_.sampling_rate);
  // 32768.5 makes every value in range positive, so that the conversion's truncation rounds to the nearest.
  const auto level_offset = static_cast<float>(shift * raw_per_picoamp - parameters_.offset + 32768.5);
  const auto level_noise = static_cast<float>(parameters_.level_noise);
  const auto noise = static_cast<float>(parameters_.noise);

  const std::size_t nucleotide_count = nucleotide_.level_mean.size();
  std::size_t methylation_lead = 1;
  for (std::uint32_t i = 1; i < k; ++i) methylation_lead *= 5;
  std::size_t rank = 0, methylation_rank = 0;
  const std::uint8_t unmodified = code_of(parameters_.motif.base);
  std::uint32_t since_modified = k;  // bases since the last one; below k: the k-mer holds one

  // K-mers of RNA with more than half of their bases in the adapter have its level.
  const bool has_own_level = parameters_.molecule == Molecule::rna && parameters_.adapter_level > 0 && read.adapter_bases > 0;
  const std::size_t adapter_from = has_own_level ? length - static_cast<std::size_t>(read.adapter_bases) + k / 2 : length;

  RandomStream noise_random(parameters_.seed, static_cast<std::uint64_t>(place.index), Purpose::noise);
  std::int16_t* out = read.raw_signal.data();
  std::size_t sample = 0;
  for (std::size_t i = 0; i < length; ++i) {
    const std::uint8_t code = strand[i];
    const std::size_t nucleotide_code = code == modified ? unmodified : code;
    rank = (rank * 4 + nucleotide_code) & (nucleotide_count - 1);
    if (has_methylation_) {
      if (i >= k) methylation_rank -= methylation_lead * methylation_code[strand[i - k]];
      methylation_rank = methylation_rank * 5 + methylation_code[code];
      since_modified = code == modified ? 0 : std::min(since_modified + 1, k);
    }
    if (i + 1 < k) continue;

    const bool methylated = since_modified < k;
    float level = methylated ? methylation_.level_mean[methylation_rank] : nucleotide_.level_mean[rank];
    if (i >= adapter_from) level = static_cast<float>(parameters_.adapter_level + adapter_spread * (level - level_mean_));
    const float stdv = methylated ? methylation_.level_stdv[methylation_rank] : nucleotide_.level_stdv[rank];
    const float spread = stdv * level_factor;
    std::uint64_t word = noise_random.next();
    const float mean = level * level_factor + level_offset + drift_factor * static_cast<float>(sample) +
                       level_noise * spread * normal_(static_cast<std::uint32_t>(word));
    const float stdv_of_sample = noise * spread;
    const std::size_t dwell = read.dwells[i + 1 - k];
    for (std::size_t d = 0; d < dwell; ++d) {
      word = (d & 1U) == 0 ? noise_random.next() : word >> 32U;
      const float value = mean + stdv_of_sample * normal_(static_cast<std::uint32_t>(word));
      const auto raw = static_cast<std::int32_t>(std::min(std::max(0.0F, value), 65535.0F)) - 32768;
      out[sample + d] = static_cast<std::int16_t>(raw);
    }
    sample += dwell;
  }
  if (parameters_.molecule == Molecule::rna) std::reverse(read.raw_signal.begin(), read.raw_signal.end());
}

void Simulator::simulate(const Placement& place, Signal signal, Read& read) const {
  make_molecule(place, read);
  make_bases(place, read);
  if (signal == Signal::make)
    make_signal(place, read);
  else
    read.raw_signal.clear();
}

std::string synthesize_contig(std::uint64_t seed, std::uint64_t index, std::int64_t length, double gc_content, double cpg_ratio) {
  RandomStream random(seed, index, Purpose::reference);
  std::string bases(static_cast<std::size_t>(std::max<std::int64_t>(length, 0)), 'A');
  char previous = 'A';
  for (char& base : bases) {
    const double u = random.uniform();
    // After C, G has cpg_ratio times its share; the others share the rest as they would anyway.
    const double g = previous == 'C' ? std::min(gc_content / 2 * cpg_ratio, 1.0) : gc_content / 2;
    const double rest = 1 - gc_content / 2;
    const double c = rest > 0 ? (1 - g) * (gc_content / 2) / rest : 0;
    const double a = (1 - g - c) / 2;
    base = u < g ? 'G' : u < g + c ? 'C' : u < g + c + a ? 'A' : 'T';
    previous = base;
  }
  return bases;
}

}  // namespace sluice::simulate_signal
