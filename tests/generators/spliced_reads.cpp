// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generators/sequence_errors.hpp"
#include "generators/test_inputs.hpp"

namespace sluice::test_input {
namespace {

// Numbers of exons and their lengths: `least` and so many more at most.
struct Range {
  std::size_t least, more;
  std::size_t random(Random& random) const { return least + random.below(more); }
};
struct GenomeForm {
  std::size_t genes;
  Range exons{1, 7}, exon_bases{25, 500};
  bool long_introns = false;
};

struct Interval {
  std::size_t begin, end;
};
struct Gene {
  bool reverse = false;
  std::vector<Interval> exons;  // on the genome
};
struct Genome {
  std::string bases;
  std::vector<Gene> genes;
};

struct IntronEnds {
  const char *first, *last;
};
IntronEnds random_ends(Random& random) {
  const std::uint64_t kind = random.below(20);
  return kind < 15 ? IntronEnds{"GT", "AG"} : kind < 17 ? IntronEnds{"GC", "AG"} : kind == 17 ? IntronEnds{"AT", "AC"} : IntronEnds{"CC", "GG"};
}

std::size_t random_intron_bases(Random& random, bool is_long) {
  if (!is_long) {
    const std::size_t most = std::size_t{100} << random.below(7);
    return 60 + random.below(most);
  }
  // Of two powers of two the lower one.
  const std::size_t least = std::size_t{80} << std::min(random.below(12), random.below(12));
  return least + random.below(least);
}

// Genes on both strands, 400 bases and more apart; every sixth has a copy without introns further on.
Genome make_genome(std::uint64_t seed, const GenomeForm& form) {
  Random random = random_numbers(seed, 0);
  Genome genome;
  const auto add_random = [&](std::size_t least) { genome.bases += random_bases(random, least + random.below(1500)); };
  for (std::size_t number = 0; number < form.genes; ++number) {
    add_random(400);
    Gene gene;
    std::string bases, transcript;
    const std::size_t exons = form.exons.random(random);
    for (std::size_t exon = 0; exon < exons; ++exon) {
      if (exon > 0) {
        const IntronEnds ends = random_ends(random);
        std::string intron = random_bases(random, random_intron_bases(random, form.long_introns));
        intron.replace(0, 2, ends.first).replace(intron.size() - 2, 2, ends.last);
        bases += intron;
      }
      const std::string text = random_bases(random, form.exon_bases.random(random));
      gene.exons.push_back({bases.size(), bases.size() + text.size()});
      bases += text;
      transcript += text;
    }
    gene.reverse = random.below(2) == 1;
    if (gene.reverse) {
      bases = reverse_complement(bases);
      for (Interval& exon : gene.exons) exon = {bases.size() - exon.end, bases.size() - exon.begin};
      std::reverse(gene.exons.begin(), gene.exons.end());
    }
    for (Interval& exon : gene.exons) exon = {exon.begin + genome.bases.size(), exon.end + genome.bases.size()};
    genome.bases += bases;
    genome.genes.push_back(std::move(gene));
    if (number % 6 == 5) {
      add_random(400);
      genome.bases += with_errors(transcript, 20'000, random);
    }
  }
  add_random(400);
  return genome;
}

void write_lines(std::ostream& out, std::string_view bases) {
  for (std::size_t at = 0; at < bases.size(); at += 80) out << bases.substr(at, 80) << '\n';
}

// Of these exons, from 5' to 3'.
std::string transcript(const Genome& genome, const std::vector<Interval>& exons, bool reverse) {
  std::string text;
  for (const Interval& exon : exons) text += genome.bases.substr(exon.begin, exon.end - exon.begin);
  return reverse ? reverse_complement(text) : text;
}

GenomeForm with_long_introns(std::size_t genes) { return {.genes = genes, .exons = {4, 13}, .exon_bases = {60, 200}, .long_introns = true}; }

void write_genome(std::ostream& out, const Genome& genome) {
  out << ">genome\n";
  write_lines(out, genome.bases);
}

void write_reads(std::ostream& out, std::uint64_t seed, const Genome& genome, std::size_t reads, std::uint64_t errors_per_million) {
  for (std::size_t number = 0; number < reads; ++number) {
    Random random = random_numbers(seed, 1 + number);
    const Gene& gene = genome.genes[random.below(genome.genes.size())];
    std::string text = transcript(genome, gene.exons, gene.reverse);
    if (number % 3 == 1) text.erase(0, random.below(text.size() / 2));
    const std::size_t tail = random.below(40);
    text += std::string(tail, 'A');
    if (number % 2 == 1) text = reverse_complement(text);
    text = with_errors(text, errors_per_million, random);
    out << ">read" << number << '\n' << text << '\n';
  }
}

}  // namespace

void write_spliced_genome(std::ostream& out, std::uint64_t seed, std::size_t genes) { write_genome(out, make_genome(seed, {.genes = genes})); }
void write_spliced_reads(std::ostream& out, std::uint64_t seed, std::size_t genes, std::size_t reads, std::uint64_t errors_per_million) {
  write_reads(out, seed, make_genome(seed, {.genes = genes}), reads, errors_per_million);
}
void write_long_intron_genome(std::ostream& out, std::uint64_t seed, std::size_t genes) {
  write_genome(out, make_genome(seed, with_long_introns(genes)));
}
void write_long_intron_reads(std::ostream& out, std::uint64_t seed, std::size_t genes, std::size_t reads, std::uint64_t errors_per_million) {
  write_reads(out, seed, make_genome(seed, with_long_introns(genes)), reads, errors_per_million);
}

void write_spliced_transcripts(std::ostream& out, std::uint64_t seed, std::size_t genes) {
  const Genome genome = make_genome(seed, {.genes = genes});
  for (std::size_t number = 0; number < genome.genes.size(); ++number) {
    const Gene& gene = genome.genes[number];
    const auto write = [&](std::string_view isoform, const std::vector<Interval>& exons) {
      out << ">gene" << number << isoform << " genome:" << (gene.reverse ? '-' : '+');
      for (std::size_t exon = 0; exon < exons.size(); ++exon) out << (exon == 0 ? ':' : ',') << exons[exon].begin << '-' << exons[exon].end;
      out << '\n';
      write_lines(out, transcript(genome, exons, gene.reverse));
    };
    write(".1", gene.exons);
    if (number % 4 != 3 || gene.exons.size() < 3) continue;
    std::vector<Interval> fewer = gene.exons;
    fewer.erase(fewer.begin() + 1);
    write(".2", fewer);
  }
}

void write_spliced_junctions(std::ostream& out, std::uint64_t seed, std::size_t genes) {
  const Genome genome = make_genome(seed, {.genes = genes});
  std::size_t number = 0;
  for (const Gene& gene : genome.genes)
    for (std::size_t exon = 1; exon < gene.exons.size(); ++exon, ++number) {
      const std::size_t shift = number % 5 == 4 ? 3 : 0;  // some are not where they are used
      out << "genome\t" << gene.exons[exon - 1].end + shift << '\t' << gene.exons[exon].begin + shift << "\tjunction" << number << "\t6\t"
          << (gene.reverse ? '-' : '+') << '\n';
    }
}

}  // namespace sluice::test_input
