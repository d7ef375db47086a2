// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <limits>

#include "frequency_writer/stage.cpp"  // the stage class has no header of its own
#include "unit/files/methylation_writer/expected_table.hpp"
#include "unit/outcomes_of.hpp"
#include "unit/resumed_forms.hpp"

using namespace sluice::frequency_writer;
using sluice::testing::BatchBuilder;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

TestBatch single_sites() {
  return BatchBuilder("site", 3)
      .text("contig", {"chr1", "chr1", "chr2"})
      .column<std::int64_t>("start", {10, 20, 7})
      .column<std::int64_t>("end", {10, 20, 7})
      .column<std::int32_t>("motifs", {1, 1, 1})
      .column<std::int64_t>("called_sites", {3, 8, 2})
      .column<std::int64_t>("called_sites_methylated", {1, 8, 0})
      .column<std::int64_t>("called_forward", {2, 8, 0})
      .column<std::int64_t>("methylated_forward", {0, 8, 0})
      .text("sequence", {"AAAAACGAAAA", "CCCCCCGCCCC", "split-group"})
      .build();
}
TestBatch grouped_site() {
  return BatchBuilder("site", 1)
      .text("contig", {"chr1"})
      .column<std::int64_t>("start", {30})
      .column<std::int64_t>("end", {34})
      .column<std::int32_t>("motifs", {2})
      .column<std::int64_t>("called_sites", {6})
      .column<std::int64_t>("called_sites_methylated", {4})
      .column<std::int64_t>("called_forward", {2})
      .column<std::int64_t>("methylated_forward", {2})
      .text("sequence", {"AAAAACGAACGAAAA"})
      .build();
}

// The sites of a meth-freq table; it does not tell the strands apart, so all are forward.
TestBatch sites(const std::string& table) {
  std::vector<std::string> contig, sequence;
  std::vector<std::int64_t> start, end, called, methylated;
  std::vector<std::int32_t> motifs;
  const auto lines = expected_table::lines(table);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto f = expected_table::fields(lines[i]);
    contig.push_back(f[0]);
    start.push_back(std::atoll(f[1].c_str()));
    end.push_back(std::atoll(f[2].c_str()));
    motifs.push_back(std::atoi(f[3].c_str()));
    called.push_back(std::atoll(f[4].c_str()));
    methylated.push_back(std::atoll(f[5].c_str()));
    sequence.push_back(f[7]);
  }
  return BatchBuilder("site", static_cast<std::int64_t>(contig.size()))
      .text("contig", contig)
      .column<std::int64_t>("start", start)
      .column<std::int64_t>("end", end)
      .column<std::int32_t>("motifs", motifs)
      .column<std::int64_t>("called_sites", called)
      .column<std::int64_t>("called_sites_methylated", methylated)
      .column<std::int64_t>("called_forward", called)
      .column<std::int64_t>("methylated_forward", methylated)
      .text("sequence", sequence)
      .build();
}

}  // namespace

TEST_CASE("the table merges strands and prints three decimals") {
  const auto result = run_stage<FrequencyWriter>({single_sites(), grouped_site()}).with({{"output", "-"}}).run();
  REQUIRE(result.ok());
  CHECK(result.files.at("-") ==
        "chromosome\tstart\tend\tnum_motifs_in_group\tcalled_sites\tcalled_sites_methylated\tmethylated_frequency\tgroup_sequence\n"
        "chr1\t10\t10\t1\t3\t1\t0.333\tAAAAACGAAAA\n"
        "chr1\t20\t20\t1\t8\t8\t1.000\tCCCCCCGCCCC\n"
        "chr2\t7\t7\t1\t2\t0\t0.000\tsplit-group\n"
        "chr1\t30\t34\t2\t6\t4\t0.667\tAAAAACGAACGAAAA\n");
  CHECK(run_stage<FrequencyWriter>(grouped_site()).with({{"output", "-"}, {"version", 1}}).run().files.at("-").find("num_cpgs_in_group") !=
        std::string::npos);
  CHECK(outcomes_of(run_stage<FrequencyWriter>({single_sites(), grouped_site()}).with({{"output", "-"}})) == Outcomes{{"called", {4, 4}}});
}

TEST_CASE("bedMethyl has a line of 18 columns for each strand that has calls") {
  const auto result = run_stage<FrequencyWriter>(single_sites()).with({{"output", "sites.bed"}, {"format", "bedmethyl"}}).run();
  REQUIRE(result.ok());
  CHECK(result.files.at("sites.bed") ==
        "chr1\t10\t11\tm\t2\t+\t10\t11\t255,0,0\t2\t0.00\t0\t2\t0\t0\t0\t0\t0\n"
        "chr1\t11\t12\tm\t1\t-\t11\t12\t255,0,0\t1\t100.00\t1\t0\t0\t0\t0\t0\t0\n"
        "chr1\t20\t21\tm\t8\t+\t20\t21\t255,0,0\t8\t100.00\t8\t0\t0\t0\t0\t0\t0\n"
        "chr2\t8\t9\tm\t2\t-\t8\t9\t255,0,0\t2\t0.00\t0\t2\t0\t0\t0\t0\t0\n");
}

TEST_CASE("combined strands are one line at the C of the forward strand") {
  const auto result = run_stage<FrequencyWriter>({single_sites(), grouped_site()})
                          .with({{"output", "sites.bed"}, {"format", "bedmethyl"}, {"combine_strands", true}})
                          .run();
  REQUIRE(result.ok());
  CHECK(result.files.at("sites.bed") ==
        "chr1\t10\t11\tm\t3\t.\t10\t11\t255,0,0\t3\t33.33\t1\t2\t0\t0\t0\t0\t0\n"
        "chr1\t20\t21\tm\t8\t.\t20\t21\t255,0,0\t8\t100.00\t8\t0\t0\t0\t0\t0\t0\n"
        "chr2\t7\t8\tm\t2\t.\t7\t8\t255,0,0\t2\t0.00\t0\t2\t0\t0\t0\t0\t0\n"
        "chr1\t30\t31\tm\t3\t.\t30\t31\t255,0,0\t3\t66.67\t2\t1\t0\t0\t0\t0\t0\n"
        "chr1\t34\t35\tm\t3\t.\t34\t35\t255,0,0\t3\t66.67\t2\t1\t0\t0\t0\t0\t0\n");
}

TEST_CASE("a group counts for each of its CpGs, and counts of one position are added") {
  const TestBatch overlapping = BatchBuilder("site", 3)
                                    .text("contig", {"chr1", "chr1", "chr1"})
                                    .column<std::int64_t>("start", {30, 30, 34})
                                    .column<std::int64_t>("end", {30, 34, 34})
                                    .column<std::int32_t>("motifs", {1, 2, 1})
                                    .column<std::int64_t>("called_sites", {1, 6, 2})
                                    .column<std::int64_t>("called_sites_methylated", {1, 4, 0})
                                    .column<std::int64_t>("called_forward", {1, 2, 2})
                                    .column<std::int64_t>("methylated_forward", {1, 2, 0})
                                    .text("sequence", {"AAAAACGAACG", "AAAAACGAACGAAAA", "ACGAACGAAAA"})
                                    .build();
  const auto result = run_stage<FrequencyWriter>(overlapping).with({{"output", "sites.bed"}, {"format", "bedmethyl"}}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.files.at("sites.bed") ==
        "chr1\t30\t31\tm\t2\t+\t30\t31\t255,0,0\t2\t100.00\t2\t0\t0\t0\t0\t0\t0\n"
        "chr1\t31\t32\tm\t2\t-\t31\t32\t255,0,0\t2\t50.00\t1\t1\t0\t0\t0\t0\t0\n"
        "chr1\t34\t35\tm\t3\t+\t34\t35\t255,0,0\t3\t33.33\t1\t2\t0\t0\t0\t0\t0\n"
        "chr1\t35\t36\tm\t2\t-\t35\t36\t255,0,0\t2\t50.00\t1\t1\t0\t0\t0\t0\t0\n");
}

TEST_CASE("sites that contradict themselves are refused with their place") {
  const auto with = [](std::int32_t motifs, std::int64_t called, const std::string& sequence) {
    return BatchBuilder("site", 1)
        .text("contig", {"chr1"})
        .column<std::int64_t>("start", {30})
        .column<std::int64_t>("end", {34})
        .column<std::int32_t>("motifs", {motifs})
        .column<std::int64_t>("called_sites", {called})
        .column<std::int64_t>("called_sites_methylated", {0})
        .column<std::int64_t>("called_forward", {0})
        .column<std::int64_t>("methylated_forward", {0})
        .text("sequence", {sequence})
        .build();
  };
  for (const TestBatch& batch : {with(3, 3, "ACGAACGA"), with(2, 3, "ACGAACGA"), with(2, 2, "ACGACGA"), with(2, 2, "split-group"),
                                 with(0, 2, "ACGAACGA"), with(2, -2, "ACGAACGA")}) {
    const auto result = run_stage<FrequencyWriter>(batch).with({{"output", "sites.bed"}, {"format", "bedmethyl"}}).run();
    CHECK(result.status == SLUICE_ERROR_INPUT);
    CHECK(result.message.find("chr1:30") != std::string::npos);
  }
}

TEST_CASE("a motif that is not its own reverse complement has sites on the strand that has calls alone") {
  const TestBatch site = BatchBuilder("site", 1)
                             .text("contig", {"c"})
                             .column<std::int64_t>("start", {30})
                             .column<std::int64_t>("end", {30})
                             .column<std::int32_t>("motifs", {1})
                             .column<std::int64_t>("called_sites", {4})
                             .column<std::int64_t>("called_sites_methylated", {1})
                             .column<std::int64_t>("called_forward", {4})
                             .column<std::int64_t>("methylated_forward", {1})
                             .text("sequence", {"TTGAAGCTT"})
                             .build();
  const auto result = run_stage<FrequencyWriter>(site).with({{"output", "x.bed"}, {"format", "bedmethyl"}, {"motif", "GAAGC:2:a"}}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.files.at("x.bed") == "c\t32\t33\ta\t4\t+\t32\t33\t255,0,0\t4\t25.00\t1\t3\t0\t0\t0\t0\t0\n");
}

TEST_CASE("positions and counts have limits: what lies at them is written, what lies beyond is refused") {
  struct Numbers {
    std::int64_t start = 0, end = 0, called = 0, methylated = 0, forward = 0, methylated_forward = 0;
  };
  const auto run = [](const Numbers& n) {
    const TestBatch site = BatchBuilder("site", 1)
                               .text("contig", {"c"})
                               .column<std::int64_t>("start", {n.start})
                               .column<std::int64_t>("end", {n.end})
                               .column<std::int32_t>("motifs", {1})
                               .column<std::int64_t>("called_sites", {n.called})
                               .column<std::int64_t>("called_sites_methylated", {n.methylated})
                               .column<std::int64_t>("called_forward", {n.forward})
                               .column<std::int64_t>("methylated_forward", {n.methylated_forward})
                               .text("sequence", {"CG"})
                               .build();
    return run_stage<FrequencyWriter>(site).with({{"output", "-"}}).run();
  };
  constexpr std::int64_t furthest = std::numeric_limits<std::int64_t>::max() / 4;
  for (const Numbers& good : {Numbers{}, Numbers{furthest - 1, furthest - 1}, Numbers{0, 5, 4, 4, 4, 4}, Numbers{0, 0, 4, 0, 0, 0},
                              Numbers{0, 0, 4, 2, 2, 0}, Numbers{0, 0, furthest - 1, 0, 0, 0}})
    CHECK(run(good).ok());
  for (const Numbers& bad : {Numbers{-1, 0}, Numbers{1, 0}, Numbers{0, furthest}, Numbers{0, 0, 4, 0, 0, -1}, Numbers{0, 0, 4, 3, 2, 3},
                             Numbers{0, 0, 4, 0, 5, 0}, Numbers{0, 0, furthest, 0, 0, 0}, Numbers{0, 0, 4, 1, 2, 2}, Numbers{0, 0, 4, 3, 2, 0}}) {
    const auto result = run(bad);
    CHECK(result.status == SLUICE_ERROR_INPUT);
    CHECK(result.message.find("positions or counts that can't be") != std::string::npos);
  }
  CHECK(run({}).files.at("-").ends_with("c\t0\t0\t1\t0\t0\t0.000\tCG\n"));
  CHECK(run({}).outcomes.at("called") == std::pair<std::uint64_t, std::uint64_t>{0, 1});
  CHECK(run({0, 0, 1}).outcomes.at("called") == std::pair<std::uint64_t, std::uint64_t>{1, 1});
  CHECK(run({}).counters.at("sites written") == 1);
}

TEST_CASE("frequency_writer keeps the contract of all stages") {
  const auto problems = sluice::testing::contract_problems(
      *sluice_plugin_init(nullptr, nullptr),
      {{"frequency_writer", {.parameters = {{"output", "sites.tsv"}}, .batches = {single_sites(), single_sites()}}}});
  CHECK(problems == std::vector<std::string>{});
  const auto bed_problems = sluice::testing::contract_problems(
      *sluice_plugin_init(nullptr, nullptr),
      {{"frequency_writer", {.parameters = {{"output", "sites.bed"}, {"format", "bedmethyl"}}, .batches = {single_sites(), grouped_site()}}}});
  CHECK(bed_problems == std::vector<std::string>{});
}

TEST_CASE("bedMethyl does not depend on whether f5c split the groups") {
  const std::string folder = SLUICE_SHARED_DIR "/data/ecoli_r9_real/expected/";
  const std::string grouped = expected_table::contents(folder + "f5c_freq.tsv.gz");
  const std::string split = expected_table::contents(folder + "f5c_freq_split.tsv.gz");
  if (grouped.empty() || split.empty()) {
    MESSAGE("skipped: no " << folder << "f5c_freq.tsv.gz");
    return;
  }
  const auto bed = [](const std::string& table) {
    return run_stage<FrequencyWriter>(sites(table)).with({{"output", "sites.bed"}, {"format", "bedmethyl"}}).run().files.at("sites.bed");
  };
  CHECK((bed(grouped) == bed(split)));
  CHECK(bed(grouped).size() > 100'000);
}

TEST_CASE("the tables of f5c meth-freq come out byte for byte") {
  const std::string data = SLUICE_SHARED_DIR "/data/";
  for (const char* name :
       {"ecoli_r9_real/expected/f5c_freq.tsv.gz", "ecoli_r9_real/expected/f5c_freq_split.tsv.gz", "lambda_r9/expected/f5c_freq.tsv.gz",
        "lambda_r9/expected/f5c_freq_split.tsv.gz", "ecoli_r9/expected/f5c_freq.tsv.xz", "ecoli_r10/expected/f5c_freq_split.tsv.gz"}) {
    const std::string table = expected_table::contents(data + name);
    if (table.empty()) {
      MESSAGE("skipped: no " << data << name);
      continue;
    }
    CAPTURE(name);
    const auto result = run_stage<FrequencyWriter>(sites(table)).with({{"output", "sites.tsv"}}).run();
    REQUIRE(result.ok());
    CHECK((result.files.at("sites.tsv") == table));
  }
}

TEST_CASE("sites go on behind an interruption") {
  using namespace sluice::testing;
  const StageUnderTest stage = stage_of(*sluice_plugin_init(nullptr, nullptr), "frequency_writer");
  CHECK(resume_problems(run_stage(stage, std::vector{single_sites(), single_sites()}), {"a.tsv", "a.tsv.gz", "a.tsv.zst", "a.arrow", "a.parquet"}) ==
        std::vector<std::string>{});
  CHECK(resume_problems(run_stage(stage, std::vector{single_sites(), grouped_site()}).with({{"format", "bedmethyl"}}),
                        {"a.bed", "a.bed.gz", "a.arrow", "a.parquet"}) == std::vector<std::string>{});
}
