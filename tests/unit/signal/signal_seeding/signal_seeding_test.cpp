// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sluice/squiggle_reference.hpp>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "signal_seeding/candidates.hpp"
#include "signal_seeding/search_choice.hpp"
#include "signal_seeding/seeding.hpp"
#include "signal_seeding/signal_events.hpp"
#include "signal_seeding/squiggle_index.hpp"

namespace {

using namespace sluice::signal_seeding;
namespace testing = sluice::testing;
using Levels = std::vector<std::int16_t>;

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = testing::load_plugin(SLUICE_PLUGIN_DIR "/signal_seeding.so");
  return *loaded;
}

// Levels of neighbours that differ by half a standard deviation or more.
Levels distinct_levels(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Levels levels;
  while (levels.size() < size) {
    const auto level = static_cast<std::int16_t>(static_cast<int>(random() % 81) - 40);
    if (levels.empty() || std::abs(level - levels.back()) >= 8) levels.push_back(level);
  }
  return levels;
}

// The signal of some k-mers: 5 to 12 samples each, with noise of up to `noise` steps of 1/64.
Levels signal_of(std::span<const std::int16_t> levels, std::uint64_t seed, int noise = 6) {
  std::mt19937_64 random(seed);
  Levels samples;
  for (const std::int16_t level : levels)
    for (std::uint64_t dwell = 5 + random() % 8; dwell > 0; --dwell)
      samples.push_back(static_cast<std::int16_t>(level * 4 + static_cast<int>(random() % static_cast<unsigned>(2 * noise + 1)) - noise));
  return samples;
}

const ForEach one_after_the_other = [](std::size_t count, const std::function<void(std::size_t)>& body) {
  for (std::size_t i = 0; i < count; ++i) body(i);
};
const ForEach backwards = [](std::size_t count, const std::function<void(std::size_t)>& body) {
  for (std::size_t i = count; i-- > 0;) body(i);
};

std::vector<std::vector<std::int16_t>> two_strands(std::size_t size) { return {distinct_levels(size, 1), distinct_levels(size, 2)}; }
std::vector<Strand> strands_of(const std::vector<Levels>& levels) {
  std::vector<Strand> strands;
  std::int64_t column = 0;
  for (const Levels& level : levels) {
    strands.push_back({level, column});
    column += static_cast<std::int64_t>(level.size());
  }
  return strands;
}

std::vector<Anchor> anchors_of(std::span<const std::int16_t> samples, const SquiggleIndexView& index, std::size_t piece) {
  const Seeding seeding({}, index);
  ReadSeeds seeds(seeding);
  for (std::size_t at = 0; at < samples.size(); at += piece) seeds.take(samples.subspan(at, std::min(piece, samples.size() - at)));
  std::vector<Anchor> anchors;
  seeds.copy_anchors(anchors);
  return anchors;
}

}  // namespace

TEST_CASE("events of clean signal are the levels of its k-mers, wherever it is cut") {
  const Levels levels = distinct_levels(400, 3);
  const Levels samples = signal_of(levels, 4, 0);
  Levels whole;
  SignalEvents events((SegmentationParameters()));
  events.take(samples, whole);
  // The last event has not ended, and of the last eight samples nothing is said.
  REQUIRE(whole.size() + 3 >= levels.size());
  for (std::size_t i = 0; i < whole.size(); ++i) CHECK(whole[i] == levels[i] * 4);
  const Levels noisy = signal_of(levels, 5, 20);
  whole.clear();
  events.restart();
  events.take(noisy, whole);
  for (const std::size_t piece : {1U, 7U, 100U, 4097U}) {
    SignalEvents in_pieces((SegmentationParameters()));
    Levels given;
    for (std::size_t at = 0; at < noisy.size(); at += piece) in_pieces.take(std::span(noisy).subspan(at, std::min(piece, noisy.size() - at)), given);
    CHECK(given == whole);
  }
}

TEST_CASE("long signal is forgotten without any event being changed") {
  const Levels levels = distinct_levels(3000, 6);
  const Levels samples = signal_of(levels, 7, 0);
  SignalEvents events((SegmentationParameters()));
  Levels given;
  for (std::size_t at = 0; at < samples.size(); at += 1000)
    events.take(std::span(samples).subspan(at, std::min<std::size_t>(1000, samples.size() - at)), given);
  REQUIRE(given.size() + 3 >= levels.size());
  for (std::size_t i = 0; i < given.size(); ++i) CHECK(given[i] == levels[i] * 4);
}

TEST_CASE("signal that is all alike has no event") {
  for (const std::int16_t level : {-252, 0, 252}) {
    SignalEvents events((SegmentationParameters()));
    Levels given;
    events.take(Levels(5000, level), given);
    CHECK(given.empty());
  }
}

TEST_CASE("an index has every run of its strands, and nothing else, in the same order however it is made") {
  const std::vector<Levels> levels = two_strands(30000);
  const std::vector<Strand> strands = strands_of(levels);
  const SquiggleIndex index = build_index(strands, {}, one_after_the_other);
  const SquiggleIndex other = build_index(strands, {}, backwards);
  CHECK(std::ranges::equal(index.entry.span(), other.entry.span()));
  CHECK(std::ranges::equal(index.bucket_begin.span(), other.bucket_begin.span()));
  CHECK(index.block_begin == other.block_begin);
  const SquiggleIndexView view = index.view();
  // Levels differ by more than what is merged, so that each k-mer is an event; a strand has a run for every k-mer but the first few.
  const auto run = static_cast<std::size_t>(index.form.run);
  CHECK(index.entry.size() == 2 * (30000 - run + 1));
  CHECK(view.columns_per_event == 1.0);
  const auto symbol = [&](std::int16_t level) {
    return static_cast<std::uint64_t>(
        std::count_if(view.borders.begin(), view.borders.end(), [&](std::int16_t border) { return border <= level * 4; }));
  };
  for (const Strand& strand : strands)
    for (std::size_t end = run; end <= strand.level.size(); end += 997) {
      std::uint64_t seed = 0;
      for (std::size_t i = end - run; i < end; ++i) seed = seed << 3U | symbol(strand.level[i]);
      const SeedPlace place = seed_place(seed, index.form);
      const std::uint64_t wanted =
          place.check << static_cast<unsigned>(index.form.position_bits) | (static_cast<std::uint64_t>(strand.first_column) + end - 1);
      bool found = false;
      for (std::uint64_t i = view.begin_of(place.bucket); i < view.begin_of(place.bucket + 1); ++i) found = found || view.entry_at(i) == wanted;
      CHECK(found);
    }
}

TEST_CASE("an entry has 40 bits where 32 do not hold it") {
  IndexParameters parameters;
  const SeedForm small = seed_form(9'800'000, parameters), large = seed_form(6'200'000'000, parameters);
  CHECK(small.entry_bits() <= 32);
  CHECK(large.position_bits == 33);
  CHECK(large.entry_bits() > 32);
  CHECK(large.entry_bits() <= 40);
  // Both strands of 3 Gbases: less than 12 bytes a base.
  CHECK(index_bytes(6'200'000'000, parameters) < 12ULL * 3'100'000'000);
  // Runs so long that a small reference needs the upper bits, too: the same anchors are found.
  const std::vector<Levels> levels = two_strands(20000);
  parameters.run = 13;
  const SquiggleIndex index = build_index(strands_of(levels), parameters, one_after_the_other);
  REQUIRE(index.form.entry_bits() > 32);
  REQUIRE(index.entry_high.size() == index.entry.size());
  const Levels samples = signal_of(std::span(levels[1]).subspan(5000, 200), 8);
  std::size_t right = 0;
  for (const Anchor& anchor : anchors_of(samples, index.view(), samples.size()))
    if (anchor.x >> 32U == 1 && (anchor.x & 0xFFFFFFFFU) >= 5000 && (anchor.x & 0xFFFFFFFFU) < 5200) ++right;
  CHECK(right > 20);
}

TEST_CASE("a letter that is not known parts the runs on both of its sides") {
  std::vector<Levels> levels = {distinct_levels(1000, 9)};
  const std::size_t whole = build_index(strands_of(levels), {}, one_after_the_other).entry.size();
  for (std::size_t i = 500; i < 506; ++i) levels[0][i] = sluice::squiggle_unknown_level;
  const SquiggleIndex index = build_index(strands_of(levels), {}, one_after_the_other);
  CHECK(index.entry.size() == whole - 6 - static_cast<std::size_t>(index.form.run - 1));
}

TEST_CASE("columns that are not known do not make events longer") {
  std::vector<Levels> levels = {distinct_levels(1000, 9)};
  const double known = build_index(strands_of(levels), {}, one_after_the_other).columns_per_event[0];
  levels[0].insert(levels[0].end(), 1000, sluice::squiggle_unknown_level);
  CHECK(build_index(strands_of(levels), {}, one_after_the_other).columns_per_event[0] == doctest::Approx(known));
}

TEST_CASE("a reference without any run has an index without entries") {
  const std::vector<Levels> levels = {{1, 20}, {}};
  const SquiggleIndex index = build_index(strands_of(levels), {}, one_after_the_other);
  CHECK(index.entry.size() == 0);
  CHECK(anchors_of(signal_of(distinct_levels(100, 1), 2), index.view(), 50).empty());
}

TEST_CASE("anchors lie where the signal is from, and do not depend on its pieces") {
  const std::vector<Levels> levels = two_strands(50000);
  const SquiggleIndex index = build_index(strands_of(levels), {}, one_after_the_other);
  const Levels samples = signal_of(std::span(levels[0]).subspan(20000, 300), 10);
  const std::vector<Anchor> anchors = anchors_of(samples, index.view(), samples.size());
  CHECK(std::is_sorted(anchors.begin(), anchors.end()));
  for (const std::size_t piece : {1U, 64U, 333U}) CHECK(anchors_of(samples, index.view(), piece) == anchors);
  // A k-mer of the read and its column differ by the same number.
  std::size_t right = 0;
  for (const Anchor& anchor : anchors) {
    const auto column = static_cast<std::int64_t>(anchor.x & 0xFFFFFFFFU), place = static_cast<std::int64_t>(anchor.y & 0xFFFFFFFFU);
    if (anchor.x >> 32U == 0 && std::abs(column - 20000 - place) < 30) ++right;
  }
  CHECK(right > 200);
}

TEST_CASE("anchors that no chain of two can have are left out, all others stay") {
  const std::vector<Levels> levels = two_strands(50000);
  const SquiggleIndex index = build_index(strands_of(levels), {}, one_after_the_other);
  const SeedingParameters parameters;
  const Seeding seeding(parameters, index.view());
  ReadSeeds seeds(seeding);
  seeds.take(signal_of(std::span(levels[0]).subspan(49700, 300), 10));
  std::vector<Anchor> anchors, kept;
  seeds.copy_anchors(anchors);
  seeds.copy_chainable(kept);
  const auto follows = [&](const Anchor& before, const Anchor& anchor) {
    if (anchor.x >> 32U != before.x >> 32U) return false;
    const auto low = [](std::uint64_t word) { return static_cast<std::int64_t>(word & 0xFFFFFFFFU); };
    const std::int64_t columns = low(anchor.x) - low(before.x), places = low(anchor.y) - low(before.y);
    return columns > 0 && columns <= parameters.most_distance && places > 0 && std::abs(columns - places) <= parameters.most_shift;
  };
  std::vector<Anchor> expected;
  for (const Anchor& anchor : anchors)
    if (std::ranges::any_of(anchors, [&](const Anchor& other) { return follows(anchor, other) || follows(other, anchor); }))
      expected.push_back(anchor);
  CHECK(kept == expected);
  CHECK(kept.size() > 200);
  CHECK(kept.size() < anchors.size());
}

TEST_CASE("an index knows which seeds it has, and looks no other one up") {
  const std::vector<Levels> levels = two_strands(50000);
  const SquiggleIndex index = build_index(strands_of(levels), {}, one_after_the_other);
  REQUIRE(index.seed_present.size() * 64 == std::size_t{1} << static_cast<unsigned>(index.form.seed_bits()));
  SquiggleIndexView view = index.view();
  for (std::uint64_t seed = 0; seed < std::uint64_t{1} << 16; ++seed) {
    const SeedPlace place = seed_place(seed, index.form);
    bool found = false;
    for (std::uint64_t i = view.begin_of(place.bucket); i < view.begin_of(place.bucket + 1); ++i)
      found = found || view.entry_at(i) >> static_cast<unsigned>(index.form.position_bits) == place.check;
    CHECK(view.may_have(seed) == found);
  }
  const Levels samples = signal_of(std::span(levels[1]).subspan(20000, 300), 13);
  const std::vector<Anchor> anchors = anchors_of(samples, view, samples.size());
  CHECK(anchors.size() > 200);
  view.seed_present = {};
  CHECK(anchors_of(samples, view, samples.size()) == anchors);
  // Of large references it would take too much.
  IndexParameters parameters;
  parameters.run = 13;
  CHECK(build_index(strands_of(two_strands(1000)), parameters, one_after_the_other).seed_present.size() == 0);
}

TEST_CASE("candidates surround the best chains, within their strand, and are one where they overlap") {
  const std::vector<std::int64_t> strand_begin = {0, 1000, 1000, 3000};
  const auto x = [](std::uint64_t strand, std::uint64_t column) { return strand << 32U | column; };
  const std::vector<std::int32_t> score = {50, 90, 10, 40}, count = {2, 2, 1, 1};
  const std::vector<std::uint64_t> anchor_x = {x(2, 1500), x(2, 1600), x(0, 20), x(0, 60), x(2, 100), x(2, 1620)};
  const std::vector<std::uint64_t> anchor_y = {100, 200, 40, 80, 50, 220};
  std::vector<Candidate> candidates;
  const CandidateParameters parameters{.most_chains = 3, .stretch = 0.5, .margin = 10};
  const ChainsOfRead chains{score, count, anchor_x, anchor_y};
  CHECK(chains_are_valid(chains, strand_begin));
  find_candidates(chains, 260, strand_begin, parameters, candidates);
  // 20 - 70 lies before the strand; 60 + 1.5 * 180 + 10; 1620 - 1.5 * 220 - 10 is before 1500 - 1.5 * 100 - 10.
  CHECK(candidates == std::vector<Candidate>{{0, 340}, {1000 + 1280, 1000 + 1700}});
  CHECK(!chains_are_valid({score, std::span(count).first(3), anchor_x, anchor_y}, strand_begin));
  CHECK(!chains_are_valid(chains, std::span(strand_begin).first(3)));
}

TEST_CASE("the search is chosen by what it costs, whoever runs it") {
  CHECK(choose_search("auto", 97'000, {}).search == Search::sdtw);
  CHECK(choose_search("auto", 9'800'000, {}).search == Search::seeds);
  CHECK(choose_search("sdtw", 9'800'000, {}).search == Search::sdtw);
  CHECK(choose_search("seeds", 97'000, {}).search == Search::seeds);
  CHECK(choose_search("auto", 9'800'000, {}).reason.find("161.2 ms") != std::string::npos);
}

namespace {

testing::TestBatch target_of(const std::vector<Levels>& levels) {
  return testing::BatchBuilder("squiggle_target", 1)
      .text("name", {"target"})
      .list<std::int16_t>("forward_level", {levels[0]})
      .list<std::int16_t>("reverse_level", {levels[1]})
      .attribute("steps", std::to_string(sluice::squiggle_steps))
      .attribute("limit", std::to_string(sluice::squiggle_limit))
      .build();
}
testing::TestBatch index_of(const testing::TestBatch& target, const char* search) {
  return testing::run_stage(testing::stage_of(plugin(), "squiggle_index"))
      .resource("target", target)
      .with({{"search", search}})
      .expect_rows(1)
      .batch();
}
struct Chunk {
  std::int32_t channel, index;
  bool is_last;
  Levels samples;
};
testing::TestBatch chunks_of(const std::vector<Chunk>& chunks) {
  std::vector<std::int32_t> channel, index;
  std::vector<std::uint8_t> is_last;
  std::vector<Levels> samples;
  for (const Chunk& chunk : chunks) {
    channel.push_back(chunk.channel);
    index.push_back(chunk.index);
    is_last.push_back(chunk.is_last ? 1 : 0);
    samples.push_back(chunk.samples);
  }
  return testing::BatchBuilder("read", static_cast<std::int64_t>(chunks.size()))
      .column<std::int32_t>("channel", channel)
      .column<std::int32_t>("chunk_index", index)
      .column<std::uint8_t>("is_last_chunk", is_last)
      .list<std::int16_t>("query_sample", samples)
      .build();
}
std::vector<Anchor> anchors_in(const testing::TestBatch& batch, std::int64_t row) {
  const auto x = batch.view().list<std::uint64_t>("anchor_x")[row], y = batch.view().list<std::uint64_t>("anchor_y")[row];
  std::vector<Anchor> anchors;
  for (std::size_t i = 0; i < x.size(); ++i) anchors.push_back({x[i], y[i]});
  return anchors;
}

}  // namespace

TEST_CASE("chunks give the anchors of the read so far, channel by channel, and a read that misses one fails") {
  const std::vector<Levels> levels = two_strands(20000);
  const testing::TestBatch index = index_of(target_of(levels), "seeds");
  const Levels one = signal_of(std::span(levels[0]).subspan(100, 200), 11), other = signal_of(std::span(levels[1]).subspan(7000, 200), 12);
  const auto part = [](const Levels& samples, std::size_t from, std::size_t to) {
    return Levels(samples.begin() + static_cast<std::ptrdiff_t>(from), samples.begin() + static_cast<std::ptrdiff_t>(to));
  };
  const auto chunks = chunks_of({{7, 0, false, part(one, 0, 400)},
                                 {3, 0, false, part(other, 0, 300)},
                                 {7, 1, true, part(one, 400, one.size())},
                                 {3, 2, false, part(other, 300, 600)},
                                 {3, 3, true, part(other, 600, other.size())}});
  const auto result = testing::run_stage(testing::stage_of(plugin(), "signal_seeding_stream"), chunks).resource("index", index).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.failed == std::vector<testing::FailedRow>{{0, 3, "chunk_missing"}, {0, 4, "chunk_missing"}});
  const auto reads = testing::BatchBuilder("read", 3).list<std::int16_t>("query_sample", {part(one, 0, 400), part(other, 0, 300), one}).build();
  const auto whole = testing::run_stage(testing::stage_of(plugin(), "signal_seeding"), reads).resource("index", index).expect_rows(3);
  CHECK(!anchors_in(whole.batch(), 2).empty());
  for (std::int64_t row = 0; row < 3; ++row) CHECK(anchors_in(result.batch(), row) == anchors_in(whole.batch(), row));
}

TEST_CASE("seeds that have no room in the index are refused") {
  const std::vector<Levels> levels = two_strands(20000);
  for (const int symbol_bits : {3, 4}) {
    const auto result = testing::run_stage(testing::stage_of(plugin(), "squiggle_index"))
                            .resource("target", target_of(levels))
                            .with({{"search", "seeds"}, {"run", 16}, {"symbol_bits", symbol_bits}})
                            .run();
    CHECK(!result.ok());
    CHECK(result.message.find("do not fit the index") != std::string::npos);
  }
}

TEST_CASE("without seeds there is no index, and no row has an anchor") {
  const std::vector<Levels> levels = two_strands(20000);
  const testing::TestBatch index = index_of(target_of(levels), "sdtw");
  CHECK(index.view().list<std::uint32_t>("entry")[0].empty());
  const auto reads = testing::BatchBuilder("read", 1).list<std::int16_t>("query_sample", {signal_of(levels[0], 1)}).build();
  const auto result = testing::run_stage(testing::stage_of(plugin(), "signal_seeding"), reads).resource("index", index).expect_rows(1);
  CHECK(anchors_in(result.batch(), 0).empty());
}

TEST_CASE("the stages keep the contract") {
  const std::vector<Levels> levels = two_strands(20000);
  const testing::TestBatch target = target_of(levels), index = index_of(target, "seeds");
  std::vector<Levels> samples;
  std::vector<Chunk> chunks;  // whole reads, so that each row stands for itself
  for (std::int32_t i = 0; i < 5; ++i) {
    samples.push_back(signal_of(std::span(levels[static_cast<std::size_t>(i % 2)]).subspan(static_cast<std::size_t>(i) * 1000, 150),
                                20 + static_cast<std::uint64_t>(i)));
    chunks.push_back({i % 3, 0, true, samples.back()});
  }
  const auto reads = testing::BatchBuilder("read", 5).list<std::int16_t>("query_sample", samples).build();
  const auto chained = testing::BatchBuilder("read", 2)
                           .column<std::int32_t>("read_length", {300, 300})
                           .list<std::int32_t>("chain_score", {{20, 10}, {}})
                           .list<std::int32_t>("chain_anchor_count", {{2, 1}, {}})
                           .list<std::uint64_t>("chain_anchor_x", {{5000, 5100, (std::uint64_t{1} << 32U) + 9}, {}})
                           .list<std::uint64_t>("chain_anchor_y", {{50, 150, 9}, {}})
                           .build();
  const std::map<std::string, testing::TestBatch> resources = {{"index", index}};
  for (const std::string& problem :
       testing::contract_problems(plugin(), {{"squiggle_index", {.parameters = {{"search", "seeds"}}, .resources = {{"target", target}}}},
                                             {"signal_seeding", {.resources = resources, .batches = {reads}}},
                                             {"signal_seeding_stream", {.resources = resources, .batches = {chunks_of(chunks)}}},
                                             {"seed_candidates", {.resources = resources, .batches = {chained}}}}))
    FAIL_CHECK(problem);
}
