// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <random>
#include <sluice/testing.hpp>
#include <sluice/testing/kept_memory.hpp>
#include <string>
#include <vector>

#include "event_alignment/event_alignment.hpp"
#include "unit/signal/event_alignment/simulated_record.hpp"

namespace sluice::event_alignment {
namespace {

namespace testing = sluice::testing;
using simulation::SimulatedRecord;

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = testing::load_plugin(SLUICE_PLUGIN_DIR "/event_alignment.so");
  return *loaded;
}

testing::TestBatch model_of(const simulation::Model& model, const char* alphabet = "nucleotide") {
  return testing::BatchBuilder("kmer", static_cast<std::int64_t>(model.level_mean.size()))
      .column<float>("level_mean", model.level_mean)
      .column<float>("level_stdv", model.level_stdv)
      .column<float>("log_level_stdv", model.log_level_stdv)
      .attribute("k", std::to_string(model.view.k))
      .attribute("alphabet", alphabet)
      .build();
}

// Contig c0, c1, ... is that of record 0, 1, ...
struct Sample {
  simulation::Model model{6};
  std::vector<SimulatedRecord> records;

  explicit Sample(std::size_t count) {
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < count; ++i)
      records.push_back(simulate_record(model, i % 2 == 0 ? Strand::forward : Strand::reverse, {.aligned_bases = 150 + 100 * (i % 4)}, random));
  }
  testing::TestBatch reference() const {
    std::vector<std::string> names, bases;
    for (std::size_t i = 0; i < records.size(); ++i) {
      names.push_back("c" + std::to_string(i));
      bases.push_back(records[i].contig);
    }
    return testing::BatchBuilder("contig", static_cast<std::int64_t>(records.size())).text("name", names).text("bases", bases).build();
  }
  testing::TestBatch reads() const {
    std::vector<std::string> contig, bases;
    std::vector<std::int64_t> start, end;
    std::vector<std::uint8_t> reverse;
    std::vector<std::vector<std::uint32_t>> cigar;
    std::vector<std::vector<float>> events;
    std::vector<std::vector<std::int32_t>> map;
    std::vector<float> shift, scale, var, log_var;
    std::vector<double> events_per_base;
    for (const SimulatedRecord& record : records) {
      contig.push_back("c" + std::to_string(contig.size()));
      bases.emplace_back(record.read_length, 'A');
      start.push_back(record.ref_start);
      end.push_back(record.ref_end());
      reverse.push_back(record.strand == Strand::reverse ? 1 : 0);
      cigar.push_back(record.cigar);
      events.push_back(record.event_mean);
      map.push_back(record.first_event);
      shift.push_back(record.scaling.shift);
      scale.push_back(record.scaling.scale);
      var.push_back(record.scaling.var);
      log_var.push_back(record.scaling.log_var);
      events_per_base.push_back(record.events_per_base);
    }
    return testing::BatchBuilder("read", static_cast<std::int64_t>(records.size()))
        .text("contig", contig)
        .text("bases", bases)
        .column<std::int64_t>("ref_start", start)
        .column<std::int64_t>("ref_end", end)
        .column<std::uint8_t>("is_reverse", reverse)
        .list<std::uint32_t>("cigar", cigar)
        .list<float>("event_mean", events)
        .list<std::int32_t>("first_event", map)
        .column<float>("shift", shift)
        .column<float>("scale", scale)
        .column<float>("var", var)
        .column<float>("log_var", log_var)
        .column<double>("events_per_base", events_per_base)
        .build();
  }
  testing::StageRun run() const {
    return testing::run_stage(testing::stage_of(plugin(), "event_alignment"), reads())
        .resource("reference", reference())
        .resource("model", model_of(model));
  }
};

std::vector<std::int32_t> cell(const testing::TestBatch& batch, const char* column, std::int64_t row) {
  const auto values = batch.view().list<std::int32_t>(column)[row];
  return {values.begin(), values.end()};
}

TEST_CASE("the stage gives each record the path of align_events, whatever the threads") {
  const Sample sample(9);
  for (const int threads : {1, 4}) {
    const auto result = sample.run().threads(threads).expect_rows(9);
    CHECK(result.failed.empty());
    for (std::int64_t row = 0; row < 9; ++row) {
      Workspace workspace;
      EventPath path;
      REQUIRE(align_events(sample.records[static_cast<std::size_t>(row)].view(), CheckedModel(sample.model.view), {}, segment_path_reference,
                           workspace, path) == RecordStatus::ok);
      CHECK(!path.event.empty());
      CHECK(cell(result.batch(), "path_event", row) == path.event);
      CHECK(cell(result.batch(), "path_position", row) == path.position);
      const auto states = result.batch().view().list<std::uint8_t>("path_state")[row];
      CHECK(std::vector<std::uint8_t>(states.begin(), states.end()) == path.state);
    }
  }
}

TEST_CASE("a region keeps both of its ends, and one base before it") {
  const Sample sample(2);
  const auto result = sample.run().with({{"region", "c1:101-180"}}).expect_rows(2);
  CHECK(result.failed.empty());
  CHECK(cell(result.batch(), "path_event", 0).empty());
  Workspace workspace;
  EventPath path;
  align_events(sample.records[1].view(), CheckedModel(sample.model.view), {.clip_start = 100, .clip_end = 180}, segment_path, workspace, path);
  CHECK(!path.event.empty());
  CHECK(cell(result.batch(), "path_position", 1) == path.position);
}

TEST_CASE("bad records fail by name, the others do not") {
  Sample sample(6);
  sample.records[0].cigar.push_back(9U);
  sample.records[1].first_event.pop_back();
  sample.records[2].scaling.var = 0.0F;
  sample.records[3].events_per_base = 1e9;
  sample.records[4].contig.resize(100);
  const auto result = sample.run().run();
  CHECK(result.failed ==
        std::vector<testing::FailedRow>{
            {0, 0, "bad_cigar"}, {0, 1, "bad_base_to_event_map"}, {0, 2, "not_finite"}, {0, 3, "bad_events_per_base"}, {0, 4, "outside_contig"}});
  CHECK(!cell(result.batch(), "path_event", 5).empty());
}

TEST_CASE("a record without an aligned base is counted by name") {
  Sample sample(3);
  const auto bases = static_cast<std::uint32_t>(sample.records[1].read_length);
  sample.records[1].cigar = {bases << 4U | 4U};  // all of it clipped
  const auto result = sample.run().run();
  CHECK(result.failed == std::vector<testing::FailedRow>{{0, 1, "no_aligned_events"}});
  CHECK(cell(result.batch(), "path_event", 1).empty());
  CHECK(!cell(result.batch(), "path_event", 2).empty());
}

TEST_CASE("a methylation model and a region elsewhere are refused") {
  const Sample sample(1);
  simulation::Model model(1);
  model.level_mean.resize(5, 90.0F);
  model.level_stdv.resize(5, 2.0F);
  model.log_level_stdv.resize(5, 0.7F);
  auto run = testing::run_stage(testing::stage_of(plugin(), "event_alignment"), sample.reads());
  CHECK(run.resource("reference", sample.reference()).resource("model", model_of(model, "methylation")).run().message.find("methylation model") !=
        std::string::npos);
  CHECK(sample.run().with({{"region", "c7"}}).run().message.find("region 'c7' is not on a contig of the reference") != std::string::npos);
}

TEST_CASE("a record whose traces take more than is kept leaves nothing behind") {
  Sample sample(6);
  std::mt19937_64 random(3);
  SimulatedRecord huge = simulate_record(sample.model, Strand::forward, {.aligned_bases = 100'000, .errors = 0.4}, random);
  // Its pore stalled in the middle.
  std::size_t kmer = huge.first_event.size() / 2;
  while (huge.first_event[kmer] < 0) ++kmer;
  constexpr std::int32_t stalled = 65'000;
  const std::int32_t event = huge.first_event[kmer];
  std::vector<float> means(stalled, huge.event_mean[static_cast<std::size_t>(event)]);
  for (float& mean : means) mean += 0.01F * static_cast<float>(random() % 100);
  huge.event_mean.insert(huge.event_mean.begin() + event + 1, means.begin(), means.end());
  for (std::int32_t& first : huge.first_event)
    if (first > event) first += stalled;
  Workspace workspace;
  EventPath path;
  REQUIRE(align_events(huge.view(), CheckedModel(sample.model.view), {}, segment_path, workspace, path) == RecordStatus::ok);
  REQUIRE(workspace.bytes() > std::size_t{8} << 20);

  sample.records.push_back(huge);
  const testing::TestBatch reads = sample.reads();
  const testing::ContractSample given{.resources = {{"reference", sample.reference()}, {"model", model_of(sample.model)}},
                                      .batches = {reads.rows(0, 6)}};
  CHECK(testing::kept_memory_problems(testing::stage_of(plugin(), "event_alignment"), given, reads.rows(6, 7)) == std::vector<std::string>{});
}

TEST_CASE("the stage keeps the contract of stages") {
  const Sample sample(5);
  const testing::ContractSample given{.parameters = {},
                                      .resources = {{"reference", sample.reference()}, {"model", model_of(sample.model)}},
                                      .batches = {sample.reads()},
                                      .devices = {}};
  for (const std::string& problem : testing::contract_problems(plugin(), {{"event_alignment", given}})) FAIL_CHECK(problem);
}

}  // namespace
}  // namespace sluice::event_alignment
