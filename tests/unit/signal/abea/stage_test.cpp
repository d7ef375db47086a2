// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The stage against the plain function, read by read.
#include <doctest/doctest.h>

#include <map>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "simulated_read.hpp"
#include "unit/default_of.hpp"

using namespace sluice;
using namespace sluice::abea;
using sluice::testing::BatchBuilder;
using sluice::testing::FailedRow;
using sluice::testing::Result;
using sluice::testing::TestBatch;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = sluice::testing::load_plugin(SLUICE_PLUGIN_DIR "/abea.so");
  return *loaded;
}

const simulation::Model pore = simulation::make_model(5);

TestBatch model() {
  return BatchBuilder("kmer", std::ssize(pore.level_mean))
      .column<float>("level_mean", pore.level_mean)
      .column<float>("level_stdv", pore.level_stdv)
      .column<float>("log_level_stdv", pore.log_level_stdv)
      .attribute("k", "5")
      .attribute("alphabet", "nucleotide")
      .build();
}

std::vector<simulation::Read> made_reads() {
  std::vector<simulation::Read> reads;
  for (const std::uint64_t seed : {1, 2, 3, 4}) reads.push_back(make_read(pore, {.kmer_count = 100 + 150 * seed}, seed));
  simulation::Read no_events = reads[0], no_kmers = reads[0], stalled = make_read(pore, {.kmer_count = 60, .events_per_kmer = 20}, 7),
                   outside = reads[1], other = reads[2];
  no_events.event_means.clear();
  no_kmers.kmer_ranks.clear();
  outside.kmer_ranks[50] = 1024;
  for (float& event : other.event_means) event = 200 - event;
  for (const simulation::Read& read : {no_events, no_kmers, stalled, outside, other}) reads.push_back(read);
  return reads;
}

TestBatch batch_of(const std::vector<simulation::Read>& reads, std::int64_t failed = -1) {
  std::vector<std::vector<float>> events;
  std::vector<std::vector<std::uint32_t>> ranks;
  std::vector<float> shift, scale;
  for (const simulation::Read& read : reads) {
    events.push_back(read.event_means), ranks.push_back(read.kmer_ranks);
    shift.push_back(read.scaling.shift), scale.push_back(read.scaling.scale);
  }
  BatchBuilder rows("read", std::ssize(reads));
  rows.list<float>("event_mean", events)
      .list<std::uint32_t>("kmer_rank", ranks)
      .column<float>("moment_shift", shift)
      .column<float>("moment_scale", scale);
  if (failed >= 0) rows.failed(failed);
  return rows.build();
}

Result aligned(const std::vector<simulation::Read>& reads, const sluice::testing::ParameterTexts& parameters = {}, std::int64_t failed = -1) {
  Result result =
      run_stage(sluice::testing::stage_of(plugin(), "abea"), batch_of(reads, failed)).resource("model", model()).with(parameters).threads(2).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  return result;
}

}  // namespace

TEST_CASE("each read's events and status are those of the plain function, and a read that had failed has none") {
  const std::vector<simulation::Read> reads = made_reads();
  constexpr std::int64_t failed = 1;
  const Result result = aligned(reads, {}, failed);
  std::map<std::int64_t, std::string> reasons;
  for (const FailedRow& row : result.failed) reasons[row.row] = row.reason;
  const Batch rows = result.batch().view();
  for (std::int64_t row = 0; row < std::ssize(reads); ++row) {
    CAPTURE(row);
    const auto first = rows.list<std::int32_t>("first_event")[row], last = rows.list<std::int32_t>("last_event")[row];
    const std::size_t kmers = reads[static_cast<std::size_t>(row)].kmer_ranks.size();
    REQUIRE(first.size() == kmers);
    if (row == failed) {
      CHECK(std::vector<std::int32_t>(first.begin(), first.end()) == std::vector<std::int32_t>(kmers, -1));
      CHECK(std::vector<std::int32_t>(last.begin(), last.end()) == std::vector<std::int32_t>(kmers, -1));
      continue;
    }
    std::vector<std::int32_t> expected_first(kmers), expected_last(kmers);
    const AlignmentResult expected = align_events_scalar(reads[static_cast<std::size_t>(row)].input(pore), expected_first, expected_last);
    CHECK((reasons.contains(row) ? reasons[row] : "ok") == std::string(name(expected.status)));
    if (expected.status != AlignmentStatus::ok) continue;
    CHECK(std::vector<std::int32_t>(first.begin(), first.end()) == expected_first);
    CHECK(std::vector<std::int32_t>(last.begin(), last.end()) == expected_last);
    CHECK(rows.column<double>("events_per_base")[static_cast<std::size_t>(row)] == expected.events_per_base);
  }
  CHECK(!reasons.contains(0));
  CHECK(reasons.at(4) == "no_events");
  CHECK(reasons.at(5) == "too_few_kmers");
  CHECK(reasons.at(6) == "too_many_events_per_base");
  CHECK(reasons.at(7) == "kmer_outside_model");
  CHECK(reasons.contains(8));
}

TEST_CASE("the limits are those of f5c, and the options set them") {
  const auto stage = sluice::testing::stage_of(plugin(), "abea");
  CHECK(sluice::testing::default_of(*stage.descriptor, "max_events_per_base") == "15");
  CHECK(sluice::testing::default_of(*stage.descriptor, "min_average_emission") == "-5");
  CHECK(sluice::testing::default_of(*stage.descriptor, "max_skipped_kmers") == "50");
  const std::vector<simulation::Read> read = {make_read(pore, {.kmer_count = 400}, 5)};
  const auto reason = [&](const sluice::testing::ParameterTexts& parameters) {
    const Result result = aligned(read, parameters);
    return result.failed.empty() ? std::string("ok") : result.failed.front().reason;
  };
  CHECK(reason({}) == "ok");
  CHECK(reason({{"max_events_per_base", 1}}) == "too_many_events_per_base");
  CHECK(reason({{"min_average_emission", -0.1}}) == "low_average_emission");
  CHECK(reason({{"max_skipped_kmers", 0}}) == "too_many_skipped_kmers");
}

TEST_CASE("abea keeps the contract of all stages, and wants a nucleotide model") {
  const std::vector<simulation::Read> reads = made_reads();
  for (const std::string& problem : sluice::testing::contract_problems(
           plugin(), {{"abea", {.resources = {{"model", model()}}, .batches = {batch_of(reads), batch_of({reads[0]})}}}}))
    FAIL_CHECK(problem);
  const TestBatch methylation = BatchBuilder("kmer", 5)
                                    .column<float>("level_mean", std::vector<float>(5, 60))
                                    .column<float>("level_stdv", std::vector<float>(5, 1))
                                    .column<float>("log_level_stdv", std::vector<float>(5, 0))
                                    .attribute("k", "1")
                                    .attribute("alphabet", "methylation")
                                    .build();
  const Result refused = run_stage(sluice::testing::stage_of(plugin(), "abea"), batch_of(reads)).resource("model", methylation).run();
  CHECK(refused.status == SLUICE_ERROR_USAGE);
  CHECK(refused.message == "the model is a methylation model");
}
