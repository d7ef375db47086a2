// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <hwy/targets.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sluice/testing.hpp>
#include <sluice/testing/kept_memory.hpp>
#include <string>
#include <vector>

#include "window_cutting/stretches.hpp"

using namespace sluice;
using namespace sluice::testing;

namespace {

const sluice_plugin_info& plugin(const std::string& name) { return *load_plugin(SLUICE_PLUGIN_DIR "/" + name + ".so"); }
StageUnderTest stage(const std::string& id) { return stage_of(plugin("window_cutting"), id); }
TestBatch store(const std::string& text, const std::string& memory = "0") {
  const auto path = std::filesystem::temp_directory_path() / ("sluice_window_test." + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << text;
  const TestBatch batch =
      StageRun(stage_of(plugin("sequence_store"), "sequence_store"), {}).with({{"path", path.string()}, {"memory", memory}}).run().batch();
  std::filesystem::remove(path);  // the store keeps it open
  return batch;
}

constexpr std::uint32_t match(std::uint32_t length) { return length << 4U; }

// Two targets of 25 and 12 bases; overlaps without gaps, each of the read of its number. The second and third come in another order than in their
// file, the fourth is of a reverse strand.
const std::string targets = ">t\nAAAAAAAAAACCCCCCCCCCGGGGG\n>u\nTTTTTTTTTTTT\n";
const std::string reads =
    "@r0\nAAAAAAAAAACCCCCCCCCC\n+\n!!!!!!!!!!!!!!!!!!!!\n@r1\nGGAAAAAAAACCCC\n+\n##IIIIIIIIIIII\n@r2\nCCCCCCCCGGGGG\n+\n!!!!!!!!IIIII\n"
    "@r3\nAAAAAAAAAAAA\n+\nIIIIIIIIIIII\n@r4\nTTTTTTTTTT\n+\n!!!!!!!!!!\n";
TestBatch overlaps() {
  return BatchBuilder("overlap", 5)
      .column<std::int64_t>("target_index", {0, 0, 0, 1, 1})
      .column<std::int64_t>("target_start", {0, 2, 12, 0, 1})
      .column<std::int64_t>("target_end", {20, 14, 25, 12, 11})
      .column<std::int64_t>("query_index", {0, 1, 2, 3, 4})
      .column<std::int64_t>("query_start", {0, 2, 0, 0, 0})
      .column<std::int64_t>("query_end", {20, 14, 13, 12, 10})
      .column<std::uint8_t>("is_reverse", {0, 0, 0, 1, 0})
      .column<std::int64_t>("overlap_index", {0, 7, 3, 4, 5})
      .column<std::int64_t>("target_overlaps", {3, 3, 3, 2, 2})
      .text("query_qualities", {"", "IIIIIIIIIIII", "!!!!!!!!IIIII", "IIIIIIIIIIII", ""})
      .list<std::uint32_t>("cigar", {{match(20)}, {match(12)}, {match(13)}, {match(12)}, {match(10)}})
      .build();
}
TestBatch layers(const ParameterTexts& parameters = {{"window_length", 10}}) {
  return run_stage(stage("layer_cutting"), overlaps()).with(parameters).resource("targets", store(targets)).run().batch();
}
TestBatch places(const TestBatch& cut = layers()) {
  return run_stage(stage("window_cutting"), cut).with({{"window_length", 10}}).resource("targets", store(targets)).run().batch();
}

std::string random_bases(std::size_t length, std::mt19937& random) {
  std::string bases(length, 'A');
  for (char& base : bases) base = "ACGT"[random() % 4];
  return bases;
}

}  // namespace

TEST_CASE("windows with two layers and each target's last one are given") {
  const Result result = run_stage(stage("window_sequences"), places()).resource("targets", store(targets)).resource("reads", store(reads)).run();
  CHECK(result.ok());
  CHECK(result.problems.empty());
  const Batch windows = result.batch().view();
  REQUIRE(windows.rows() == 5);
  const auto index = windows.column<std::int64_t>("window_index");
  CHECK(std::vector<std::int64_t>(index.begin(), index.end()) == std::vector<std::int64_t>{0, 1, 2, 0, 1});
  const auto sequences = windows.text("sequences");
  const auto qualities = windows.text("sequence_qualities");
  CHECK(sequences[0] ==
        "AAAAAAAAAA"
        "AAAAAAAAAA"
        "AAAAAAAA");
  CHECK(qualities[0] ==
        "!!!!!!!!!!"
        "\"\"\"\"\"\"\"\"\"\""
        "IIIIIIII");
  const auto begin = windows.list<std::int32_t>("layer_begin")[0];
  const auto end = windows.list<std::int32_t>("layer_end")[0];
  CHECK(std::vector<std::int32_t>(begin.begin(), begin.end()) == std::vector<std::int32_t>{0, 0, 2});
  CHECK(std::vector<std::int32_t>(end.begin(), end.end()) == std::vector<std::int32_t>{9, 9, 9});
  // The third overlap's part here has too low a quality.
  CHECK(sequences[1] ==
        "CCCCCCCCCC"
        "CCCCCCCCCC"
        "CCCC");
  CHECK(sequences[2] ==
        "GGGGG"
        "GGGGG");
  CHECK(windows.column<std::int64_t>("target_overlaps")[2] == 3);
  CHECK(sequences[3] ==
        "TTTTTTTTTT"
        "TTTTTTTTTT"
        "TTTTTTTTT");
  // One base of the last overlap is no layer.
  CHECK(sequences[4] ==
        "TT"
        "TT");
  CHECK(windows.text("window_name")[4] == "u");
}

TEST_CASE("layers are in the order of their file") {
  const TestBatch batch = places(layers({{"window_length", 10}, {"min_quality", 0}}));
  const auto begin = batch.view().list<std::int32_t>("layer_begin")[1];
  CHECK(std::vector<std::int32_t>(begin.begin(), begin.end()) == std::vector<std::int32_t>{0, 0, 2, 0});
}

TEST_CASE("what is left out of the layers is counted") {
  const Result result = run_stage(stage("layer_cutting"), overlaps()).with({{"window_length", 10}}).resource("targets", store(targets)).run();
  CHECK(result.counters.at("layers of low quality") == 1);
  CHECK(result.counters.at("layers too short") == 0);
}

TEST_CASE("a layer with fewer bases than a fiftieth of a window is too short") {
  const TestBatch short_ones = BatchBuilder("overlap", 2)
                                   .column<std::int64_t>("target_index", {0, 0})
                                   .column<std::int64_t>("target_start", {0, 0})
                                   .column<std::int64_t>("target_end", {2, 3})
                                   .column<std::int64_t>("query_start", {0, 0})
                                   .column<std::int64_t>("query_end", {2, 3})
                                   .column<std::uint8_t>("is_reverse", {0, 0})
                                   .text("query_qualities", {"", ""})
                                   .list<std::uint32_t>("cigar", {{match(2)}, {match(3)}})
                                   .build();
  const auto too_short = [&](int window_length) {
    return run_stage(stage("layer_cutting"), short_ones)
        .with({{"window_length", window_length}})
        .resource("targets", store(targets))
        .run()
        .counters.at("layers too short");
  };
  CHECK(too_short(100) == 0);
  CHECK(too_short(101) == 1);
  CHECK(too_short(150) == 1);
  CHECK(too_short(151) == 2);
}

TEST_CASE("an overlap that does not fit fails and the others stay") {
  const TestBatch bad = BatchBuilder("overlap", 3)
                            .column<std::int64_t>("target_index", {0, 0, 0})
                            .column<std::int64_t>("target_start", {0, 0, 0})
                            .column<std::int64_t>("target_end", {20, 26, 20})
                            .column<std::int64_t>("query_start", {0, 0, 0})
                            .column<std::int64_t>("query_end", {4, 26, 20})
                            .column<std::uint8_t>("is_reverse", {0, 0, 0})
                            .text("query_qualities", {"", "", ""})
                            .list<std::uint32_t>("cigar", {{match(20)}, {match(26)}, {match(20)}})
                            .build();
  const Result result = run_stage(stage("layer_cutting"), bad).with({{"window_length", 10}}).resource("targets", store(targets)).run();
  CHECK(result.ok());
  CHECK(result.failed == std::vector<FailedRow>{{0, 0, "bad_alignment"}, {0, 1, "bad_alignment"}});
  CHECK(result.batch().view().list<std::int32_t>("layer_query_end")[2].size() == 2);
}

TEST_CASE("overlaps in another order, and layers of other windows, are refused") {
  const auto run = [](std::vector<TestBatch> batches) {
    return StageRun(stage("window_cutting"), std::move(batches)).with({{"window_length", 10}}).resource("targets", store(targets)).run();
  };
  const TestBatch all = layers();
  const Result order = run({all.rows(3, 5), all.rows(0, 3).with_sequence(1)});
  CHECK(!order.ok());
  CHECK(order.message.find("order of their targets") != std::string::npos);
  const Result longer = run({layers({{"window_length", 20}})});
  CHECK(!longer.ok());
  CHECK(longer.remedy.find("window_length") != std::string::npos);
}

TEST_CASE("a batch has some hundred windows, where there are so many") {
  std::mt19937 random(3);
  const TestBatch target = store(">t\n" + random_bases(100000, random) + "\n");
  const std::int64_t reads_of_target = 3;
  const auto all = [](std::int64_t value) { return std::vector<std::int64_t>(reads_of_target, value); };
  const auto whole = BatchBuilder("overlap", reads_of_target)
                         .column<std::int64_t>("target_index", all(0))
                         .column<std::int64_t>("target_start", all(0))
                         .column<std::int64_t>("target_end", all(100000))
                         .column<std::int64_t>("query_index", all(0))
                         .column<std::int64_t>("query_start", all(0))
                         .column<std::int64_t>("query_end", all(100000))
                         .column<std::uint8_t>("is_reverse", {0, 0, 0})
                         .column<std::int64_t>("overlap_index", {0, 1, 2})
                         .column<std::int64_t>("target_overlaps", all(3))
                         .text("query_qualities", {"", "", ""})
                         .list<std::uint32_t>("cigar", {{match(100000)}, {match(100000)}, {match(100000)}})
                         .build();
  const TestBatch cut = run_stage(stage("layer_cutting"), whole).with({{"window_length", 100}}).resource("targets", target).run().batch();
  const Result result = run_stage(stage("window_cutting"), cut).with({{"window_length", 100}}).resource("targets", target).run();
  REQUIRE(result.batches.size() == 4);
  CHECK(result.batches[0].view().rows() == 256);
  CHECK(result.rows() == 1000);
}

TEST_CASE("windows that do not lie on their sequences fail, and the others stay") {
  const auto window = [](std::int64_t end, std::int64_t query, std::vector<std::int32_t> query_end) {
    return BatchBuilder("window", 2)
        .column<std::int64_t>("target_index", {0, 1})
        .column<std::int64_t>("window_start", {5, 0})
        .column<std::int64_t>("window_end", {end, 2})
        .list<std::int64_t>("layer_query", {{query}, {}})
        .list<std::int32_t>("layer_query_start", {{8}, {}})
        .list<std::int32_t>("layer_query_end", {query_end, {}})
        .list<std::uint8_t>("layer_is_reverse", {{1}, {}})
        .build();
  };
  const auto run = [](const TestBatch& batch) {
    return run_stage(stage("window_sequences"), batch).resource("targets", store(targets)).resource("reads", store(reads)).run();
  };
  const Result good = run(window(12, 0, {12}));
  CHECK(good.failed.empty());
  CHECK(good.batch().view().text("sequences")[0] == "AAAAACCGGTT");
  CHECK(good.batch().view().text("sequence_qualities")[0] == "!!!!!!!\"\"\"\"");
  for (const TestBatch& bad : {window(26, 0, {12}), window(12, 5, {12}), window(12, 0, {21}), window(12, 0, {8}), window(12, 0, {})}) {
    const Result result = run(bad);
    CHECK(result.failed == std::vector<FailedRow>{{0, 0, "bad_layers"}});
    CHECK(result.batch().view().text("sequences")[1] == "TT");
  }
}

TEST_CASE("letters are those of the reads, on both strands, whichever stretches are fetched together, or are in memory") {
  std::mt19937 random(31);
  std::string fastq;
  std::vector<std::string> bases, qualities;
  for (std::size_t read = 0; read < 3; ++read) {
    bases.push_back(random_bases(6000, random));
    if (read == 1) bases.back()[3000] = 'N';  // is not held in memory
    qualities.emplace_back(6000, '!');
    for (char& quality : qualities.back()) quality = static_cast<char>('#' + random() % 40);
    fastq += "@r" + std::to_string(read) + "\n" + bases.back() + "\n+\n" + qualities.back() + "\n";
  }
  const std::size_t rows = 300;
  std::vector<std::int64_t> target(rows), start(rows), end(rows);
  std::vector<std::vector<std::int64_t>> query(rows);
  std::vector<std::vector<std::int32_t>> query_start(rows), query_end(rows);
  std::vector<std::vector<std::uint8_t>> is_reverse(rows);
  std::vector<std::string> expected(rows), expected_qualities(rows);
  const auto place = [&](std::int64_t& begin_of, std::int64_t& end_of) {
    begin_of = static_cast<std::int64_t>(random() % 5900);
    end_of = begin_of + 1 + static_cast<std::int64_t>(random() % 100);
  };
  for (std::size_t r = 0; r < rows; ++r) {
    target[r] = static_cast<std::int64_t>(random() % 3);
    place(start[r], end[r]);
    const auto part = [](const std::string& text, std::int64_t first, std::int64_t last) {
      return text.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
    };
    expected[r] = part(bases[static_cast<std::size_t>(target[r])], start[r], end[r]);
    expected_qualities[r] = part(qualities[static_cast<std::size_t>(target[r])], start[r], end[r]);
    for (std::size_t layer = random() % 8; layer > 0; --layer) {
      const auto read = random() % 3;
      std::int64_t first = 0, last = 0;
      place(first, last);
      std::string letters = part(bases[read], first, last), weights = part(qualities[read], first, last);
      const bool reverse = random() % 2 == 0;
      if (reverse) {
        std::ranges::reverse(letters);
        std::ranges::reverse(weights);
        for (char& base : letters) base = base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : base == 'T' ? 'A' : base;
      }
      expected[r] += letters;
      expected_qualities[r] += weights;
      query[r].push_back(static_cast<std::int64_t>(read));
      query_start[r].push_back(static_cast<std::int32_t>(first));
      query_end[r].push_back(static_cast<std::int32_t>(last));
      is_reverse[r].push_back(reverse ? 1 : 0);
    }
  }
  const auto batch = BatchBuilder("window", static_cast<std::int64_t>(rows))
                         .column<std::int64_t>("target_index", target)
                         .column<std::int64_t>("window_start", start)
                         .column<std::int64_t>("window_end", end)
                         .list<std::int64_t>("layer_query", query)
                         .list<std::int32_t>("layer_query_start", query_start)
                         .list<std::int32_t>("layer_query_end", query_end)
                         .list<std::uint8_t>("layer_is_reverse", is_reverse)
                         .build();
  for (const std::int64_t instruction_set : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(instruction_set);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    for (const char* memory : {"0", "1"}) {
      CAPTURE(memory);
      const Result result = run_stage(stage("window_sequences"), batch).resource("reads", store(fastq, memory)).run();
      REQUIRE(result.ok());
      const Batch out = result.batch().view();
      for (std::size_t r = 0; r < rows; ++r) {
        CHECK(out.text("sequences")[static_cast<std::int64_t>(r)] == expected[r]);
        CHECK(out.text("sequence_qualities")[static_cast<std::int64_t>(r)] == expected_qualities[r]);
        CHECK(out.list<std::int32_t>("sequence_length")[static_cast<std::int64_t>(r)].size() == query[r].size() + 1);
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST_CASE("a window whose letters take more than is kept leaves nothing behind") {
  std::mt19937 random(7);
  const TestBatch sequences = store(">t\n" + random_bases(5'000'000, random) + "\n");  // 1 byte a base and 1 its quality; 8 MiB are kept
  const auto batch = BatchBuilder("window", 5)
                         .column<std::int64_t>("target_index", {0, 0, 0, 0, 0})
                         .column<std::int64_t>("window_start", {0, 3000, 10, 4'000'000, 7})
                         .column<std::int64_t>("window_end", {5'000'000, 3500, 12, 4'000'100, 7})
                         .list<std::int64_t>("layer_query", {{0, 0}, {0, 0}, {}, {0}, {}})
                         .list<std::int32_t>("layer_query_start", {{0, 2'000'000}, {2990, 100}, {}, {5}, {}})
                         .list<std::int32_t>("layer_query_end", {{5'000'000, 2'000'010}, {3480, 640}, {}, {95}, {}})
                         .list<std::uint8_t>("layer_is_reverse", {{1, 0}, {0, 1}, {}, {1}, {}})
                         .build();
  const ContractSample sample{.resources = {{"targets", sequences}, {"reads", sequences}}, .batches = {batch.rows(1, 5)}};
  CHECK(kept_memory_problems(stage("window_sequences"), sample, batch.rows(0, 1)) == std::vector<std::string>{});
}

TEST_CASE("stretches from a file take no more memory the second time") {
  std::mt19937 random(5);
  const TestBatch reads_in_file = store(">r\n" + random_bases(5000, random) + "\n");
  const SequenceStoreView view(reads_in_file.view());
  window_cutting::StretchFetcher fetcher(view, '!');
  std::string bases(4000, ' '), qualities(4000, ' ');
  const std::vector<window_cutting::Stretch> stretches = {{0, 0, 2000, 0, window_cutting::Strand::forward},
                                                          {0, 3000, 5000, 2000, window_cutting::Strand::reverse}};
  fetcher.fetch(stretches, {bases, qualities});
  const std::size_t first = fetcher.bytes();
  for (int again = 0; again < 5; ++again) fetcher.fetch(stretches, {bases, qualities});
  CHECK(fetcher.bytes() == first);
}

TEST_CASE("the stages keep the contract") {
  const std::map<std::string, ContractSample> samples = {
      {"layer_cutting", {.parameters = {{"window_length", 10}}, .resources = {{"targets", store(targets)}}, .batches = {overlaps()}}},
      {"window_cutting", {.parameters = {{"window_length", 10}}, .resources = {{"targets", store(targets)}}, .batches = {layers()}}},
      {"window_sequences", {.resources = {{"targets", store(targets)}, {"reads", store(reads)}}, .batches = {places()}}}};
  for (const std::string& problem : contract_problems(plugin("window_cutting"), samples)) FAIL_CHECK(problem);
}
