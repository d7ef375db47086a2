// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include "bed_writer/stage.cpp"  // the stage class has no header of its own
#include "unit/mapping/hit_selection/tiny_index.hpp"
#include "unit/outcomes_of.hpp"
#include "unit/resumed_forms.hpp"

using namespace sluice::bed_writer;
using sluice::testing::BatchBuilder;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

constexpr std::uint32_t M = 0, I = 1, D = 2, N = 3, S = 4, E = 7, X = 8;
constexpr std::uint32_t op(std::uint32_t length, std::uint32_t code) { return length << 4 | code; }

TestBatch contigs() { return tiny_index::of({{"one", 5000}, {"two", 700}}); }

BatchBuilder aligned(std::int32_t end_of_second = 55) {
  const std::vector<std::vector<std::int32_t>> zeros = {{0, 0}, {}, {0}};
  const std::vector<std::vector<std::uint8_t>> no = {{0, 0}, {}, {0}};
  BatchBuilder reads("read", 3);
  reads.text("read_id", {"first", "second", "third"}).column<std::int32_t>("read_length", {1000, 200, 300});
  for (const char* name : {"aligned_matches", "aligned_columns", "aligned_ambiguous", "edit_distance", "alignment_score", "aligned_best_score",
                           "aligned_anchors", "aligned_chain_score", "aligned_second_score"})
    reads.list<std::int32_t>(name, zeros);
  for (const char* name : {"aligned_is_first", "aligned_is_inversion", "aligned_split", "aligned_transcript_strand"})
    reads.list<std::uint8_t>(name, no);
  return reads.list<double>("aligned_divergence", {{0, 0}, {}, {0}})
      .list<std::int32_t>("aligned_target", {{0, 1}, {}, {0}})
      .list<std::uint8_t>("aligned_is_reverse", {{0, 1}, {}, {1}})
      .list<std::uint8_t>("aligned_is_primary", {{1, 0}, {}, {1}})
      .list<std::uint8_t>("aligned_mapq", {{60, 0}, {}, {7}})
      .list<std::int32_t>("aligned_query_start", {{0, 10}, {}, {0}})
      .list<std::int32_t>("aligned_query_end", {{130, 60}, {}, {100}})
      .list<std::int32_t>("aligned_target_start", {{100, 5}, {}, {20}})
      .list<std::int32_t>("aligned_target_end", {{1250, end_of_second}, {}, {120}})
      .list<std::int32_t>("cigar_count", {{7, 2}, {}, {5}})
      .list<std::uint32_t>("aligned_cigar", {{op(40, M), op(5, I), op(10, D), op(1000, N), op(30, E), op(1, X), op(69, M),  //
                                              op(8, S), op(50, M)},
                                             {},
                                             {op(10, M), op(30, N), op(20, M), op(30, N), op(10, M)}});
}
TestBatch reads() { return aligned().build(); }
std::string written(const TestBatch& batch, const sluice::testing::ParameterTexts& options) {
  const auto result = run_stage<BedWriter>(batch).resource("index", contigs()).with({{"output", "-"}}).with(options).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  return result.files.at("-");
}

}  // namespace

TEST_CASE("a line for each alignment, in the order of the reads") {
  CHECK(written(reads(), {}) == "one\t100\t1250\tfirst\t60\t+\ntwo\t5\t55\tfirst\t0\t-\none\t20\t120\tthird\t7\t-\n");
  CHECK(outcomes_of(run_stage<BedWriter>(reads()).resource("index", contigs()).with({{"output", "-"}})) == Outcomes{{"mapped", {2, 3}}});
}

TEST_CASE("blocks are what lies between introns, with deletions and without insertions") {
  CHECK(written(reads(), {{"blocks", true}}) ==
        "one\t100\t1250\tfirst\t60\t+\t100\t1250\t255,0,0\t2\t50,100\t0,1050\n"
        "two\t5\t55\tfirst\t0\t-\t5\t55\t255,0,0\t1\t50\t0\n"
        "one\t20\t120\tthird\t7\t-\t20\t120\t255,0,0\t3\t10,20,10\t0,40,90\n");
}

TEST_CASE("secondary alignments and failed reads have no line") {
  CHECK(written(reads(), {{"secondary", false}}) == "one\t100\t1250\tfirst\t60\t+\none\t20\t120\tthird\t7\t-\n");
  CHECK(written(aligned().failed(0).build(), {}) == "one\t20\t120\tthird\t7\t-\n");
}

TEST_CASE("a CIGAR of another length than its alignment is refused by name") {
  const TestBatch uneven = aligned(56).build();
  const auto result = run_stage<BedWriter>(uneven).resource("index", contigs()).with({{"output", "-"}, {"blocks", true}}).run();
  CHECK(result.status == SLUICE_ERROR_INPUT);
  CHECK(result.message.find("read 'first': the CIGAR of an alignment does not cover its part of the contig") != std::string::npos);
}

TEST_CASE("bed_writer keeps the contract of all stages") {
  CHECK(sluice::testing::contract_problems(
            *sluice_plugin_init(nullptr, nullptr),
            {{"bed_writer", {.parameters = {{"output", "places.bed"}}, .resources = {{"index", contigs()}}, .batches = {reads(), reads()}}}}) ==
        std::vector<std::string>{});
}

TEST_CASE("lines go on behind an interruption") {
  const auto run =
      sluice::testing::run_stage(sluice::testing::stage_of(*sluice_plugin_init(nullptr, nullptr), "bed_writer"), std::vector{reads(), reads()})
          .resource("index", contigs());
  CHECK(sluice::testing::resume_problems(run, {"a.bed", "a.bed.gz", "a.bed.zst", "a.arrow"}) == std::vector<std::string>{});
}
