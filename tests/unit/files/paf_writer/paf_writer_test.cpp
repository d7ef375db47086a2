// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cstdio>

#include "paf_writer/stage.cpp"  // the stage class has no header of its own
#include "unit/mapping/hit_selection/tiny_index.hpp"
#include "unit/outcomes_of.hpp"
#include "unit/resumed_forms.hpp"

using namespace sluice::paf_writer;
using sluice::testing::BatchBuilder;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

std::string divergence(float value) {
  std::string text;
  append_divergence(text, value);
  return text;
}

TestBatch contigs() { return tiny_index::of({{"one", 5000}, {"two", 700}}); }

BatchBuilder reads_with_hits(const std::vector<std::vector<std::int32_t>>& targets) {
  return BatchBuilder("read", 3)
      .text("read_id", {"first", "second", "third"})
      .column<std::int32_t>("read_length", {1000, 200, 300})
      .column<std::int32_t>("repeat_length", {0, 0, 17})
      .list<std::int32_t>("hit_target", targets)
      .list<std::int32_t>("hit_query_start", {{10, 20}, {}, {0}})
      .list<std::int32_t>("hit_query_end", {{990, 500}, {}, {300}})
      .list<std::int32_t>("hit_target_start", {{3010, 5}, {}, {100}})
      .list<std::int32_t>("hit_target_end", {{4000, 490}, {}, {401}})
      .list<std::int32_t>("hit_score", {{600, 550}, {}, {80}})
      .list<std::int32_t>("hit_second_score", {{550, -1}, {}, {0}})
      .list<std::int32_t>("hit_anchors", {{70, 60}, {}, {9}})
      .list<std::int32_t>("hit_matches", {{640, 570}, {}, {90}})
      .list<std::int32_t>("hit_block", {{995, 490}, {}, {305}})
      .list<std::uint8_t>("hit_is_reverse", {{0, 1}, {}, {1}})
      .list<std::uint8_t>("hit_is_primary", {{1, 0}, {}, {1}})
      .list<std::uint8_t>("hit_mapq", {{5, 0}, {}, {60}})
      .list<float>("hit_divergence", {{0.0123F, -1.0F}, {}, {0.0F}});
}
TestBatch reads() { return reads_with_hits({{0, 1}, {}, {0}}).build(); }

constexpr const char* primary =
    "first\t1000\t10\t990\t+\tone\t5000\t3010\t4000\t640\t995\t5\ttp:A:P\tcm:i:70\ts1:i:600\ts2:i:550\tdv:f:0.0123\trl:i:0\n";
constexpr const char* secondary = "first\t1000\t20\t500\t-\ttwo\t700\t5\t490\t570\t490\t0\ttp:A:S\tcm:i:60\ts1:i:550\trl:i:0\n";
constexpr const char* nothing = "second\t200\t0\t0\t*\t*\t0\t0\t0\t0\t0\t0\trl:i:0\n";
constexpr const char* reverse = "third\t300\t0\t300\t-\tone\t5000\t100\t401\t90\t305\t60\ttp:A:P\tcm:i:9\ts1:i:80\ts2:i:0\tdv:f:0\trl:i:17\n";

}  // namespace

TEST_CASE("divergences are printf's %.4f, and zero is 0") {
  CHECK(divergence(0) == "0");
  CHECK(divergence(1) == "1.0000");
  CHECK(divergence(0.00003F) == "0.0000");
  std::uint32_t state = 1;
  int differences = 0;
  for (int i = 0; i < 300'000; ++i) {
    state = state * 1664525 + 1013904223;
    // Any float below 1, and multiples of 2^-20, which hit exact halves of a ten-thousandth.
    for (const float value : {std::bit_cast<float>((state >> 2) % 0x3F800000U + 1U), static_cast<float>(state >> 12) / 1048576.0F}) {
      if (value == 0) continue;
      std::array<char, 16> text;
      std::snprintf(text.data(), text.size(), "%.4f", static_cast<double>(value));
      differences += divergence(value) != text.data();
    }
  }
  CHECK(differences == 0);
}

TEST_CASE("one line per hit, in the order of the reads") {
  const auto result = run_stage<PafWriter>(reads()).resource("index", contigs()).with({{"output", "-"}}).run();
  CHECK(result.files.at("-") == std::string(primary) + secondary + reverse);
  CHECK(result.counters.at("reads mapped") == 2);
  CHECK(result.counters.at("hits") == 3);
  CHECK(outcomes_of(run_stage<PafWriter>(reads()).resource("index", contigs()).with({{"output", "-"}})) == Outcomes{{"mapped", {2, 3}}});
  CHECK(outcomes_of(run_stage<PafWriter>(reads().all_failed()).resource("index", contigs()).with({{"output", "-"}})) == Outcomes{{"mapped", {0, 3}}});
}

TEST_CASE("a read that has failed has no line, and those behind it have theirs") {
  const TestBatch failed = reads_with_hits({{0, 1}, {}, {0}}).failed(0).build();
  const auto result = run_stage<PafWriter>(failed).resource("index", contigs()).with({{"output", "-"}, {"paf_no_hit", true}}).run();
  CHECK(result.files.at("-") == std::string(nothing) + reverse);
}

TEST_CASE("reads without hits have a line if asked for, secondary hits none") {
  const auto result =
      run_stage<PafWriter>(reads()).resource("index", contigs()).with({{"output", "-"}, {"paf_no_hit", true}, {"secondary", false}}).run();
  CHECK(result.files.at("-") == std::string(primary) + nothing + reverse);
}

TEST_CASE("alignments have minimap2's tags, and lines of their own instead of the hits'") {
  const auto with_alignments = [](std::int32_t target) {
    return reads_with_hits({{0, 1}, {}, {0}})
        .list<std::int32_t>("aligned_target", {{}, {}, {0, target, 1}})
        .list<std::uint8_t>("aligned_is_reverse", {{}, {}, {1, 0, 0}})
        .list<std::int32_t>("aligned_query_start", {{}, {}, {10, 120, 10}})
        .list<std::int32_t>("aligned_query_end", {{}, {}, {110, 220, 110}})
        .list<std::int32_t>("aligned_target_start", {{}, {}, {500, 20, 30}})
        .list<std::int32_t>("aligned_target_end", {{}, {}, {600, 120, 130}})
        .list<std::int32_t>("aligned_matches", {{}, {}, {95, 100, 90}})
        .list<std::int32_t>("aligned_columns", {{}, {}, {98, 100, 100}})
        .list<std::int32_t>("aligned_ambiguous", {{}, {}, {2, 0, 0}})
        .list<std::int32_t>("edit_distance", {{}, {}, {5, 0, 10}})
        .list<std::int32_t>("alignment_score", {{}, {}, {170, 200, 120}})
        .list<std::int32_t>("aligned_best_score", {{}, {}, {172, 200, 130}})
        .list<double>("aligned_divergence", {{}, {}, {0.05, 0, 0.1}})
        .list<std::int32_t>("aligned_anchors", {{}, {}, {9, 0, 8}})
        .list<std::int32_t>("aligned_chain_score", {{}, {}, {80, 0, 70}})
        .list<std::int32_t>("aligned_second_score", {{}, {}, {70, 0, -1}})
        .list<std::uint8_t>("aligned_is_primary", {{}, {}, {1, 1, 0}})
        .list<std::uint8_t>("aligned_is_first", {{}, {}, {1, 0, 0}})
        .list<std::uint8_t>("aligned_is_inversion", {{}, {}, {0, 1, 0}})
        .list<std::uint8_t>("aligned_split", {{}, {}, {3, 0, 0}})
        .list<std::uint8_t>("aligned_mapq", {{}, {}, {60, 7, 0}})
        .list<std::uint8_t>("aligned_transcript_strand", {{}, {}, {0, 2, 3}})
        .list<std::int32_t>("cigar_count", {{}, {}, {1, 1, 3}})
        .list<std::uint32_t>("aligned_cigar", {{}, {}, {100U << 4, 100U << 4, 50U << 4, 1U << 4 | 2, 49U << 4}})
        .text("difference_text", {"", "", ":100\n:1\n:50-a:49\n"})
        .text("mismatch_text", {"", "", "100\n1\n50^A49\n"})
        .build();
  };
  const std::string one =
      "third\t300\t10\t110\t-\tone\t5000\t500\t600\t95\t98\t60\tNM:i:5\tms:i:172\tAS:i:170\tnn:i:2\ttp:A:P\tcm:i:9\ts1:i:80\ts2:i:70\t"
      "de:f:0.0500\tzd:i:3\trl:i:17";
  const std::string two =
      "third\t300\t120\t220\t+\ttwo\t700\t20\t120\t100\t100\t7\tNM:i:0\tms:i:200\tAS:i:200\tnn:i:0\tts:A:-\ttp:A:I\tcm:i:0\ts1:i:0\ts2:i:0\tde:f:0\t"
      "rl:i:17";
  const std::string three =
      "third\t300\t10\t110\t+\ttwo\t700\t30\t130\t90\t100\t0\tNM:i:10\tms:i:130\tAS:i:120\tnn:i:0\ttp:A:S\tcm:i:8\ts1:i:70\tde:f:0.1000\trl:i:17";
  const auto written = [&](std::int32_t target, const sluice::testing::ParameterTexts& options) {
    return run_stage<PafWriter>(with_alignments(target)).resource("index", contigs()).with({{"output", "-"}}).with(options).run();
  };
  CHECK(written(1, {}).files.at("-") == one + "\tcg:Z:100M\n" + two + "\tcg:Z:100M\n" + three + "\tcg:Z:50M1D49M\n");
  CHECK(written(1, {{"cs", true}, {"secondary", false}}).files.at("-") == one + "\tcg:Z:100M\tcs:Z::100\n" + two + "\tcg:Z:100M\tcs:Z::1\n");
  CHECK(written(1, {{"cs", true}, {"md", true}, {"cigar", false}}).files.at("-") ==
        one + "\tMD:Z:100\n" + two + "\tMD:Z:1\n" + three + "\tMD:Z:50^A49\n");
  CHECK(written(2, {}).status == SLUICE_ERROR_INPUT);
}

TEST_CASE("hits on contigs that the index lacks, and lists of other lengths, are refused by name") {
  const auto beyond = run_stage<PafWriter>(reads_with_hits({{0, 2}, {}, {0}}).build()).resource("index", contigs()).with({{"output", "-"}}).run();
  CHECK(beyond.status == SLUICE_ERROR_INPUT);
  CHECK(beyond.message.find("read 'first': a hit is on contig 2") != std::string::npos);
  const auto uneven = run_stage<PafWriter>(reads_with_hits({{0}, {}, {0}}).build()).resource("index", contigs()).with({{"output", "-"}}).run();
  CHECK(uneven.status == SLUICE_ERROR_INPUT);
  CHECK(uneven.message.find("lists of its hits differ in length") != std::string::npos);
}

TEST_CASE("paf_writer keeps the contract of all stages") {
  CHECK(sluice::testing::contract_problems(
            *sluice_plugin_init(nullptr, nullptr),
            {{"paf_writer", {.parameters = {{"output", "hits.paf"}}, .resources = {{"index", contigs()}}, .batches = {reads(), reads()}}}}) ==
        std::vector<std::string>{});
}

TEST_CASE("hits go on behind an interruption") {
  const auto run =
      sluice::testing::run_stage(sluice::testing::stage_of(*sluice_plugin_init(nullptr, nullptr), "paf_writer"), std::vector{reads(), reads()})
          .resource("index", contigs());
  CHECK(sluice::testing::resume_problems(run, {"a.paf", "a.paf.gz", "a.paf.zst", "a.arrow", "a.parquet"}) == std::vector<std::string>{});
}
