// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "expected_table.hpp"
#include "methylation_writer/stage.cpp"  // the stage class has no header of its own
#include "unit/figures_of.hpp"
#include "unit/outcomes_of.hpp"
#include "unit/resumed_forms.hpp"

using namespace sluice::methylation_writer;
using sluice::testing::BatchBuilder;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

TestBatch model(const std::string& k) { return BatchBuilder("kmer", 0).attribute("k", k).build(); }
TestBatch small_reference() {
  return BatchBuilder("contig", 2).text("name", {"one", "two"}).text("bases", {"AACGTTACGCGTTTAC", "TTTTTTCGAA"}).build();
}
TestBatch small_reads() {
  return BatchBuilder("read", 3)
      .text("read_id", {"first", "second", "third"})
      .text("contig", {"one", "one", "two"})
      .column<std::uint8_t>("is_reverse", {0, 1, 1})
      .list<std::int64_t>("site_start", {{2, 7}, {7}, {}})
      .list<std::int64_t>("site_end", {{2, 9}, {9}, {}})
      .list<std::int32_t>("site_motifs", {{1, 2}, {2}, {}})
      .list<float>("log_lik_methylated", {{-100.5F, -90.25F}, {-1.0F}, {}})
      .list<float>("log_lik_unmethylated", {{-101.75F, -90.0F}, {-1.0F}, {}})
      .build();
}

}  // namespace

TEST_CASE("the sequence of a group reaches k - 1 bases to both sides and ends at the contig") {
  CHECK(group_sequence("AACGTTACGCGTTTAC", 7, 9, 3, 2) == "TACGCGT");
  CHECK(group_sequence("AACGTTACGCGTTTAC", 2, 2, 6, 2) == "AACGTTAC");
  CHECK(group_sequence("TTTTTTCGAA", 6, 6, 6, 2) == "TTTTTCGAA");
  CHECK(group_sequence("AACCTGGTTAC", 2, 2, 6, 5) == "AACCTGGT");
  CHECK(group_sequence("AACCTGGTTACGTACGT", 2, 2, 6, 12) == "AACCTGGTTACGTA");
  CHECK(group_sequence("TTCG", 0, 3, 6, 2) == "TTCG");
  CHECK(group_sequence("TTCG", 0, 0, 1, 1) == "T");
  CHECK(group_sequence("TTCG", 0, 0, 0, 1).empty());
  CHECK(group_sequence("TTCG", 2, 4, 6, 2).empty());
  CHECK(group_sequence("TTCG", 7, 7, 6, 2).empty());
  CHECK(group_sequence("TTCG", -1, 2, 6, 2).empty());
  CHECK(group_sequence("TTCG", 2, 1, 6, 2).empty());
}

TEST_CASE("the table has one line per group, in both versions") {
  const auto run = [](int version) {
    return run_stage<MethylationTable>(small_reads())
        .resource("reference", small_reference())
        .resource("model", model("3"))
        .with({{"output", "-"}, {"version", version}})
        .run();
  };
  CHECK(run(2).files.at("-") ==
        "chromosome\tstrand\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_methylated\tlog_lik_unmethylated\tnum_calling_strands\tnum_"
        "motifs\tsequence\n"
        "one\t+\t2\t2\tfirst\t1.25\t-100.50\t-101.75\t1\t1\tAACGT\n"
        "one\t+\t7\t9\tfirst\t-0.25\t-90.25\t-90.00\t1\t2\tTACGCGT\n"
        "one\t-\t7\t9\tsecond\t0.00\t-1.00\t-1.00\t1\t2\tTACGCGT\n");
  CHECK(run(1).files.at("-") ==
        "chromosome\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_methylated\tlog_lik_unmethylated\tnum_calling_strands\tnum_cpgs\tsequence\n"
        "one\t2\t2\tfirst\t1.25\t-100.50\t-101.75\t1\t1\tAACGT\n"
        "one\t7\t9\tfirst\t-0.25\t-90.25\t-90.00\t1\t2\tTACGCGT\n"
        "one\t7\t9\tsecond\t0.00\t-1.00\t-1.00\t1\t2\tTACGCGT\n");
  CHECK(run(2).counters.at("calls written") == 3);
  CHECK(outcomes_of(run_stage<MethylationTable>(small_reads())
                        .resource("reference", small_reference())
                        .resource("model", model("3"))
                        .with({{"output", "-"}})) == Outcomes{{"called", {2, 3}}});
}

TEST_CASE("a read that failed, or has no calls, leaves no trace in front of others; the second version is the usual one") {
  TestBatch::Contents contents = small_reads().contents();
  contents.status = {1, 0, 0};
  const auto run = [](const TestBatch& batch) {
    return run_stage<MethylationTable>(batch).resource("reference", small_reference()).resource("model", model("3")).with({{"output", "-"}}).run();
  };
  const std::string second = "one\t-\t7\t9\tsecond\t0.00\t-1.00\t-1.00\t1\t2\tTACGCGT\n";
  CHECK(run(TestBatch(contents)).files.at("-") == std::string(table_header(TableVersion::v2)) + second);
  const TestBatch turned = BatchBuilder("read", 2)
                               .text("read_id", {"third", "second"})
                               .text("contig", {"two", "one"})
                               .column<std::uint8_t>("is_reverse", {1, 1})
                               .list<std::int64_t>("site_start", {{}, {7}})
                               .list<std::int64_t>("site_end", {{}, {9}})
                               .list<std::int32_t>("site_motifs", {{}, {2}})
                               .list<float>("log_lik_methylated", {{}, {-1.0F}})
                               .list<float>("log_lik_unmethylated", {{}, {-1.0F}})
                               .build();
  CHECK(run(turned).files.at("-") == std::string(table_header(TableVersion::v2)) + second);
}

TEST_CASE("the report's figures are those of the calls, counted by hand") {
  struct Group {
    std::int64_t start;
    std::int32_t sites;
    float ratio;
  };
  // A call of 2.5 counts, one of 2.49 does not. Ratios lie in classes of a half, the last ones have all beyond -20 and 20. What is no number, or has
  // no site, counts nowhere.
  const std::vector<Group> groups = {{2, 1, 2.5F}, {2, 1, 2.49F}, {7, 2, -3},     {7, 2, 19.99F}, {7, 1, 20},
                                     {7, 1, -20},  {7, 1, -100},  {7, 1, -0.25F}, {7, 1, 0.5F},   {7, 1, std::numeric_limits<float>::quiet_NaN()},
                                     {7, 0, 5}};
  std::vector<std::int64_t> start;
  std::vector<std::int32_t> sites;
  std::vector<float> methylated;
  for (const Group& group : groups) start.push_back(group.start), sites.push_back(group.sites), methylated.push_back(group.ratio);
  const TestBatch read = BatchBuilder("read", 1)
                             .text("read_id", {"r"})
                             .text("contig", {"one"})
                             .column<std::uint8_t>("is_reverse", {0})
                             .list<std::int64_t>("site_start", {start})
                             .list<std::int64_t>("site_end", {start})
                             .list<std::int32_t>("site_motifs", {sites})
                             .list<float>("log_lik_methylated", {methylated})
                             .list<float>("log_lik_unmethylated", {std::vector<float>(groups.size(), 0.0F)})
                             .build();
  const auto run = [&](const std::string& region) {
    return run_stage<MethylationTable>(read)
        .resource("reference", small_reference())
        .resource("model", model("3"))
        .with({{"output", "-"}, {"report_region", region}})
        .run();
  };
  const auto result = run("one:8-8");
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(figure(result, "00") == Amounts{{"part", 4}, {"whole", 8}});
  CHECK(figure(result, "01") == Amounts{{"part", 8}, {"whole", 11}});
  CHECK(figure(result, "02") == Amounts{{"0000000000 one 7 8 part", 3}, {"0000000000 one 7 8 whole", 7}});
  CHECK(figure(result, "03") == Amounts{{"5", 1}, {"4", 1}, {"-6", 1}, {"39", 2}, {"-40", 2}, {"-1", 1}, {"1", 1}});
  const auto nowhere = run("three:1-2");
  CHECK(!nowhere.ok());
  CHECK(nowhere.message.find("three") != std::string::npos);
}

TEST_CASE("a table without calls is its header") {
  const auto result = run_stage<MethylationTable>(small_reads().all_failed())
                          .resource("reference", small_reference())
                          .resource("model", model("6"))
                          .with({{"output", "calls.tsv"}})
                          .run();
  CHECK(result.ok());
  CHECK(result.files.at("calls.tsv") == table_header(TableVersion::v2));
}

TEST_CASE("a contig that the reference lacks and a model without k are named") {
  const TestBatch other = BatchBuilder("contig", 1).text("name", {"two"}).text("bases", {"ACGT"}).build();
  const auto lacks =
      run_stage<MethylationTable>(small_reads()).resource("reference", other).resource("model", model("6")).with({{"output", "-"}}).run();
  CHECK(lacks.status == SLUICE_ERROR_INPUT);
  CHECK(lacks.message.find("contig 'one'") != std::string::npos);
  const auto shapeless =
      run_stage<MethylationTable>(small_reads()).resource("reference", other).resource("model", model("six")).with({{"output", "-"}}).run();
  CHECK(shapeless.status == SLUICE_ERROR_INPUT);
}

TEST_CASE("methylation_tsv keeps the contract of all stages") {
  const auto problems = sluice::testing::contract_problems(*sluice_plugin_init(nullptr, nullptr),
                                                           {{"methylation_tsv",
                                                             {.parameters = {{"output", "calls.tsv"}},
                                                              .resources = {{"reference", small_reference()}, {"model", model("6")}},
                                                              .batches = {small_reads(), small_reads()}}}});
  CHECK(problems == std::vector<std::string>{});
}

TEST_CASE("the tables of f5c and nanopolish come out byte for byte") {
  const std::string data = SLUICE_SHARED_DIR "/data/";
  struct Set {
    const char* table;
    const char* reference;
    const char* k;
    int version;
  };
  for (const Set& set : {Set{"ecoli_r9_real/expected/f5c_meth.tsv.gz", "ecoli_r9_real/draft.fa.gz", "6", 2},
                         Set{"ecoli_r9_real/expected/f5c_meth.v1.secondary.mapq0.tsv.gz", "ecoli_r9_real/draft.fa.gz", "6", 1},
                         Set{"ecoli_r9_real/expected/nanopolish_meth.tsv.gz", "ecoli_r9_real/draft.fa.gz", "6", 2},
                         Set{"ecoli_r10/expected/f5c_meth.tsv.gz", "reference/ecoli536.fa.gz", "9", 2},
                         Set{"lambda_r9/expected/f5c_meth.tsv.xz", "reference/lambda.fa", "6", 2}}) {
    const std::string table = expected_table::contents(data + set.table);
    if (table.empty()) {
      MESSAGE("skipped: no " << data << set.table);
      continue;
    }
    CAPTURE(set.table);
    int lost = 0;
    const auto reads = expected_table::reads(table, 100, lost);
    const auto result = run_stage<MethylationTable>(reads)
                            .resource("reference", expected_table::reference(expected_table::contents(data + set.reference)))
                            .resource("model", model(set.k))
                            .with({{"output", "calls.tsv"}, {"version", set.version}})
                            .run();
    REQUIRE(result.ok());
    CHECK(lost == 0);
    CHECK((result.files.at("calls.tsv") == table));
  }
}

TEST_CASE("calls go on behind an interruption") {
  const auto run = sluice::testing::run_stage(sluice::testing::stage_of(*sluice_plugin_init(nullptr, nullptr), "methylation_tsv"),
                                              std::vector{small_reads(), small_reads()})
                       .resource("reference", small_reference())
                       .resource("model", model("6"));
  CHECK(sluice::testing::resume_problems(run, {"a.tsv", "a.tsv.gz", "a.tsv.zst", "a.arrow", "a.parquet"}) == std::vector<std::string>{});
}
