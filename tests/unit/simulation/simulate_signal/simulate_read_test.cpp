// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "simulate_signal/simulate_read.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "made_up_model.hpp"

using namespace sluice;
using namespace sluice::simulate_signal;

namespace {

std::string reverse_complement(std::string_view bases) {
  std::string out(bases.rbegin(), bases.rend());
  for (char& base : out) base = base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : 'A';
  return out;
}

// A reference, two models and what simulates on them.
struct Bench {
  explicit Bench(const SimulationParameters& parameters = {}, std::uint32_t k = 6)
      : nucleotide(Alphabet::nucleotide, k), methylation(Alphabet::methylation, k), methylation_view(methylation.view()) {
    sequences = {synthesize_contig(1, 0, 30000, 0.5, 1), synthesize_contig(1, 1, 9000, 0.5, 1), synthesize_contig(1, 2, 40, 0.5, 1)};
    contigs = {{"first", sequences[0]}, {"second", sequences[1]}, {"too_short", sequences[2]}};
    simulator.emplace(parameters, contigs, nucleotide.view(), &methylation_view);
  }
  MadeUpModel nucleotide, methylation;
  KmerModelView methylation_view;
  std::vector<std::string> sequences;
  std::vector<Contig> contigs;
  std::optional<Simulator> simulator;
};

}  // namespace

TEST_CASE("places are sorted, inside their contigs, on both strands, and of about the wanted length") {
  SimulationParameters parameters;
  parameters.mean_length = 2000;
  parameters.length_variation = 0.5;
  for (const LengthDistribution distribution : {LengthDistribution::gamma, LengthDistribution::lognormal, LengthDistribution::fixed}) {
    parameters.length_distribution = distribution;
    const Bench bench(parameters);
    const auto places = bench.simulator->place_reads(3000);
    REQUIRE(places.size() == 3000);
    double sum = 0, reverse = 0;
    std::set<std::int64_t> indices, contigs;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Placement& p = places[i];
      CHECK(p.start >= 0);
      CHECK(p.start + p.length <= static_cast<std::int64_t>(bench.sequences[static_cast<std::size_t>(p.contig)].size()));
      CHECK(p.length >= parameters.minimum_length);
      if (i > 0) CHECK(std::tie(places[i - 1].contig, places[i - 1].start) <= std::tie(p.contig, p.start));
      sum += static_cast<double>(p.length);
      reverse += p.is_reverse ? 1 : 0;
      indices.insert(p.index);
      contigs.insert(p.contig);
    }
    CHECK(sum / 3000 == doctest::Approx(2000).epsilon(0.06));
    CHECK(reverse / 3000 == doctest::Approx(0.5).epsilon(0.1));
    CHECK(indices.size() == 3000);
    CHECK(contigs == std::set<std::int64_t>{0, 1});
  }
}

TEST_CASE("no read lies on a stretch of N, and what has none keeps its places") {
  SimulationParameters parameters;
  parameters.mean_length = 700;
  const MadeUpModel nucleotide(Alphabet::nucleotide, 6);
  const std::string first = synthesize_contig(1, 0, 20000, 0.5, 1), second = synthesize_contig(1, 1, 9000, 0.5, 1);
  const auto places = [&](const std::string& one, const std::string& two) {
    const std::vector<Contig> contigs{{"first", one}, {"second", two}};
    return Simulator(parameters, contigs, nucleotide.view(), nullptr).place_reads(300);
  };
  const auto whole = places(first, second);
  const std::string gap = first.substr(0, 5000) + std::string(10000, 'N') + first.substr(15000);
  const auto beside = places(gap, second);
  REQUIRE(beside.size() == 300);
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> before, kept;
  for (const Placement& p : whole) before.emplace(p.contig, p.start, p.index);
  for (const Placement& p : beside) {
    const std::string_view bases =
        std::string_view(p.contig == 0 ? gap : second).substr(static_cast<std::size_t>(p.start), static_cast<std::size_t>(p.length));
    CHECK(std::count(bases.begin(), bases.end(), 'N') * 20 <= p.length);
    if (before.contains({p.contig, p.start, p.index})) kept.emplace(p.contig, p.start, p.index);
  }
  CHECK(kept.size() > 150);
  CHECK(places(std::string(20000, 'N'), std::string(9000, 'N')).empty());
}

TEST_CASE("without errors the bases are the reference, turned on the reverse strand, and the CIGAR is one match") {
  SimulationParameters parameters;
  parameters.error_rate = 0;
  const Bench bench(parameters);
  Simulator::Read read;
  for (const Placement& place : bench.simulator->place_reads(50)) {
    bench.simulator->simulate(place, Simulator::Signal::leave_out, read);
    const std::string segment =
        bench.sequences[static_cast<std::size_t>(place.contig)].substr(static_cast<std::size_t>(place.start), static_cast<std::size_t>(place.length));
    CHECK(read.bases == (place.is_reverse ? reverse_complement(segment) : segment));
    CHECK(read.cigar == std::vector<std::uint32_t>{static_cast<std::uint32_t>(place.length) << 4U});
    CHECK(read.qualities.size() == read.bases.size());
  }
}

TEST_CASE("sites and modified bases are those of the motif on the read's own strand") {
  for (const char* const name : {"cpg", "gpc", "dam", "dcm", "CAR:1:a"}) {
    CAPTURE(name);
    SimulationParameters parameters;
    parameters.error_rate = 0;
    parameters.modified_bases = true;
    parameters.motif = parse_motif(name);
    const Bench bench(parameters);
    Simulator::Read read;
    std::size_t sites = 0, modified = 0;
    for (const Placement& place : bench.simulator->place_reads(30)) {
      bench.simulator->simulate(place, Simulator::Signal::leave_out, read);
      const std::string segment = bench.sequences[static_cast<std::size_t>(place.contig)].substr(static_cast<std::size_t>(place.start),
                                                                                                 static_cast<std::size_t>(place.length));
      // By the letters of the molecule itself.
      std::string molecule = place.is_reverse ? reverse_complement(segment) : segment;
      const auto length = static_cast<std::int64_t>(parameters.motif.letters.size());
      std::map<std::int64_t, std::size_t> places;  // of the site on the reference: of the modified base in the molecule
      for (std::size_t at = find_motif(molecule, parameters.motif.forward); at != std::string::npos;
           at = find_motif(molecule, parameters.motif.forward, at + 1)) {
        const auto in_molecule = static_cast<std::int64_t>(at);
        places[place.start + (place.is_reverse ? place.length - in_molecule - length : in_molecule)] =
            at + static_cast<std::size_t>(parameters.motif.forward.modified);
      }
      REQUIRE(read.sites.size() == places.size());
      std::size_t i = 0;
      for (const auto& [position, base] : places) {
        CHECK(read.sites[i] == position);
        if (read.methylated[i++] == 0) continue;
        CHECK(molecule[base] == parameters.motif.base);
        molecule[base] = 'M';
        ++modified;
      }
      sites += places.size();
      CHECK(read.bases == molecule);
    }
    CHECK(modified > sites / 4);
    CHECK(sites > 100);
  }
}

TEST_CASE("the CIGAR of a read with errors fits bases and reference, and the rates are the wanted ones") {
  SimulationParameters parameters;
  parameters.error_rate = 0.1;
  const Bench bench(parameters);
  Simulator::Read read;
  double matched = 0, mismatched = 0, inserted = 0, deleted = 0;
  for (const Placement& place : bench.simulator->place_reads(100)) {
    bench.simulator->simulate(place, Simulator::Signal::leave_out, read);
    const std::string& contig = bench.sequences[static_cast<std::size_t>(place.contig)];
    const std::string query = place.is_reverse ? reverse_complement(read.bases) : read.bases;
    std::size_t in_query = 0, in_reference = static_cast<std::size_t>(place.start);
    CHECK((read.cigar.front() & 15U) == 0);
    CHECK((read.cigar.back() & 15U) == 0);
    for (const std::uint32_t operation : read.cigar) {
      const std::size_t length = operation >> 4U;
      switch (operation & 15U) {
        case 0:
          for (std::size_t i = 0; i < length; ++i) (query[in_query++] == contig[in_reference++] ? matched : mismatched) += 1;
          break;
        case 1:
          inserted += static_cast<double>(length), in_query += length;
          break;
        default:
          deleted += static_cast<double>(length), in_reference += length;
          break;
      }
    }
    CHECK(in_query == query.size());
    CHECK(in_reference == static_cast<std::size_t>(place.start + place.length));
  }
  const double bases = matched + mismatched + deleted;
  CHECK(mismatched / bases == doctest::Approx(0.04).epsilon(0.05));
  CHECK(inserted / bases == doctest::Approx(0.025).epsilon(0.05));
  CHECK(deleted / bases == doctest::Approx(0.035).epsilon(0.05));
}

TEST_CASE("without noise every k-mer gives its model level for its dwell") {
  SimulationParameters parameters;
  parameters.noise = parameters.level_noise = parameters.scale_jitter = parameters.shift_jitter = 0;
  parameters.methylated_sites = 1;
  const Bench bench(parameters);
  Simulator::Read read;
  const double picoamps_per_step = parameters.range / parameters.digitisation;
  int methylated_kmers = 0;
  for (const Placement& place : bench.simulator->place_reads(10)) {
    bench.simulator->simulate(place, Simulator::Signal::make, read);
    std::string molecule;
    for (const std::uint8_t code : read.molecule) molecule.push_back("ACGTM"[code]);
    std::size_t sample = 0;
    REQUIRE(read.dwells.size() == molecule.size() - 5);
    for (std::size_t i = 0; i + 6 <= molecule.size(); ++i) {
      const std::string_view kmer = std::string_view(molecule).substr(i, 6);
      const bool methylated = kmer.find('M') != std::string_view::npos;
      methylated_kmers += methylated ? 1 : 0;
      const MadeUpModel& model = methylated ? bench.methylation : bench.nucleotide;
      const double level = model.mean[kmer_rank(model.alphabet, kmer)];
      CHECK(read.dwells[i] >= parameters.minimum_dwell);
      for (int d = 0; d < read.dwells[i]; ++d, ++sample) {
        const double picoamps = (read.raw_signal[sample] + parameters.offset) * picoamps_per_step;
        if (std::abs(picoamps - level) > 0.51 * picoamps_per_step) FAIL("k-mer ", kmer, " has ", picoamps, " pA instead of ", level);
      }
    }
    CHECK(sample == read.raw_signal.size());
  }
  CHECK(methylated_kmers > 1000);
}

TEST_CASE("an adapter passes the pore before the molecule, in the signal of most reads, and changes no base") {
  SimulationParameters parameters;
  parameters.noise = parameters.level_noise = parameters.scale_jitter = parameters.shift_jitter = 0;
  const Bench without(parameters);
  parameters.adapter = "ACGTTGCATTCAGGA";
  parameters.missing_adapters = 0.25;
  for (const Molecule molecule : {Molecule::dna, Molecule::rna}) {
    parameters.molecule = molecule;
    const Bench with(parameters);
    const double picoamps_per_step = parameters.range / parameters.digitisation;
    Simulator::Read read, plain;
    int present = 0, missing = 0;
    for (const Placement& place : with.simulator->place_reads(200)) {
      with.simulator->simulate(place, Simulator::Signal::make, read);
      without.simulator->simulate(place, Simulator::Signal::make, plain);
      CHECK(read.bases == plain.bases);
      CHECK(read.cigar == plain.cigar);
      const std::size_t kmers = read.molecule.size() - 5;
      if (read.dwells.size() == kmers) {
        ++missing;
        continue;
      }
      ++present;
      REQUIRE(read.dwells.size() == kmers + parameters.adapter.size());
      // The k-mer that passes first; RNA is read from its 3' end on.
      std::string first = parameters.adapter.substr(0, 6);
      if (molecule == Molecule::rna) std::reverse(first.begin(), first.end());
      const double picoamps = (read.raw_signal[0] + parameters.offset) * picoamps_per_step;
      CHECK(std::abs(picoamps - with.nucleotide.mean[kmer_rank(Alphabet::nucleotide, first)]) < 0.51 * picoamps_per_step);
    }
    CHECK(present > 120);
    CHECK(missing > 25);
  }
}

TEST_CASE("a tail of RNA passes the pore between adapter and molecule, is of another length in each read, and changes no base") {
  SimulationParameters parameters;
  parameters.tail_length = 60;
  CHECK(problem_with(parameters).find("strands of DNA have no poly(A) tail") != std::string::npos);
  parameters.molecule = Molecule::rna;
  CHECK(problem_with(parameters).empty());
  parameters.adapter = "ACGTTGCATTCAGGA";
  const Bench with(parameters);
  const Bench without{SimulationParameters{}};
  Simulator::Read read, plain;
  double bases = 0, squares = 0;
  constexpr int reads = 1000;
  for (const Placement& place : with.simulator->place_reads(reads)) {
    with.simulator->simulate(place, Simulator::Signal::make, read);
    without.simulator->simulate(place, Simulator::Signal::leave_out, plain);
    CHECK(read.bases == plain.bases);
    REQUIRE(read.strand.size() >= read.molecule.size() + parameters.adapter.size());
    const std::size_t tail = read.strand.size() - read.molecule.size() - parameters.adapter.size();
    // In the order in which it is written, 5' to 3': molecule, tail, adapter.
    for (std::size_t i = 0; i < tail; ++i) CHECK(read.strand[read.molecule.size() + i] == 0);
    CHECK(read.strand.back() == 0);  // the adapter's first letter, A
    bases += static_cast<double>(tail);
    squares += static_cast<double>(tail * tail);
  }
  const double mean = bases / reads;
  CHECK(mean == doctest::Approx(60).epsilon(0.05));
  CHECK(std::sqrt(squares / reads - mean * mean) == doctest::Approx(30).epsilon(0.1));
}

TEST_CASE("truth sites are the CpGs of the molecule, and M stands where the truth says so") {
  const Bench bench;
  Simulator::Read read;
  double expected = 0, methylated = 0;
  for (const Placement& place : bench.simulator->place_reads(200)) {
    bench.simulator->simulate(place, Simulator::Signal::leave_out, read);
    const std::string_view contig = bench.sequences[static_cast<std::size_t>(place.contig)];
    std::size_t next = 0;
    for (std::int64_t p = place.start; p + 1 < place.start + place.length; ++p) {
      if (contig.substr(static_cast<std::size_t>(p), 2) != "CG") continue;
      REQUIRE(next < read.sites.size());
      CHECK(read.sites[next] == p);
      CHECK(read.frequencies[next] == doctest::Approx(bench.simulator->site_frequency(place.contig, p)));
      const std::int64_t in_molecule = place.is_reverse ? place.start + place.length - 2 - p : p - place.start;
      CHECK((read.molecule[static_cast<std::size_t>(in_molecule)] == 4) == (read.methylated[next] == 1));
      expected += read.frequencies[next];
      methylated += read.methylated[next];
      ++next;
    }
    CHECK(next == read.sites.size());
  }
  CHECK(methylated == doctest::Approx(expected).epsilon(0.02));
}

TEST_CASE("a read is the same whatever was made before it, and differs with the seed") {
  const Bench bench;
  const auto places = bench.simulator->place_reads(20);
  Simulator::Read used, fresh;
  for (const Placement& place : places) bench.simulator->simulate(place, Simulator::Signal::make, used);
  bench.simulator->simulate(places[3], Simulator::Signal::make, used);
  bench.simulator->simulate(places[3], Simulator::Signal::make, fresh);
  CHECK(used.raw_signal == fresh.raw_signal);
  CHECK(used.bases == fresh.bases);
  CHECK(used.methylated == fresh.methylated);
  SimulationParameters other;
  other.seed = 2;
  Simulator::Read different;
  Bench(other).simulator->simulate(places[3], Simulator::Signal::make, different);
  CHECK(different.raw_signal != fresh.raw_signal);
}

TEST_CASE("the bytes are the same on every platform and in every release") {
  // A change of this number changes every data set that was ever simulated: say so in the change log.
  const Bench bench;
  Simulator::Read read;
  std::uint64_t hash = 0;
  for (const Placement& place : bench.simulator->place_reads(5)) {
    bench.simulator->simulate(place, Simulator::Signal::make, read);
    for (const std::int16_t raw : read.raw_signal) hash = mix(hash ^ static_cast<std::uint16_t>(raw));
    for (const char base : read.bases) hash = mix(hash ^ static_cast<std::uint8_t>(base));
    for (const std::uint8_t methylated : read.methylated) hash = mix(hash ^ methylated);
  }
  CHECK(hash == 1084055222817321509U);
}

TEST_CASE("values beyond 16 bits are clamped and a NaN level is survived") {
  SimulationParameters parameters;
  parameters.range = 1e-3;  // millions of steps a picoamp
  Bench bench(parameters);
  bench.nucleotide.mean[0] = std::nanf("");
  bench.simulator.emplace(parameters, bench.contigs, bench.nucleotide.view(), nullptr);
  Simulator::Read read;
  for (const Placement& place : bench.simulator->place_reads(5)) bench.simulator->simulate(place, Simulator::Signal::make, read);
  CHECK(std::all_of(read.raw_signal.begin(), read.raw_signal.end(), [](std::int16_t raw) { return raw == 32767 || raw == -32768; }));
}

TEST_CASE("a molecule shorter than k has no signal, a reference without long contigs no reads") {
  const Bench bench({}, 9);
  Simulator::Read read;
  bench.simulator->simulate({.contig = 2, .start = 0, .length = 8, .index = 0, .is_reverse = false}, Simulator::Signal::make, read);
  CHECK(read.raw_signal.empty());
  CHECK(read.bases.size() == 8);
  SimulationParameters parameters;
  parameters.minimum_length = 50000;
  CHECK(Bench(parameters).simulator->place_reads(10).empty());
}

TEST_CASE("parameters that make no sense are named") {
  SimulationParameters parameters;
  CHECK(problem_with(parameters).empty());
  parameters.error_rate = std::nan("");
  CHECK(problem_with(parameters).find("error_rate") != std::string::npos);
  parameters = {};
  parameters.minimum_dwell = 20;
  CHECK(problem_with(parameters).find("mean_dwell") != std::string::npos);
}

TEST_CASE("the limits of each parameter are allowed, and what lies beyond is named") {
  struct Limits {
    const char* name;
    double SimulationParameters::*member;
    double low, high;
  };
  using P = SimulationParameters;
  constexpr double upwards = std::numeric_limits<double>::infinity();
  for (const Limits& limits :
       {Limits{"mean_length", &P::mean_length, 50, 1e8}, Limits{"length_variation", &P::length_variation, 0.01, 1},
        Limits{"error_rate", &P::error_rate, 0, 0.5}, Limits{"mean_dwell", &P::mean_dwell, 2 + 0.01, 10000},
        Limits{"dwell_shape", &P::dwell_shape, 1, 1000}, Limits{"missing_adapters", &P::missing_adapters, 0, 1}, Limits{"noise", &P::noise, 0, 100},
        Limits{"level_noise", &P::level_noise, 0, 100}, Limits{"scale_jitter", &P::scale_jitter, 0, 0.2},
        Limits{"shift_jitter", &P::shift_jitter, 0, 1000}, Limits{"drift_jitter", &P::drift_jitter, 0, 1000},
        Limits{"methylated_sites", &P::methylated_sites, 0, 1}, Limits{"frequency_alpha", &P::frequency_alpha, 0.01, 1000},
        Limits{"frequency_beta", &P::frequency_beta, 0.01, 1000}, Limits{"sampling_rate", &P::sampling_rate, 100, 1e6},
        Limits{"digitisation", &P::digitisation, 1, 1e9}, Limits{"range", &P::range, 1e-3, 1e9}, Limits{"offset", &P::offset, -30000, 30000}}) {
    CAPTURE(limits.name);
    const auto problem = [&](double value) {
      SimulationParameters parameters;
      parameters.*limits.member = value;
      return problem_with(parameters);
    };
    CHECK(problem(limits.low) == "");
    CHECK(problem(limits.high) == "");
    CHECK(problem(std::nextafter(limits.low, -upwards)).find(limits.name) != std::string::npos);
    CHECK(problem(std::nextafter(limits.high, upwards)).find(limits.name) != std::string::npos);
    CHECK(!problem(std::nan("")).empty());
  }
  const auto with = [](const auto& change) {
    SimulationParameters parameters;
    change(parameters);
    return problem_with(parameters);
  };
  for (const std::int32_t length : {50, 100'000'000}) CHECK(with([&](P& p) { p.minimum_length = length; }) == "");
  for (const std::int32_t length : {49, 100'000'001}) CHECK(with([&](P& p) { p.minimum_length = length; }).find("minimum_length") == 0);
  for (const std::int32_t dwell : {1, 1000}) CHECK(with([&](P& p) { p.minimum_dwell = dwell, p.mean_dwell = 5000; }) == "");
  for (const std::int32_t dwell : {0, 1001}) CHECK(with([&](P& p) { p.minimum_dwell = dwell, p.mean_dwell = 5000; }).find("minimum_dwell") == 0);
  for (const double share : {0.0, 1.0}) CHECK(with([&](P& p) { p.substitution_share = share, p.insertion_share = 1 - share; }) == "");
  CHECK(with([](P& p) { p.substitution_share = 0.75, p.insertion_share = 0.5; }).find("substitution_share") == 0);
  CHECK(with([](P& p) { p.substitution_share = -0.25, p.insertion_share = 0.5; }).find("substitution_share") == 0);
  CHECK(with([](P& p) { p.adapter = std::string(10'000, 'A'); }) == "");
  CHECK(with([](P& p) { p.adapter = std::string(10'001, 'A'); }).find("adapter") == 0);
  CHECK(with([](P& p) { p.adapter = "ACGN"; }).find("adapter") == 0);
  for (const double tail : {0.0, 1.0, 10'000.0}) CHECK(with([&](P& p) { p.molecule = Molecule::rna, p.tail_length = tail; }) == "");
  for (const double tail : {0.5, 10'000.5}) CHECK(with([&](P& p) { p.molecule = Molecule::rna, p.tail_length = tail; }).find("tail_length") == 0);
  CHECK(with([](P& p) { p.tail_length = 1; }).find("strands of DNA") == 0);
}

TEST_CASE("a synthetic contig has the wanted composition") {
  const std::string bases = synthesize_contig(7, 0, 200'000, 0.4, 0.25);
  double gc = 0, cpg = 0;
  for (std::size_t i = 0; i < bases.size(); ++i) {
    gc += bases[i] == 'C' || bases[i] == 'G' ? 1 : 0;
    cpg += i > 0 && bases[i - 1] == 'C' && bases[i] == 'G' ? 1 : 0;
  }
  CHECK(gc / 200'000 == doctest::Approx(0.4).epsilon(0.08));
  CHECK(cpg / 200'000 == doctest::Approx(0.2 * 0.2 * 0.25).epsilon(0.15));
  CHECK(synthesize_contig(7, 0, 100, 0.4, 0.25) == bases.substr(0, 100));
  CHECK(synthesize_contig(7, 1, 100, 0.4, 0.25) != bases.substr(0, 100));
  CHECK(synthesize_contig(7, 0, 0, 0.4, 0.25).empty());
}

TEST_CASE("read identifiers are unique and look like UUIDs") {
  CHECK(Simulator::read_id(1, 0) != Simulator::read_id(1, 1));
  CHECK(Simulator::read_id(1, 0) != Simulator::read_id(2, 0));
  CHECK(Simulator::read_id(1, 255).ends_with("-8000-0000000000ff"));
  CHECK(Simulator::read_id(1, 0).size() == 36);
}
