// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <sluice/failure.hpp>
#include <string>
#include <vector>

#include "sdtw/search.hpp"
#include "unit/instruction_sets.hpp"

namespace {

using namespace sluice::sdtw;
using Levels = std::vector<std::int16_t>;

constexpr Method manhattan{Cost::manhattan, ReferenceDeletions::forbidden};
constexpr Method squared{Cost::squared, ReferenceDeletions::forbidden};
constexpr Method with_deletions{Cost::manhattan, ReferenceDeletions::allowed};

// Levels of all kinds: of a normal distribution, of few different values (many ties), and at both ends of the range (scores that grow fast).
Levels random_levels(std::size_t size, std::mt19937_64& random) {
  Levels levels(size);
  const int kind = static_cast<int>(random() % 4);
  std::normal_distribution<double> normal(0.0, 16.0);
  for (std::int16_t& level : levels) {
    if (kind < 2)
      level = static_cast<std::int16_t>(std::clamp(normal(random), -63.0, 63.0));
    else if (kind == 2)
      level = static_cast<std::int16_t>(random() % 3);
    else
      level = random() % 2 == 0 ? std::int16_t{-63} : std::int16_t{63};
  }
  return levels;
}

Reference reference_of(const std::vector<Levels>& strands) {
  Reference reference;
  for (std::size_t i = 0; i + 1 < strands.size(); i += 2) reference.add_target(strands[i], strands[i + 1]);
  return reference;
}

Reference random_reference(std::size_t targets, std::size_t longest, std::mt19937_64& random) {
  std::vector<Levels> strands;
  for (std::size_t i = 0; i < 2 * targets; ++i) strands.push_back(random_levels(1 + random() % longest, random));
  return reference_of(strands);
}

// The recurrence in double precision as a textbook has it: a whole matrix, and a walk back along the shortest of the best paths.
struct Matrix {
  double score = std::numeric_limits<double>::infinity();
  std::int64_t first = -1, last = -1;
};
Matrix brute_force(const Reference& reference, const Levels& query, Method method) {
  Matrix best;
  for (const Segment& segment : reference.segments()) {
    const std::size_t n = query.size(), m = static_cast<std::size_t>(segment.size);
    std::vector<std::vector<double>> d(n, std::vector<double>(m));
    const auto at = [&](std::size_t i, std::size_t j) {
      const double distance = std::abs(double{0} + query[i] - reference.levels()[static_cast<std::size_t>(segment.begin) + j]);
      return method.cost == Cost::manhattan ? distance : distance * distance;
    };
    const bool deletions = method.deletions == ReferenceDeletions::allowed;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < m; ++j) {
        double least = i == 0 ? 0.0 : d[i - 1][j];
        if (i > 0 && j > 0) least = std::min(least, d[i - 1][j - 1]);
        if (deletions && j > 0) least = std::min(least, d[i][j - 1]);
        d[i][j] = at(i, j) + least;
      }
    }
    for (std::size_t j = 0; j < m; ++j) {
      if (d[n - 1][j] >= best.score) continue;
      best.score = d[n - 1][j];
      best.last = segment.begin + static_cast<std::int64_t>(j);
      // The latest beginning among all best paths: every predecessor that explains a cell is followed, row by row.
      std::vector<std::vector<char>> reached(n, std::vector<char>(m, 0));
      reached[n - 1][j] = 1;
      std::size_t first = 0;
      for (std::size_t i = n; i-- > 0;) {
        for (std::size_t column = m; column-- > 0;) {
          if (!reached[i][column]) continue;
          const double before = d[i][column] - at(i, column);
          if (i == 0 && before == 0.0) first = std::max(first, column);
          if (i > 0 && d[i - 1][column] == before) reached[i - 1][column] = 1;
          if (i > 0 && column > 0 && d[i - 1][column - 1] == before) reached[i - 1][column - 1] = 1;
          if (deletions && column > 0 && d[i][column - 1] == before) reached[i][column - 1] = 1;
        }
      }
      best.first = segment.begin + static_cast<std::int64_t>(first);
    }
  }
  return best;
}

// The best score and its first column after each level, by two rows in double precision.
std::vector<Matrix> brute_force_of_prefixes(const Reference& reference, const Levels& query) {
  std::vector<Matrix> best(query.size());
  for (const Segment& segment : reference.segments()) {
    std::vector<double> row(static_cast<std::size_t>(segment.size), 0.0);
    for (std::size_t i = 0; i < query.size(); ++i) {
      double diagonal = std::numeric_limits<double>::infinity();
      for (std::size_t j = 0; j < row.size(); ++j) {
        const double above = row[j];
        const double least = i == 0 ? 0.0 : std::min(above, diagonal);
        row[j] = least + std::abs(double{0} + query[i] - reference.levels()[static_cast<std::size_t>(segment.begin) + j]);
        diagonal = above;
        if (row[j] < best[i].score) best[i] = {row[j], -1, segment.begin + static_cast<std::int64_t>(j)};
      }
    }
  }
  return best;
}

void check_equal_to_scalar(const Reference& reference, const Levels& query, Method method) {
  ScalarRows scalar(reference, method);
  scalar.advance(query);
  const Hit expected = scalar.best();
  const std::int64_t first = scalar.first_column(expected.column);
  sluice::testing::for_each_instruction_set([&] {
    const Search search(reference, method);
    Workspace workspace;
    const SearchResult result = search.find(query, Search::PathStart::wanted, workspace);
    CHECK(result.hit.score == expected.score);
    CHECK(result.hit.column == expected.column);
    CHECK(result.first_column == first);
  });
}

}  // namespace

TEST_CASE("the scalar rows are the recurrence of a textbook") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const Reference reference = random_reference(1 + random() % 3, 1 + random() % 40, random);
    const Levels query = random_levels(1 + random() % 40, random);
    for (const Cost cost : {Cost::manhattan, Cost::squared}) {
      for (const ReferenceDeletions deletions : {ReferenceDeletions::forbidden, ReferenceDeletions::allowed}) {
        ScalarRows rows(reference, {cost, deletions});
        rows.advance(query);
        const Matrix expected = brute_force(reference, query, {cost, deletions});
        const Hit hit = rows.best();
        REQUIRE(static_cast<double>(hit.score) == expected.score);
        REQUIRE(hit.column == expected.last);
        REQUIRE(rows.first_column(hit.column) == expected.first);
      }
    }
  }
}

TEST_CASE("a query that is a stretch of the reference is found there at no cost") {
  std::mt19937_64 random(2);
  Levels forward(3000), reverse(3000);
  for (auto* strand : {&forward, &reverse})
    for (std::int16_t& level : *strand) level = static_cast<std::int16_t>(static_cast<int>(random() % 127) - 63);
  const Reference reference = reference_of({{5}, {6}, forward, reverse});
  Workspace workspace;
  const Search search(reference, manhattan);
  const auto place = [&](const Levels& query) {
    const SearchResult result = search.find(query, Search::PathStart::wanted, workspace);
    CHECK(result.hit.score == 0);
    return place_of(reference, result.first_column, result.hit.column);
  };
  CHECK(place({forward.begin() + 100, forward.begin() + 300}) == Place{1, Strand::forward, 100, 300});
  // The i-th level of the reverse strand belongs to the k-mer at 2999 - i of the contig.
  CHECK(place({reverse.begin() + 100, reverse.begin() + 300}) == Place{1, Strand::reverse, 2700, 2900});
  Levels slow;  // three levels a k-mer
  for (int i = 500; i < 600; ++i) slow.insert(slow.end(), 3, forward[static_cast<std::size_t>(i)]);
  CHECK(place(slow) == Place{1, Strand::forward, 500, 600});
}

TEST_CASE("every query length from 1 to 100 and some up to 5,000 give the scalar result on every instruction set") {
  std::mt19937_64 random(3);
  const Reference reference = random_reference(2, 700, random);
  for (std::size_t length = 1; length <= 100; ++length) check_equal_to_scalar(reference, random_levels(length, random), manhattan);
  for (const std::size_t length : {127, 255, 256, 1023, 2222, 4999, 5000}) {
    check_equal_to_scalar(reference, random_levels(length, random), manhattan);
    check_equal_to_scalar(reference, random_levels(length, random), squared);
  }
}

TEST_CASE("every query length from 1 to 5,000 gives the score of double precision") {
  std::mt19937_64 random(13);
  for (int kind = 0; kind < 2; ++kind) {
    const Reference reference = random_reference(2, 400, random);
    const Levels query = random_levels(5000, random);
    const std::vector<Matrix> expected = brute_force_of_prefixes(reference, query);
    const Search search(reference, manhattan);
    Workspace workspace;
    for (std::size_t length = 1; length <= query.size(); ++length) {
      const Hit hit = search.find({query.begin(), query.begin() + static_cast<std::ptrdiff_t>(length)}, Search::PathStart::unwanted, workspace).hit;
      REQUIRE(static_cast<double>(hit.score) == expected[length - 1].score);
      REQUIRE(hit.column == expected[length - 1].last);
    }
  }
}

TEST_CASE("a reference of 5 Mb gives the score of double precision") {
  std::mt19937_64 random(14);
  Levels forward(5'000'000), reverse(5'000'000);
  for (auto* strand : {&forward, &reverse})
    for (std::int16_t& level : *strand) level = static_cast<std::int16_t>(static_cast<int>(random() % 127) - 63);
  const Reference reference = reference_of({forward, reverse});
  const Levels query = random_levels(30, random);
  const Matrix expected = brute_force_of_prefixes(reference, query).back();
  Workspace workspace;
  const Hit hit = Search(reference, manhattan).find(query, Search::PathStart::unwanted, workspace).hit;
  CHECK(static_cast<double>(hit.score) == expected.score);
  CHECK(hit.column == expected.last);
}

TEST_CASE("references from one column to many tiles give the scalar result") {
  std::mt19937_64 random(4);
  for (int round = 0; round < 60; ++round) {
    const Reference reference = random_reference(1 + random() % 20, 1 + random() % (round < 40 ? 60 : 4000), random);
    const Levels query = random_levels(1 + random() % 90, random);
    check_equal_to_scalar(reference, query, manhattan);
    check_equal_to_scalar(reference, query, squared);
    check_equal_to_scalar(reference, query, with_deletions);
  }
  const Reference single = reference_of({{7}, {-7}});
  check_equal_to_scalar(single, {1, 2, 3}, manhattan);
  const Reference forward_only = reference_of({{1, 2, 3}, {}});
  check_equal_to_scalar(forward_only, {3}, manhattan);
}

TEST_CASE("a reference of several tiles and long queries give the scalar result") {
  std::mt19937_64 random(5);
  const Reference reference =
      reference_of({random_levels(30000, random), random_levels(30000, random), random_levels(9, random), random_levels(1, random)});
  for (const std::size_t length : {200, 900}) check_equal_to_scalar(reference, random_levels(length, random), manhattan);
}

TEST_CASE("scores beyond 16 bits are exact") {
  const Reference reference = reference_of({Levels(50, 63), Levels(30, 62)});
  const Levels query(5000, -63);  // 126 or 125 a level
  sluice::testing::for_each_instruction_set([&] {
    const Search search(reference, manhattan);
    Workspace workspace;
    const SearchResult result = search.find(query, Search::PathStart::wanted, workspace);
    CHECK(result.hit == Hit{625000, 50});
    CHECK(result.first_column == 50);
    CHECK(result.width == CellWidth::wide);
    const SearchResult shorter = search.find(std::span(query).first(400), Search::PathStart::wanted, workspace);
    CHECK(shorter.hit == Hit{50000, 50});
    CHECK(shorter.width == CellWidth::narrow);
  });
  // Around the ceiling of narrow cells, where one path is clamped and the best is not yet.
  for (std::size_t length = 485; length < 500; ++length) check_equal_to_scalar(reference, Levels(length, -63), manhattan);
}

TEST_CASE("a search in parts is the whole search") {
  std::mt19937_64 random(6);
  const Reference reference = reference_of({random_levels(200000, random), random_levels(150000, random)});
  const Levels query = random_levels(300, random);
  const Search search(reference, manhattan);
  Workspace workspace;
  const SearchResult whole = search.find(query, Search::PathStart::wanted, workspace);
  CHECK(search.useful_parts(query.size(), 100) > 1);
  CHECK(search.useful_parts(query.size(), 1) == 1);
  for (const std::size_t parts : {2, 3, 7}) {
    std::vector<SearchResult> results;
    for (std::size_t part = 0; part < parts; ++part) results.push_back(search.find_part(query, part, parts, workspace));
    const SearchResult joined = search.join_parts(query, results, Search::PathStart::wanted, workspace);
    CHECK(joined.hit == whole.hit);
    CHECK(joined.first_column == whole.first_column);
  }
}

TEST_CASE("a stream has the result of the whole query after every chunk, however it is cut") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 40; ++round) {
    const Reference reference = random_reference(1 + random() % 3, round % 2 == 0 ? 50 : 3000, random);
    const Levels query = random_levels(1 + random() % 700, random);
    for (const Method method : {manhattan, squared, with_deletions}) {
      sluice::testing::for_each_instruction_set([&] {
        const Search search(reference, method);
        Workspace workspace;
        Stream stream;
        stream.advance(search, random_levels(30, random), workspace);  // another query's
        stream.restart();
        for (std::size_t at = 0; at < query.size();) {
          const std::size_t size = std::min<std::size_t>(query.size() - at, random() % 150);
          stream.advance(search, std::span(query).subspan(at, size), workspace);
          at += size;
          const SearchResult expected = search.find(std::span(query).first(at), Search::PathStart::wanted, workspace);
          const SearchResult result = stream.result(search, Search::PathStart::wanted, workspace);
          REQUIRE(result.hit == expected.hit);
          REQUIRE(result.first_column == expected.first_column);
        }
      });
    }
  }
}

TEST_CASE("a stream whose score outgrows 16 bits goes on exactly") {
  std::mt19937_64 random(8);
  const Reference reference = reference_of({Levels(500, 60), random_levels(40, random)});
  Levels query(700, -60);
  const Levels tail = random_levels(900, random);
  query.insert(query.end(), tail.begin(), tail.end());
  const Search search(reference, manhattan);
  Workspace workspace;
  Stream stream;
  for (std::size_t at = 0; at < query.size(); at += 100) {
    stream.advance(search, std::span(query).subspan(at, 100), workspace);
    ScalarRows scalar(reference, manhattan);
    scalar.advance(std::span(query).first(at + 100));
    const SearchResult result = stream.result(search, Search::PathStart::wanted, workspace);
    CHECK(result.hit == scalar.best());
    CHECK(result.first_column == scalar.first_column(result.hit.column));
  }
}

TEST_CASE("without a query or without a reference there is no place") {
  const Reference nothing;
  const Reference reference = reference_of({{1, 2}, {3, 4}});
  Workspace workspace;
  for (const Method method : {manhattan, squared, with_deletions}) {
    const SearchResult no_reference = Search(nothing, method).find(Levels{1, 2, 3}, Search::PathStart::wanted, workspace);
    CHECK(no_reference.hit == Hit{0, -1});
    workspace.scalar.reset();
    const SearchResult no_query = Search(reference, method).find({}, Search::PathStart::wanted, workspace);
    CHECK(no_query.hit == Hit{0, -1});
    CHECK(place_of(reference, no_query.first_column, no_query.hit.column) == Place{});
    workspace.scalar.reset();
  }
}

TEST_CASE("of strands whose 3' end passes first, places are on the forward strand of the contig, too") {
  Reference reference(sluice::FirstEnd::three_prime);
  reference.add_target(Levels(10), Levels{});  // transcripts: columns 0 to 9, and then 10 to 29 and 30 to 49 of a target with both strands
  reference.add_target(Levels(20), Levels(20));
  CHECK(place_of(reference, 0, 3) == Place{0, Strand::forward, 6, 10});
  CHECK(place_of(reference, 12, 19) == Place{1, Strand::forward, 10, 18});
  CHECK(place_of(reference, 30, 34) == Place{1, Strand::reverse, 0, 5});
}

TEST_CASE("levels outside the range are refused") {
  CHECK(levels_are_valid(Levels{-63, 0, 63}));
  CHECK_FALSE(levels_are_valid(Levels{-64}));
  CHECK_FALSE(levels_are_valid(Levels{64}));
  Reference reference;
  CHECK_THROWS_AS(reference.add_target(Levels{100}, {}), sluice::Failure);
}

TEST_CASE("a stream goes back to a mark, also across the end of a read, and computes again what it had not") {
  std::mt19937_64 random(11);
  Reference reference;
  reference.add_target(random_levels(700, random), random_levels(700, random));
  const Search search(reference, {});
  Workspace workspace;
  const Levels first = random_levels(90, random), second = random_levels(70, random), other = random_levels(50, random);
  Levels both = first;
  both.insert(both.end(), second.begin(), second.end());
  const auto result_of = [&](Stream& stream) { return stream.result(search, Search::PathStart::wanted, workspace); };
  const SearchResult expected = search.find(both, Search::PathStart::wanted, workspace);
  for (const bool computed_before : {false, true}) {
    for (const bool computed_after : {false, true}) {
      for (const int reads_after : {0, 1, 2}) {
        Stream stream;
        stream.append(first);
        if (computed_before) stream.catch_up(search, workspace);
        Stream::Mark mark = stream.mark();
        stream.append(other);
        for (int read = 0; read < reads_after; ++read) {
          stream.restart(mark);
          stream.append(other);
        }
        if (computed_after) stream.catch_up(search, workspace);
        stream.undo(std::move(mark));
        CHECK(stream.length() == 90);
        stream.append(second);
        stream.catch_up(search, workspace);
        CHECK(result_of(stream).hit == expected.hit);
        CHECK(result_of(stream).first_column == expected.first_column);
      }
    }
  }
}
