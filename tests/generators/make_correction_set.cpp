// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Reads whose truth is known from end to end, for correction:
//   make_correction_set FOLDER [NAME=NUMBER...]
// writes FOLDER/reads.fq, truth.fa (each read's own sequence) and sites.tsv (read, place on its truth, base, base of the other haplotype or copy).
//   seed=1 genome=100000 coverage=20 mean=8000 errors=80000 (in a million bases)
//   gc=50 (%)
//   runs=0         1: deletions and doubled bases grow with the length of a run of one base, by 0.35 a base (up to 8), and no others are doubled
//   haplotypes=1   2: reads come from two genomes, difference=5000 substitutions in a million bases apart
//   copies=0       of a repeat of copy_bases=12000, spread over the genome, copy_difference=10000 substitutions in a million bases between any two
//   chimeras=0     % of the reads that are two pieces of the genome in one
//   low_ends=0     bases of a telomere-like array at each end of each of 5 contigs
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "generators/sequence_errors.hpp"

namespace sluice::test_input {
namespace {

using Numbers = std::map<std::string, std::uint64_t, std::less<>>;

// A sequence that reads come from. `other`: where the other haplotype or most other copies have another base, that base; else the same one.
struct Molecule {
  std::string bases, other;
};

char other_base(char base, Random& random) {
  constexpr std::string_view bases = "ACGT";
  return bases[(bases.find(base) + 1 + random.below(3)) % 4];
}

std::string genome_bases(Random& random, std::size_t count, std::uint64_t gc) {
  std::string bases(count, 'A');
  for (char& base : bases) {
    const bool strong = random.below(100) < gc, second = random.below(2) == 1;
    base = strong ? (second ? 'G' : 'C') : (second ? 'A' : 'T');
  }
  return bases;
}

// Copies of one repeat, each with substitutions of its own: two of them differ at twice as many places as one from their origin.
void put_copies(const Numbers& n, Random& random, Molecule& genome) {
  const std::size_t copies = n.at("copies"), length = n.at("copy_bases");
  const std::string origin = genome_bases(random, length, n.at("gc"));
  const std::size_t stride = genome.bases.size() / copies;
  std::vector<std::string> all(copies, origin);
  for (std::string& copy : all)
    for (char& base : copy)
      if (chance(random, n.at("copy_difference") / 2)) base = other_base(base, random);
  for (std::size_t c = 0; c < copies; ++c) {
    const std::size_t at = c * stride + (stride - length) / 2;
    for (std::size_t i = 0; i < length; ++i) {
      genome.bases[at + i] = genome.other[at + i] = all[c][i];
      // What the other copies agree in, if that is something else.
      const char first_other = all[c == 0 ? 1 : 0][i];
      bool agree = true;
      for (std::size_t o = 0; o < copies; ++o) agree = agree && (o == c || all[o][i] == first_other);
      if (agree) genome.other[at + i] = first_other;
    }
  }
}

std::vector<Molecule> molecules_of(const Numbers& n) {
  std::vector<Molecule> molecules;
  const std::size_t contigs = n.at("low_ends") > 0 ? 5 : 1;
  for (std::size_t contig = 0; contig < contigs; ++contig) {
    Random random = random_numbers(n.at("seed"), 1'000'000'000 + contig);
    Molecule genome{genome_bases(random, n.at("genome") / contigs, n.at("gc")), {}};
    for (std::size_t i = 0; i < n.at("low_ends") && i < genome.bases.size() / 2; ++i) {
      constexpr std::string_view forward = "TTAGGG", backward = "CCCTAA";
      genome.bases[i] = backward[i % 6];
      genome.bases[genome.bases.size() - 1 - i] = forward[5 - i % 6];
    }
    genome.other = genome.bases;
    if (n.at("copies") > 1) put_copies(n, random, genome);
    if (n.at("haplotypes") == 2) {
      for (char& base : genome.other)
        if (chance(random, n.at("difference"))) base = other_base(base, random);
      molecules.push_back({genome.other, genome.bases});
    }
    molecules.push_back(std::move(genome));
  }
  return molecules;
}

struct Piece {
  std::string bases, other;
};

Piece piece_of(const std::vector<Molecule>& molecules, std::size_t bases, Random& random) {
  const Molecule& molecule = molecules[random.below(molecules.size())];
  bases = std::min(bases, molecule.bases.size());
  // Beyond the ends, too, so that these are covered like all else.
  const std::int64_t begin = static_cast<std::int64_t>(random.below(molecule.bases.size() + bases)) - static_cast<std::int64_t>(bases / 2);
  const auto from = static_cast<std::size_t>(std::clamp<std::int64_t>(begin, 0, static_cast<std::int64_t>(molecule.bases.size() - bases / 2)));
  const std::size_t count =
      std::min(bases - (begin < 0 ? std::min<std::size_t>(bases / 2, static_cast<std::size_t>(-begin)) : 0), molecule.bases.size() - from);
  Piece piece{molecule.bases.substr(from, count), molecule.other.substr(from, count)};
  if (random.below(2) == 1) piece = {reverse_complement(piece.bases), reverse_complement(piece.other)};
  return piece;
}

class NoisyRead {
 public:
  NoisyRead(const Numbers& n, Random& random) : n_(n), random_(random) {}
  void write(std::string_view truth) {
    for (std::size_t i = 0; i < truth.size();) {
      std::size_t end = i;
      while (end < truth.size() && truth[end] == truth[i]) ++end;
      for (; i < end; ++i) add(truth[i], std::min<std::size_t>(end - i, 8));
    }
  }
  std::string read, quality;

 private:
  void append(char letter, std::size_t score) {
    read += letter;
    quality += static_cast<char>('!' + score + random_.below(6));
  }
  // Substitutions 0.375, deletions 0.375, insertions 0.25 of the errors, as of nanopore reads.
  void add(char base, std::size_t run) {
    constexpr std::size_t right = 11, wrong = 4;
    const std::uint64_t errors = n_.at("errors");
    const bool biased = n_.at("runs") != 0;
    // 0.82 makes up for what the bias adds in a random genome.
    const std::uint64_t scale = biased ? 82 * (100 + 35 * (run - 1)) : 10000;
    const std::uint64_t kind = random_.below(1'000'000);
    const std::uint64_t deleted = errors * 375 / 1000 * scale / 10000, substituted = errors * 375 / 1000;
    if (kind >= deleted) append(kind < deleted + substituted ? other_base(base, random_) : base, kind < deleted + substituted ? wrong : right);
    const std::uint64_t inserted = errors / 4 * scale / 10000;
    if (chance(random_, inserted)) append(biased && random_.below(3) == 0 ? base : random_base(random_), wrong);
  }
  const Numbers& n_;
  Random& random_;
};

void write_set(const std::filesystem::path& folder, const Numbers& n) {
  const std::vector<Molecule> molecules = molecules_of(n);
  std::filesystem::create_directories(folder);
  std::ofstream reads(folder / "reads.fq"), truths(folder / "truth.fa"), sites(folder / "sites.tsv");
  const std::uint64_t wanted = n.at("genome") * n.at("coverage");
  std::uint64_t bases = 0;
  for (std::uint64_t number = 0; bases < wanted; ++number) {
    Random random = random_numbers(n.at("seed"), 1 + number);
    // A gamma distribution of shape 2.
    const double a = random.uniform(), b = random.uniform();
    const auto length = std::max<std::size_t>(500, static_cast<std::size_t>(-(std::log(a) + std::log(b)) * static_cast<double>(n.at("mean")) / 2));
    Piece truth = piece_of(molecules, length, random);
    if (random.below(100) < n.at("chimeras")) {
      const Piece second = piece_of(molecules, length, random);
      truth.bases += second.bases;
      truth.other += second.other;
    }
    if (truth.bases.size() < 500) continue;
    bases += truth.bases.size();
    NoisyRead noisy(n, random);
    noisy.write(truth.bases);
    const std::string name = "read" + std::to_string(number);
    reads << '@' << name << '\n' << noisy.read << "\n+\n" << noisy.quality << '\n';
    truths << '>' << name << '\n' << truth.bases << '\n';
    for (std::size_t i = 0; i < truth.bases.size(); ++i)
      if (truth.bases[i] != truth.other[i]) sites << name << '\t' << i << '\t' << truth.bases[i] << '\t' << truth.other[i] << '\n';
  }
  for (std::ofstream* file : {&reads, &truths, &sites})
    if (!file->flush()) throw std::runtime_error("can't write to '" + folder.string() + "'");
}

}  // namespace
}  // namespace sluice::test_input

int main(int argc, char** argv) {
  sluice::test_input::Numbers numbers{
      {"seed", 1},       {"genome", 100000},   {"coverage", 20}, {"mean", 8000},        {"errors", 80000},          {"gc", 50},      {"runs", 0},
      {"haplotypes", 1}, {"difference", 5000}, {"copies", 0},    {"copy_bases", 12000}, {"copy_difference", 10000}, {"chimeras", 0}, {"low_ends", 0}};
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::size_t equals = arguments[i].find('=');
    const auto number = numbers.find(arguments[i].substr(0, equals));
    const char* const end = arguments[i].data() + arguments[i].size();
    if (equals == std::string_view::npos || number == numbers.end() ||
        std::from_chars(arguments[i].data() + equals + 1, end, number->second).ptr != end) {
      std::cerr << "make_correction_set: '" << arguments[i] << "' is no NAME=NUMBER\n";
      return 2;
    }
  }
  if (arguments.empty()) {
    std::cerr << "make_correction_set FOLDER [NAME=NUMBER...]\n";
    return 2;
  }
  try {
    sluice::test_input::write_set(arguments[0], numbers);
  } catch (const std::exception& error) {
    std::cerr << "make_correction_set: " << error.what() << '\n';
    return 1;
  }
}
