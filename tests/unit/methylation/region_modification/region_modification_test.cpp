// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <sluice/testing.hpp>
#include <string>
#include <tuple>

#include "region_modification/chi_squared_tail.hpp"
#include "region_modification/region_sums.hpp"
#include "unit/methylation/made_sites.hpp"

namespace testing = sluice::testing;
using made_sites::rows;
using namespace sluice::region_modification;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = testing::load_plugin(SLUICE_PLUGIN_DIR "/region_modification.so");
  return *loaded;
}
std::string table(const std::vector<testing::TestBatch>& batches, const std::string& bed) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path() + "/regions.bed") << bed;
  const testing::Result result =
      testing::run_stage(testing::stage_of(plugin(), "region_modification"), batches).with({{"regions", folder.path() + "/regions.bed"}}).run();
  if (!result.ok()) return result.message;
  std::string lines;
  for (const testing::TestBatch& batch : result.batches)
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      const auto view = batch.view();
      const auto i = static_cast<std::size_t>(row);
      for (const char* name : {"name", "contig", "strand", "modification", "sample"}) lines += std::string(view.text(name)[row]) + " ";
      for (const char* name : {"start", "end", "sites", "coverage", "modified"}) lines += std::to_string(view.column<std::int64_t>(name)[i]) + " ";
      for (const char* name : {"share", "mean_share", "difference"}) {
        char number[32];
        std::snprintf(number, sizeof number, "%.3f ", view.column<double>(name)[i]);
        lines += std::isnan(view.column<double>(name)[i]) ? "nan " : number;
      }
      lines.back() = '\n';
    }
  return lines;
}

}  // namespace

TEST_CASE("sites are summed by region, modification and sample") {
  CHECK(table({rows()}, "a\t0\t9\tfirst\na\t5\t10\tboth\na\t9\t10\tminus\t0\t-\nb\t0\t11\nc\t0\t5\n") ==
        "first a . h x 0 9 1 4 1 0.250 0.250 nan\n"
        "first a . m x 0 9 1 4 2 0.500 0.500 nan\n"
        "both a . h x 5 10 1 4 1 0.250 0.250 nan\n"
        "both a . m x 5 10 2 8 5 0.625 0.625 nan\n"
        "both a . m y 5 10 1 5 1 0.200 0.200 -0.425\n"
        "minus a - m y 9 10 1 5 1 0.200 0.200 nan\n"
        "b b . m y 0 11 1 3 0 0.000 0.000 nan\n"
        "b b . m,CG,0 y 0 11 1 10 5 0.500 0.500 nan\n");
  CHECK(table({rows()}, "c\t0\t5\n").empty());
  CHECK(table({rows()}, "c\t0\n").find("a region needs a start and an end") != std::string::npos);
}

TEST_CASE("sums are those of a look at every site and region") {
  std::mt19937 random(3);
  const auto below = [&](int most) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(most)); };
  std::vector<sluice::TableRegion> regions;
  for (int i = 0; i < 40; ++i) {
    const std::int64_t start = below(500);
    regions.push_back({below(2) == 0 ? "a" : "b", std::to_string(i), start, start + 1 + below(200), static_cast<sluice::RegionStrand>(below(3))});
  }
  RegionSums sums{sluice::RegionIndex(regions)};
  std::map<std::tuple<std::string, std::string, std::string>, SiteCounts> expected;  // region, modification, sample
  for (int i = 0; i < 3000; ++i) {
    const std::string contig = below(2) == 0 ? "a" : "b", modification = below(2) == 0 ? "m" : "h", sample = below(2) == 0 ? "x" : "y";
    const std::int64_t position = below(700), valid = below(20), modified = valid == 0 ? 0 : below(static_cast<int>(valid) + 1);
    const char strand = "+-."[below(3)];
    sums.add({contig, modification, "", sample, position, strand, modified, valid});
    for (const auto& region : regions) {
      const bool on_strand =
          region.strand == sluice::RegionStrand::both || strand == '.' || (strand == '+') == (region.strand == sluice::RegionStrand::forward);
      if (valid == 0 || region.contig != contig || position < region.start || position >= region.end || !on_strand) continue;
      expected[{region.label, modification, sample}].add({1, valid, modified, static_cast<double>(modified) / static_cast<double>(valid)});
    }
  }
  CHECK(sums.sums().size() == expected.size());
  for (const auto& [key, counts] : sums.sums()) {
    const auto& [which, modification, partition, sample] = key;
    const SiteCounts& same = expected.at({sums.regions().regions()[which].label, modification, sums.samples()[sample]});
    CHECK(std::tie(counts.sites, counts.coverage, counts.modified, counts.sum_of_shares) ==
          std::tie(same.sites, same.coverage, same.modified, same.sum_of_shares));
  }
}

TEST_CASE("how probable a difference is by chance") {
  // Tables of two by two; G and its p-value from the definition, computed apart from this program.
  CHECK(difference_by_chance({1, 20, 10, 0}, {1, 20, 10, 0}) == doctest::Approx(1));
  CHECK(difference_by_chance({1, 10, 10, 0}, {1, 10, 0, 0}) == doctest::Approx(std::erfc(std::sqrt(20 * std::log(2.0)))).epsilon(1e-9));
  CHECK(difference_by_chance({1, 1000, 400, 0}, {1, 1000, 500, 0}) < 1e-5);
  CHECK(difference_by_chance({1, 10, 4, 0}, {1, 10, 5, 0}) > 0.5);
  CHECK(difference_by_chance({1, 5, 0, 0}, {1, 7, 0, 0}) == doctest::Approx(1));
}

TEST_CASE("a probability by chance has the same bits on every machine") {
  // Bits of the C library's erfc differ between x86-64 and ARM, and those of its logarithms between processors with and without fused multiply-add.
  CHECK(chi_squared_tail(0) == 1);
  CHECK(chi_squared_tail(0.5) == 0x1.eb02147ce245cp-2);
  CHECK(chi_squared_tail(3) == 0x1.550d2c7fcb8e8p-4);
  CHECK(chi_squared_tail(10) == 0x1.9a5c5e03484ddp-10);
  CHECK(chi_squared_tail(1400) == 0x1.79b2ac036252bp-1016);
  CHECK(chi_squared_tail(1e6) == 0);
  double worst = 0;
  for (double g = 0.001; g < 1350; g *= 1.003) {
    const double exact = std::erfc(std::sqrt(g / 2));
    worst = std::max(worst, std::fabs(chi_squared_tail(g) - exact) / exact);
  }
  CHECK(worst < 3e-13);  // erfc multiplies the rounding of the square root by g
}

TEST_CASE("a later sample has the probability of its difference, and regions with sites are counted") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/regions.bed";
  std::ofstream(path) << "a\t5\t10\tboth\na\t0\t4\tnone\nb\t0\t11\tother\n";
  const testing::Result result = testing::run_stage(testing::stage_of(plugin(), "region_modification"), rows()).with({{"regions", path}}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.outcomes.at("regions with sites") == std::pair<std::uint64_t, std::uint64_t>{2, 3});
  int compared = 0;
  for (const testing::TestBatch& batch : result.batches)
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      const auto view = batch.view();
      const double chance = view.column<double>("p_value")[static_cast<std::size_t>(row)];
      const bool is_later = view.text("name")[row] == "both" && view.text("sample")[row] == "y";
      compared += is_later ? 1 : 0;
      if (!is_later) CHECK(std::isnan(chance));
      if (!is_later) continue;
      // 5 of 8 calls and 1 of 5: 2 sum n ln(n / expected), expected from 6 of 13.
      const double g =
          2 * (5 * std::log(5 / (8 * 6 / 13.0)) + 3 * std::log(3 / (8 * 7 / 13.0)) + std::log(1 / (5 * 6 / 13.0)) + 4 * std::log(4 / (5 * 7 / 13.0)));
      CHECK(chance == doctest::Approx(std::erfc(std::sqrt(g / 2))).epsilon(1e-9));
    }
  CHECK(compared == 1);
}

TEST_CASE("regions on contigs of other names are told from regions without sites") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/regions.bed";
  const auto run = [&](const char* lines) {
    std::ofstream(path) << lines;
    return testing::run_stage(testing::stage_of(plugin(), "region_modification"), rows()).with({{"regions", path}}).run();
  };
  CHECK(!run("a\t5\t10\na\t10000\t10001\n").logged("regions are on contigs"));
  CHECK(run("a\t5\t10\nchra\t0\t4\nchrb\t0\t11\n")
            .logged("2 of 3 regions are on contigs that no site is on, and give nothing: the first is on 'chra'; sites are on 'a' and others"));
  CHECK(run("chra\t0\t4\n").logged("1 of 1 regions are on contigs that no site is on"));
}

TEST_CASE("sums go on behind an interruption") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/regions.bed";
  std::ofstream(path) << "a\t0\t9\tfirst\na\t5\t10\tboth\nb\t0\t11\n";
  const std::vector<testing::TestBatch> batches = {rows(), rows(1), rows(2)};
  const auto run = testing::run_stage(testing::stage_of(plugin(), "region_modification"), batches).with({{"regions", path}});
  for (const std::string& problem : testing::resume_problems(run)) FAIL_CHECK(problem);
}

TEST_CASE("the stage keeps the contract of all stages") {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path() + "/regions.bed") << "a\t0\t9\tfirst\na\t5\t10\tboth\n";
  const testing::ContractSample sample{.parameters = {{"regions", folder.path() + "/regions.bed"}}, .batches = {rows(), rows(1)}};
  for (const std::string& problem : testing::contract_problems(plugin(), {{"region_modification", sample}})) FAIL_CHECK(problem);
}
