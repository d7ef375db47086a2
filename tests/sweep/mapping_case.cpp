// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Makes one case of the sweep of mapping in a folder: reference.fa, reads.fa or reads.fq, and `options`, two lines: of minimap2, and of `sluice run`.
//   sweep_mapping_case make SEED NUMBER BASES FOLDER
// NUMBER goes through the presets. With those of minimap2 2.31 instead of 2.24:
//   sweep_mapping_case make-recent SEED NUMBER BASES FOLDER
// The same of reads across introns, with junctions.bed and the presets of these, is made by
//   sweep_mapping_case make-spliced SEED NUMBER BASES FOLDER
// and of reads that are compared with each other, so that both files have the same, by
//   sweep_mapping_case make-overlaps SEED NUMBER BASES FOLDER
// And one read or a part of it, as FASTA, to its standard output:
//   sweep_mapping_case part READS NAME BEGIN END

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <span>
#include <sstream>
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

enum class Release { v2_24, v2_31 };

// How the reads go through our process: batches of any size.
constexpr const char* ways[] = {"", " --batch-work 1", " --batch-work 20000", " --batch-work 1e12", " --threads 1", " --memory 256MiB"};

struct Lines {
  std::string minimap2, sluice;
  void add(const SameOption& option) {
    minimap2.append(" ").append(option.minimap2);
    sluice.append(" ").append(option.sluice);
  }
};

// None to three of them, of different groups.
void add_options(sluice::test_input::Random& random, std::span<const OptionGroup> options, Lines& lines) {
  std::vector<int> groups;
  for (std::uint64_t i = 0, most = random.below(4); i < most; ++i) {
    const OptionGroup& drawn = options[random.below(options.size())];
    if (std::find(groups.begin(), groups.end(), drawn.number) != groups.end()) continue;
    groups.push_back(drawn.number);
    lines.add(drawn.option);
  }
}

sluice::test_input::Random options_of(std::uint64_t seed, std::uint64_t number) {
  return sluice::test_input::random_numbers(seed, 1'000'000 * number + 999'999);
}

void write_options(const std::string& folder, const Lines& lines, sluice::test_input::Random& random) {
  std::ofstream out(folder + "/options");
  out << lines.minimap2 << '\n' << lines.sluice << ways[random.below(6)] << '\n';
  if (!out.flush()) throw std::runtime_error("options can't be written");
}

void write_mapping_options(const std::string& folder, Release release, std::uint64_t seed, std::uint64_t number) {
  sluice::test_input::Random random = options_of(seed, number);
  const bool is_recent = release == Release::v2_31;
  const std::span<const SameOption> presets = std::span(mapping_presets).first(is_recent ? mapping_presets.size() : mapping_presets_of_2_24);
  const std::span<const OptionGroup> options = std::span(mapping_options).first(is_recent ? mapping_options.size() : mapping_options_of_2_24);
  const SameOption& preset = presets[number % presets.size()];
  const bool has_options = number >= presets.size();
  Lines lines{{}, is_recent ? "map --compat minimap2=2.31" : "map --compat minimap2=2.24"};
  lines.add(output_forms[has_options ? random.below(output_forms.size()) : 0]);
  lines.add(preset);
  // The exact search takes minimap2 minutes where presets of assemblies meet repeats.
  const bool is_assembly = preset.sluice.find("asm") != std::string_view::npos;
  if (random.below(8) >= (is_assembly ? 7U : 4U))
    lines.add(exact_search);
  else if (has_options && random.below(8) == 0)
    lines.add(short_searches[random.below(short_searches.size())]);
  if (has_options) add_options(random, options, lines);
  write_options(folder, lines, random);
}

void write_reference(const std::string& folder, const std::vector<Sequence>& contigs) {
  std::ofstream out(folder + "/reference.fa");
  for (const Sequence& contig : contigs) {
    out << '>' << contig.name << '\n';
    for (std::size_t at = 0; at < contig.bases.size(); at += 80) out << contig.bases.substr(at, 80) << '\n';
  }
  if (!out.flush()) throw std::runtime_error("reference.fa can't be written");
}

// Every fifth case has comments behind the names.
void write_reads(std::ostream& out, const std::vector<Sequence>& reads, std::uint64_t number, bool has_qualities) {
  for (const Sequence& read : reads) {
    out << (has_qualities ? '@' : '>') << read.name;
    if (number % 5 == 0) out << " CO:Z:" << read.bases.size() << " bases\tXC:i:" << number;
    out << '\n' << read.bases << '\n';
    if (!has_qualities) continue;
    out << "+\n";
    for (std::size_t i = 0; i < read.bases.size(); ++i) out << static_cast<char>('#' + (i * 7 + number) % 40);
    out << '\n';
  }
  if (!out.flush()) throw std::runtime_error("the reads can't be written");
}

int make(Release release, std::uint64_t seed, std::uint64_t number, std::size_t bases, const std::string& folder) {
  const std::vector<Sequence> reference = unkind_reference(seed, number);
  write_reference(folder, reference);
  const bool has_qualities = number % 3 == 0;
  std::ofstream reads(folder + (has_qualities ? "/reads.fq" : "/reads.fa"));
  write_reads(reads, unkind_reads(seed, number, reference, bases), number, has_qualities);
  write_mapping_options(folder, release, seed, number);
  return 0;
}

int make_overlaps(std::uint64_t seed, std::uint64_t number, std::size_t bases, const std::string& folder) {
  const std::vector<Sequence> reads = unkind_reads(seed, number, unkind_reference(seed, number), bases);
  write_reference(folder, reads);
  std::ofstream out(folder + "/reads.fa");
  write_reads(out, reads, number, false);
  sluice::test_input::Random random = options_of(seed, number);
  Lines lines{{}, "overlap"};
  lines.add(overlap_presets[number % overlap_presets.size()]);
  lines.minimap2.append(" ").append(exact_search.minimap2);  // as it is here without being asked for
  if (number >= overlap_presets.size()) add_options(random, overlap_options, lines);
  write_options(folder, lines, random);
  return 0;
}

int make_spliced(std::uint64_t seed, std::uint64_t number, std::size_t bases, const std::string& folder) {
  const SplicedGenome genome = spliced_genome(seed, number);
  write_reference(folder, genome.contigs);
  std::ofstream reads(folder + "/reads.fa"), junctions(folder + "/junctions.bed");
  write_reads(reads, spliced_reads(seed, number, genome, bases), 1, false);
  const std::string known = junctions_of(seed, number, genome, number % 2 == 0 ? JunctionForm::introns : JunctionForm::transcripts);
  junctions << known;

  sluice::test_input::Random random = options_of(seed, number);
  Lines lines{{}, "map --compat minimap2=2.31"};
  lines.add(output_forms[number >= splice_presets.size() ? random.below(output_forms.size()) : 0]);
  lines.add(splice_presets[number % splice_presets.size()]);
  // Every third case has no file of junctions, nor has one in which no line has an intron: of a transcript's two exons its bounds are two lists of
  // two.
  std::istringstream lines_of_known(known);
  bool has_junctions = false;
  for (std::string line; std::getline(lines_of_known, line);) has_junctions |= number % 2 == 0 || std::count(line.begin(), line.end(), ',') > 2;
  if (has_junctions && number >= splice_presets.size() && random.below(3) > 0) lines.add(known_junctions[random.below(known_junctions.size())]);
  if (number >= splice_presets.size()) add_options(random, splice_options, lines);
  write_options(folder, lines, random);
  return junctions.flush() ? 0 : 1;
}

int part(const std::string& path, const std::string& name, std::size_t begin, std::size_t end) {
  std::ifstream reads(path);
  std::string head, bases;
  while (std::getline(reads, head) && std::getline(reads, bases)) {
    if (head.substr(1, head.find(' ') - 1) == name) {
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
  if (arguments.size() == 5 && arguments[0] == "part") return part(arguments[1], arguments[2], std::stoull(arguments[3]), std::stoull(arguments[4]));
  if (arguments.size() == 5) {
    const std::string& kind = arguments[0];
    const std::uint64_t seed = std::stoull(arguments[1]), number = std::stoull(arguments[2]), bases = std::stoull(arguments[3]);
    if (kind == "make") return make(Release::v2_24, seed, number, bases, arguments[4]);
    if (kind == "make-recent") return make(Release::v2_31, seed, number, bases, arguments[4]);
    if (kind == "make-spliced") return make_spliced(seed, number, bases, arguments[4]);
    if (kind == "make-overlaps") return make_overlaps(seed, number, bases, arguments[4]);
  }
  std::cerr << "usage: sweep_mapping_case make|make-recent|make-spliced|make-overlaps SEED NUMBER BASES FOLDER\n"
               "       sweep_mapping_case part READS NAME BEGIN END\n";
  return 2;
}
