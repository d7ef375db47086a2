// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <fstream>
#include <random>

#include "modification_pileup/stage.cpp"  // the plugin itself
#include "unit/methylation/modification_pileup/brute_force.hpp"
#include "unit/methylation/modification_pileup/stage_fixture.hpp"

using namespace fixture;
using modbam::Record;

namespace {

struct Sample {
  Contigs contigs;
  std::vector<Record> records;  // sorted by contig and position
};
Sample sample(std::uint64_t seed, std::size_t records, std::size_t longest = 1500) {
  modbam::Generator generator(seed);
  Sample made{.contigs = {{"chr2", generator.contig(600)}, {"chr1", generator.contig(longest)}}, .records = {}};
  for (std::size_t i = 0; i < records; ++i) {
    const auto& [name, bases] = made.contigs[i * 3 < records ? 0 : 1];
    made.records.push_back(generator.record("read" + std::to_string(i), name, bases));
  }
  std::stable_sort(made.records.begin(), made.records.end(),
                   [](const Record& a, const Record& b) { return a.contig != b.contig ? a.contig > b.contig : a.position < b.position; });
  return made;
}
std::string run(const Sample& sample, const Settings& settings) {
  const Result calls = calls_of(sample.records, settings);
  REQUIRE_MESSAGE(calls.ok(), calls.message);
  for (const auto& failed : calls.failed) CHECK(failed.reason == "hard_clipped");
  const Result rows = pileup_of(calls.batches, sample.contigs, settings);
  REQUIRE_MESSAGE(rows.ok(), rows.message);
  return lines_of(rows, settings.calls.contains("partition"));
}
std::size_t lines(const std::string& text) { return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')); }

}  // namespace

TEST_CASE("counts are those of a count base by base, for the tags of any program") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    const Sample reads = sample(seed, 20 + 20 * static_cast<std::size_t>(seed), seed % 3 == 0 ? 5000 : 1500);
    const auto same = [&](const brute_force::Rules& rules, Settings settings) {
      settings.calls.emplace("filter_threshold", rules.threshold);
      if (rules.partition != "none") settings.calls.emplace("partition", rules.partition);
      const std::string expected = brute_force::pileup(reads.records, reads.contigs, rules);
      CHECK(lines(expected) > 50);
      CHECK((run(reads, settings) == expected));
    };
    same({}, {});
    same({.threshold = 0}, {.threads = 3});
    same({.reference_bases = true}, {.pileup = {{"reference_bases", true}}, .rows_per_batch = 1});
    same({.cpg = true}, {.pileup = {{"cpg", true}}, .rows_per_batch = 1000});
    same({.threshold = 0.6, .cpg = true, .combine_strands = true}, {.pileup = {{"cpg", true}, {"combine_strands", true}}, .rows_per_batch = 3});
    same({.threshold = 0.5, .partition = "hp"}, {});
    same({.threshold = 0.5, .cpg = true, .combine_strands = true, .partition = "rg"}, {.pileup = {{"cpg", true}, {"combine_strands", true}}});
  }
}

TEST_CASE("several motifs, motifs that overlap themselves, and strands of motifs together are those of a count base by base") {
  struct Run {
    brute_force::Rules rules;
    sluice::testing::ParameterTexts options;
  };
  for (std::uint64_t seed = 20; seed < 26; ++seed) {
    CAPTURE(seed);
    const Sample reads = sample(seed, 60 + 20 * static_cast<std::size_t>(seed % 3), seed % 2 == 0 ? 5000 : 1500);
    for (const Run& run_of : {Run{{.motifs = {{"DRACH", 2}}}, {{"motif", "DRACH:2:a"}}}, Run{{.motifs = {{"CHH", 0}}}, {{"motif", "CHH:0:m"}}},
                              Run{{.motifs = {{"GCGC", 1}}}, {{"motif", "GCGC:1:m"}}},
                              Run{{.combine_strands = true, .motifs = {{"GCGC", 1}}}, {{"motif", "GCGC:1:m"}, {"combine_strands", true}}},
                              Run{{.combine_strands = true, .motifs = {{"GCGC", 3}}}, {{"motif", "GCGC:3:m"}, {"combine_strands", true}}},
                              Run{{.cpg = true, .motifs = {{"CHH", 0}, {"CHG", 0}, {"A", 0}}}, {{"cpg", true}, {"motif", "CHH:0:m,A:0:a,CHG:0:m"}}},
                              Run{{.cpg = true, .combine_strands = true, .motifs = {{"GC", 1}, {"WCGW", 1}, {"GCGC", 3}, {"GATC", 1}}},
                                  {{"cpg", true}, {"motif", "gpc,WCGW:1:m,GCGC:3:m,dam"}, {"combine_strands", true}}}}) {
      const std::string expected = brute_force::pileup(reads.records, reads.contigs, run_of.rules);
      CAPTURE(run_of.rules.motifs.front().letters);
      CHECK(lines(expected) > 5);
      for (const std::size_t rows_per_batch : {std::size_t{7}, std::size_t{1}})
        CHECK((run(reads, {.pileup = run_of.options, .rows_per_batch = rows_per_batch}) == expected));
    }
  }
}

TEST_CASE("codes that are ignored, ends of reads, codes together and regions of a BED are those of a count base by base") {
  const sluice::testing::TemporaryFolder folder;
  const std::string bed = folder.path() + "/some.bed";
  std::ofstream(bed) << "chr1\t100\t400\tx\t0\t+\nchr1\t390\t900\nchr1\t1020\t1030\ty\t0\t-\nchr2\t50\t60\nchr9\t1\t2\n";
  const std::vector<brute_force::Region> regions = {{"chr1", 100, 400, '+'}, {"chr1", 390, 900}, {"chr1", 1020, 1030, '-'}, {"chr2", 50, 60}};
  struct Run {
    brute_force::Rules rules;
    sluice::testing::ParameterTexts calls, pileup;
  };
  for (std::uint64_t seed = 30; seed < 36; ++seed) {
    CAPTURE(seed);
    const Sample reads = sample(seed, 100);
    for (const Run& run_of :
         {Run{{.ignored = {"h"}}, {{"ignore", "h"}}, {}}, Run{{.threshold = 0.625, .ignored = {"m", "76792", "x"}}, {{"ignore", "m,76792,x"}}, {}},
          Run{{.edge_start = 30, .edge_end = 30}, {{"edge_filter", "30"}}, {}},
          Run{{.edge_start = 4, .edge_end = 200}, {{"edge_filter", "4,200"}}, {}}, Run{{.combine_mods = true}, {}, {{"combine_mods", true}}},
          Run{{.included = regions}, {}, {{"include_bed", bed}}},
          Run{{.threshold = 0.5, .cpg = true, .combine_strands = true, .included = regions, .ignored = {"h"}, .edge_start = 10, .combine_mods = true},
              {{"ignore", "h"}, {"edge_filter", "10,0"}},
              {{"cpg", true}, {"combine_strands", true}, {"combine_mods", true}, {"include_bed", bed}}}}) {
      const std::string expected = brute_force::pileup(reads.records, reads.contigs, run_of.rules);
      CHECK(lines(expected) > 5);
      sluice::testing::ParameterTexts calls = run_of.calls;
      calls.emplace("filter_threshold", run_of.rules.threshold);
      CHECK((run(reads, {.calls = calls, .pileup = run_of.pileup}) == expected));
    }
  }
}

TEST_CASE("what is no list of codes, and no number of bases, is refused") {
  CallRules rules;
  CHECK(parse_ignored("h,76792", rules));
  CHECK(rules.ignored == std::vector<ModificationCode>{-76792, 'h'});
  for (const char* wrong : {"5hmC", ",", "h,", "h m", "-5", "0"}) CHECK_FALSE(parse_ignored(wrong, rules));
  CHECK(parse_edges("4,8", rules));
  CHECK(rules.edge_start == 4);
  CHECK(rules.edge_end == 8);
  for (const char* wrong : {"x", "4,", ",4", "4,8,9", "-1", "1.5"}) CHECK_FALSE(parse_edges(wrong, rules));
}

TEST_CASE("thresholds of single bases hold for these bases") {
  const Sample reads = sample(5, 60);
  CHECK((run(reads, {.calls = {{"filter_threshold", "0.9"}}}) == run(reads, {.calls = {{"filter_threshold", "0,A:0.9,C:0.9,G:0.9,T:0.9"}}})));
  CHECK((run(reads, {.calls = {{"filter_threshold", "0.9"}}}) != run(reads, {.calls = {{"filter_threshold", "0.9,C:0.5"}}})));
  CHECK(parse_thresholds("C:0.9,0.75")->least == parse_thresholds("0.75,C:0.9")->least);
  CHECK(parse_thresholds("C:0.9,0.75")->least[1] == 461);
  for (const char* wrong : {"", "high", "1.5", "-0.1", "0.5,", "X:0.5", "C:", "C:0.5;A:1", "nan", "C:0.5,C:0.6", "0.5,0.6", "0.5,C:0.6,0.5"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_thresholds(wrong));
  }
}

TEST_CASE("reads may come in any order, if that is said") {
  Sample reads = sample(7, 90);
  const std::string sorted = run(reads, {});
  std::swap(reads.records[50], reads.records[80]);
  const Result calls = calls_of(reads.records);
  const Result refused = pileup_of(calls.batches, reads.contigs);
  CHECK(refused.message.find("not sorted by position") != std::string::npos);
  CHECK(refused.remedy.find("samtools sort") != std::string::npos);
  CHECK((run(reads, {.pileup = {{"any_order", true}}}) == sorted));
  std::swap(reads.records[0], reads.records[1]);
  reads.records.push_back(reads.records.front());  // back on the first contig
  reads.records.erase(reads.records.begin());
  CHECK(pileup_of(calls_of({reads.records}).batches, reads.contigs).message.find("not sorted") != std::string::npos);
  CHECK((run(reads, {.pileup = {{"any_order", true}}}) == sorted));
}

TEST_CASE("a region has the rows of the whole run inside it") {
  const Sample reads = sample(9, 90);
  const std::string all = run(reads, {});
  for (const auto& [name, begin, end] : {std::tuple<const char*, long, long>{"chr1:201-700", 200, 700},
                                         {"chr1:900", 899, 1 << 30},
                                         {"{chr1}:-300", 0, 300},
                                         {"{chr1}", 0, 1 << 30},
                                         {"chr1", 0, 1 << 30},
                                         {"chr1:1,000-1,100", 999, 1100}}) {
    const char* const region = name;
    CAPTURE(region);
    std::string expected;
    for (const std::string& line : brute_force::split(all, '\n'))
      if (const auto fields = brute_force::split(line, '\t'); fields[0] == "chr1" && std::stol(fields[1]) >= begin && std::stol(fields[1]) < end)
        expected += line + "\n";
    CHECK(!expected.empty());
    CHECK((run(reads, {.pileup = {{"region", region}}}) == expected));
  }
}

TEST_CASE("more mixtures of calls than are remembered, and more partitions than anybody has") {
  SlotTable table;
  std::vector<std::vector<std::int32_t>> kinds;
  for (std::int32_t i = 0; i < 6000; ++i) kinds.push_back({1, i % 2 - 1, 1, 'm', i % 4, CallKinds::failed, 2, 1 + i % 7, 100 + i / 7});
  std::vector<std::vector<std::uint32_t>> first;
  const auto slots = [&](std::size_t i) { return *table.slots_of({.kinds = kinds[i]}, Strand::forward); };
  for (std::size_t i = 0; i < kinds.size(); ++i) first.push_back(slots(i));
  for (std::size_t i = 0; i < kinds.size(); ++i) REQUIRE(slots(i) == first[i]);
  CHECK(first[0].size() == state_call + 2);
  CHECK(first[0] != first[1]);
  const auto name_partitions = [&] {
    for (int i = 0; i < 1100; ++i) table.slots_of({.partition = "group " + std::to_string(i)}, Strand::reverse);
  };
  CHECK_THROWS_WITH(name_partitions(), "more than 1000 partitions, the last one 'group 999'");
  for (const std::vector<std::int32_t>& wrong :
       std::vector<std::vector<std::int32_t>>{{1}, {4, 0, 1, 'm'}, {1, 1, 1, 'm'}, {1, -3, 1, 'm'}, {1, 0, 0}, {1, 0, 2, 'm'}})
    CHECK_THROWS(table.slots_of({.kinds = wrong}, Strand::forward));
}

TEST_CASE("without a reference there are rows wherever there are calls, and no CpGs") {
  const Sample reads = sample(3, 40);
  const Result calls = calls_of(reads.records);
  CHECK((lines_of(pileup_of(calls.batches, {}), false) == run(reads, {})));
  CHECK(pileup_of(calls.batches, {}, {.pileup = {{"cpg", true}}}).remedy == "give the reference");
  CHECK(pileup_of(calls.batches, {{"chr9", "ACGT"}}, {.pileup = {{"cpg", true}}}).message.find("contig 'chr2' is not in the reference") !=
        std::string::npos);
  CHECK(pileup_of(calls.batches, reads.contigs, {.pileup = {{"combine_strands", true}}}).remedy == "give cpg or motif, too");
}

TEST_CASE("modification_pileup keeps the contract of all stages") {
  const Sample reads = sample(2, 16);
  const Result calls = calls_of(reads.records);
  const auto problems = sluice::testing::contract_problems(
      *sluice_plugin_init(nullptr, nullptr),
      {{"modification_calls", {.batches = batches(reads.records, 8)}},
       {"modified_bases", {.batches = batches(reads.records, 8)}},
       {"modification_pileup", {.resources = {{"reference", reference(reads.contigs)}}, .batches = calls.batches}}});
  CHECK(problems == std::vector<std::string>{});
  // Parts of the reads are summed where all positions are kept to the end, and refused where they are not.
  const auto run = sluice::testing::run_stage(sluice::testing::stage_of(*sluice_plugin_init(nullptr, nullptr), "modification_pileup"), calls.batches)
                       .resource("reference", reference(reads.contigs));
  CHECK(sluice::testing::StageRun(run).part(0, 2).run().remedy.find("any_order") != std::string::npos);
  CHECK(sluice::testing::resume_problems(sluice::testing::StageRun(run).with({{"any_order", true}})) == std::vector<std::string>{});
  CHECK(sluice::testing::resume_problems(sluice::testing::StageRun(run).with({{"cpg", true}, {"combine_strands", true}})) ==
        std::vector<std::string>{});
}

TEST_CASE("regions that lie over each other are the same positions as one by one") {
  std::mt19937 random(9);
  for (int round = 0; round < 50; ++round) {
    std::vector<sluice::TableRegion> regions;
    for (int i = 0; i < 12; ++i) {
      const auto start = static_cast<std::int64_t>(random() % 60);
      regions.push_back({random() % 3 == 0 ? "b" : "a", "", start, start + 1 + static_cast<std::int64_t>(random() % 20),
                         static_cast<sluice::RegionStrand>(random() % 3)});
    }
    const sluice::RegionIndex merged = merged_regions(regions);
    for (const char* contig : {"a", "b", "c"})
      for (std::int64_t position = 0; position < 90; ++position)
        for (const bool is_reverse : {false, true}) {
          const bool expected = std::any_of(regions.begin(), regions.end(), [&](const sluice::TableRegion& region) {
            return region.contig == contig && region.start <= position && position < region.end &&
                   region.strand != (is_reverse ? sluice::RegionStrand::forward : sluice::RegionStrand::reverse);
          });
          if (is_included(merged, contig, position, is_reverse) != expected) FAIL_CHECK(contig << ":" << position);
        }
  }
}
