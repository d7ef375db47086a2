// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_scaling/stage.cpp"  // the stage classes have no header of their own

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <random>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/default_of.hpp"

using namespace sluice;
using namespace sluice::event_scaling;
using sluice::testing::BatchBuilder;
using sluice::testing::FailedRow;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

// 2-mers with levels of 60, 64, 68 ... pA and spreads of 1 and 2 pA.
struct Levels {
  std::vector<float> mean, stdv, log_stdv;
  Levels() {
    for (int rank = 0; rank < 16; ++rank) {
      mean.push_back(60.0F + 4.0F * static_cast<float>(rank));
      stdv.push_back(rank % 2 == 0 ? 1.0F : 2.0F);
      log_stdv.push_back(rank % 2 == 0 ? 0.0F : 0.6931472F);
    }
  }
  KmerModelView view() const {
    KmerModelView view;
    view.k = 2;
    view.level_mean = mean, view.level_stdv = stdv, view.log_level_stdv = log_stdv;
    return view;
  }
};
const Levels levels;

TestBatch model(const Levels& of = levels) {
  return BatchBuilder("kmer", 16)
      .column<float>("level_mean", of.mean)
      .column<float>("level_stdv", of.stdv)
      .column<float>("log_level_stdv", of.log_stdv)
      .attribute("k", "2")
      .attribute("alphabet", "nucleotide")
      .build();
}
TestBatch signal(const char* chemistry) { return BatchBuilder("signal_file", 0).attribute("chemistry", chemistry).build(); }

constexpr float infinity = std::numeric_limits<float>::infinity();
TestBatch reads() {
  return BatchBuilder("read", 5)
      .list<float>("event_mean", {{70, 90, 110}, {}, {70, 90}, {70, infinity}, {70, 90}})
      .text("bases", {"AAGG", "ACGT", "A", "ACGT", "ACGT"})
      .failed(4)
      .build();
}

// Reads of "ACGTACGT...", none of whose 2-mers equals the one before it, with one event each.
struct MadeRead {
  std::size_t kmers;
  double noise;  // in spreads of the level, up or down
  double events_per_base = 1;
};
TestBatch aligned(const std::vector<MadeRead>& reads) {
  std::mt19937 random(5);
  std::vector<std::vector<float>> events;
  std::vector<std::vector<std::uint32_t>> ranks;
  std::vector<std::vector<std::int32_t>> index;
  std::vector<double> per_base;
  for (const MadeRead& read : reads) {
    events.emplace_back(), ranks.emplace_back(), index.emplace_back();
    for (std::size_t i = 0; i < read.kmers; ++i) {
      constexpr std::uint32_t rank_of[4] = {1, 6, 11, 12};  // AC CG GT TA
      const std::uint32_t rank = rank_of[i % 4];
      const double up_or_down = random() % 2 == 0 ? read.noise : -read.noise;
      ranks.back().push_back(rank);
      events.back().push_back(static_cast<float>(1.25 * levels.mean[rank] - 7 + up_or_down * levels.stdv[rank]));
      index.back().push_back(static_cast<std::int32_t>(i));
    }
    per_base.push_back(read.events_per_base);
  }
  return BatchBuilder("read", std::ssize(reads))
      .list<float>("event_mean", events)
      .list<std::uint32_t>("kmer_rank", ranks)
      .list<std::int32_t>("first_event", index)
      .list<std::int32_t>("last_event", index)
      .column<double>("events_per_base", per_base)
      .build();
}
std::string outcomes(const std::vector<MadeRead>& reads, const sluice::testing::ParameterTexts& parameters = {}) {
  const Result result = run_stage<EventRecalibration>(aligned(reads)).resource("model", model()).with(parameters).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  std::map<std::int64_t, std::string> reasons;
  for (const FailedRow& row : result.failed) reasons[row.row] = row.reason;
  std::string text;
  for (std::int64_t row = 0; row < std::ssize(reads); ++row) text += (row == 0 ? "" : " ") + (reasons.contains(row) ? reasons[row] : "ok");
  return text;
}

}  // namespace

TEST_CASE("the first scaling of each read by hand, and reads that have none") {
  const Result result = run_stage<EventScaling>(reads()).resource("model", model()).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.failed == std::vector<FailedRow>{{0, 1, "no_events"}, {0, 2, "read_too_short"}, {0, 3, "singular"}});
  const Batch rows = result.batch().view();
  const auto ranks = rows.list<std::uint32_t>("kmer_rank");
  CHECK(std::vector<std::uint32_t>(ranks[0].begin(), ranks[0].end()) == std::vector<std::uint32_t>{0, 2, 10});  // AA AG GG
  CHECK(ranks[4].empty());
  // Levels 60, 68 and 100: mean 76, sum of squares 18,224. Events: mean 90.
  CHECK(rows.column<float>("moment_shift")[0] == 14.0F);
  CHECK(rows.column<float>("moment_scale")[0] == doctest::Approx((56.0 * 56 + 76 * 76 + 96 * 96) / 18'224));
}

TEST_CASE("events of RNA are summed from the last one on, as the preset says, or the signal") {
  // What stands behind a number that is far larger is lost in a sum; in the other order it is not.
  std::vector<float> events = {0x1p60F, -0x1p60F};
  events.resize(52, 1);
  const TestBatch batch = BatchBuilder("read", 1).list<float>("event_mean", {events}).text("bases", {"ACGT"}).build();  // levels 64, 84 and 104
  const float from_the_first = static_cast<float>(50.0 / 52 - 84), from_the_last = -84;
  const auto shift_with = [&](const sluice::testing::ParameterTexts& parameters, const char* chemistry) {
    auto prepared = run_stage<EventScaling>(batch).resource("model", model()).with(parameters);
    if (chemistry != nullptr) prepared.resource("signal", signal(chemistry));
    const Result result = prepared.run();
    REQUIRE_MESSAGE(result.ok(), result.message);
    return result.batch().view().column<float>("moment_shift")[0];
  };
  CHECK(shift_with({}, nullptr) == from_the_first);
  CHECK(shift_with({}, "r10") == from_the_first);
  CHECK(shift_with({}, "rna004") == from_the_last);
  CHECK(shift_with({{"preset", "rna"}}, nullptr) == from_the_last);
  CHECK(shift_with({{"preset", "dna"}}, "rna004") == from_the_first);
}

TEST_CASE("the second scaling is that of the plain function, in every column") {
  const Result result = run_stage<EventRecalibration>(aligned({{400, 1}})).resource("model", model()).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.failed.empty());
  const Batch rows = result.batch().view();
  Recalibration fit;
  REQUIRE(recalibrate(rows.list<float>("event_mean")[0], rows.list<std::uint32_t>("kmer_rank")[0], rows.list<std::int32_t>("first_event")[0],
                      rows.list<std::int32_t>("last_event")[0], levels.view(), {}, fit) == ScalingStatus::ok);
  CHECK(rows.column<float>("scale")[0] == fit.scale);
  CHECK(rows.column<float>("shift")[0] == fit.shift);
  CHECK(rows.column<float>("var")[0] == fit.var);
  CHECK(rows.column<float>("log_var")[0] == fit.log_var);
  CHECK(fit.scale == doctest::Approx(1.25).epsilon(0.05));
  CHECK(fit.var == doctest::Approx(1).epsilon(0.1));
}

TEST_CASE("reads that do not follow the model end, at the limits of f5c where none are given") {
  CHECK(outcomes({{199, 1}, {200, 1}}) == "too_few_events ok");
  CHECK(outcomes({{199, 1}, {200, 1}}, {{"min_recalib_events", 199}}) == "ok ok");
  CHECK(outcomes({{2000, 2.2}, {2000, 3}}) == "ok var_too_large");
  CHECK(outcomes({{2000, 2.2}, {2000, 3}}, {{"max_var", 3.5}}) == "ok ok");
  CHECK(outcomes({{400, 1, 5.0}, {400, 1, 5.01}}) == "ok too_many_events_per_base");
  CHECK(outcomes({{400, 1, 5.0}, {400, 1, 5.01}}, {{"max_events_per_base", 6}}) == "ok ok");
  CHECK(outcomes({{400, 0}}) == "singular");
  const auto stage = sluice::testing::stage_of<EventRecalibration>();
  CHECK(sluice::testing::default_of(*stage.descriptor, "min_recalib_events") == "0");  // 200, or 50 of RNA004
  CHECK(sluice::testing::default_of(*stage.descriptor, "max_var") == "2.5");
  CHECK(sluice::testing::default_of(*stage.descriptor, "max_events_per_base") == "5");
}

TEST_CASE("a methylation model is refused") {
  const TestBatch methylation = BatchBuilder("kmer", 25)
                                    .column<float>("level_mean", std::vector<float>(25, 60))
                                    .column<float>("level_stdv", std::vector<float>(25, 1))
                                    .column<float>("log_level_stdv", std::vector<float>(25, 0))
                                    .attribute("k", "2")
                                    .attribute("alphabet", "methylation")
                                    .build();
  const Result result = run_stage<EventScaling>(reads()).resource("model", methylation).run();
  CHECK(result.status == SLUICE_ERROR_USAGE);
  CHECK(result.message == "the model is a methylation model");
}

TEST_CASE("both scalings keep the contract of all stages") {
  const auto problems = sluice::testing::contract_problems(
      *sluice_plugin_init(nullptr, nullptr),
      {{"event_scaling", {.resources = {{"model", model()}}, .batches = {reads(), reads()}}},
       {"event_recalibration", {.resources = {{"model", model()}}, .batches = {aligned({{400, 1}, {20, 1}}), aligned({{300, 1}})}}}});
  CHECK(problems == std::vector<std::string>{});
}
