// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "transcript_counts/counts.hpp"
#include "unit/mapping/hit_selection/tiny_index.hpp"

namespace testing = sluice::testing;
using namespace sluice::transcript_counts;

namespace {

constexpr std::uint32_t m(std::uint32_t bases) { return bases << 4; }

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = testing::load_plugin(SLUICE_PLUGIN_DIR "/transcript_counts.so");
  return *loaded;
}
testing::TestBatch contigs() { return tiny_index::of({{"a", 1000}, {"b", 300}, {"c", 0}}); }

// Three reads: one on a, with a secondary alignment on b; one without a place; one against b.
testing::TestBatch reads() {
  testing::BatchBuilder batch("read", 3);
  for (const char* name : {"aligned_query_start", "aligned_query_end", "aligned_matches", "aligned_columns", "aligned_ambiguous", "edit_distance",
                           "alignment_score", "aligned_best_score", "aligned_anchors", "aligned_chain_score", "aligned_second_score"})
    batch.list<std::int32_t>(name, {{0, 0}, {}, {0}});
  for (const char* name : {"aligned_is_inversion", "aligned_split", "aligned_transcript_strand"}) batch.list<std::uint8_t>(name, {{0, 0}, {}, {0}});
  return batch.list<double>("aligned_divergence", {{0, 0}, {}, {0}})
      .list<std::int32_t>("aligned_target", {{0, 1}, {}, {1}})
      .list<std::int32_t>("aligned_target_start", {{100, 0}, {}, {0}})
      .list<std::int32_t>("aligned_target_end", {{980, 300}, {}, {270}})
      .list<std::uint8_t>("aligned_is_reverse", {{0, 0}, {}, {1}})
      .list<std::uint8_t>("aligned_is_primary", {{1, 0}, {}, {1}})
      .list<std::uint8_t>("aligned_is_first", {{1, 0}, {}, {1}})
      .list<std::uint8_t>("aligned_mapq", {{60, 0}, {}, {3}})
      .list<std::int32_t>("cigar_count", {{3, 1}, {}, {1}})
      .list<std::uint32_t>("aligned_cigar", {{m(400), 80U << 4 | 2, m(400), m(300)}, {}, {m(270)}})
      .build();
}

}  // namespace

TEST_CASE("a read counts by its ends, and its bases by their place on the transcript") {
  TranscriptCounts counts;
  Coverage coverage{};
  const std::vector<std::uint32_t> cigar = {m(30), 5U << 4 | 1, 10U << 4 | 2, m(60)};
  add_read({.target_start = 0, .target_end = 100, .mapping_quality = 20, .cigar = cigar}, 100, {.end_distance = 0}, counts, coverage);
  CHECK(counts.reads == 1);
  CHECK(counts.full_length == 1);
  CHECK(counts.bases == 90);
  for (std::size_t part = 0; part < coverage.size(); ++part) CHECK(coverage[part] == (part == 6 || part == 7 ? 0U : 5U));
  add_read({.target_start = 1, .target_end = 91, .mapping_quality = 9, .cigar = cigar}, 100, {.end_distance = 0}, counts, coverage);
  CHECK(counts.reads == 2);
  CHECK(counts.confident == 1);
  CHECK(counts.to_3_end == 1);
}

TEST_CASE("bases of a transcript that is shorter than its parts are all counted") {
  TranscriptCounts counts;
  Coverage coverage{};
  const std::vector<std::uint32_t> cigar = {m(7)};
  add_read({.target_end = 7, .cigar = cigar}, 7, {}, counts, coverage);
  std::uint64_t bases = 0;
  for (const std::uint64_t part : coverage) bases += part;
  CHECK(bases == 7);
}

TEST_CASE("a row for each transcript") {
  const testing::Result result =
      testing::run_stage(testing::stage_of(plugin(), "transcript_counts"), std::vector{reads()}).resource("index", contigs()).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  const auto view = result.batch().view();
  REQUIRE(view.rows() == 3);
  const auto column = [&](const char* name) {
    const auto values = view.column<std::int64_t>(name);
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  using Numbers = std::vector<std::int64_t>;
  CHECK(column("contig_length") == Numbers{1000, 300, 0});
  CHECK(column("reads") == Numbers{1, 1, 0});
  CHECK(column("confident_reads") == Numbers{1, 0, 0});
  CHECK(column("antisense_reads") == Numbers{0, 1, 0});
  CHECK(column("reads_to_3_end") == Numbers{1, 1, 0});
  CHECK(column("full_length_reads") == Numbers{0, 1, 0});
  CHECK(view.column<double>("mean_coverage")[0] == doctest::Approx(0.8));
}

TEST_CASE("the stage keeps the contract of all stages") {
  const testing::ContractSample sample{.resources = {{"index", contigs()}}, .batches = {reads(), reads()}};
  for (const std::string& problem : testing::contract_problems(plugin(), {{"transcript_counts", sample}})) FAIL_CHECK(problem);
}
