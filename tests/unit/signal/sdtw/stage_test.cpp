// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <random>
#include <sluice/squiggle_reference.hpp>
#include <sluice/testing.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sdtw/search.hpp"

namespace {

using namespace sluice::sdtw;
namespace testing = sluice::testing;
using Levels = std::vector<std::int16_t>;

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = testing::load_plugin(SLUICE_PLUGIN_DIR "/sdtw.so");
  return *loaded;
}

Levels random_levels(std::size_t size, std::mt19937_64& random) {
  Levels levels(size);
  for (std::int16_t& level : levels) level = static_cast<std::int16_t>(static_cast<int>(random() % 127) - 63);
  return levels;
}

struct Targets {
  explicit Targets(const std::vector<std::size_t>& sizes) {
    std::mt19937_64 random(1);
    for (const std::size_t size : sizes) {
      forward.push_back(random_levels(size, random));
      reverse.push_back(random_levels(size, random));
      reference.add_target(forward.back(), reverse.back());
    }
  }
  testing::TestBatch batch() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < forward.size(); ++i) names.push_back("target" + std::to_string(i));
    return testing::BatchBuilder("squiggle_target", static_cast<std::int64_t>(forward.size()))
        .text("name", names)
        .list<std::int16_t>("forward_level", forward)
        .list<std::int16_t>("reverse_level", reverse)
        .attribute("steps", std::to_string(sluice::squiggle_steps))
        .attribute("limit", std::to_string(sluice::squiggle_limit))
        .build();
  }
  std::vector<Levels> forward, reverse;
  Reference reference;
};

testing::TestBatch reads_of(const std::vector<Levels>& queries) {
  return testing::BatchBuilder("read", static_cast<std::int64_t>(queries.size())).list<std::int16_t>("query_level", queries).build();
}

struct Chunk {
  std::int32_t channel, index;
  bool is_last;
  Levels levels;
};
testing::TestBatch chunks_of(const std::vector<Chunk>& chunks, std::uint64_t sequence = 0) {
  std::vector<std::int32_t> channel, index;
  std::vector<std::uint8_t> is_last;
  std::vector<Levels> levels;
  for (const Chunk& chunk : chunks) {
    channel.push_back(chunk.channel);
    index.push_back(chunk.index);
    is_last.push_back(chunk.is_last ? 1 : 0);
    levels.push_back(chunk.levels);
  }
  return testing::BatchBuilder("read", static_cast<std::int64_t>(chunks.size()))
      .column<std::int32_t>("channel", channel)
      .column<std::int32_t>("chunk_index", index)
      .column<std::uint8_t>("is_last_chunk", is_last)
      .list<std::int16_t>("query_level", levels)
      .sequence(sequence)
      .build();
}

// A row's results in one line.
std::string line_of(const testing::TestBatch& batch, std::int64_t row) {
  const auto i = static_cast<std::size_t>(row);
  const sluice::Batch view = batch.view();
  return std::to_string(view.column<std::int64_t>("sdtw_score")[i]) + " " + std::to_string(view.column<std::int32_t>("sdtw_target")[i]) + " " +
         std::to_string(view.column<std::uint8_t>("sdtw_is_reverse")[i]) + " " + std::to_string(view.column<std::int64_t>("sdtw_start")[i]) + " " +
         std::to_string(view.column<std::int64_t>("sdtw_end")[i]) + " " + std::to_string(view.column<std::int32_t>("sdtw_length")[i]);
}
std::string expected_line(const Reference& reference, const Levels& query, Method method = {}) {
  ScalarRows scalar(reference, method);
  scalar.advance(query);
  const Hit hit = scalar.best();
  const Place place = place_of(reference, scalar.first_column(hit.column), hit.column);
  return std::to_string(hit.score) + " " + std::to_string(place.target) + " " + (place.strand == Strand::reverse ? "1" : "0") + " " +
         std::to_string(place.start) + " " + std::to_string(place.end) + " " + std::to_string(query.size());
}

}  // namespace

TEST_CASE("the stage sdtw gives each read the best place in all targets") {
  const Targets targets({300, 1, 900});
  std::mt19937_64 random(2);
  std::vector<Levels> queries = {
      {targets.forward[2].begin() + 30, targets.forward[2].begin() + 80}, {targets.reverse[0].begin() + 10, targets.reverse[0].begin() + 60}, {}};
  for (std::size_t i = 0; i < 20; ++i) queries.push_back(random_levels(1 + random() % 400, random));
  for (const char* cost : {"manhattan", "squared"}) {
    for (const bool deletions : {false, true}) {
      const auto result = testing::run_stage(testing::stage_of(plugin(), "sdtw"), reads_of(queries))
                              .resource("target", targets.batch())
                              .with({{"cost", cost}, {"reference_deletions", deletions}})
                              .expect_rows(static_cast<std::int64_t>(queries.size()));
      const Method method{cost == std::string("squared") ? Cost::squared : Cost::manhattan,
                          deletions ? ReferenceDeletions::allowed : ReferenceDeletions::forbidden};
      for (std::size_t i = 0; i < queries.size(); ++i)
        CHECK(line_of(result.batch(), static_cast<std::int64_t>(i)) == expected_line(targets.reference, queries[i], method));
      CHECK(line_of(result.batch(), 0) == "0 2 0 30 80 50");
      CHECK(line_of(result.batch(), 1) == "0 0 1 240 290 50");
      CHECK(line_of(result.batch(), 2) == "0 -1 0 -1 -1 0");
    }
  }
}

TEST_CASE("few reads and a long reference are shared among threads with the same result") {
  const Targets targets({400000});
  std::mt19937_64 random(3);
  const std::vector<Levels> queries = {random_levels(100, random), random_levels(30, random)};
  const auto run = [&](int threads) {
    const auto result = testing::run_stage(testing::stage_of(plugin(), "sdtw"), reads_of(queries))
                            .resource("target", targets.batch())
                            .threads(threads)
                            .expect_rows(2);
    return line_of(result.batch(), 0) + ", " + line_of(result.batch(), 1);
  };
  CHECK(run(1) == run(8));
}

TEST_CASE("levels outside the range fail their read") {
  const Targets targets({10});
  const auto result =
      testing::run_stage(testing::stage_of(plugin(), "sdtw"), reads_of({{1, 2}, {64}, {-63}})).resource("target", targets.batch()).expect_rows(2);
  CHECK(result.failed == std::vector<testing::FailedRow>{{0, 1, "level_outside_range"}});
}

TEST_CASE("sdtw_stream gives after every chunk what sdtw gives for the read so far") {
  const Targets targets({500, 200});
  std::mt19937_64 random(4);
  // Reads of many channels, in batches of any rows.
  std::vector<std::vector<Chunk>> batches(12);
  std::vector<std::vector<std::string>> expected(batches.size());
  struct Channel {
    Levels so_far;
    std::int32_t next = 0;
  };
  std::vector<Channel> channels(9);
  for (std::size_t b = 0; b < batches.size(); ++b) {
    for (int row = 0; row < 20; ++row) {
      const std::size_t c = random() % channels.size();
      Channel& channel = channels[c];
      if (random() % 10 == 0) channel = {};  // another read begins although the last one did not end
      const bool is_last = random() % 6 == 0;
      const Levels levels = random_levels(random() % 60, random);
      batches[b].push_back({static_cast<std::int32_t>(c) - 3, channel.next++, is_last, levels});
      channel.so_far.insert(channel.so_far.end(), levels.begin(), levels.end());
      expected[b].push_back(expected_line(targets.reference, channel.so_far));
      if (is_last) channel = {};
    }
  }
  std::vector<testing::TestBatch> inputs;
  for (std::size_t b = 0; b < batches.size(); ++b) inputs.push_back(chunks_of(batches[b], b));
  for (const int threads : {1, 4}) {
    const auto result =
        testing::run_stage(testing::stage_of(plugin(), "sdtw_stream"), inputs).resource("target", targets.batch()).threads(threads).run();
    REQUIRE(result.ok());
    for (std::size_t b = 0; b < batches.size(); ++b)
      for (std::size_t row = 0; row < expected[b].size(); ++row)
        CHECK(line_of(result.batches[b], static_cast<std::int64_t>(row)) == expected[b][row]);
  }
}

TEST_CASE("a read that misses a chunk fails until the next read of the channel") {
  const Targets targets({50});
  const auto chunks = chunks_of({{1, 0, false, {1, 2}},
                                 {1, 2, false, {3}},   // 1 is missing
                                 {1, 3, false, {3}},   // the read is lost
                                 {1, 0, true, {4}},    // the next one
                                 {2, 1, false, {5}},   // began before anybody listened
                                 {3, 0, false, {99}},  // no level
                                 {3, 1, false, {1}},
                                 {1, 1, true, {4}}});  // the read has ended
  const auto result = testing::run_stage(testing::stage_of(plugin(), "sdtw_stream"), chunks).resource("target", targets.batch()).expect_rows(2);
  CHECK(result.failed == std::vector<testing::FailedRow>{{0, 1, "chunk_missing"},
                                                         {0, 2, "chunk_missing"},
                                                         {0, 4, "chunk_missing"},
                                                         {0, 5, "level_outside_range"},
                                                         {0, 6, "chunk_missing"},
                                                         {0, 7, "chunk_missing"}});
  CHECK(line_of(result.batch(), 3) == expected_line(targets.reference, {4}));
}

TEST_CASE("the number of channels with a read under way is bounded") {
  const Targets targets({5});
  const auto chunks = chunks_of({{1, 0, false, {1}}, {2, 0, false, {1}}, {3, 0, false, {1}}});
  const auto result = testing::run_stage(testing::stage_of(plugin(), "sdtw_stream"), chunks)
                          .resource("target", targets.batch())
                          .with({{"max_channels", 2}})
                          .expect_rows(2);
  CHECK(result.failed == std::vector<testing::FailedRow>{{0, 2, "too_many_channels"}});
}

namespace {

testing::TestBatch index_by_seeds() {
  return testing::BatchBuilder("squiggle_index", 1).list<std::uint32_t>("entry", {{}}).attribute("search", "seeds").build();
}
using Stretches = std::vector<std::int64_t>;

// What the definition says of a query in some stretches of the columns.
std::string expected_in(const Targets& targets, const Levels& query, const std::vector<std::pair<std::int64_t, std::int64_t>>& stretches) {
  Hit best{std::numeric_limits<std::int64_t>::max(), -1};
  std::int64_t first = -1;
  for (const auto& [begin, end] : stretches) {
    Reference part;
    part.add_target(targets.reference.levels().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)), {});
    ScalarRows scalar(part, {});
    scalar.advance(query);
    if (scalar.best().score >= best.score) continue;
    best = {scalar.best().score, scalar.best().column + begin};
    first = scalar.first_column(scalar.best().column) + begin;
  }
  const Place place = place_of(targets.reference, first, best.column);
  return std::to_string(best.score) + " " + std::to_string(place.target) + " " + (place.strand == Strand::reverse ? "1" : "0") + " " +
         std::to_string(place.start) + " " + std::to_string(place.end) + " " + std::to_string(query.size());
}

}  // namespace

TEST_CASE("by seeds a read is aligned to its candidates only, and exactly") {
  const Targets targets({300, 900});
  std::mt19937_64 random(7);
  std::vector<Levels> queries;
  std::vector<Stretches> begin, end;
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> stretches;
  for (std::size_t i = 0; i < 12; ++i) {
    queries.push_back(random_levels(1 + random() % 200, random));
    // One in the reverse strand of the first target, two in the second's forward and reverse strand.
    stretches.push_back({{300 + static_cast<std::int64_t>(random() % 50), 600},
                         {620, 700 + static_cast<std::int64_t>(random() % 800)},
                         {1500, 1501 + static_cast<std::int64_t>(random() % 900)}});
    begin.emplace_back(), end.emplace_back();
    for (const auto& [b, e] : stretches.back()) begin.back().push_back(b), end.back().push_back(e);
  }
  queries.push_back({1, 2, 3}), begin.emplace_back(), end.emplace_back();          // nothing to align to
  queries.push_back({1, 2, 3}), begin.push_back({299}), end.push_back({301});      // across two strands
  queries.push_back({1, 2, 3}), begin.push_back({10, 5}), end.push_back({20, 8});  // in no order
  queries.push_back({1, 2, 3}), begin.push_back({10}), end.push_back({20, 30});    // more ends
  queries.push_back({1, 2, 3}), begin.push_back({2390}), end.push_back({2401});    // beyond the last column
  const auto batch = testing::BatchBuilder("read", static_cast<std::int64_t>(queries.size()))
                         .list<std::int16_t>("query_level", queries)
                         .list<std::int64_t>("candidate_begin", begin)
                         .list<std::int64_t>("candidate_end", end)
                         .build();
  const auto result =
      testing::run_stage(testing::stage_of(plugin(), "sdtw"), batch).resource("target", targets.batch()).resource("index", index_by_seeds()).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  for (std::size_t i = 0; i < 12; ++i) CHECK(line_of(result.batch(), static_cast<std::int64_t>(i)) == expected_in(targets, queries[i], stretches[i]));
  CHECK(line_of(result.batch(), 12) == "378 -1 0 -1 -1 3");
  CHECK(result.failed ==
        std::vector<testing::FailedRow>{{0, 13, "bad_candidates"}, {0, 14, "bad_candidates"}, {0, 15, "bad_candidates"}, {0, 16, "bad_candidates"}});
}

TEST_CASE("by seeds a stream is aligned to the candidates that came last") {
  const Targets targets({300, 900});
  std::mt19937_64 random(8);
  const Levels query = random_levels(120, random);
  const Levels first(query.begin(), query.begin() + 50), second(query.begin() + 50, query.end());
  const std::vector<Levels> chunks = {first, second, {}};
  const auto batch = testing::BatchBuilder("read", 3)
                         .column<std::int32_t>("channel", {4, 4, 4})
                         .column<std::int32_t>("chunk_index", {0, 1, 2})
                         .column<std::uint8_t>("is_last_chunk", {0, 0, 1})
                         .list<std::int16_t>("query_level", chunks)
                         .list<std::int64_t>("candidate_begin", {{}, {650, 1600}, {650, 1600}})
                         .list<std::int64_t>("candidate_end", {{}, {900, 2000}, {900, 2000}})
                         .build();
  const auto result = testing::run_stage(testing::stage_of(plugin(), "sdtw_stream"), batch)
                          .resource("target", targets.batch())
                          .resource("index", index_by_seeds())
                          .expect_rows(3);
  CHECK(line_of(result.batch(), 0) == "6300 -1 0 -1 -1 50");
  CHECK(line_of(result.batch(), 1) == expected_in(targets, query, {{650, 900}, {1600, 2000}}));
  CHECK(line_of(result.batch(), 2) == line_of(result.batch(), 1));
}

TEST_CASE("a search by seeds without candidates is refused") {
  const Targets targets({300});
  const auto result = testing::run_stage(testing::stage_of(plugin(), "sdtw"), reads_of({{1, 2}}))
                          .resource("target", targets.batch())
                          .resource("index", index_by_seeds())
                          .run();
  CHECK(!result.ok());
  CHECK(result.message.find("no stage before this one gives candidates") != std::string::npos);
}

TEST_CASE("both stages keep the contract of all stages") {
  const Targets targets({300, 40});
  std::mt19937_64 random(5);
  std::vector<Levels> queries;
  std::vector<Chunk> chunks;  // whole reads, so that each row stands for itself
  for (std::int32_t i = 0; i < 6; ++i) {
    queries.push_back(random_levels(random() % 50, random));
    chunks.push_back({i % 3, 0, true, queries.back()});
  }
  const std::map<std::string, testing::TestBatch> resources = {{"target", targets.batch()}};
  for (const std::string& problem : testing::contract_problems(plugin(), {{"sdtw", {.resources = resources, .batches = {reads_of(queries)}}},
                                                                          {"sdtw_stream", {.resources = resources, .batches = {chunks_of(chunks)}}}}))
    FAIL_CHECK(problem);
}
