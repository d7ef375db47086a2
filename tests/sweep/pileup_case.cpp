// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// One case of the sweep `pileup`: alignments with the base modification tags of many programs, their reference, and the pileup as it is counted base
// by base with nothing but maps.
//   pileup_case SEED RECORDS CONTIG_BASES THRESHOLD PARTITION FLAGS FOLDER [KEPT]
// FLAGS: of c (CpGs), s (strands combined), r (reference bases), or -. KEPT: a file with the numbers of the records that are written; all without it.
// Writes FOLDER/reads.sam, FOLDER/ref.fa, FOLDER/expected.bed.

#include <algorithm>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "unit/methylation/modification_pileup/brute_force.hpp"

namespace {

using Contigs = std::vector<std::pair<std::string, std::string>>;

std::string cigar_of(const modbam::Record& record) {
  std::string text;
  for (const auto& [operation, length] : record.cigar) text += std::to_string(length) + operation;
  return text;
}

void write_sam(const std::vector<modbam::Record>& records, const Contigs& contigs, std::ostream& out) {
  out << "@HD\tVN:1.6\tSO:coordinate\n";
  for (const auto& [name, bases] : contigs) out << "@SQ\tSN:" << name << "\tLN:" << bases.size() << '\n';
  out << "@RG\tID:first\tSM:one\n@RG\tID:second\tSM:one\n";
  for (const modbam::Record& record : records) {
    out << record.name << '\t' << record.flag << '\t' << record.contig << '\t' << record.position + 1 << "\t60\t" << cigar_of(record) << "\t*\t0\t0\t"
        << record.bases << "\t*";
    if (record.mm) out << "\tMM:Z:" << *record.mm;
    if (record.ml) {
      out << "\tML:B:C";
      for (const std::uint8_t value : *record.ml) out << ',' << static_cast<int>(value);
    }
    if (record.mn) out << "\tMN:i:" << *record.mn;
    if (record.haplotype) out << "\tHP:i:" << *record.haplotype;
    if (record.read_group) out << "\tRG:Z:" << *record.read_group;
    out << '\n';
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 8 && count != 9) {
    std::cerr << "pileup_case SEED RECORDS CONTIG_BASES THRESHOLD PARTITION FLAGS FOLDER [KEPT]\n";
    return 2;
  }
  const auto number = [&](int i) { return std::stoull(arguments[i]); };
  const std::string flags = arguments[6], folder = arguments[7];
  brute_force::Rules rules;
  rules.threshold = std::stod(arguments[4]);
  rules.partition = arguments[5];
  rules.cpg = flags.find('c') != std::string::npos;
  rules.combine_strands = flags.find('s') != std::string::npos;
  rules.reference_bases = flags.find('r') != std::string::npos;

  modbam::Generator generator(number(1));
  Contigs contigs;
  for (const char* name : {"long", "short"}) contigs.emplace_back(name, generator.contig(contigs.empty() ? number(3) : number(3) / 7 + 60));
  std::set<std::uint64_t> kept;
  if (count == 9) {
    std::ifstream file(arguments[8]);
    for (std::uint64_t i = 0; file >> i;) kept.insert(i);
  }
  std::vector<modbam::Record> records;
  for (std::uint64_t i = 0; i < number(2); ++i) {
    const auto& [name, bases] = contigs[generator.below(5) == 0 ? 1 : 0];
    modbam::Record record = generator.record("read" + std::to_string(i), name, bases);
    if (count == 8 || kept.contains(i)) records.push_back(std::move(record));
  }
  const auto place = [&](const modbam::Record& record) { return std::pair(record.contig == contigs[1].first, record.position); };
  std::stable_sort(records.begin(), records.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });

  std::ofstream reads(folder + "/reads.sam"), reference(folder + "/ref.fa"), expected(folder + "/expected.bed");
  write_sam(records, contigs, reads);
  for (const auto& [name, bases] : contigs) reference << '>' << name << '\n' << bases << '\n';
  expected << brute_force::pileup(records, contigs, rules);
  for (std::ofstream* file : {&reads, &reference, &expected}) {
    file->close();
    if (!*file) return 1;
  }
}
