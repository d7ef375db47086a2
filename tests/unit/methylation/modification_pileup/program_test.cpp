// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// `sluice run pileup` over modBAM that `sluice run methylation` wrote, against the count by brute force of what HTSlib reads of the same file.
#include <doctest/doctest.h>
#include <htslib/sam.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sluice/testing.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "unit/methylation/modification_pileup/brute_force.hpp"

namespace {

using Contigs = std::vector<std::pair<std::string, std::string>>;

std::vector<modbam::Record> read_bam(const std::string& path) {
  std::vector<modbam::Record> records;
  samFile* file = sam_open(path.c_str(), "r");
  REQUIRE(file != nullptr);
  sam_hdr_t* header = sam_hdr_read(file);
  bam1_t* read = bam_init1();
  while (sam_read1(file, header, read) >= 0) {
    if ((read->core.flag & (BAM_FUNMAP | BAM_FSECONDARY | BAM_FSUPPLEMENTARY | BAM_FQCFAIL | BAM_FDUP)) != 0) continue;
    modbam::Record record{.name = bam_get_qname(read), .contig = sam_hdr_tid2name(header, read->core.tid)};
    record.position = read->core.pos;
    record.flag = read->core.flag;
    for (std::uint32_t i = 0; i < read->core.n_cigar; ++i)
      record.cigar.emplace_back(bam_cigar_opchr(bam_get_cigar(read)[i]), bam_cigar_oplen(bam_get_cigar(read)[i]));
    for (int i = 0; i < read->core.l_qseq; ++i) record.bases += seq_nt16_str[bam_seqi(bam_get_seq(read), i)];
    if (const std::uint8_t* mm = bam_aux_get(read, "MM")) record.mm = bam_aux2Z(mm);
    if (const std::uint8_t* ml = bam_aux_get(read, "ML")) {
      record.ml.emplace();
      for (std::uint32_t i = 0; i < bam_auxB_len(ml); ++i) record.ml->push_back(static_cast<std::uint8_t>(bam_auxB2i(ml, i)));
    }
    if (const std::uint8_t* mn = bam_aux_get(read, "MN")) record.mn = static_cast<std::int32_t>(bam_aux2i(mn));
    records.push_back(std::move(record));
  }
  bam_destroy1(read);
  sam_hdr_destroy(header);
  sam_close(file);
  return records;
}
Contigs read_fasta(const std::string& path) {
  Contigs contigs;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with('>'))
      contigs.emplace_back(line.substr(1, line.find_first_of(" \t") - 1), "");
    else
      contigs.back().second += line;
  return contigs;
}
std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}
bool sluice_runs(const std::string& arguments) { return std::system((std::string(SLUICE_PROGRAM) + " run " + arguments + " --quiet").c_str()) == 0; }

// The least probability that leaves at most a tenth of all calls below it.
double tenth_percentile(const std::vector<modbam::Record>& records) {
  std::vector<double> sureness;
  for (const modbam::Record& record : records)
    for (const auto& [place, seen] : brute_force::bases_of(record)) {
      if (!seen.has_call) continue;
      double rest = 1, best = 0;
      for (const auto& [code, probability] : seen.probability) rest -= probability, best = std::max(best, probability);
      sureness.push_back(std::max(best, rest));
    }
  std::sort(sureness.begin(), sureness.end());
  return sureness.at(sureness.size() / 10);
}

void compare(const std::string& bam, const std::string& reference, const std::string& folder) {
  const std::vector<modbam::Record> records = read_bam(bam);
  const Contigs contigs = read_fasta(reference);
  REQUIRE(records.size() > 50);
  struct Run {
    brute_force::Rules rules;
    const char* options;
  };
  for (const Run& run :
       {Run{{}, ""}, Run{{.threshold = 0.9, .cpg = true}, "--filter-threshold 0.9 --cpg --threads 3 --batch-work 20000"},
        Run{{.cpg = true, .combine_strands = true}, "--cpg --combine-strands --batch-work 1"},
        Run{{.reference_bases = true}, "--reference-bases --any-order"}, Run{{.threshold = tenth_percentile(records)}, "--filter-percentile 10"}}) {
    CAPTURE(run.options);
    REQUIRE(sluice_runs("pileup --alignments " + bam + " --reference " + reference + " --output " + folder + "/sites.bed " + run.options));
    const std::string expected = brute_force::pileup(records, contigs, run.rules);
    CHECK(expected.size() > 10'000);
    CHECK((contents(folder + "/sites.bed") == expected));
  }
}

}  // namespace

TEST_CASE("the modBAM of simulated reads is counted as by brute force") {
  const sluice::testing::TemporaryFolder folder;
  const std::string at = folder.path() + "/";
  REQUIRE(sluice_runs("synthetic_reference --length 20000 --seed 7 --output " + at + "reference.fa"));
  REQUIRE(sluice_runs("simulate --reference " + at + "reference.fa --reads 80 --seed 7 --mean-length 3000 --output-prefix " + at + "reads"));
  REQUIRE(sluice_runs("methylation --signal " + at + "reads.blow5 --alignments " + at + "reads.bam --reference " + at + "reference.fa --output " +
                      at + "calls.tsv --modbam " + at + "calls.bam"));
  compare(at + "calls.bam", at + "reference.fa", folder.path());
  // The whole file through standard input, and compressed output.
  REQUIRE(std::system(
              ("cat " + at + "calls.bam | " + SLUICE_PROGRAM + " run pileup --alignments - --output " + at + "sites.bed.gz --quiet").c_str()) == 0);
  REQUIRE(sluice_runs("pileup --alignments " + at + "calls.bam --output " + at + "sites.bed"));
  // SAM as BAM.
  REQUIRE(sluice_runs("methylation --signal " + at + "reads.blow5 --alignments " + at + "reads.bam --reference " + at + "reference.fa --output " +
                      at + "calls.tsv --modbam " + at + "calls.sam"));
  REQUIRE(sluice_runs("pileup --alignments " + at + "calls.sam --filter-percentile 30 --output " + at + "sites_of_sam.bed"));
  REQUIRE(sluice_runs("pileup --alignments " + at + "calls.bam --filter-percentile 30 --threads 1 --output " + at + "sites_of_bam.bed"));
  CHECK(contents(at + "sites_of_sam.bed") == contents(at + "sites_of_bam.bed"));
  // What is read twice is kept where it cannot be.
  REQUIRE(sluice_runs("pileup --alignments - --filter-percentile 30 --output " + at + "sites_of_pipe.bed < " + at + "calls.bam"));
  CHECK(contents(at + "sites_of_pipe.bed") == contents(at + "sites_of_bam.bed"));
  CHECK(std::system(("gzip -dc " + at + "sites.bed.gz | cmp - " + at + "sites.bed").c_str()) == 0);
}

TEST_CASE("the modBAM of lambda_r9 is counted as by brute force") {
  const std::string data = SLUICE_SHARED_DIR "/data/";
  if (!std::filesystem::exists(data + "lambda_r9/reads.blow5")) {
    MESSAGE("skipped: no " << data << "lambda_r9/reads.blow5");
    return;
  }
  const sluice::testing::TemporaryFolder folder;
  REQUIRE(sluice_runs("methylation --signal " + data + "lambda_r9/reads.blow5 --reads " + data + "lambda_r9/reads.fastq.gz --alignments " + data +
                      "lambda_r9/reads.bam --reference " + data + "reference/lambda.fa --output " + folder.path() + "/calls.tsv --modbam " +
                      folder.path() + "/calls.bam"));
  compare(folder.path() + "/calls.bam", data + "reference/lambda.fa", folder.path());
}
