// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/outcomes_of.hpp"

using namespace sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = load_plugin(SLUICE_PLUGIN_DIR "/methylation_accuracy.so");
  return *info;
}
// A file of this folder with the given text.
std::string file_in(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  const std::string path = folder.path() + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}
const char* const calls_text =
    "chromosome\tstrand\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_methylated\tlog_lik_unmethylated\tnum_calling_strands\tnum_motifs\tsequence\n"
    "x\t+\t3\t3\ta\t4.00\t-96.00\t-100.00\t1\t1\tS\n"
    "x\t+\t9\t12\ta\t9.00\t-91.00\t-100.00\t1\t2\tS\n"
    "x\t-\t3\t3\tb\t-3.00\t-103.00\t-100.00\t1\t1\tS\n"
    "x\t-\t20\t20\tb\t1.00\t-99.00\t-100.00\t1\t1\tS\n";

Result read_table(const std::string& path) {
  static const sluice_plugin_info* const reader = load_plugin(SLUICE_PLUGIN_DIR "/methylation_table_reader.so");
  return run_stage(stage_of(*reader, "methylation_table_reader")).with({{"path", path}}).run();
}
TestBatch calls(const TemporaryFolder& folder) {
  const Result read = read_table(file_in(folder, "calls.tsv", calls_text));
  REQUIRE(read.rows() == 2);
  return read.batch();
}

}  // namespace

TEST_CASE("single CpGs are compared with the truth of their molecules") {
  const TemporaryFolder folder;
  const std::string sites = file_in(folder, "sites.tsv", "contig\tposition\tfrequency\nx\t3\t0.5\n");
  const std::string truth = file_in(folder, "reads.tsv", "x\t3\t+\ta\t1\nx\t9\t+\ta\t1\nx\t3\t-\tb\t0\nx\t20\t-\tb\t0\n");
  const Result result = run_stage(stage_of(plugin(), "methylation_accuracy"), calls(folder))
                            .with({{"site_truth", sites}, {"read_truth", truth}, {"output", "o"}, {"minimum_reads", 2}})
                            .run();
  REQUIRE(result.ok());
  const std::string& json = result.files.at("o");
  for (const char* part : {"\"reads\": 2", "\"groups\": 4", "\"single_site_calls\": 3", "\"auc\": 1.000000", "\"confident_calls\": 2", "\"sites\": 1",
                           "\"frequency_rmse\": 0.000000", "\"frequency_correlation\": null"})
    CHECK_MESSAGE(json.find(part) != std::string::npos, part, " is not in ", json);
}

TEST_CASE("a read without truth is left out with a warning, and FASTA truth needs a reference") {
  const TemporaryFolder folder;
  const std::string sites = file_in(folder, "sites.tsv", "x\t3\t0.5\n");
  const Result result = run_stage(stage_of(plugin(), "methylation_accuracy"), calls(folder))
                            .with({{"site_truth", sites}, {"read_truth", file_in(folder, "reads.tsv", "x\t3\t+\ta\t1\n")}, {"output", "o"}})
                            .run();
  CHECK(result.counters.at("reads_without_truth") == 1);
  CHECK(result.logged("read 'b'"));
  CHECK(outcomes_of(run_stage(stage_of(plugin(), "methylation_accuracy"), calls(folder))
                        .with({{"site_truth", sites}, {"read_truth", folder.path() + "/reads.tsv"}, {"output", "o"}})) ==
        Outcomes{{"compared", {1, 2}}});
  const Result fasta = run_stage(stage_of(plugin(), "methylation_accuracy"), calls(folder))
                           .with({{"site_truth", sites}, {"read_truth", file_in(folder, "reads.fa", ">a\nACGT\n")}, {"output", "o"}})
                           .run();
  CHECK(fasta.status == SLUICE_ERROR_USAGE);
  CHECK(fasta.remedy.find("reference") != std::string::npos);
}

TEST_CASE("lists of different lengths are an error") {
  const TemporaryFolder folder;
  const TestBatch batch = BatchBuilder("read", 1)
                              .text("read_id", {"a"})
                              .text("contig", {"x"})
                              .column<std::uint8_t>("is_reverse", {0})
                              .list<std::int64_t>("site_start", {{3, 9}})
                              .list<std::int64_t>("site_end", {{3, 9}})
                              .list<std::int32_t>("site_motifs", {{1, 1}})
                              .list<float>("log_lik_methylated", {{-96}})
                              .list<float>("log_lik_unmethylated", {{-100, -100}})
                              .build();
  const Result result = run_stage(stage_of(plugin(), "methylation_accuracy"), batch)
                            .with({{"site_truth", file_in(folder, "sites.tsv", "x\t3\t0.5\n")},
                                   {"read_truth", file_in(folder, "reads.tsv", "x\t3\t+\ta\t1\nx\t9\t+\ta\t1\n")},
                                   {"output", "o"}})
                            .run();
  CHECK(result.status == SLUICE_ERROR_INPUT);
  CHECK(result.message.find("read 'a': the lists of its methylation calls differ in length") != std::string::npos);
}

TEST_CASE("the stage keeps the contract of every stage") {
  const TemporaryFolder folder;
  const TestBatch batch = calls(folder);
  const std::string sites = file_in(folder, "sites.tsv", "x\t3\t0.5\n"), truth = file_in(folder, "reads.tsv", "x\t3\t+\ta\t1\nx\t3\t-\tb\t0\n");
  CHECK(contract_problems(plugin(),
                          {{"methylation_accuracy",
                            {.parameters = {{"site_truth", sites}, {"read_truth", truth}, {"output", "o"}}, .resources = {}, .batches = {batch}}}}) ==
        std::vector<std::string>{});
}

// f5c 1.6 on the simulated lambda phage set: AUC 0.9925, r 0.988, RMSE 0.070 are what the set's own description says.
TEST_CASE("f5c's calls on lambda_r9 get the published figures") {
  const std::filesystem::path shared = SLUICE_SHARED_DIR;
  const std::filesystem::path folder = shared / "data/lambda_r9";
  if (shared.empty() || !std::filesystem::exists(folder)) {
    MESSAGE("skipped: the shared test data are not here");
    return;
  }
  const TemporaryFolder temporary;
  const std::string table = temporary.path() + "/calls.tsv";
  const std::string command = "xz -dc '" + (folder / "expected/f5c_meth.tsv.xz").string() + "' > '" + table + "'";
  if (std::system(command.c_str()) != 0) {
    MESSAGE("skipped: no xz program");
    return;
  }
  std::ifstream file(shared / "data/reference/lambda.fa");
  std::string line, bases;
  std::getline(file, line);
  const std::string name = line.substr(1, line.find(' ') - 1);
  while (std::getline(file, line)) bases += line;
  const TestBatch reference = BatchBuilder("contig", 1).text("name", {name}).text("bases", {bases}).build();
  const Result read = read_table(table);
  const Result result = run_stage(stage_of(plugin(), "methylation_accuracy"), read.batches)
                            .resource("reference", reference)
                            .with({{"site_truth", (folder / "truth_methylation_frequency.tsv.gz").string()},
                                   {"read_truth", (folder / "truth_reads_M.fasta.gz").string()},
                                   {"output", "o"}})
                            .run();
  REQUIRE(result.ok());
  CHECK(result.counters.at("auc") == doctest::Approx(0.9925).epsilon(0.0001));
  CHECK(result.counters.at("frequency_correlation") == doctest::Approx(0.988).epsilon(0.0005));
  CHECK(result.counters.at("frequency_rmse") == doctest::Approx(0.070).epsilon(0.01));
  CHECK(result.counters.at("sites_compared") == 791);
}
