// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "row_selection/name_share.hpp"

namespace testing = sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = testing::load_plugin(SLUICE_PLUGIN_DIR "/row_selection.so");
  return *loaded;
}

constexpr std::int64_t first_row = 0, failed_row = 4;

testing::TestBatch rows() {
  return testing::BatchBuilder("hit", 5)
      .column<float>("quality", {0.7F, 7, 9, NAN, 8})
      .column<std::int64_t>("flag", {1, -2, 9007199254740993, 2, 2})
      .column<std::uint64_t>("wide", {0, 18446744073709551615U, 3, 4, 5})
      .column<double>("share", {0.7, 0.5, -0.0, 1e300, 0})
      .text("strand", {"+", "-", "", "+'", "+"})
      .list<std::int32_t>("event_length", {{1}, {1, 2}, {}, {1, 2, 3}, {1}})
      .failed(failed_row)
      .build();
}

std::string left_out(const char* stage, const testing::ParameterTexts& parameters, const testing::TestBatch& batch = rows()) {
  const testing::Result result = testing::run_stage(testing::stage_of(plugin(), stage), batch).with(parameters).run();
  if (!result.ok()) return result.message;
  CHECK(result.problems.empty());
  std::string text;
  for (const testing::FailedRow& row : result.failed) text += (text.empty() ? "" : ", ") + std::to_string(row.row) + " " + row.reason;
  return text;
}

// The rows that pass; '?' behind those of which the condition is unknown.
std::string passing(const std::string& condition) {
  const testing::Result result = testing::run_stage(testing::stage_of(plugin(), "where"), rows()).with({{"condition", condition}}).run();
  if (!result.ok()) return result.message;
  std::string text;
  for (std::int64_t row = first_row; row < failed_row; ++row) {
    const auto failed = std::find_if(result.failed.begin(), result.failed.end(), [&](const testing::FailedRow& f) { return f.row == row; });
    if (failed == result.failed.end())
      text += std::to_string(row);
    else if (failed->reason == "unknown")
      text += std::to_string(row) + "?";
  }
  return text;
}

}  // namespace

TEST_CASE("rows of which the condition is true pass") {
  CHECK(passing("flag == 1") == "0");
  CHECK(passing("flag < 2 and strand != '-'") == "0");
  CHECK(passing("flag < 2 or strand == ''") == "012");
  CHECK(passing("not flag < 2") == "23");
  CHECK(passing("strand in ['+', '-']") == "01");
  CHECK(passing("strand not in ['+', \"+'\"]") == "12");
  CHECK(passing("strand == '+\\''") == "3");
  CHECK(passing("strand > '+'") == "13");
  CHECK(passing("len(event_length) >= 2") == "13");
  CHECK(passing("len(strand) == len(event_length)") == "02");
  CHECK(passing("1 == 1") == "0123");
  CHECK(passing("1 > 1 or flag == share") == "");
}

TEST_CASE("numbers are compared exactly, whatever their types") {
  CHECK(passing("flag == 9007199254740993") == "2");
  CHECK(passing("flag == 9007199254740992") == "");
  CHECK(passing("wide == 18446744073709551615") == "1");
  CHECK(passing("wide > flag") == "13");
  CHECK(passing("share == 0") == "2");
  CHECK(passing("share == 0.7") == "0");
  CHECK(passing("share > 1e299") == "3");
}

TEST_CASE("a fraction means the nearest value that an f32 column can hold") {
  CHECK(passing("quality >= 0.7 and quality < 1") == "03?");
  CHECK(passing("quality in [0.7, 9]") == "023?");
}

TEST_CASE("a comparison with NaN is unknown, and so is its opposite") {
  CHECK(passing("quality < 8") == "013?");
  CHECK(passing("not quality < 8") == "23?");
  CHECK(passing("quality != 7") == "023?");
  CHECK(passing("quality == quality") == "0123?");
  CHECK(passing("quality < 8 or flag == 2") == "013");
  CHECK(passing("quality < 8 and flag == 1") == "0");
  CHECK(passing("quality < 8 and flag == 2") == "3?");
}

TEST_CASE("numbers are computed with") {
  CHECK(passing("flag + 1 == 2") == "0");
  CHECK(passing("1 - -2 * 3 == 7 and -(flag) == 2") == "1");
  CHECK(passing("flag-1 == 0") == "0");
  CHECK(passing("8 - 4 - 2 == 2 and 8 / 4 / 2 == 1 and 2 + 2 * 3 == 8 and (2 + 2) * 3 == 12") == "0123");
  CHECK(passing("(flag) > 1 and (flag + 1) * 2 == 6") == "3");
  CHECK(passing("((flag) > 1 and ((flag + 1) * 2) in [6, 7])") == "3");
  CHECK(passing("len(event_length) * 2 >= len(strand) + 3") == "13");
  CHECK(passing("quality / 2 >= 3.5") == "123?");
  CHECK(passing("flag / share > 0") == "02?3");
  CHECK(passing("flag / 0 == 1 or flag == 1") == "01?2?3?");
  CHECK(passing("wide == 18446744073709551615 or flag == -2") == "1");
}

TEST_CASE("rows that do not pass are filtered under their reason, and those that had failed stay what they were") {
  CHECK(left_out("where", {{"condition", "quality > 7.5"}}) == "0 not_true, 1 not_true, 3 unknown");
  CHECK(left_out("where", {{"condition", "quality >"}}).find("character 10") != std::string::npos);
}

TEST_CASE("the first rows that have not failed pass") {
  CHECK(left_out("head", {{"rows", 2}}) == "2 behind_the_last, 3 behind_the_last");
  CHECK(left_out("head", {{"rows", 0}}) == "0 behind_the_last, 1 behind_the_last, 2 behind_the_last, 3 behind_the_last");
  CHECK(left_out("head", {{"rows", 9}}).empty());
}

TEST_CASE("a sample is drawn by name and seed, and a smaller one is a part of a larger") {
  std::vector<std::string> names;
  for (int i = 0; i < 20000; ++i) names.push_back("read-" + std::to_string(i));
  for (const std::uint64_t seed : {0U, 11U, 12U}) {
    std::size_t tenth = 0, half = 0;
    for (const std::string& name : names) {
      const bool in_tenth = sluice::row_selection::is_in_share(name, seed, 0.1), in_half = sluice::row_selection::is_in_share(name, seed, 0.5);
      tenth += in_tenth ? 1 : 0;
      half += in_half ? 1 : 0;
      CHECK((!in_tenth || in_half));
      CHECK(sluice::row_selection::is_in_share(name, seed, 1));
      CHECK(!sluice::row_selection::is_in_share(name, seed, 0));
    }
    CHECK(std::abs(static_cast<double>(tenth) - 2000) < 5 * std::sqrt(2000 * 0.9));  // five standard deviations
    CHECK(std::abs(static_cast<double>(half) - 10000) < 5 * std::sqrt(10000 * 0.5));
  }
  CHECK(sluice::row_selection::hash_of_name("read-1", 11) != sluice::row_selection::hash_of_name("read-1", 12));
  // What is drawn never changes: other versions draw the same.
  CHECK(sluice::row_selection::hash_of_name("", 0) == 6566800829925814604U);
  CHECK(sluice::row_selection::hash_of_name("read-1", 11) == 9010146168495882445U);
}

TEST_CASE("without a seed the sample is that of seed 11, in every version") {
  std::vector<std::string> names;
  for (int i = 0; i < 64; ++i) names.push_back("read-" + std::to_string(i));
  const testing::TestBatch batch = testing::BatchBuilder("read", 64).text("read_id", names).build();
  const std::string by_default = left_out("sample", {{"fraction", 0.5}}, batch);
  CHECK(by_default == left_out("sample", {{"fraction", 0.5}, {"seed", 11}}, batch));
  CHECK(by_default != left_out("sample", {{"fraction", 0.5}, {"seed", 12}}, batch));
}

TEST_CASE("a sample leaves out whole rows, and needs texts") {
  CHECK(left_out("sample", {{"fraction", 0}, {"column", "strand"}}) == "0 not_drawn, 1 not_drawn, 2 not_drawn, 3 not_drawn");
  CHECK(left_out("sample", {{"fraction", 1}, {"column", "strand"}}).empty());
  CHECK(left_out("sample", {{"fraction", 0.5}, {"column", "flag"}}).find("holds no texts but i64") != std::string::npos);
}

TEST_CASE("the stages keep the contract of all stages") {
  const auto sample = [](const testing::ParameterTexts& parameters) {
    return testing::ContractSample{.parameters = parameters, .batches = {rows()}};
  };
  for (const std::string& problem : testing::contract_problems(plugin(), {{"where", sample({{"condition", "quality > 7 or flag == 1"}})},
                                                                          {"head", sample({{"rows", 5}})},
                                                                          {"sample", sample({{"fraction", 0.5}, {"column", "strand"}})}}))
    FAIL_CHECK(problem);
}
