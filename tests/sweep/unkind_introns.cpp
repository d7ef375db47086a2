// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sweep/unkind_introns.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "generators/sequence_errors.hpp"

namespace sluice::sweep {
namespace {

using test_input::chance;
using test_input::Random;
using test_input::random_bases;
using test_input::reverse_complement;
using test_input::with_errors;

constexpr std::uint64_t part_of_genome = 0, part_of_reads = 1, part_of_junctions = 2;
Random numbers(std::uint64_t seed, std::uint64_t number, std::uint64_t part) {
  return test_input::random_numbers(seed, 1'000'000 * number + 500'000 + part);
}

// Every power of two is as likely as the next one.
std::size_t log_uniform(Random& random, std::size_t least, std::size_t most) {
  std::size_t powers = 0;
  while (least << powers < most) ++powers;
  const std::size_t from = least << random.below(std::max<std::size_t>(powers, 1));
  return std::min(most, from + random.below(from));
}

std::string random_intron(Random& random, std::size_t most) {
  std::string intron = random_bases(random, log_uniform(random, 60, most));
  const std::uint64_t kind = random.below(100);
  const std::pair<std::string_view, std::string_view> ends = kind < 45   ? std::pair("GTA", "CAG")
                                                             : kind < 55 ? std::pair("GTC", "AAG")
                                                             : kind < 65 ? std::pair("GTG", "GAG")
                                                             : kind < 75 ? std::pair("GCA", "TAG")
                                                             : kind < 82 ? std::pair("ATA", "CAC")
                                                             : kind < 86 ? std::pair("GTT", "AAC")
                                                                         : std::pair("", "");
  intron.replace(0, ends.first.size(), ends.first);
  intron.replace(intron.size() - ends.second.size(), ends.second.size(), ends.second);
  if (intron.size() > 500 && random.below(6) == 0) {
    const std::size_t unknown = 1 + random.below(200);
    intron.replace(intron.size() / 2, unknown, std::string(unknown, 'N'));
  }
  return intron;
}

std::string transcript_of(const SplicedGenome& genome, const Gene& gene) {
  std::string bases;
  for (const Gene::Exon& exon : gene.exons) bases += genome.contigs[gene.contig].bases.substr(exon.begin, exon.end - exon.begin);
  return gene.reverse ? reverse_complement(bases) : bases;
}

void add_gene(Random& random, std::size_t contig, std::size_t longest_intron, SplicedGenome& genome) {
  std::string& bases = genome.contigs[contig].bases;
  std::string text;
  Gene gene{.contig = contig, .reverse = random.below(2) == 1, .exons = {}};
  for (std::size_t exon = 0, exons = 1 + random.below(8); exon < exons; ++exon) {
    if (exon > 0) text += random_intron(random, longest_intron);
    const std::size_t begin = text.size();
    text += random_bases(random, log_uniform(random, 8, 1000));
    gene.exons.push_back({begin, text.size()});
  }
  if (gene.reverse) {
    text = reverse_complement(text);
    for (Gene::Exon& exon : gene.exons) exon = {text.size() - exon.end, text.size() - exon.begin};
    std::reverse(gene.exons.begin(), gene.exons.end());
  }
  for (Gene::Exon& exon : gene.exons) exon = {exon.begin + bases.size(), exon.end + bases.size()};
  bases += text;
  genome.genes.push_back(std::move(gene));
}

// One error in a hundred or so of what is like another place.
constexpr std::uint64_t divergence[] = {5'000, 20'000, 60'000};

}  // namespace

SplicedGenome spliced_genome(std::uint64_t seed, std::uint64_t number) {
  Random random = numbers(seed, number, part_of_genome);
  SplicedGenome genome;
  constexpr std::size_t longest_introns[] = {500, 5'000, 50'000, 200'000};
  const std::size_t contigs = 1 + random.below(3);
  for (std::size_t contig = 0; contig < contigs; ++contig) {
    genome.contigs.push_back({"contig" + std::to_string(contig), random_bases(random, random.below(600))});
    for (std::size_t gene = 0, genes = 2 + random.below(5); gene < genes; ++gene) {
      const std::size_t longest = longest_introns[random.below(4)];
      add_gene(random, contig, longest, genome);
      std::string between = random_bases(random, 20 + random.below(3000));
      const std::uint64_t copy = random.below(6);
      const std::uint64_t errors = divergence[random.below(3)];
      const Gene& last = genome.genes.back();
      if (copy == 0) between += with_errors(transcript_of(genome, last), errors, random) + std::string(20, 'A');
      if (copy == 1 && last.exons.back().end - last.exons.front().begin < 20'000)
        between += with_errors(genome.contigs[contig].bases.substr(last.exons.front().begin, last.exons.back().end - last.exons.front().begin),
                               errors, random);
      genome.contigs[contig].bases += between + random_bases(random, random.below(500));
    }
  }
  return genome;
}

std::vector<Sequence> spliced_reads(std::uint64_t seed, std::uint64_t number, const SplicedGenome& genome, std::size_t bases) {
  Random random = numbers(seed, number, part_of_reads);
  std::vector<std::string> transcripts;
  for (const Gene& gene : genome.genes) transcripts.push_back(transcript_of(genome, gene));
  std::vector<Sequence> reads;
  for (std::size_t made = 0; made < bases;) {
    std::string text = transcripts[random.below(transcripts.size())];
    const std::uint64_t kind = random.below(12);
    if (kind < 4) text.erase(0, random.below(text.size()));
    if (kind == 4) text.erase(text.size() - random.below(text.size()));
    if (kind == 5) text += transcripts[random.below(transcripts.size())];
    if (kind == 6) text.insert(random.below(text.size()), random_bases(random, 1 + random.below(400)));
    if (kind == 7) {
      const std::size_t begin = random.below(text.size());
      text.erase(begin, 1 + random.below(120));
    }
    if (random.below(3) == 0) text += std::string(random.below(60), 'A');
    if (random.below(5) == 0) text = random_bases(random, random.below(80)) + text;
    if (random.below(5) == 0) text += random_bases(random, random.below(80));
    if (random.below(40) == 0) text.replace(text.size() / 2, std::min<std::size_t>(9, text.size() / 2), std::string(9, 'N'));
    if (random.below(2) == 1) text = reverse_complement(text);
    text = with_errors(text, 10'000 + random.below(110'001), random);
    if (text.empty()) continue;
    made += text.size();
    reads.push_back({"read" + std::to_string(reads.size()), std::move(text)});
  }
  return reads;
}

std::string junctions_of(std::uint64_t seed, std::uint64_t number, const SplicedGenome& genome, JunctionForm form) {
  Random random = numbers(seed, number, part_of_junctions);
  std::string text;
  for (const Gene& gene : genome.genes) {
    if (random.below(5) == 0) continue;
    const std::string contig = genome.contigs[gene.contig].name + '\t';
    const char* strand = gene.reverse ? "-" : "+";
    if (form == JunctionForm::transcripts) {
      const std::size_t begin = gene.exons.front().begin;
      const std::string place = std::to_string(begin) + '\t' + std::to_string(gene.exons.back().end) + '\t';
      text += contig + place + "gene\t0\t" + strand + '\t' + place + "0\t" + std::to_string(gene.exons.size()) + '\t';
      for (const Gene::Exon& exon : gene.exons) text += std::to_string(exon.end - exon.begin) + ',';
      text += '\t';
      for (const Gene::Exon& exon : gene.exons) text += std::to_string(exon.begin - begin) + ',';
      text += '\n';
      continue;
    }
    for (std::size_t exon = 1; exon < gene.exons.size(); ++exon) {
      const std::size_t shift = random.below(6) == 0 ? random.below(7) : 0;
      const std::uint64_t score = 2 + random.below(5);
      const std::string place =
          contig + std::to_string(gene.exons[exon - 1].end + shift) + '\t' + std::to_string(gene.exons[exon].begin + shift) + "\tintron\t";
      const auto line = [&](const char* with_strand) { text += place + std::to_string(score) + '\t' + with_strand + '\n'; };
      line(random.below(8) == 0 ? "." : strand);
      // Of the same place on both strands one line counts.
      if (random.below(6) == 0) line(gene.reverse ? "+" : "-");
      if (random.below(6) == 0) line(strand);
    }
  }
  return text;
}

}  // namespace sluice::sweep
