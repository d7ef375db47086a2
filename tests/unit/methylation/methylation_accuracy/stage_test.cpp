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

namespace {

struct MadeUpRead {
  std::string name;
  std::vector<std::int64_t> sites;
  std::vector<std::int32_t> motifs;
  std::vector<float> ratios;
};
TestBatch made_up(const std::vector<MadeUpRead>& reads) {
  std::vector<std::string> names;
  std::vector<std::vector<std::int64_t>> sites;
  std::vector<std::vector<std::int32_t>> motifs;
  std::vector<std::vector<float>> methylated, unmethylated;
  for (const MadeUpRead& read : reads) {
    names.push_back(read.name);
    sites.push_back(read.sites);
    motifs.push_back(read.motifs);
    methylated.push_back(read.ratios);
    unmethylated.emplace_back(read.ratios.size(), 0.0F);
  }
  return BatchBuilder("read", static_cast<std::int64_t>(reads.size()))
      .text("read_id", names)
      .text("contig", std::vector<std::string>(reads.size(), "x"))
      .column<std::uint8_t>("is_reverse", std::vector<std::uint8_t>(reads.size(), 0))
      .list<std::int64_t>("site_start", sites)
      .list<std::int64_t>("site_end", sites)
      .list<std::int32_t>("site_motifs", motifs)
      .list<float>("log_lik_methylated", methylated)
      .list<float>("log_lik_unmethylated", unmethylated)
      .build();
}

}  // namespace

TEST_CASE("the whole report, counted by hand, and the same where the run was resumed") {
  const TemporaryFolder folder;
  const std::string sites = file_in(folder, "sites.tsv", "x\t3\t0.5\nx\t5\t0\n");
  const std::string truth = file_in(folder, "reads.tsv", "x\t3\t+\ta\t1\nx\t5\t+\ta\t0\nx\t9\t+\ta\t1\nx\t3\t+\tb\t1\nx\t3\t+\tc\t1\n");
  // a: right, right, a group of two, a place without truth. b: one call, wrong. c: no call. d: nothing is known of it.
  const TestBatch reads =
      made_up({{"a", {3, 5, 9, 30}, {1, 1, 2, 1}, {4, -3, 9, 1}}, {"b", {3}, {1}, {-3}}, {"c", {}, {}, {}}, {"d", {3}, {1}, {5}}});
  const auto run = run_stage(stage_of(plugin(), "methylation_accuracy"), {reads.rows(0, 2), reads.rows(2, 4).with_sequence(1)})
                       .with({{"site_truth", sites}, {"read_truth", truth}, {"output", "o"}, {"minimum_reads", 1}});
  const Result result = run.run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  // Methylated molecules have 4 and -3, the other has -3: one of two pairs in order, one tied.
  CHECK(result.files.at("o") ==
        "{\n  \"reads\": 2,\n  \"reads_without_truth\": 1,\n  \"groups\": 5,\n  \"single_site_calls\": 3,\n  \"of_these_methylated\": 2,\n"
        "  \"calls_without_truth\": 1,\n  \"auc\": 0.750000,\n  \"call_threshold\": 2.5,\n  \"confident_calls\": 3,\n"
        "  \"confident_calls_right\": 0.666667,\n  \"minimum_reads\": 1,\n  \"sites\": 2,\n  \"frequency_correlation\": 1.000000,\n"
        "  \"frequency_rmse\": 0.000000\n}\n");
  CHECK(resume_problems(run) == std::vector<std::string>{});
}

TEST_CASE("a ratio of 0 is no methylated call, any above it is, and one confident call has a share") {
  const TemporaryFolder folder;
  const std::string sites = file_in(folder, "sites.tsv", "x\t3\t0\nx\t5\t1\n"),
                    truth = file_in(folder, "reads.tsv", "x\t3\t+\ta\t0\nx\t5\t+\ta\t1\n");
  const auto report = [&](const MadeUpRead& read, double threshold) {
    const Result result =
        run_stage(stage_of(plugin(), "methylation_accuracy"), made_up({read}))
            .with({{"site_truth", sites}, {"read_truth", truth}, {"output", "o"}, {"minimum_reads", 1}, {"call_threshold", threshold}})
            .run();
    REQUIRE_MESSAGE(result.ok(), result.message);
    return result.files.at("o");
  };
  const std::string both = report({"a", {3, 5}, {1, 1}, {0, 0.5F}}, 0);
  for (const char* part : {"\"confident_calls\": 2,", "\"confident_calls_right\": 1.000000,", "\"frequency_rmse\": 0.000000"})
    CHECK_MESSAGE(both.find(part) != std::string::npos, part, " is not in ", both);
  CHECK(report({"a", {5}, {1}, {3}}, 2.5).find("\"confident_calls_right\": 1.000000,") != std::string::npos);
  CHECK(report({"a", {5}, {1}, {2}}, 2.5).find("\"confident_calls_right\": null,") != std::string::npos);
}

TEST_CASE("molecules of a FASTA file are found on their strand of their contig") {
  const TemporaryFolder folder;
  const std::string sites = file_in(folder, "sites.tsv", "x\t3\t0\nx\t7\t1\n");
  // Both have the CpG at 7 methylated, and not the one at 3; c is on a contig that the reference lacks.
  const std::string truth = file_in(folder, "reads.fa", ">a\nACGTAMGGA\n>b\nTCMGTACGT\n>c\nACGTAMGGA\n");
  const TestBatch reference = BatchBuilder("contig", 2).text("name", {"x", "y"}).text("bases", {"TTACGTACGGATT", "GGGG"}).build();
  const std::vector<std::vector<std::int64_t>> places(4, {3, 7});
  const TestBatch reads = BatchBuilder("read", 4)
                              .text("read_id", {"a", "b", "c", "unknown"})
                              .text("contig", {"x", "x", "z", "x"})
                              .column<std::uint8_t>("is_reverse", {0, 1, 0, 0})
                              .list<std::int64_t>("site_start", places)
                              .list<std::int64_t>("site_end", places)
                              .list<std::int32_t>("site_motifs", std::vector<std::vector<std::int32_t>>(4, {1, 1}))
                              .list<float>("log_lik_methylated", std::vector<std::vector<float>>(4, {-4, 4}))
                              .list<float>("log_lik_unmethylated", std::vector<std::vector<float>>(4, {0, 0}))
                              .build();
  const Result result = run_stage(stage_of(plugin(), "methylation_accuracy"), reads)
                            .resource("reference", reference)
                            .with({{"site_truth", sites}, {"read_truth", truth}, {"output", "o"}, {"minimum_reads", 2}})
                            .run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  const std::string& json = result.files.at("o");
  for (const char* part :
       {"\"reads\": 2,", "\"reads_without_truth\": 2,", "\"groups\": 4,", "\"single_site_calls\": 4,", "\"of_these_methylated\": 2,",
        "\"calls_without_truth\": 0,", "\"auc\": 1.000000,", "\"confident_calls_right\": 1.000000,", "\"sites\": 2,", "\"frequency_rmse\": 0.000000"})
    CHECK_MESSAGE(json.find(part) != std::string::npos, part, " is not in ", json);
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
