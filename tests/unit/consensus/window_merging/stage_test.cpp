// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/outcomes_of.hpp"

using namespace sluice;
using namespace sluice::testing;

namespace {

const sluice_plugin_info& plugin(const std::string& name) { return *load_plugin(SLUICE_PLUGIN_DIR "/" + name + ".so"); }
TestBatch store(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / ("sluice_merging_test." + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << text;
  const TestBatch batch = StageRun(stage_of(plugin("sequence_store"), "sequence_store"), {}).with({{"path", path.string()}}).run().batch();
  std::filesystem::remove(path);  // the store keeps it open
  return batch;
}

const std::string targets = ">none\nACGT\n>t extra\nAAAAAAAAAACCCCCCCCCCGGGGG\n>kept\nTTTT\n";
// The second window of t is polished, its third one not; "kept" has two overlaps that polish nothing.
TestBatch windows() {
  return BatchBuilder("window", 3)
      .column<std::int64_t>("target_index", {1, 1, 2})
      .column<std::int64_t>("window_index", {1, 2, 0})
      .column<std::int64_t>("target_overlaps", {4, 4, 2})
      .list<std::int32_t>("sequence_length", {{10, 10, 10, 10, 10}, {5, 5}, {4}})
      .text("consensus", {"CCGCCC", "GGGGG", "TTTT"})
      .list<std::int32_t>("consensus_coverage", {{1, 2, 4, 4, 2, 1}, {1, 1, 1, 1, 1}, {1, 1, 1, 1}})
      .column<std::uint8_t>("is_polished", {1, 0, 0})
      .build();
}
Result merge(const ParameterTexts& parameters) {
  return run_stage(stage_of(plugin("window_merging"), "window_merging"), windows())
      .with({{"window_length", 10}})
      .with(parameters)
      .resource("targets", store(targets))
      .run();
}

}  // namespace

TEST_CASE("what was not polished keeps the target's bases") {
  const Result result = merge({});
  CHECK(result.ok());
  const Batch contigs = result.batch().view();
  REQUIRE(contigs.rows() == 1);
  CHECK(contigs.text("contig_name")[0] == "t");
  CHECK(contigs.text("contig_bases")[0] ==
        "AAAAAAAAAA"
        "CGCC"
        "GGGGG");
  CHECK(contigs.column<std::int64_t>("windows")[0] == 3);
  CHECK(contigs.column<std::int64_t>("polished_windows")[0] == 1);
  CHECK(contigs.column<std::int64_t>("overlaps")[0] == 4);
  CHECK(result.accounts.at("unpolished").count == 2);
  CHECK(merge({{"trim", "never"}}).batch().view().text("contig_bases")[0] ==
        "AAAAAAAAAA"
        "CCGCCC"
        "GGGGG");
}

TEST_CASE("unpolished targets come when they are asked for") {
  const Result result = merge({{"include_unpolished", true}});
  const Batch contigs = result.batch().view();
  REQUIRE(contigs.rows() == 3);
  CHECK(contigs.text("contig_bases")[0] == "ACGT");
  CHECK(contigs.text("contig_name")[2] == "kept");
  CHECK(contigs.column<std::int64_t>("overlaps")[2] == 2);
  CHECK(contigs.column<std::int64_t>("polished_windows")[2] == 0);
}

TEST_CASE("short reads are not trimmed by default") {
  const auto with_reads = [](const std::string& reads) {
    return run_stage(stage_of(plugin("window_merging"), "window_merging"), windows())
        .with({{"window_length", 10}})
        .resource("targets", store(targets))
        .resource("reads", store(reads))
        .run()
        .batch();
  };
  CHECK(with_reads(">r\n" + std::string(1000, 'A') + "\n").view().text("contig_bases")[0].find("CCGCCC") != std::string_view::npos);
  CHECK(with_reads(">r\n" + std::string(1001, 'A') + "\n").view().text("contig_bases")[0].find("CCGCCC") == std::string_view::npos);
}

TEST_CASE("contigs are written with racon's tags") {
  const TestBatch contigs = merge({{"include_unpolished", true}}).batch();
  const Result racon = run_stage(stage_of(plugin("window_merging"), "contig_writer"), contigs).with({{"output", "x"}, {"name_suffix", "r"}}).run();
  CHECK(
      racon.files.at("x") ==
      ">noner LN:i:4 RC:i:0 XC:f:0.000000\nACGT\n>tr LN:i:19 RC:i:4 XC:f:0.333333\nAAAAAAAAAACGCCGGGGG\n>keptr LN:i:4 RC:i:2 XC:f:0.000000\nTTTT\n");
  const Result bare = run_stage(stage_of(plugin("window_merging"), "contig_writer"), contigs).with({{"output", "x"}, {"tags", "none"}}).run();
  CHECK(bare.files.at("x") == ">none\nACGT\n>t\nAAAAAAAAAACGCCGGGGG\n>kept\nTTTT\n");
  CHECK(outcomes_of(run_stage(stage_of(plugin("window_merging"), "contig_writer"), contigs).with({{"output", "x"}})) ==
        Outcomes{{"polished", {1, 3}}});
}

TEST_CASE("qualities are the target's own where nothing was polished") {
  const TestBatch with_support = BatchBuilder("window", 1)
                                     .column<std::int64_t>("target_index", {0})
                                     .column<std::int64_t>("window_index", {1})
                                     .column<std::int64_t>("target_overlaps", {4})
                                     .list<std::int32_t>("sequence_length", {{10, 10, 10, 10, 10}})
                                     .text("consensus", {"CCGCCC"})
                                     .list<std::int32_t>("consensus_coverage", {{4, 4, 4, 4, 4, 4}})
                                     .list<std::int32_t>("consensus_support", {{4, 4, 1, 4, 4, 4}})
                                     .column<std::uint8_t>("is_polished", {1})
                                     .build();
  const auto merged = [&](const std::string& target) {
    return run_stage(stage_of(plugin("window_merging"), "window_merging"), with_support)
        .with({{"window_length", 10}})
        .resource("targets", store(target))
        .run()
        .batch();
  };
  const TestBatch contigs = merged("@t\nAAAAAAAAAACCCCCCCCCCGGG\n+\n0123456789ABCDEFGHIJKLM\n");
  const std::string_view qualities = contigs.view().text("contig_qualities")[0];
  REQUIRE(qualities.size() == contigs.view().text("contig_bases")[0].size());
  CHECK(qualities.substr(0, 10) == "0123456789");
  CHECK(qualities.substr(16) == "KLM");
  CHECK(qualities[12] < qualities[11]);
  const TestBatch of_fasta = merged(">t\nAAAAAAAAAACCCCCCCCCCGGG\n");
  CHECK(of_fasta.view().text("contig_qualities")[0].substr(0, 10) == "!!!!!!!!!!");
  const Result written = run_stage(stage_of(plugin("window_merging"), "contig_fastq_writer"), contigs).with({{"output", "x"}}).run();
  CHECK(written.files.at("x") == "@t LN:i:19 RC:i:4 XC:f:0.333333\nAAAAAAAAAACCGCCCGGG\n+\n" + std::string(qualities) + "\n");
  const ContractSample sample{.batches = {contigs}},
      merging{.parameters = {{"window_length", 10}},
              .resources = {{"targets", store("@t\nAAAAAAAAAACCCCCCCCCCGGG\n+\n0123456789ABCDEFGHIJKLM\n")}},
              .batches = {with_support}};
  for (const std::string& problem : contract_problems(plugin("window_merging"), {{"contig_fastq_writer", sample}, {"window_merging", merging}}))
    FAIL_CHECK(problem);
}

TEST_CASE("changes are those between the target's bases and the trimmed consensus") {
  const TestBatch places = BatchBuilder("window", 2)
                               .column<std::int64_t>("target_index", {1, 1})
                               .column<std::int64_t>("window_start", {10, 20})
                               .column<std::int64_t>("window_end", {20, 25})
                               .list<std::int32_t>("sequence_length", {{10, 10, 10, 10, 10}, {5, 5}})
                               .text("consensus", {"TCCCCTCCCCC", "GGGGG"})
                               .list<std::int32_t>("consensus_coverage", {{1, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, {1, 1, 1, 1, 1}})
                               .column<std::uint8_t>("is_polished", {1, 0})
                               .build();
  const auto run = [&] { return run_stage(stage_of(plugin("window_merging"), "window_changes"), places).resource("targets", store(targets)); };
  const TestBatch changes = run().run().batch();
  CHECK(changes.view().text("changes")[0] == "t\t15\t.\tC\tT\t.\t.\t.\n");
  CHECK(changes.view().text("changes")[1].empty());
  const Result written =
      run_stage(stage_of(plugin("window_merging"), "vcf_writer"), changes).with({{"output", "x"}}).resource("targets", store(targets)).run();
  CHECK(written.files.at("x") ==
        "##fileformat=VCFv4.3\n##contig=<ID=none,length=4>\n##contig=<ID=t,length=25>\n##contig=<ID=kept,length=4>\n"
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\nt\t15\t.\tC\tT\t.\t.\t.\n");
  const ContractSample finding{.resources = {{"targets", store(targets)}}, .batches = {places}},
      writer{.parameters = {{"output", "x"}}, .resources = {{"targets", store(targets)}}, .batches = {changes}};
  for (const std::string& problem : contract_problems(plugin("window_merging"), {{"window_changes", finding}, {"vcf_writer", writer}}))
    FAIL_CHECK(problem);
}

TEST_CASE("both stages keep the contract") {
  const ContractSample merging{.parameters = {{"window_length", 10}}, .resources = {{"targets", store(targets)}}, .batches = {windows()}};
  const ContractSample writer{.parameters = {{"output", "x"}}, .batches = {merge({}).batch()}};
  for (const std::string& problem : contract_problems(plugin("window_merging"), {{"window_merging", merging}, {"contig_writer", writer}}))
    FAIL_CHECK(problem);
}
