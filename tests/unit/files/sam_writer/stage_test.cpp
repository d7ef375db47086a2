// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sam_writer/stage.cpp"  // the stage class has no header of its own

#include <doctest/doctest.h>

#include "unit/mapping/hit_selection/tiny_index.hpp"
#include "unit/outcomes_of.hpp"

using namespace sluice::sam_writer;
using sluice::testing::BatchBuilder;
using sluice::testing::run_stage;

TEST_CASE("reads with an aligned hit are mapped, others are not") {
  // A read without a hit, one whose hit has no alignment, and one with an alignment of four bases.
  const std::vector<std::vector<std::int32_t>> one_each = {{}, {0}, {0}}, lengths = {{}, {0}, {4}}, alignments = {{}, {0}, {1}};
  const auto reads = BatchBuilder("read", 3)
                         .text("read_id", {"none", "chain", "aligned"})
                         .text("bases", {"ACGT", "ACGT", "ACGT"})
                         .column<std::int32_t>("repeat_length", {0, 0, 0})
                         .list<std::int32_t>("hit_target", one_each)
                         .list<std::uint8_t>("hit_is_reverse", {{}, {0}, {0}})
                         .list<std::uint8_t>("aligned_is_primary", {{}, {1}, {1}})
                         .list<std::uint8_t>("aligned_mapq", {{}, {0}, {60}})
                         .list<std::int32_t>("hit_score", one_each)
                         .list<std::int32_t>("hit_second_score", one_each)
                         .list<std::int32_t>("hit_anchors", one_each)
                         .list<std::int32_t>("cigar_count", alignments)
                         .list<std::uint32_t>("hit_cigar", {{}, {}, {4U << 4U}})
                         .list<std::int32_t>("aligned_query_start", one_each)
                         .list<std::int32_t>("aligned_query_end", lengths)
                         .list<std::int32_t>("aligned_target_start", one_each)
                         .list<std::int32_t>("edit_distance", one_each)
                         .list<std::int32_t>("alignment_score", lengths)
                         .build();
  const auto index = tiny_index::of({{"one", 5000}});
  const auto writing = run_stage<SamWriter>(reads).resource("index", index).with({{"output", "x.sam"}});
  CHECK(writing.run().files.at("x.sam").find("aligned\t0\tone\t1\t60\t4M\t") != std::string::npos);
  CHECK(outcomes_of(writing) == Outcomes{{"mapped", {1, 3}}});
  CHECK(outcomes_of(run_stage<SamWriter>(reads.all_failed()).resource("index", index).with({{"output", "x.sam"}})) == Outcomes{{"mapped", {0, 3}}});
}
