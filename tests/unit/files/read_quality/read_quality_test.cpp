// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cmath>
#include <sluice/testing.hpp>
#include <string>

namespace testing = sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = testing::load_plugin(SLUICE_PLUGIN_DIR "/read_quality.so");
  return *loaded;
}

testing::TestBatch reads() {
  return testing::BatchBuilder("read", 5).text("bases", {"ACGT", "ggN", "", "NN", "AU"}).text("qualities", {"+++!", "~~~", "", "!!", ""}).build();
}

}  // namespace

TEST_CASE("quality, share of G and C, and length of each read") {
  const testing::Result result = testing::run_stage(testing::stage_of(plugin(), "read_quality"), reads()).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.failed.empty());
  const sluice::Batch rows = result.batch().view();
  const auto quality = rows.column<double>("mean_quality"), gc = rows.column<double>("gc_share");
  const auto bases = rows.column<std::int64_t>("read_bases");
  CHECK(quality[0] == doctest::Approx(-10 * std::log10(1.3 / 4)));
  CHECK(quality[1] == doctest::Approx(93));
  CHECK(std::isnan(quality[2]));
  CHECK(quality[3] == 0);
  CHECK(std::isnan(quality[4]));
  CHECK(gc[0] == 0.5);
  CHECK(gc[1] == 1);
  CHECK(std::isnan(gc[2]));
  CHECK(std::isnan(gc[3]));
  CHECK(gc[4] == 0);
  CHECK(std::vector<std::int64_t>(bases.begin(), bases.end()) == std::vector<std::int64_t>{4, 3, 0, 2, 2});
}

TEST_CASE("reads without qualities have no mean quality") {
  const auto batch = testing::BatchBuilder("read", 1).text("bases", {"ACGT"}).build();
  const testing::Result result = testing::run_stage(testing::stage_of(plugin(), "read_quality"), batch).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(std::isnan(result.batch().view().column<double>("mean_quality")[0]));
}

TEST_CASE("the stage keeps the contract of all stages") {
  for (const std::string& problem : testing::contract_problems(plugin(), {{"read_quality", {.batches = {reads()}}}})) FAIL_CHECK(problem);
}
