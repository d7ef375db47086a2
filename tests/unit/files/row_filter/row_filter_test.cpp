// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cmath>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

namespace testing = sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = testing::load_plugin(SLUICE_PLUGIN_DIR "/row_filter.so");
  return *loaded;
}

testing::TestBatch rows() {
  return testing::BatchBuilder("hit", 5)
      .column<float>("quality", {1.5F, 7, 9, NAN, 8})
      .column<std::int64_t>("flag", {1, 2, 9007199254740993, 2, 2})
      .text("strand", {"+", "-", "+", "+", "+"})
      .list<std::int32_t>("event_length", {{1}, {1, 2}, {}, {1, 2, 3}, {1}})
      .failed(4)
      .build();
}

testing::Result filtered(const testing::ParameterTexts& parameters) {
  return testing::run_stage(testing::stage_of(plugin(), "row_filter"), rows()).with(parameters).run();
}

// Which rows did not pass, with their reasons; those that had failed before are not among them.
std::string left_out(const testing::ParameterTexts& parameters) {
  const testing::Result result = filtered(parameters);
  if (!result.ok()) return result.message;
  CHECK(result.problems.empty());
  std::string text;
  std::uint64_t accounted = 0;
  for (const testing::FailedRow& row : result.failed) text += (text.empty() ? "" : ", ") + std::to_string(row.row) + " " + row.reason;
  for (const auto& [reason, account] : result.accounts) accounted += account.count;
  CHECK(accounted == result.failed.size());
  return text;
}

}  // namespace

TEST_CASE("rows outside of the range are filtered, and NaN is in no range") {
  CHECK(left_out({{"column", "quality"}, {"minimum", 7}}) == "0 below_minimum, 3 below_minimum");
  CHECK(left_out({{"column", "quality"}, {"maximum", 7}}) == "2 above_maximum, 3 above_maximum");
  CHECK(left_out({{"column", "quality"}, {"minimum", 7}, {"maximum", 7}}) == "0 below_minimum, 2 above_maximum, 3 below_minimum");
}

TEST_CASE("of text and lists the length is compared") {
  CHECK(left_out({{"column", "event_length"}, {"minimum", 1}, {"maximum", 2}}) == "2 below_minimum, 3 above_maximum");
  CHECK(left_out({{"column", "strand"}, {"minimum", 2}}) == "0 below_minimum, 1 below_minimum, 2 below_minimum, 3 below_minimum");
}

TEST_CASE("equal text and equal numbers pass, integers exactly") {
  CHECK(left_out({{"column", "strand"}, {"equals", "+"}}) == "1 not_equal");
  CHECK(left_out({{"column", "flag"}, {"equals", "9007199254740992"}}) == "0 not_equal, 1 not_equal, 2 not_equal, 3 not_equal");
  CHECK(left_out({{"column", "flag"}, {"equals", "2"}}) == "0 not_equal, 2 not_equal");
}

TEST_CASE("what can't be compared is said with a remedy") {
  for (const testing::ParameterTexts& wrong : {testing::ParameterTexts{{"column", "flag"}, {"equals", "two"}},
                                               {{"column", "event_length"}, {"equals", "1"}},
                                               {{"column", "flag"}, {"equals", "2.5"}}}) {
    const testing::Result result = filtered(wrong);
    CHECK(result.status == SLUICE_ERROR_USAGE);
    CHECK(result.message.find(wrong.at("column")) != std::string::npos);
    CHECK(!result.remedy.empty());
  }
}

TEST_CASE("the filter keeps the contract of all stages") {
  const testing::ContractSample sample{.parameters = {{"column", "quality"}, {"minimum", 7}}, .batches = {rows()}};
  for (const std::string& problem : testing::contract_problems(plugin(), {{"row_filter", sample}})) FAIL_CHECK(problem);
}
