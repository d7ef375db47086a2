// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "hit_selection/hit_merging.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/mapping/hit_selection/tiny_index.hpp"
#include "unit/small_files.hpp"

using namespace sluice::hit_selection;
using sluice::overlap::ReadHit;
using sluice::testing::BatchBuilder;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

struct MadeRow {
  std::string name;
  std::vector<ReadHit> hits;
  bool failed = false;
};

TestBatch batch_of(const std::vector<MadeRow>& rows, std::int32_t part) {
  const auto count = static_cast<std::int64_t>(rows.size());
  std::vector<std::string> names;
  std::vector<std::int32_t> length, repeats;
  for (std::size_t i = 0; i < rows.size(); ++i)
    names.push_back(rows[i].name), length.push_back(1000), repeats.push_back(static_cast<std::int32_t>(i));
  const auto lists = [&]<class T>(T ReadHit::*member) {
    std::vector<std::vector<T>> all;
    for (const MadeRow& row : rows) {
      all.emplace_back();
      for (const ReadHit& hit : row.hits) all.back().push_back(hit.*member);
    }
    return all;
  };
  BatchBuilder batch("read", count);
  batch.text("read_id", names)
      .column("read_length", length)
      .column("repeat_length", repeats)
      .column("index_part", std::vector<std::int32_t>(rows.size(), part))
      .list<std::int32_t>("hit_target", lists(&ReadHit::target))
      .list<std::int32_t>("hit_query_start", lists(&ReadHit::query_start))
      .list<std::int32_t>("hit_query_end", lists(&ReadHit::query_end))
      .list<std::int32_t>("hit_target_start", lists(&ReadHit::target_start))
      .list<std::int32_t>("hit_target_end", lists(&ReadHit::target_end))
      .list<std::int32_t>("hit_score", lists(&ReadHit::score))
      .list<std::int32_t>("hit_second_score", lists(&ReadHit::second_score))
      .list<std::int32_t>("hit_anchors", lists(&ReadHit::anchors))
      .list<std::int32_t>("hit_matches", lists(&ReadHit::matches))
      .list<std::int32_t>("hit_block", lists(&ReadHit::block))
      .list<std::uint32_t>("hit_hash", lists(&ReadHit::hash))
      .list<float>("hit_divergence", lists(&ReadHit::divergence))
      .list<std::uint8_t>("hit_is_reverse", lists(&ReadHit::is_reverse))
      .list<std::uint8_t>("hit_is_primary", lists(&ReadHit::is_primary))
      .list<std::uint8_t>("hit_mapq", lists(&ReadHit::mapping_quality));
  for (std::int64_t row = 0; row < count; ++row)
    if (rows[static_cast<std::size_t>(row)].failed) batch.failed(row);
  return batch.build();
}

// An index of so many parts, one contig each.
TestBatch index_of(std::size_t parts) {
  std::vector<std::pair<std::string, std::int32_t>> contigs;
  std::vector<std::int64_t> part_begin{0};
  for (std::size_t p = 0; p < parts; ++p) {
    contigs.emplace_back("contig" + std::to_string(p), 5000);
    part_begin.push_back(static_cast<std::int64_t>(p) + 1);
  }
  return tiny_index::of(contigs, 15, part_begin);
}

std::vector<MadeRow> made_rows(std::mt19937& random, std::size_t count, std::int32_t target) {
  std::vector<MadeRow> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i].name = "read" + std::to_string(i);
    const std::size_t hits = i % 7 == 0 ? 0 : random() % 5;
    for (std::size_t h = 0; h < hits; ++h) {
      ReadHit hit;
      for (std::int32_t* value : {&hit.query_start, &hit.query_end, &hit.target_start, &hit.target_end, &hit.matches, &hit.block})
        *value = static_cast<std::int32_t>(random() % 1000);
      hit.target = target;
      hit.score = static_cast<std::int32_t>(random() % 4) + 100;
      hit.anchors = static_cast<std::int32_t>(random() % 3) + 10;
      hit.hash = static_cast<std::uint32_t>(random());
      hit.divergence = static_cast<float>(random() % 100) / 500;
      hit.is_reverse = random() % 2 == 0;
      hit.second_score = -1;
      rows[i].hits.push_back(hit);
    }
  }
  return rows;
}

std::vector<std::string> texts_of(const Result& result) { return sluice::testing::row_texts(result); }

// The rows in batches of these sizes.
void add_batches(std::vector<TestBatch>& batches, const std::vector<MadeRow>& rows, std::int32_t part, std::size_t size) {
  for (std::size_t at = 0; at < rows.size(); at += size)
    batches.push_back(batch_of(
        {rows.begin() + static_cast<std::ptrdiff_t>(at), rows.begin() + static_cast<std::ptrdiff_t>(std::min(at + size, rows.size()))}, part));
}

}  // namespace

TEST_CASE("the hits of all parts come in one row, in the order of one index") {
  std::mt19937 random(6);
  constexpr std::size_t count = 3000;  // more bytes than are written at once
  std::vector<std::vector<MadeRow>> parts;
  for (std::int32_t p = 0; p < 3; ++p) parts.push_back(made_rows(random, count, p));
  std::vector<MadeRow> together(count);
  for (std::size_t i = 0; i < count; ++i) {
    together[i].name = parts[0][i].name;
    for (const auto& part : parts) together[i].hits.insert(together[i].hits.end(), part[i].hits.begin(), part[i].hits.end());
    std::stable_sort(together[i].hits.begin(), together[i].hits.end(), [](const ReadHit& a, const ReadHit& b) {
      const auto key = [](const ReadHit& hit) {
        return (static_cast<std::uint64_t>(hit.score) << 32 | static_cast<std::uint64_t>(hit.anchors)) ^ hit.hash;
      };
      return key(a) > key(b);
    });
  }
  const Result expected = run_stage<HitMerging>({batch_of(together, 0)}).resource("index", index_of(1)).run();
  REQUIRE(expected.ok());
  REQUIRE(expected.rows() == static_cast<std::int64_t>(count));
  std::vector<std::string> one = texts_of(expected);
  for (const std::size_t size : {std::size_t{97}, count}) {
    std::vector<TestBatch> batches;
    for (std::int32_t p = 0; p < 3; ++p) add_batches(batches, parts[static_cast<std::size_t>(p)], p, p == 1 ? size / 3 : size);
    const Result merged = run_stage<HitMerging>(batches).resource("index", index_of(3)).run();
    REQUIRE(merged.ok());
    REQUIRE(merged.rows() == static_cast<std::int64_t>(count));
    std::vector<std::string> names, expected_names;
    std::int64_t at = 0;
    for (const TestBatch& batch : merged.batches) {
      const sluice::Batch view = batch.view(), all = expected.batch().view();
      for (std::int64_t row = 0; row < view.rows(); ++row, ++at) {
        REQUIRE(view.text("read_id")[row] == all.text("read_id")[at]);
        for (const char* column : {"hit_target", "hit_score", "hit_query_start", "hit_target_end", "hit_matches", "hit_block", "hit_second_score"})
          REQUIRE(std::ranges::equal(view.list<std::int32_t>(column)[row], all.list<std::int32_t>(column)[at]));
        REQUIRE(std::ranges::equal(view.list<float>("hit_divergence")[row], all.list<float>("hit_divergence")[at]));
        REQUIRE(std::ranges::equal(view.list<std::uint8_t>("hit_is_reverse")[row], all.list<std::uint8_t>("hit_is_reverse")[at]));
      }
    }
  }
}

TEST_CASE("hits as good as each other come by target and start, downwards") {
  const auto row_of = [](std::int32_t target, const std::vector<std::int32_t>& starts) {
    std::vector<MadeRow> rows(1);
    rows[0].name = "read0";
    for (const std::int32_t start : starts) {
      ReadHit hit;
      hit.target = target;
      hit.target_start = start;
      hit.score = 100;
      hit.anchors = 10;
      hit.hash = 5;
      rows[0].hits.push_back(hit);
    }
    return rows;
  };
  std::vector<std::int32_t> starts(20, 7);  // equal in all: so many that the sort goes through them without looking for the end
  starts.insert(starts.begin() + 3, 9);
  const Result merged = run_stage<HitMerging>({batch_of(row_of(0, starts), 0), batch_of(row_of(1, {3, 4}), 1)}).resource("index", index_of(2)).run();
  REQUIRE(merged.ok());
  const sluice::Batch view = merged.batch().view();
  std::vector<std::int32_t> targets(21, 0), wanted(20, 7);
  targets.insert(targets.begin(), {1, 1});
  wanted.insert(wanted.begin(), {4, 3, 9});
  CHECK(std::ranges::equal(view.list<std::int32_t>("hit_target")[0], targets));
  CHECK(std::ranges::equal(view.list<std::int32_t>("hit_target_start")[0], wanted));
}

TEST_CASE("a row that failed in one part gives no row, and does not shift others") {
  std::mt19937 random(7);
  auto first = made_rows(random, 10, 0), second = made_rows(random, 10, 1);
  first[3].failed = true;
  second[5].failed = true;
  const Result merged = run_stage<HitMerging>({batch_of(first, 0), batch_of(second, 1)}).resource("index", index_of(2)).run();
  REQUIRE(merged.ok());
  CHECK(merged.rows() == 8);
  const sluice::Batch view = merged.batch().view();
  CHECK(view.text("read_id")[3] == "read4");
  CHECK(view.list<std::int32_t>("hit_target")[3].size() == first[4].hits.size() + second[4].hits.size());
}

TEST_CASE("parts of other reads, in another order or with primary hits are refused") {
  std::mt19937 random(8);
  const auto says = [](const std::vector<TestBatch>& batches, const std::string& words) {
    const Result result = run_stage<HitMerging>(batches).resource("index", index_of(2)).run();
    CAPTURE(result.message);
    CHECK(!result.ok());
    CHECK(result.message.find(words) != std::string::npos);
  };
  const auto ten = made_rows(random, 10, 0), nine = made_rows(random, 9, 0);
  says({batch_of(nine, 0), batch_of(ten, 1)}, "do not have the same reads");
  says({batch_of(ten, 0), batch_of(nine, 1)}, "do not have the same reads");
  says({batch_of(ten, 0)}, "do not have the same reads");
  says({batch_of(ten, 1)}, "do not have the same reads");
  says({batch_of(ten, 0), batch_of(ten, 2)}, "is of part 2 of an index of 2");
  says({batch_of(ten, -1)}, "is of part -1 of an index of 2");
  auto primary = made_rows(random, 10, 1);
  primary[1].hits.push_back(ReadHit{.is_primary = 1});
  says({batch_of(ten, 0), batch_of(primary, 1)}, "primary");
}

TEST_CASE("Where files may not grow it is said what helps: ulimit, or fewer parts") {
  const SmallFiles small(1000);
  PartHits hits;
  const std::vector<ReadHit> many(100'000);
  try {
    hits.add(0, std::span<const ReadHit>(many));
    FAIL("files may grow");
  } catch (const sluice::Failure& failure) {
    CHECK(failure.remedy().find("ulimit -f") != std::string::npos);
    CHECK(failure.remedy().find("--part-bases") != std::string::npos);
  }
}
