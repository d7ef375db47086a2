// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/default_of.hpp"
#include "unit/figures_of.hpp"
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
  CHECK(result.counters.count("windows without half of the layers anywhere") == 0);
  CHECK(result.counters.count("windows that failed and stay as they are") == 0);
  // Ten bases became four, one of them another.
  CHECK(figure(result, "00") == Amounts{{"part", 1}, {"whole", 3}});
  CHECK(figure(result, "01") == Amounts{{"amount", 1}});
  CHECK(figure(result, "02") == Amounts{{"amount", 0}});
  CHECK(figure(result, "03") == Amounts{{"amount", 6}});
  CHECK(figure(result, "04") == Amounts{{"7", 1}});
  CHECK(merge({{"trim", "never"}}).batch().view().text("contig_bases")[0] ==
        "AAAAAAAAAA"
        "CCGCCC"
        "GGGGG");
}

TEST_CASE("a window that failed and one that nothing covers are counted, also where the run was resumed between them") {
  // The first and the last window have one other base each, the second one failed; the last has no base with half of its layers.
  const auto row = [](std::int64_t window, const std::string& consensus, std::int32_t coverage) {
    return BatchBuilder("window", 1)
        .column<std::int64_t>("target_index", {0})
        .column<std::int64_t>("window_index", {window})
        .column<std::int64_t>("target_overlaps", {4})
        .list<std::int32_t>("sequence_length", {{10, 10, 10, 10, 10}})
        .text("consensus", {consensus})
        .list<std::int32_t>("consensus_coverage", {std::vector<std::int32_t>(consensus.size(), coverage)})
        .column<std::uint8_t>("is_polished", {1});
  };
  const std::vector<TestBatch> batches = {row(0, "AAAAATAAAA", 4).build(), row(1, "TTTTT", 4).failed(0).build(), row(2, "GGCGG", 1).build()};
  std::vector<SavedInstance> saved;
  const auto run = run_stage(stage_of(plugin("window_merging"), "window_merging"), batches)
                       .with({{"window_length", 10}})
                       .resource("targets", store(">t\nAAAAAAAAAACCCCCCCCCCGGGGG\n"));
  const Result result = StageRun(run).saves_to(&saved).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.batch().view().text("contig_bases")[0] == "AAAAATAAAACCCCCCCCCCGGCGG");
  CHECK(figure(result, "00") == Amounts{{"part", 2}, {"whole", 3}});
  CHECK(figure(result, "01") == Amounts{{"amount", 2}});
  CHECK(figure(result, "02") == Amounts{{"amount", 0}});
  CHECK(figure(result, "03") == Amounts{{"amount", 0}});
  CHECK(figure(result, "04") == Amounts{{"1", 2}});
  REQUIRE(saved.size() == 4);
  for (std::size_t inputs = 0; inputs < 4; ++inputs) {
    const Result resumed = StageRun(run).only_inputs(inputs, 3).resumes({saved[inputs]}).run();
    CHECK(resumed.counters.at("windows without half of the layers anywhere") == 1);
    CHECK(resumed.counters.at("windows that failed and stay as they are") == 1);
  }
  CHECK(resume_problems(run) == std::vector<std::string>{});
}

TEST_CASE("windows out of their order, beyond their target or of another part are refused") {
  const auto merged = [](const std::vector<std::int64_t>& target, const std::vector<std::int64_t>& window, std::uint64_t part = 0,
                         std::uint64_t parts = 1) {
    const auto rows = static_cast<std::int64_t>(target.size());
    const TestBatch batch = BatchBuilder("window", rows)
                                .column<std::int64_t>("target_index", target)
                                .column<std::int64_t>("window_index", window)
                                .column<std::int64_t>("target_overlaps", std::vector<std::int64_t>(target.size(), 1))
                                .list<std::int32_t>("sequence_length", std::vector<std::vector<std::int32_t>>(target.size(), {4, 4}))
                                .text("consensus", std::vector<std::string>(target.size(), "ACGT"))
                                .list<std::int32_t>("consensus_coverage", std::vector<std::vector<std::int32_t>>(target.size(), {1, 1, 1, 1}))
                                .column<std::uint8_t>("is_polished", std::vector<std::uint8_t>(target.size(), 1))
                                .build();
    const Result result = run_stage(stage_of(plugin("window_merging"), "window_merging"), batch)
                              .with({{"window_length", 10}})
                              .resource("targets", store(targets))
                              .part(part, parts)
                              .run();
    return result.ok() ? "" : result.message;
  };
  const std::string disorder = "window_merging: windows do not come in the order of their targets";
  CHECK(merged({0, 1, 1, 2}, {0, 0, 2, 0}) == "");
  CHECK(merged({1, 0}, {0, 0}) == disorder);
  CHECK(merged({1, 1}, {1, 1}) == disorder);
  CHECK(merged({1}, {3}) == disorder);  // it has three
  CHECK(merged({1}, {-1}) == disorder);
  CHECK(merged({-1}, {0}) == disorder);
  CHECK(merged({3}, {0}) == disorder);
  // Half of the bases are in the first two targets.
  CHECK(merged({0, 1}, {0, 0}, 0, 2) == "");
  CHECK(merged({2}, {0}, 1, 2) == "");
  const std::string elsewhere = "is of another part of";
  CHECK(merged({2}, {0}, 0, 2).find("target 'kept' " + elsewhere) != std::string::npos);
  CHECK(merged({0}, {0}, 1, 2).find("target 'none' " + elsewhere) != std::string::npos);
}

TEST_CASE("a last window of one base is a window") {
  CHECK(default_of(*stage_of(plugin("window_merging"), "window_merging").descriptor, "window_length") == "500");
  const TestBatch window = BatchBuilder("window", 1)
                               .column<std::int64_t>("target_index", {0})
                               .column<std::int64_t>("window_index", {2})
                               .column<std::int64_t>("target_overlaps", {1})
                               .list<std::int32_t>("sequence_length", {{1, 1}})
                               .text("consensus", {"TT"})
                               .list<std::int32_t>("consensus_coverage", {{1, 1}})
                               .column<std::uint8_t>("is_polished", {1})
                               .build();
  const Result result = run_stage(stage_of(plugin("window_merging"), "window_merging"), window)
                            .with({{"window_length", 10}})
                            .resource("targets", store(">t\nAAAAAAAAAACCCCCCCCCCG\n"))
                            .run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.batch().view().text("contig_bases")[0] == "AAAAAAAAAACCCCCCCCCCTT");
  CHECK(result.batch().view().column<std::int64_t>("windows")[0] == 3);
  CHECK(figure(result, "04") == Amounts{{"2", 1}});
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

TEST_CASE("a contig without windows has a share of 0, one without bases no record") {
  const TestBatch contigs = BatchBuilder("contig", 2)
                                .text("contig_name", {"c", "empty"})
                                .text("contig_bases", {"ACGT", ""})
                                .column<std::int64_t>("windows", {0, 1})
                                .column<std::int64_t>("polished_windows", {0, 1})
                                .column<std::int64_t>("overlaps", {0, 1})
                                .build();
  CHECK(run_stage(stage_of(plugin("window_merging"), "contig_writer"), contigs).with({{"output", "x"}}).run().files.at("x") ==
        ">c LN:i:4 RC:i:0 XC:f:0.000000\nACGT\n");
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
  CHECK(written.outcomes == Outcomes{{"changed", {1, 2}}});
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
