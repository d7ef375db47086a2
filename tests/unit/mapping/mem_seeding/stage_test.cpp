// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The stage against a comparison of every base with every base.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <set>
#include <sluice/testing.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "unit/default_of.hpp"

using namespace sluice;
using namespace sluice::testing;

namespace {

const sluice_plugin_info& plugin(const std::string& name) { return *load_plugin(SLUICE_PLUGIN_DIR "/" + name + ".so"); }

std::string random_bases(std::size_t length, std::mt19937& random) {
  std::string bases;
  for (std::size_t i = 0; i < length; ++i) bases += "ACGT"[random() % 4];
  return bases;
}
std::string reverse_complement(std::string bases) {
  std::ranges::reverse(bases);
  for (char& base : bases) base = base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : base == 'T' ? 'A' : base;
  return bases;
}

// A contig with a piece that comes twice, and reads of it: of both strands, with an error each, some with an N.
struct Sample {
  std::string contig;
  std::vector<std::string> reads;
  TestBatch index = BatchBuilder("fm_index", 0).build();

  Sample() {
    std::mt19937 random(41);
    const std::string piece = random_bases(60, random);
    contig = random_bases(150, random) + piece + random_bases(130, random) + piece + random_bases(40, random);
    for (int i = 0; i < 150; ++i) {
      std::string read = contig.substr(random() % (contig.size() - 50), 20 + random() % 30);
      read[random() % read.size()] = i % 10 == 0 ? 'N' : "ACGT"[random() % 4];
      reads.push_back(i % 2 == 0 ? read : reverse_complement(read));
    }
    reads[3].clear();
    const TemporaryFolder folder;
    std::ofstream(folder.path() + "/ref.fa") << ">c\n" << contig << "\n";
    const Result made = run_stage(stage_of(plugin("fm_index"), "fm_index")).with({{"path", folder.path() + "/ref.fa"}}).run();
    REQUIRE_MESSAGE(made.ok(), made.message);
    index = made.batch();
  }
  TestBatch batch() const {
    BatchBuilder rows("read", std::ssize(reads));
    return rows.text("bases", reads).failed(70).build();
  }
};

// Of one place: row, strand, first base and end in what was searched, place on the contig.
using Found = std::set<std::tuple<std::int64_t, int, std::int32_t, std::int32_t, std::uint32_t>>;

// Extended to both sides as far as the bases are equal.
Found by_definition(const Sample& sample, std::size_t min_length) {
  Found all;
  for (std::int64_t row = 0; row < std::ssize(sample.reads); ++row) {
    if (row == 70) continue;
    for (int strand = 0; strand < 2; ++strand) {
      const std::string& given = sample.reads[static_cast<std::size_t>(row)];
      const std::string read = strand == 0 ? given : reverse_complement(given);
      const std::string& text = sample.contig;
      for (std::size_t i = 0; i < read.size(); ++i)
        for (std::size_t j = 0; j < text.size(); ++j) {
          if (i > 0 && j > 0 && read[i - 1] == text[j - 1]) continue;
          std::size_t length = 0;
          while (i + length < read.size() && j + length < text.size() && read[i + length] == text[j + length]) ++length;
          if (length >= min_length)
            all.emplace(row, strand, static_cast<std::int32_t>(i), static_cast<std::int32_t>(i + length), static_cast<std::uint32_t>(j));
        }
    }
  }
  return all;
}

Result found(const Sample& sample, const ParameterTexts& parameters) {
  Result result =
      run_stage(stage_of(plugin("mem_seeding"), "mem_seeding"), sample.batch()).resource("index", sample.index).with(parameters).threads(3).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.problems.empty());
  return result;
}
Found places_of(const Result& result) {
  const Batch rows = result.batch().view();
  Found all;
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    std::size_t place = 0;
    const auto reverse = rows.list<std::uint8_t>("match_reverse")[row];
    for (std::size_t match = 0; match < reverse.size(); ++match)
      for (std::uint32_t i = 0; i < rows.list<std::uint32_t>("match_places")[row][match]; ++i)
        all.emplace(row, reverse[match], rows.list<std::int32_t>("match_start")[row][match], rows.list<std::int32_t>("match_end")[row][match],
                    rows.list<std::uint32_t>("match_place")[row][place++]);
    CHECK(place == rows.list<std::uint32_t>("match_place")[row].size());
  }
  return all;
}

}  // namespace

TEST_CASE("maximal matches are those that comparing every base with every base finds") {
  const Sample sample;
  for (const int min_length : {8, 12, 20}) {
    CAPTURE(min_length);
    const Result result = found(sample, {{"definition", "1"}, {"min_length", min_length}});
    const Found expected = by_definition(sample, static_cast<std::size_t>(min_length));
    CHECK(expected.size() > 100);
    CHECK((places_of(result) == expected));
    const auto length = result.batch().view().column<std::int32_t>("read_length");
    for (std::size_t row = 0; row < sample.reads.size(); ++row)
      if (row != 70) CHECK(length[row] == static_cast<std::int32_t>(sample.reads[row].size()));
  }
}

TEST_CASE("matches that occur more often than max_occurrences are counted and have no places") {
  const Sample sample;
  const Result result = found(sample, {{"definition", "2"}, {"min_length", 15}, {"max_occurrences", 1}});
  const Batch rows = result.batch().view();
  std::size_t once = 0, twice = 0;
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    for (std::size_t match = 0; match < rows.list<std::uint32_t>("match_count")[row].size(); ++match) {
      const std::uint32_t count = rows.list<std::uint32_t>("match_count")[row][match];
      CHECK(rows.list<std::uint32_t>("match_places")[row][match] == (count == 1 ? 1 : 0));
      // So often does the text have it.
      const std::string& given = sample.reads[static_cast<std::size_t>(row)];
      const std::string read = rows.list<std::uint8_t>("match_reverse")[row][match] == 0 ? given : reverse_complement(given);
      const auto start = static_cast<std::size_t>(rows.list<std::int32_t>("match_start")[row][match]);
      const std::string word = read.substr(start, static_cast<std::size_t>(rows.list<std::int32_t>("match_end")[row][match]) - start);
      std::uint32_t occurs = 0;
      for (std::size_t at = sample.contig.find(word); at != std::string::npos; at = sample.contig.find(word, at + 1)) ++occurs;
      CHECK(occurs == count);
      ++(count == 1 ? once : twice);
    }
  CHECK(once > 50);
  CHECK(twice > 20);
}

TEST_CASE("a format means the definition and the limit of the program that it is of") {
  const Sample sample;
  const auto same = [&](const ParameterTexts& a, const ParameterTexts& b) { return places_of(found(sample, a)) == places_of(found(sample, b)); };
  CHECK(same({}, {{"definition", "2"}, {"min_length", 20}, {"max_occurrences", 0}}));
  CHECK(same({{"format", "mummer"}}, {{"definition", "1"}, {"min_length", 20}, {"max_occurrences", 0}}));
  CHECK(same({{"format", "fastmap"}}, {{"definition", "smem"}, {"min_length", 20}, {"max_occurrences", 20}}));
  CHECK(!same({}, {{"definition", "2"}, {"min_length", 21}}));
  CHECK(!same({{"min_length", 10}}, {{"definition", "1"}, {"min_length", 10}}));
  CHECK(!same({{"min_length", 10}}, {{"definition", "smem"}, {"min_length", 10}}));
  CHECK(default_of(*stage_of(plugin("mem_seeding"), "mem_seeding").descriptor, "max_occurrences") == "(none)");
}

TEST_CASE("mem_seeding keeps the contract of all stages") {
  const Sample sample;
  for (const char* definition : {"1", "2", "smem"})
    for (const std::string& problem :
         contract_problems(plugin("mem_seeding"), {{"mem_seeding",
                                                    {.parameters = {{"definition", definition}, {"min_length", 12}},
                                                    .resources = {{"index", sample.index}},
                                                    .batches = {sample.batch().rows(0, 10), sample.batch().rows(66, 80)}}}}))
      FAIL_CHECK(definition << ": " << problem);
}
