// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "methylation_frequency/stage.cpp"  // the stage class has no header of its own

#include <doctest/doctest.h>

#include <limits>

#include "unit/files/methylation_writer/expected_table.hpp"

using namespace sluice::methylation_frequency;
using sluice::testing::BatchBuilder;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

TestBatch model(const std::string& k) { return BatchBuilder("kmer", 0).attribute("k", k).build(); }
TestBatch reference() { return BatchBuilder("contig", 2).text("name", {"one", "two"}).text("bases", {"AACGTTACGCGTTTAC", "TTTTTTCGAA"}).build(); }
TestBatch reads() {
  return BatchBuilder("read", 4)
      .text("read_id", {"first", "second", "third", "fourth"})
      .text("contig", {"two", "one", "one", "one"})
      .column<std::uint8_t>("is_reverse", {0, 1, 0, 0})
      .list<std::int64_t>("site_start", {{6}, {2, 7}, {2, 7}, {2}})
      .list<std::int64_t>("site_end", {{6}, {2, 9}, {2, 9}, {2}})
      .list<std::int32_t>("site_motifs", {{1}, {1, 2}, {1, 2}, {1}})
      .list<float>("log_lik_methylated", {{-10}, {-10, -10}, {-10, -13}, {0}})
      .list<float>("log_lik_unmethylated", {{-20}, {-12, -20}, {-12.5F, -10}, {-100}})
      .failed(3)
      .build();
}
// The sites as lines of f5c meth-freq, with the strand counts behind.
std::string lines_of(const Result& result) {
  std::string text;
  for (const TestBatch& batch : result.batches) {
    const auto view = batch.view();
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      const auto number = [&](const char* column) { return std::to_string(view.column<std::int64_t>(column)[static_cast<std::size_t>(row)]); };
      text += std::string(view.text("contig")[row]) + ' ' + number("start") + ' ' + number("end") + ' ' +
              std::to_string(view.column<std::int32_t>("motifs")[static_cast<std::size_t>(row)]) + ' ' + number("called_sites") + ' ' +
              number("called_sites_methylated") + ' ' + std::string(view.text("sequence")[row]) + '\n';
    }
  }
  return text;
}
auto run(std::vector<TestBatch> batches) {
  auto prepared = run_stage<MethylationFrequency>(std::move(batches));
  prepared.resource("reference", reference()).resource("model", model("3"));
  return prepared;
}

}  // namespace

TEST_CASE("calls beyond the threshold are summed over reads and strands, sorted by place") {
  const auto result = run({reads()}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(lines_of(result) ==
        "one 2 2 1 1 1 AACGT\n"
        "one 7 9 2 4 2 TACGCGT\n"
        "two 6 6 1 1 1 TTCGA\n");
  CHECK(result.counters.at("calls counted") == 4);
  CHECK(result.counters.at("calls below the threshold") == 1);
  const auto forward = result.batch().view().column<std::int64_t>("called_forward");
  CHECK(std::vector<std::int64_t>(forward.begin(), forward.end()) == std::vector<std::int64_t>{1, 2, 1});
  CHECK(result.batch().view().column<std::int64_t>("methylated_forward")[1] == 0);
}

TEST_CASE("calls that bring their sequences need neither reference nor model") {
  const auto with = [](const std::vector<std::string>& sequences) {
    TestBatch::Contents contents = reads().contents();
    contents.columns.push_back(BatchBuilder("read", 4).text("site_sequences", sequences).build().contents().columns[0]);
    return TestBatch(contents);
  };
  const auto result = run_stage<MethylationFrequency>(with({"TTCGA\n", "AACGT\nTACGCGT\n", "AACGT\nother\n", "\n"})).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(lines_of(result) == lines_of(run({reads()}).run()));
  const auto odd = run_stage<MethylationFrequency>(with({"TTCGA\n", "AACGT\n", "", ""})).run();
  CHECK(odd.message.find("read 'second': its groups and their sequences differ in number") != std::string::npos);
  const auto neither = run_stage<MethylationFrequency>(reads()).resource("model", model("3")).run();
  CHECK(neither.status == SLUICE_ERROR_USAGE);
  CHECK(neither.remedy.find("site_sequences") != std::string::npos);
}

TEST_CASE("states that are resumed together come one behind the other: the first row of all names the site") {
  const auto saved = [](std::int64_t first, const std::string& sequence) {
    TestBatch::Contents contents = reads().contents();
    contents.columns.push_back(BatchBuilder("read", 4)
                                   .text("site_sequences", {"TTCGA\n", "AACGT\n" + sequence + "\n", "AACGT\nother\n", "\n"})
                                   .build()
                                   .contents()
                                   .columns[0]);
    std::vector<sluice::testing::SavedInstance> states;
    CHECK(run_stage<MethylationFrequency>(TestBatch(contents).rows(first, 2)).saves_to(&states).run().ok());
    return states.back();
  };
  // The group is the third call of the first state, and the second one of the second.
  const auto result = run_stage<MethylationFrequency>(std::vector<TestBatch>{}).resumes({saved(0, "FIRST"), saved(1, "SECOND")}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(lines_of(result) == "one 7 9 2 4 4 FIRST\ntwo 6 6 1 1 1 TTCGA\n");
}

TEST_CASE("split groups count each CpG by itself") {
  const auto result = run({reads()}).with({{"split_groups", true}, {"call_threshold", 2}}).run();
  CHECK(lines_of(result) ==
        "one 2 2 1 2 2 AACGT\n"
        "one 7 7 1 2 1 split-group\n"
        "one 9 9 1 2 1 split-group\n"
        "two 6 6 1 1 1 TTCGA\n");
}

TEST_CASE("calls that are no numbers or have no place are in the account") {
  const TestBatch odd = BatchBuilder("read", 1)
                            .text("read_id", {"odd"})
                            .text("contig", {"one"})
                            .column<std::uint8_t>("is_reverse", {0})
                            .list<std::int64_t>("site_start", {{-5, 2, -6}})
                            .list<std::int64_t>("site_end", {{2, 2, 2}})
                            .list<std::int32_t>("site_motifs", {{1, 1, 1}})
                            .list<float>("log_lik_methylated", {{0, std::numeric_limits<float>::quiet_NaN(), 0}})
                            .list<float>("log_lik_unmethylated", {{-9, 0, -9}})
                            .build();
  const auto result = run({odd}).run();
  CHECK(result.ok());
  CHECK(result.rows() == 0);
  CHECK(result.accounts.at("invalid_site").names == std::vector<std::string>{"odd", "odd"});
  CHECK(result.accounts.at("invalid_site").count == 2);
  CHECK(result.accounts.at("not_a_number").count == 1);
  CHECK(run({reads()}).run().accounts.empty());
}

TEST_CASE("a group at either end of its contig shows what there is of the bases around it") {
  const TestBatch at_the_ends = BatchBuilder("read", 1)
                                    .text("read_id", {"ends"})
                                    .text("contig", {"one"})
                                    .column<std::uint8_t>("is_reverse", {0})
                                    .list<std::int64_t>("site_start", {{0, 6}})
                                    .list<std::int64_t>("site_end", {{0, 6}})
                                    .list<std::int32_t>("site_motifs", {{1, 1}})
                                    .list<float>("log_lik_methylated", {{0, 0}})
                                    .list<float>("log_lik_unmethylated", {{-9, -9}})
                                    .build();
  const TestBatch contig = BatchBuilder("contig", 1).text("name", {"one"}).text("bases", {"CGAATTCG"}).build();
  CHECK(lines_of(run({at_the_ends}).resource("reference", contig).run()) == "one 0 0 1 1 1 CGA\none 6 6 1 1 1 TTCG\n");
}

TEST_CASE("rows without sequences behind a saved state need reference and model") {
  std::vector<sluice::testing::SavedInstance> states;
  REQUIRE(run({reads()}).saves_to(&states).run().ok());
  const auto result = run_stage<MethylationFrequency>(reads()).resumes({states.back()}).run();
  CHECK(result.status == SLUICE_ERROR_USAGE);
  CHECK(result.message == "nothing tells the sequences of the groups");
}

TEST_CASE("sites are emitted in batches of at most 65,536") {
  const std::int64_t sites = 70'000;
  std::string bases;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < sites; ++i) {
    places.push_back(static_cast<std::int64_t>(bases.size()));
    bases += "CGAAAAAAAAAAA";
  }
  const std::vector<float> zeros(static_cast<std::size_t>(sites), 0), tens(static_cast<std::size_t>(sites), -10);
  const TestBatch read = BatchBuilder("read", 1)
                             .text("read_id", {"long"})
                             .text("contig", {"one"})
                             .column<std::uint8_t>("is_reverse", {0})
                             .list<std::int64_t>("site_start", {places})
                             .list<std::int64_t>("site_end", {places})
                             .list<std::int32_t>("site_motifs", {std::vector<std::int32_t>(static_cast<std::size_t>(sites), 1)})
                             .list<float>("log_lik_methylated", {zeros})
                             .list<float>("log_lik_unmethylated", {tens})
                             .build();
  const TestBatch one = BatchBuilder("contig", 1).text("name", {"one"}).text("bases", {bases}).build();
  const auto result = run({read}).resource("reference", one).run();
  REQUIRE(result.batches.size() == 2);
  CHECK(result.batches[0].rows() == 65'536);
  CHECK(result.rows() == sites);
}

TEST_CASE("merging the frequencies of parts of the reads gives those of all") {
  const std::vector<TestBatch> whole = {reads(), reads().rows(0, 2), reads().rows(1, 4)};
  for (const bool split : {false, true}) {
    const sluice::testing::ParameterTexts options = {{"split_groups", split}};
    std::vector<TestBatch> parts;
    for (const TestBatch& part : whole)
      for (const TestBatch& sites : run({part}).with(options).run().batches) parts.push_back(sites);
    const auto merged = run_stage<FrequencyMerge>(parts).run();
    REQUIRE_MESSAGE(merged.ok(), merged.message);
    const auto all = run(whole).with(options).run();
    CHECK(lines_of(merged) == lines_of(all));
    const auto forward = [](const Result& result) {
      const auto column = result.batch().view().column<std::int64_t>("called_forward");
      return std::vector<std::int64_t>(column.begin(), column.end());
    };
    CHECK(forward(merged) == forward(all));
  }
  CHECK(run_stage<FrequencyMerge>(std::vector<TestBatch>{}).run().rows() == 0);
  const TestBatch odd = BatchBuilder("site", 2)
                            .text("contig", {"chr1", "chr1"})
                            .column<std::int64_t>("start", {3, 4})
                            .column<std::int64_t>("end", {3, 4})
                            .column<std::int32_t>("motifs", {1, 1})
                            .column<std::int64_t>("called_sites", {-1, 1})
                            .column<std::int64_t>("called_sites_methylated", {0, 2})
                            .column<std::int64_t>("called_forward", {0, 1})
                            .column<std::int64_t>("methylated_forward", {0, 1})
                            .text("sequence", {"CG", "CG"})
                            .build();
  const sluice::testing::Account refused = run_stage<FrequencyMerge>(odd).run().accounts.at("invalid_site");
  CHECK(refused.names == std::vector<std::string>{"chr1:3", "chr1:4"});
  CHECK(refused.count == 2);
}

TEST_CASE("rows that come behind a saved state of frequency_merge do not name its sites") {
  const auto sites = [](const std::vector<std::int64_t>& start, const std::vector<std::string>& sequences) {
    const auto rows = static_cast<std::int64_t>(start.size());
    const std::vector<std::int64_t> ones(start.size(), 1);
    BatchBuilder batch("site", rows);
    batch.text("contig", std::vector<std::string>(start.size(), "chr1")).column<std::int64_t>("start", start).column<std::int64_t>("end", start);
    batch.column<std::int32_t>("motifs", std::vector<std::int32_t>(start.size(), 1)).text("sequence", sequences);
    for (const char* name : {"called_sites", "called_sites_methylated", "called_forward", "methylated_forward"})
      batch.column<std::int64_t>(name, ones);
    return batch.build();
  };
  const auto merge = run_stage<FrequencyMerge>({sites({1, 3}, {"OTHER", "FIRST"}), sites({3}, {"SECOND"})});
  CHECK(lines_of(merge.run()) == "chr1 1 1 1 1 1 OTHER\nchr1 3 3 1 2 2 FIRST\n");
  CHECK(sluice::testing::resume_problems(merge) == std::vector<std::string>{});
}

TEST_CASE("methylation_frequency keeps the contract of all stages") {
  const auto problems = sluice::testing::contract_problems(
      *sluice_plugin_init(nullptr, nullptr),
      {{"methylation_frequency", {.resources = {{"reference", reference()}, {"model", model("6")}}, .batches = {reads(), reads()}}},
       {"frequency_merge", {.batches = {run({reads()}).run().batch(), run({reads()}).run().batch()}}}});
  CHECK(problems == std::vector<std::string>{});
}

TEST_CASE("f5c's calls give f5c's frequencies") {
  const std::string data = SLUICE_SHARED_DIR "/data/";
  struct Set {
    const char* folder;
    const char* suffix;
    const char* reference;
    const char* k;
  };
  for (const Set& set : {Set{"ecoli_r9_real", "gz", "ecoli_r9_real/draft.fa.gz", "6"}, Set{"ecoli_r10", "gz", "reference/ecoli536.fa.gz", "9"}}) {
    const std::string folder = data + set.folder + "/expected/";
    const std::string calls = expected_table::contents(folder + "f5c_meth.tsv.gz");
    if (calls.empty()) {
      MESSAGE("skipped: no " << folder << "f5c_meth.tsv.gz");
      continue;
    }
    CAPTURE(set.folder);
    int lost = 0;
    const auto rows = expected_table::reads(calls, 50, lost);
    CHECK(lost == 0);
    for (const bool split : {false, true}) {
      const auto result = run(rows)
                              .resource("reference", expected_table::reference(expected_table::contents(data + set.reference)))
                              .resource("model", model(set.k))
                              .with({{"split_groups", split}})
                              .run();
      REQUIRE_MESSAGE(result.ok(), result.message);
      std::string expected;
      const auto lines = expected_table::lines(expected_table::contents(folder + (split ? "f5c_freq_split.tsv.gz" : "f5c_freq.tsv.gz")));
      for (std::size_t i = 1; i < lines.size(); ++i) {
        const auto f = expected_table::fields(lines[i]);
        expected += f[0] + ' ' + f[1] + ' ' + f[2] + ' ' + f[3] + ' ' + f[4] + ' ' + f[5] + ' ' + f[7] + '\n';
      }
      CHECK((lines_of(result) == expected));
    }
  }
}
