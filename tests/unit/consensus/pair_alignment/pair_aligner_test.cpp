// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#define HWY_WANT_AVX3_DL  // as in band_fill.cpp
#include "pair_alignment/pair_aligner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <sluice/testing.hpp>
#include <sluice/testing/kept_memory.hpp>
#include <string>
#include <vector>

#ifdef SLUICE_WITH_EDLIB
#include <edlib.h>
#endif

#include "unit/instruction_sets.hpp"

using namespace sluice::pair_alignment;

namespace {

using Random = std::mt19937;

std::string letters(Random& random, std::size_t length, const std::string& alphabet) {
  std::string text;
  for (std::size_t i = 0; i < length; ++i) text += alphabet[random() % alphabet.size()];
  return text;
}
// A third each of substitutions, insertions and deletions.
std::string with_errors(Random& random, const std::string& text, double rate) {
  const auto happens = [&] { return random() < rate / 3 * 4294967296.0; };
  std::string result;
  for (const char c : text) {
    if (happens()) result += "ACGT"[random() % 4];
    if (happens()) continue;
    result += happens() ? "ACGT"[random() % 4] : c;
  }
  return result;
}

struct Alignment {
  std::string operations;  // "3M1I"
  std::int64_t edits = 0;
};
Alignment ours(PairAligner& aligner, const std::string& query, const std::string& target) {
  std::vector<std::uint32_t> cigar;
  Alignment result;
  result.edits = aligner.align(query, target, cigar);
  for (const std::uint32_t operation : cigar) result.operations += std::to_string(operation >> 4U) + "MID"[operation & 15U];
  return result;
}

std::string as_text(const std::string& columns) {
  std::string text;
  for (std::size_t i = 0; i < columns.size();) {
    const std::size_t end = std::min(columns.find_first_not_of(columns[i], i), columns.size());
    text += std::to_string(end - i) + columns[i];
    i = end;
  }
  return text;
}

using Matrix = std::vector<std::vector<int>>;

// From the first letters of both.
Matrix distances(const std::string& query, const std::string& target) {
  Matrix d(query.size() + 1, std::vector<int>(target.size() + 1));
  for (std::size_t i = 0; i < d.size(); ++i)
    for (std::size_t j = 0; j <= target.size(); ++j) {
      if (i == 0 || j == 0)
        d[i][j] = static_cast<int>(i + j);
      else
        d[i][j] = std::min({d[i - 1][j - 1] + (query[i - 1] == target[j - 1] ? 0 : 1), d[i - 1][j] + 1, d[i][j - 1] + 1});
    }
  return d;
}

// The whole matrix, walked back by the rule of small pairs.
std::string walked_back(const std::string& query, const std::string& target) {
  const Matrix d = distances(query, target);
  std::string backwards;
  std::size_t i = query.size(), j = target.size();
  while (i > 0 || j > 0) {
    if (i > 0 && (j == 0 || d[i - 1][j] + 1 == d[i][j]))
      backwards += 'I', --i;
    else if (j > 0 && (i == 0 || d[i][j - 1] + 1 == d[i][j]))
      backwards += 'D', --j;
    else
      backwards += 'M', --i, --j;
  }
  return {backwards.rbegin(), backwards.rend()};
}

// And larger ones divided.
std::string divided(const std::string& query, const std::string& target, std::size_t undivided_bytes) {
  const std::size_t rows = query.size(), columns = target.size(), half = columns / 2;
  if (rows == 0) return std::string(columns, 'D');
  if (columns == 0) return std::string(rows, 'I');
  if (columns == 1 || 20 * ((rows + 63) / 64) * columns + 8 * columns < undivided_bytes) return walked_back(query, target);
  const Matrix left = distances(query, target.substr(0, half));
  const Matrix right = distances({query.rbegin(), query.rend()}, {target.rbegin(), target.rend() - static_cast<std::ptrdiff_t>(half)});
  const auto edits = [&](std::size_t row) { return left[row][half] + right[rows - row][columns - half]; };
  std::vector<std::size_t> candidates;  // in the order of preference
  for (std::size_t row = 1; row < rows; ++row) candidates.push_back(row);
  candidates.push_back(0);
  candidates.push_back(rows);
  std::size_t best = candidates[0];
  for (const std::size_t row : candidates)
    if (edits(row) < edits(best)) best = row;
  return divided(query.substr(0, best), target.substr(0, half), undivided_bytes) + divided(query.substr(best), target.substr(half), undivided_bytes);
}

Alignment by_definition(const std::string& query, const std::string& target, std::size_t undivided_bytes = std::size_t{1} << 20) {
  return {as_text(divided(query, target, undivided_bytes)), distances(query, target)[query.size()][target.size()]};
}

}  // namespace

TEST_CASE("gaps sit as far right as they can") {
  PairAligner aligner;
  CHECK(ours(aligner, "ACGT", "ACGT").operations == "4M");
  CHECK(ours(aligner, "AAT", "AAAT").operations == "2M1D1M");
  CHECK(ours(aligner, "AAAA", "AAA").operations == "3M1I");
  CHECK(ours(aligner, "GATTACA", "GCTACA").edits == 2);
}

TEST_CASE("empty sequences are gaps alone") {
  PairAligner aligner;
  CHECK(ours(aligner, "", "").operations.empty());
  CHECK(ours(aligner, "ACG", "").operations == "3I");
  CHECK(ours(aligner, "", "ACG").operations == "3D");
  CHECK(ours(aligner, "", "ACG").edits == 3);
}

TEST_CASE("small pairs are aligned as the matrix says, with every instruction set") {
  sluice::testing::for_each_instruction_set([] {
    Random random(1);
    PairAligner aligner;
    for (int i = 0; i < 400; ++i) {
      const char* alphabet = i % 5 == 0 ? "AC" : i % 7 == 0 ? "ACGTNRY" : i % 11 == 0 ? "A" : "ACGT";
      const std::string target = letters(random, random() % 700, alphabet);
      const std::string query = i % 3 == 0 ? letters(random, random() % 700, alphabet) : with_errors(random, target, i % 10 * 0.05);
      const Alignment expected = by_definition(query, target);
      const Alignment got = ours(aligner, query, target);
      CAPTURE(query);
      CAPTURE(target);
      REQUIRE(got.operations == expected.operations);
      REQUIRE(got.edits == expected.edits);
    }
  });
}

// Repeats and few letters have many equally good alignments, so that walks in the trace of the whole pair miss the origins of parts.
TEST_CASE("short pairs are divided as longer ones are, with every instruction set") {
  sluice::testing::for_each_instruction_set([] {
    Random random(4);
    // The last two are divided until a part's trace is small enough.
    for (const AlignerLimits& limits :
         std::vector<AlignerLimits>{{0, 1 << 20}, {100, 1 << 20}, {250, 1 << 20}, {600, 1 << 20}, {2000, 1 << 20}, {250, 10000}, {250, 5000}}) {
      PairAligner aligner(limits);
      for (int i = 0; i < 1500; ++i) {
        const char* alphabet = i % 3 == 0 ? "AC" : i % 11 == 0 ? "A" : "ACGT";
        std::string target = letters(random, random() % (i % 2 == 0 ? 12 : 90), alphabet);
        if (i % 5 == 0) target += target + target;
        std::string query = i % 4 == 0 ? letters(random, random() % 150, alphabet) : with_errors(random, target, i % 10 * 0.08);
        if (i % 7 == 0) query.erase(0, random() % (query.size() + 1));
        const Alignment expected = by_definition(query, target, static_cast<std::size_t>(limits.undivided_bytes));
        const Alignment got = ours(aligner, query, target);
        CAPTURE(query);
        CAPTURE(target);
        CAPTURE(limits.undivided_bytes);
        REQUIRE(got.operations == expected.operations);
        REQUIRE(got.edits == expected.edits);
      }
    }
  });
}

// Bands that begin in column 0 over several strips, with a limit that is no larger than the gap.
TEST_CASE("pairs with a long gap at either end are aligned as the matrix says, with every instruction set") {
  sluice::testing::for_each_instruction_set([] {
    Random random(5);
    PairAligner aligner;
    for (int i = 0; i < 60; ++i) {
      const std::string common = letters(random, 200 + random() % 500, i % 2 == 0 ? "AC" : "CGT");
      const std::string more = letters(random, 300 + random() % 500, i % 3 == 0 ? "A" : i % 3 == 1 ? "AC" : "ACGT");
      const std::string copy = with_errors(random, common, i % 4 * 0.03), longer = i % 5 < 3 ? more + copy : copy + more;
      const bool in_query = i % 7 != 0;
      const Alignment expected = in_query ? by_definition(longer, common) : by_definition(common, longer);
      const Alignment got = in_query ? ours(aligner, longer, common) : ours(aligner, common, longer);
      CAPTURE(longer);
      CAPTURE(common);
      REQUIRE(got.operations == expected.operations);
      REQUIRE(got.edits == expected.edits);
    }
  });
}

TEST_CASE("pairs as long as whole blocks and strips of rows are aligned as the matrix says, with every instruction set") {
  sluice::testing::for_each_instruction_set([] {
    Random random(6);
    PairAligner aligner;
    for (const std::size_t rows : {63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1024})
      for (const double rate : {0.05, 0.4}) {
        const std::string query = letters(random, rows, "ACGT"), target = with_errors(random, query, rate);
        const Alignment expected = by_definition(query, target);
        const Alignment got = ours(aligner, query, target);
        CAPTURE(rows);
        REQUIRE(got.operations == expected.operations);
        REQUIRE(got.edits == expected.edits);
      }
  });
}

TEST_CASE("a gap that is longer than one operation of BAM, of 28 bits, is two") {
  PairAligner aligner;
  const std::string target(std::size_t{1} << 28U, 'A');
  const Alignment got = ours(aligner, "", target);
  CHECK(got.operations == "268435455D1D");
  CHECK(got.edits == 268'435'456);
}

TEST_CASE("a pair needs 100 bytes a base and 11 MiB at most") {
  CHECK(PairAligner::memory_bytes(0) == std::uint64_t{1} << 20U);
  CHECK(PairAligner::memory_bytes(1e6) >= 100'000'000);
  CHECK(PairAligner::memory_bytes(1e6) <= 100'000'000 + (std::uint64_t{11} << 20U));
  CHECK(PairAligner::memory_bytes(3e6) - PairAligner::memory_bytes(1e6) == 200'000'000);
}

TEST_CASE("any bytes are letters") {
  Random random(2);
  PairAligner aligner;
  std::string all;
  for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
  const std::string target = letters(random, 500, all);
  std::string query = target;
  query.erase(100, 7);
  query[300] = static_cast<char>(query[300] ^ 1);
  CHECK(ours(aligner, query, target).operations == by_definition(query, target).operations);
  CHECK(ours(aligner, query, target).edits == 8);
}

#ifdef SLUICE_WITH_EDLIB
TEST_CASE("pairs of any size have edlib's alignment, with every instruction set") {
  const auto edlib = [](const std::string& query, const std::string& target) {
    const EdlibAlignResult result = edlibAlign(query.data(), static_cast<int>(query.size()), target.data(), static_cast<int>(target.size()),
                                               edlibNewAlignConfig(-1, EDLIB_MODE_NW, EDLIB_TASK_PATH, nullptr, 0));
    std::string columns;
    for (int i = 0; i < result.alignmentLength; ++i) columns += "MIDM"[result.alignment[i]];
    Alignment alignment{as_text(columns), result.editDistance};
    edlibFreeAlignResult(result);
    return alignment;
  };
  struct Pair {
    std::string query, target;
    Alignment expected;
  };
  Random random(3);
  std::vector<Pair> pairs;
  for (int i = 0; i < 120; ++i) {
    const char* alphabet = i % 5 == 0 ? "AC" : i % 7 == 0 ? "ACGTN" : "ACGT";
    std::string target = letters(random, 1 + random() % (i < 60 ? 3000 : 12000), alphabet);
    std::string query = with_errors(random, target, i % 12 * 0.03);
    if (i % 13 == 0) query = letters(random, 1 + random() % target.size(), alphabet);
    if (i % 17 == 0) query.resize(query.size() / 2);
    if (i % 19 == 0) std::swap(query, target);
    if (query.empty() || target.empty()) continue;
    Alignment expected = edlib(query, target);
    pairs.push_back({std::move(query), std::move(target), std::move(expected)});
  }
  // Long and thin: edlib divides some of these until a part has no rows.
  for (const auto& [rows, columns] : {std::pair{1, 60000}, {60000, 2}, {300, 20000}, {20000, 300}, {40, 90000}}) {
    std::string query = letters(random, static_cast<std::size_t>(rows), "ACGT"), target = letters(random, static_cast<std::size_t>(columns), "ACGT");
    Alignment expected = edlib(query, target);
    pairs.push_back({std::move(query), std::move(target), std::move(expected)});
  }
  sluice::testing::for_each_instruction_set([&] {
    PairAligner aligner;
    for (const Pair& pair : pairs) {
      const Alignment got = ours(aligner, pair.query, pair.target);
      CAPTURE(pair.query.size());
      CAPTURE(pair.target.size());
      REQUIRE(got.edits == pair.expected.edits);
      REQUIRE(got.operations == pair.expected.operations);
    }
  });
}
#else
TEST_CASE("pairs of any size have edlib's alignment") { MESSAGE("SKIPPED: edlib is not installed"); }
#endif

TEST_CASE("the stage keeps alignments that were given, and the contract") {
  using namespace sluice::testing;
  const sluice_plugin_info& plugin = *load_plugin(SLUICE_PLUGIN_DIR "/pair_alignment.so");
  const TestBatch overlaps = BatchBuilder("overlap", 3)
                                 .text("query_bases", {"ACGT", "AAT", ""})
                                 .text("target_bases", {"ACCT", "AAAT", "G"})
                                 .list<std::uint32_t>("given_cigar", {{}, {1U << 4U | 2U, 3U << 4U}, {}})
                                 .build();
  const Result result = run_stage(stage_of(plugin, "pair_alignment"), overlaps).expect_rows(3);
  const auto cigar = result.batch().view().list<std::uint32_t>("cigar");
  CHECK(std::vector<std::uint32_t>(cigar[0].begin(), cigar[0].end()) == std::vector<std::uint32_t>{4U << 4U});
  CHECK(std::vector<std::uint32_t>(cigar[1].begin(), cigar[1].end()) == std::vector<std::uint32_t>{1U << 4U | 2U, 3U << 4U});
  CHECK(std::vector<std::uint32_t>(cigar[2].begin(), cigar[2].end()) == std::vector<std::uint32_t>{1U << 4U | 2U});
  const auto edits = result.batch().view().column<std::int32_t>("edit_distance");
  CHECK(std::vector<std::int32_t>(edits.begin(), edits.end()) == std::vector<std::int32_t>{1, -1, 1});
  for (const std::string& problem : contract_problems(plugin, {{"pair_alignment", {.batches = {overlaps}}}})) FAIL_CHECK(problem);
}

TEST_CASE("a pair whose trace fills what is kept leaves nothing behind") {
  using namespace sluice::testing;
  Random random(17);
  const auto batch_of = [&](const std::vector<std::size_t>& lengths) {
    std::vector<std::string> queries, targets;
    for (const std::size_t length : lengths) {
      queries.push_back(letters(random, length, "ACGT"));
      targets.push_back(with_errors(random, queries.back(), 0.2));
    }
    return BatchBuilder("overlap", static_cast<std::int64_t>(lengths.size())).text("query_bases", queries).text("target_bases", targets).build();
  };
  const sluice_plugin_info& plugin = *load_plugin(SLUICE_PLUGIN_DIR "/pair_alignment.so");
  const ContractSample sample{.batches = {batch_of({1, 40, 300, 2000, 5000, 64})}};
  CHECK(kept_memory_problems(stage_of(plugin, "pair_alignment"), sample, batch_of({60'000})) == std::vector<std::string>{});
}
