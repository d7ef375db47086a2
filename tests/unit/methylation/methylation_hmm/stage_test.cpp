// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "methylation_hmm/stage.cpp"  // the stage class has no header of its own

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::methylation_hmm;
using sluice::testing::BatchBuilder;
using sluice::testing::FailedRow;
using sluice::testing::ParameterTexts;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

constexpr std::uint32_t k = 4;
constexpr float scale = 1.1F, shift = 3.0F, var = 1.2F;

struct Levels {
  std::vector<float> mean, stdv, log_stdv;
  Levels() {
    std::mt19937 random(8);
    for (std::size_t rank = 0; rank < kmer_count(Alphabet::methylation, k); ++rank) {
      mean.push_back(60.0F + static_cast<float>(random() % 60'000) / 1000);
      stdv.push_back(1.0F + static_cast<float>(random() % 1000) / 1000);
      log_stdv.push_back(std::log(stdv.back()));
    }
  }
  KmerModelView view() const {
    return {.k = k, .alphabet = Alphabet::methylation, .level_mean = mean, .level_stdv = stdv, .log_level_stdv = log_stdv};
  }
};
const Levels levels;

TestBatch model(const char* alphabet = "methylation") {
  const std::size_t rows = std::string_view(alphabet) == "methylation" ? levels.mean.size() : kmer_count(Alphabet::nucleotide, k);
  const auto first = [&](const std::vector<float>& column) {
    return std::vector<float>(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(rows));
  };
  return BatchBuilder("kmer", static_cast<std::int64_t>(rows))
      .column<float>("level_mean", first(levels.mean))
      .column<float>("level_stdv", first(levels.stdv))
      .column<float>("log_level_stdv", first(levels.log_stdv))
      .attribute("k", std::to_string(k))
      .attribute("alphabet", alphabet)
      .build();
}

// 120 bases with a CpG at 40 and a group of two at 80 and 86.
std::string contig() {
  std::mt19937 random(9);
  std::string bases;
  for (int i = 0; i < 120; ++i) bases += "ACT"[random() % 3];
  for (const std::size_t site : {40U, 80U, 86U}) bases.replace(site, 2, "CG");
  return bases;
}
TestBatch reference() { return BatchBuilder("contig", 2).text("name", {"other", "one"}).text("bases", {"ACGT", contig()}).build(); }

std::string reverse_complement(std::string bases) {
  std::ranges::reverse(bases);
  for (char& base : bases) base = base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : 'A';
  return bases;
}

struct Row {
  bool is_reverse = false, is_methylated = false;
  std::string name = "one";
  std::int64_t start = 0, end = 120;
  std::vector<std::uint32_t> cigar = {120U << 4U};
  float of_scale = scale;
  bool is_degenerate = false;
  std::size_t map_size = 120 - k + 1;
};
// Reads of the whole contig, with an event per k-mer at its level.
TestBatch reads(const std::vector<Row>& rows) {
  std::vector<std::string> names, bases;
  std::vector<std::int64_t> start, end;
  std::vector<std::uint8_t> is_reverse;
  std::vector<std::vector<std::uint32_t>> cigar;
  std::vector<std::vector<float>> events;
  std::vector<std::vector<std::int32_t>> first;
  std::vector<float> scales;
  for (const Row& row : rows) {
    bases.push_back(row.is_reverse ? reverse_complement(contig()) : contig());
    std::string truth = bases.back();
    if (row.is_methylated)
      for (std::size_t at = truth.find("CG"); at != std::string::npos; at = truth.find("CG", at)) truth[at] = 'M';
    events.emplace_back(), first.emplace_back();
    for (std::size_t i = 0; i + k <= truth.size(); ++i)
      events.back().push_back(scale * levels.mean[kmer_rank(Alphabet::methylation, std::string_view(truth).substr(i, k))] + shift);
    for (std::size_t i = 0; i < row.map_size; ++i) first.back().push_back(row.is_degenerate ? 5 : static_cast<std::int32_t>(i));
    names.push_back(row.name), start.push_back(row.start), end.push_back(row.end), is_reverse.push_back(row.is_reverse ? 1 : 0);
    cigar.push_back(row.cigar), scales.push_back(row.of_scale);
  }
  const auto all = [&](float value) { return std::vector<float>(rows.size(), value); };
  return BatchBuilder("read", std::ssize(rows))
      .text("contig", names)
      .column<std::int64_t>("ref_start", start)
      .column<std::int64_t>("ref_end", end)
      .column<std::uint8_t>("is_reverse", is_reverse)
      .list<std::uint32_t>("cigar", cigar)
      .text("bases", bases)
      .list<float>("event_mean", events)
      .list<std::int32_t>("first_event", first)
      .column<double>("events_per_base", std::vector<double>(rows.size(), 1.25))
      .column<float>("shift", all(shift))
      .column<float>("scale", scales)
      .column<float>("var", all(var))
      .column<float>("log_var", all(std::log(var)))
      .build();
}
Result called(const std::vector<Row>& rows, const ParameterTexts& parameters = {}) {
  Result result = run_stage<MethylationHmm>(reads(rows)).resource("reference", reference()).resource("model", model()).with(parameters).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  return result;
}
// START-END/SITES of each group of a row.
std::string groups_of(const Result& result, std::int64_t row = 0) {
  const Batch rows = result.batch().view();
  std::string text;
  for (std::size_t i = 0; i < rows.list<std::int64_t>("site_start")[row].size(); ++i)
    text += (text.empty() ? "" : " ") + std::to_string(rows.list<std::int64_t>("site_start")[row][i]) + "-" +
            std::to_string(rows.list<std::int64_t>("site_end")[row][i]) + "/" + std::to_string(rows.list<std::int32_t>("site_motifs")[row][i]);
  return text;
}

}  // namespace

TEST_CASE("methylated and unmethylated reads of both strands are told apart, group by group") {
  const std::vector<Row> rows = {{false, false}, {false, true}, {true, false}, {true, true}};
  const Result result = called(rows);
  CHECK(result.failed.empty());
  CHECK(result.counters.at("groups_called") == 8);
  const Batch batch = result.batch().view();
  for (std::int64_t row = 0; row < 4; ++row) {
    CAPTURE(row);
    CHECK(groups_of(result, row) == "40-40/1 80-86/2");
    for (std::size_t group = 0; group < 2; ++group) {
      const float methylated = batch.list<float>("log_lik_methylated")[row][group],
                  unmethylated = batch.list<float>("log_lik_unmethylated")[row][group];
      CHECK((methylated > unmethylated + 5) == rows[static_cast<std::size_t>(row)].is_methylated);
      CHECK((unmethylated > methylated + 5) == !rows[static_cast<std::size_t>(row)].is_methylated);
    }
  }
}

TEST_CASE("the scores of the stage are those of the recurrence, with the events and the scaling of each read") {
  const std::vector<Row> rows = {{false, true}, {true, false}};
  const Result result = called(rows);
  const Batch batch = result.batch().view();
  const std::string bases = contig();
  std::vector<ReadSignal> signals;
  for (std::int64_t row = 0; row < 2; ++row)
    signals.push_back({batch.list<float>("event_mean")[row], scale, shift, var, std::log(var), 1.25, row == 0 ? Strand::forward : Strand::reverse});
  // From ten bases before the first site to ten and a motif behind the last one; an event per base, on the reverse strand from the other end.
  const auto problem = [&](std::uint32_t read, std::int64_t first, std::int64_t last) {
    const std::int64_t begin = first - 10, end = last + 10;
    const auto at = [&](std::int64_t base) { return static_cast<std::int32_t>(read == 0 ? base : 120 - base - static_cast<std::int64_t>(k)); };
    return GroupProblem{read, at(begin), at(end),
                        std::string_view(bases).substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin + 1))};
  };
  const std::vector<GroupProblem> problems = {problem(0, 40, 40), problem(0, 80, 86), problem(1, 40, 40), problem(1, 80, 86)};
  std::vector<GroupScore> scores(4);
  REQUIRE(score_groups_reference(signals, problems, levels.view(), parse_motif("cpg"), EventsPerBase::raised, scores));
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(batch.list<float>("log_lik_methylated")[static_cast<std::int64_t>(i / 2)][i % 2] == scores[i].methylated);
    CHECK(batch.list<float>("log_lik_unmethylated")[static_cast<std::int64_t>(i / 2)][i % 2] == scores[i].unmethylated);
  }
}

TEST_CASE("a region takes the groups that lie in it, from its first base to its last") {
  const auto in = [](const char* region) { return groups_of(called({{}}, {{"region", region}})); };
  CHECK(in("one") == "40-40/1 80-86/2");
  CHECK(in("one:41-41") == "40-40/1");
  CHECK(in("one:42-120") == "80-86/2");
  CHECK(in("one:81-87") == "80-86/2");
  CHECK(in("one:81-86").empty());
  CHECK(in("one:82-87").empty());
  CHECK(in("other").empty());
}

TEST_CASE("a record that can't be called fails for its reason, and the others stay") {
  Row nowhere, behind, before, spliced, odd, wrong_map, at_the_end, degenerate;
  nowhere.name = "none";
  behind.end = 121;
  before.start = -1;
  spliced.cigar = {60U << 4U, 5U << 4U | 3U, 60U << 4U};
  odd.cigar = {119U << 4U, 1U << 4U | 9U};
  wrong_map.map_size = 100;
  at_the_end.end = 2, at_the_end.cigar = {118U << 4U | 4U, 2U << 4U};
  degenerate.is_degenerate = true;
  const Result result = called({nowhere, behind, before, spliced, odd, wrong_map, {}, degenerate, at_the_end});
  CHECK(result.failed == std::vector<FailedRow>{{0, 0, "contig_not_in_reference"},
                                                {0, 1, "outside_contig"},
                                                {0, 2, "outside_contig"},
                                                {0, 3, "reference_skip"},
                                                {0, 4, "bad_cigar"},
                                                {0, 5, "bad_base_to_event_map"},
                                                {0, 7, "degenerate"},
                                                {0, 8, "no_aligned_events"}});
  CHECK(groups_of(result, 6) == "40-40/1 80-86/2");
}

TEST_CASE("groups that have no score are counted and no calls, but for those who want f5c's") {
  Row broken;
  broken.of_scale = std::numeric_limits<float>::infinity();
  const Result without = called({broken, {}});
  CHECK(groups_of(without, 0).empty());
  CHECK(groups_of(without, 1) == "40-40/1 80-86/2");
  CHECK(without.counters.at("groups_not_scored") == 2);
  CHECK(without.counters.at("groups_called") == 2);
  const Result compat = called({broken, {}}, {{"compat", "f5c"}});
  CHECK(groups_of(compat, 0) == "40-40/1 80-86/2");
  CHECK(!compat.counters.contains("groups_not_scored"));
}

TEST_CASE("models and regions that do not fit are refused") {
  const auto problem = [](const TestBatch& given, const ParameterTexts& parameters) {
    return run_stage<MethylationHmm>(reads({{}})).resource("reference", reference()).resource("model", given).with(parameters).run().message;
  };
  CHECK(problem(model("nucleotide"), {}) == "the model has no methylated bases (M)");
  CHECK(problem(model(), {{"region", "none:1-5"}}).find("none") != std::string::npos);
  CHECK(!problem(model(), {{"motif", "C:7:m"}}).empty());
}

TEST_CASE("methylation_hmm keeps the contract of all stages") {
  const auto problems = sluice::testing::contract_problems(*sluice_plugin_init(nullptr, nullptr),
                                                           {{"methylation_hmm",
                                                             {.resources = {{"reference", reference()}, {"model", model()}},
                                                              .batches = {reads({{false, false}, {true, true}}), reads({{false, true}})}}}});
  CHECK(problems == std::vector<std::string>{});
}
