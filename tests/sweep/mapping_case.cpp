// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Makes one case of the sweep of mapping in a folder: reference.fa, reads.fa or reads.fq, and `options`, two lines: of minimap2, and of sluice.
//   sweep_mapping_case make SEED NUMBER BASES FOLDER
// The preset is that of NUMBER modulo 7. The same of reads across introns, with junctions.bed and the presets of these, is made by
//   sweep_mapping_case make-spliced SEED NUMBER BASES FOLDER
// And one read or a part of it, as FASTA, to its standard output:
//   sweep_mapping_case part READS NAME BEGIN END

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "generators/sequence_errors.hpp"
#include "sweep/mapping_options.hpp"
#include "sweep/unkind_introns.hpp"
#include "sweep/unkind_reads.hpp"

namespace {

using namespace sluice::sweep;

// How the reads go through our process: batches of any size.
constexpr const char* ways[] = {"", " --batch-work 1", " --batch-work 20000", " --batch-work 1e12", " --threads 1", " --memory 256MiB"};

// None to three of them, of different groups, behind both lines.
template <std::size_t count>
void add_options(sluice::test_input::Random& random, const std::array<OptionGroup, count>& options, std::string& theirs, std::string& ours) {
  std::vector<int> groups;
  for (std::uint64_t i = 0, most = random.below(4); i < most; ++i) {
    const OptionGroup& drawn = options[random.below(count)];
    if (std::find(groups.begin(), groups.end(), drawn.number) != groups.end()) continue;
    groups.push_back(drawn.number);
    theirs.append(" ").append(drawn.option.minimap2);
    ours.append(" ").append(drawn.option.sluice);
  }
}

void write_options(std::ostream& out, std::uint64_t seed, std::uint64_t number) {
  sluice::test_input::Random random = sluice::test_input::random_numbers(seed, 1'000'000 * number + 999'999);
  const SameOption& preset = mapping_presets[number % mapping_presets.size()];
  std::string theirs(preset.minimap2), ours(preset.sluice);
  // minimap2's search is exact only without a limit of skips; ours is so by default. That takes it minutes where presets of assemblies meet repeats.
  const bool is_assembly = preset.sluice.find("asm") != std::string_view::npos;
  ours += " --compat minimap2=2.24";
  if (random.below(8) >= (is_assembly ? 7U : 4U)) {
    theirs += " --max-chain-skip=1000000";
    ours += " --max-chain-skip 1000000";
  }
  if (number >= mapping_presets.size()) add_options(random, mapping_options, theirs, ours);
  out << theirs << '\n' << ours << ways[random.below(6)] << '\n';
}

void write_reference(const std::string& folder, const std::vector<Sequence>& contigs) {
  std::ofstream out(folder + "/reference.fa");
  for (const Sequence& contig : contigs) {
    out << '>' << contig.name << '\n';
    for (std::size_t at = 0; at < contig.bases.size(); at += 80) out << contig.bases.substr(at, 80) << '\n';
  }
  if (!out.flush()) throw std::runtime_error("reference.fa can't be written");
}

int make(std::uint64_t seed, std::uint64_t number, std::size_t bases, const std::string& folder) {
  const std::vector<Sequence> reference = unkind_reference(seed, number);
  write_reference(folder, reference);
  const bool has_qualities = number % 3 == 0;
  std::ofstream reads(folder + (has_qualities ? "/reads.fq" : "/reads.fa"));
  for (const Sequence& read : unkind_reads(seed, number, reference, bases)) {
    reads << (has_qualities ? '@' : '>') << read.name << '\n' << read.bases << '\n';
    if (!has_qualities) continue;
    reads << "+\n";
    for (std::size_t i = 0; i < read.bases.size(); ++i) reads << static_cast<char>('#' + (i * 7 + number) % 40);
    reads << '\n';
  }
  std::ofstream options(folder + "/options");
  write_options(options, seed, number);
  return reads && options ? 0 : 1;
}

int make_spliced(std::uint64_t seed, std::uint64_t number, std::size_t bases, const std::string& folder) {
  const SplicedGenome genome = spliced_genome(seed, number);
  write_reference(folder, genome.contigs);
  std::ofstream reads(folder + "/reads.fa"), junctions(folder + "/junctions.bed"), options(folder + "/options");
  for (const Sequence& read : spliced_reads(seed, number, genome, bases)) reads << '>' << read.name << '\n' << read.bases << '\n';
  junctions << junctions_of(seed, number, genome, number % 2 == 0 ? JunctionForm::introns : JunctionForm::transcripts);

  sluice::test_input::Random random = sluice::test_input::random_numbers(seed, 1'000'000 * number + 999'999);
  const SameOption& preset = splice_presets[number % splice_presets.size()];
  std::string theirs(preset.minimap2), ours(preset.sluice);
  ours += " --compat minimap2=2.31";
  // Every third case has no file of junctions; without a gene of two exons there is nothing in it.
  const bool has_junctions = std::any_of(genome.genes.begin(), genome.genes.end(), [](const Gene& gene) { return gene.exons.size() > 1; });
  if (has_junctions && number >= splice_presets.size() && random.below(3) > 0) {
    const SameOption& known = known_junctions[random.below(known_junctions.size())];
    theirs.append(" ").append(known.minimap2);
    ours.append(" ").append(known.sluice);
  }
  if (number >= splice_presets.size()) add_options(random, splice_options, theirs, ours);
  options << theirs << '\n' << ours << ways[random.below(6)] << '\n';
  return reads && junctions && options ? 0 : 1;
}

int part(const std::string& path, const std::string& name, std::size_t begin, std::size_t end) {
  std::ifstream reads(path);
  std::string head, bases;
  while (std::getline(reads, head) && std::getline(reads, bases)) {
    if (head.substr(1) == name) {
      std::cout << '>' << name << '\n' << bases.substr(std::min(begin, bases.size()), end - begin) << '\n';
      return 0;
    }
    if (head.starts_with('@')) reads.ignore(1 << 30, '\n').ignore(1 << 30, '\n');
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 5 && arguments[0] == "make")
    return make(std::stoull(arguments[1]), std::stoull(arguments[2]), std::stoull(arguments[3]), arguments[4]);
  if (arguments.size() == 5 && arguments[0] == "make-spliced")
    return make_spliced(std::stoull(arguments[1]), std::stoull(arguments[2]), std::stoull(arguments[3]), arguments[4]);
  if (arguments.size() == 5 && arguments[0] == "part") return part(arguments[1], arguments[2], std::stoull(arguments[3]), std::stoull(arguments[4]));
  std::cerr << "usage: sweep_mapping_case make|make-spliced SEED NUMBER BASES FOLDER\n       sweep_mapping_case part READS NAME BEGIN END\n";
  return 2;
}
