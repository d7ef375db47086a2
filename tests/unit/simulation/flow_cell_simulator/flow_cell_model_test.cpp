// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "flow_cell_simulator/flow_cell_model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>

#include "flow_cell_simulator/model_clock.hpp"
#include "flow_cell_simulator/sequencing_model.hpp"

using namespace sluice::flow_cell_simulator;

namespace {

ReadHandle read_of(std::int64_t length, std::int64_t kept = 1 << 30, bool is_target = false, const std::string& name = "read") {
  auto read = std::make_shared<RecordedRead>();
  read->read_id = name;
  read->length = length;
  for (std::int64_t i = 0; i < std::min(length, kept); ++i) read->samples.push_back(static_cast<std::int16_t>(i));
  read->digitisation = 8192, read->range = 1400, read->sampling_rate = 4000;
  read->is_target = is_target;
  return read;
}

FlowCellSettings one_channel() {
  FlowCellSettings settings;
  settings.channels = 1;
  settings.capture_seconds = 0;
  settings.largest_chunk = 1 << 30;
  return settings;
}

std::vector<Chunk> advance(FlowCellModel& model, double now) {
  std::vector<Chunk> chunks;
  model.advance(now, 0, 1, chunks);
  return chunks;
}

}  // namespace

TEST_CASE("Every sample of a read that nobody decides on is sent once and in order, however often channels are looked at") {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    FlowCellSettings settings;
    settings.channels = 7;
    settings.seed = static_cast<std::uint64_t>(round);
    settings.capture_seconds = 0.3;
    settings.largest_chunk = 1 << 30;
    FlowCellModel model(settings);
    std::map<std::string, std::int64_t> lengths, sent;
    std::map<std::string, int> last, next_index;
    for (int i = 0; i < 100; ++i) {
      const std::string name = "r" + std::to_string(i);
      lengths[name] = 1 + static_cast<std::int64_t>(random() % 9000);
      model.add_read(read_of(lengths[name], 1 << 30, false, name));
    }
    model.end_of_reads();
    double now = 0;
    const int waves = 1 + round % 3;
    for (std::int64_t tick = 0; !model.is_over(); ++tick, now += 0.001 * static_cast<double>(random() % 200)) {
      std::vector<Chunk> chunks;
      model.advance(now, static_cast<std::int32_t>(tick % waves), waves, chunks);
      for (const Chunk& chunk : chunks) {
        const std::string& name = chunk.read->read_id;
        CHECK(chunk.begin == sent[name]);
        CHECK(chunk.chunk_index == next_index[name]++);
        CHECK(last[name] == 0);
        sent[name] = chunk.end;
        last[name] += chunk.is_last ? 1 : 0;
      }
    }
    CHECK(sent == lengths);
    for (const auto& [name, times] : last) CHECK(times == 1);
    CHECK(model.counts(now).reads == 100);
    CHECK(model.counts(now).ended == 100);
    double seconds = 0;
    for (const auto& [name, length] : lengths) seconds += static_cast<double>(length) / 4000;
    CHECK(model.counts(now).sequenced_seconds == doctest::Approx(seconds));
  }
}

TEST_CASE("A rejected strand leaves at once, sends no more, and its pore is free after the ejection") {
  FlowCellSettings settings = one_channel();
  settings.ejection_seconds = 0.5;
  FlowCellModel model(settings);
  model.add_read(read_of(40000));
  model.add_read(read_of(4000));
  model.end_of_reads();
  auto chunks = advance(model, 1.0);
  REQUIRE(chunks.size() == 1);
  CHECK(chunks[0].end == 4000);
  CHECK(model.decide(1.05, 0, chunks[0].read_number, Decision::reject, 1.0) == Effect::rejected);
  CHECK(model.decide(1.06, 0, chunks[0].read_number, Decision::reject, 1.0) == Effect::none);  // said again by a chunk that was under way
  CHECK(advance(model, 1.5).empty());
  chunks = advance(model, 1.8);
  REQUIRE(chunks.size() == 1);
  CHECK(chunks[0].start == doctest::Approx(1.55));
  CHECK(chunks[0].chunk_index == 0);
  CHECK(model.counts(1.8).sequenced_seconds == doctest::Approx(1.05 + 0.25));
  CHECK(model.counts(1.8).rejected == 1);
  CHECK(model.counts(1.8).late == 0);
}

TEST_CASE("An accepted strand is sequenced to its end without further chunks") {
  FlowCellModel model(one_channel());
  model.add_read(read_of(40000, 1 << 30, true));
  model.end_of_reads();
  const auto chunks = advance(model, 1.0);
  CHECK(model.decide(1.1, 0, chunks[0].read_number, Decision::accept, 1.0) == Effect::accepted);
  for (double now = 1.1; now < 11; now += 0.1) CHECK(advance(model, now).empty());
  CHECK(model.is_over());
  CHECK(model.counts(11).target_seconds == doctest::Approx(10));
  CHECK(model.counts(11).accepted_targets == 1);
}

TEST_CASE("Decisions after the deadline, or after the read has ended, are late once and change nothing") {
  FlowCellSettings settings = one_channel();
  settings.deadline_seconds = 0.2;
  FlowCellModel model(settings);
  model.add_read(read_of(8000));
  model.add_read(read_of(8000));
  model.end_of_reads();
  auto chunks = advance(model, 1.0);
  CHECK(model.decide(1.3, 0, chunks[0].read_number, Decision::reject, 1.0) == Effect::late);
  CHECK(model.decide(1.3, 0, chunks[0].read_number, Decision::reject, 1.0) == Effect::none);
  CHECK_FALSE(model.is_stopped(1.3));  // where nothing else is said, ejections go on
  CHECK(advance(model, 1.9).empty());  // nobody is asked any more
  chunks = advance(model, 3.9);
  REQUIRE(chunks.size() == 1);
  const std::uint64_t second = chunks[0].read_number;
  CHECK(advance(model, 4.1).front().is_last);
  CHECK(model.decide(4.1, 0, second, Decision::reject, 3.95) == Effect::late);
  CHECK(model.counts(5).sequenced_seconds == doctest::Approx(4));
  CHECK(model.counts(5).late == 2);
  CHECK(model.counts(5).rejected == 0);
}

TEST_CASE("Behind a late decision nothing is ejected for a while") {
  FlowCellSettings settings = one_channel();
  settings.channels = 4;
  settings.deadline_seconds = 0.2;
  settings.stop_seconds = 2;
  FlowCellModel model(settings);
  for (int i = 0; i < 4; ++i) model.add_read(read_of(40000));
  model.end_of_reads();
  const auto chunks = advance(model, 1.0);
  REQUIRE(chunks.size() == 4);
  CHECK(model.decide(1.1, 0, chunks[0].read_number, Decision::reject, 1.0) == Effect::rejected);
  CHECK_FALSE(model.is_stopped(1.1));
  CHECK(model.decide(1.3, 1, chunks[1].read_number, Decision::reject, 1.0) == Effect::late);
  CHECK(model.is_stopped(1.3));
  CHECK(model.decide(1.4, 2, chunks[2].read_number, Decision::reject, 1.3) == Effect::withheld);
  CHECK_FALSE(model.is_stopped(3.4));
  CHECK(model.decide(3.4, 3, chunks[3].read_number, Decision::reject, 3.3) == Effect::rejected);
  CHECK(model.counts(3.4).withheld == 1);
  CHECK(model.counts(3.4).rejected == 2);
}

TEST_CASE("A strand whose ejection is withheld is not asked about again, and the stop ends when it has been so long") {
  FlowCellSettings settings = one_channel();
  settings.channels = 2;
  settings.deadline_seconds = 0.25;
  settings.stop_seconds = 0.75;
  FlowCellModel model(settings);
  for (int i = 0; i < 2; ++i) model.add_read(read_of(40000));
  const auto chunks = advance(model, 1.0);
  REQUIRE(chunks.size() == 2);
  CHECK(model.decide(1.5, 0, chunks[0].read_number, Decision::reject, 1.0) == Effect::late);
  CHECK(model.decide(1.5, 1, chunks[1].read_number, Decision::reject, 1.5) == Effect::withheld);
  CHECK(advance(model, 2.0).empty());
  CHECK(model.is_stopped(2.1875));
  CHECK_FALSE(model.is_stopped(2.25));
}

TEST_CASE("A channel sends one chunk at a time: the next read's first one comes with the next call") {
  FlowCellModel model(one_channel());
  model.add_read(read_of(4000));
  model.add_read(read_of(4000));
  auto chunks = advance(model, 1.5);
  REQUIRE(chunks.size() == 1);
  CHECK(chunks[0].read_number == 1);
  CHECK(chunks[0].is_last);
  chunks = advance(model, 1.5);
  REQUIRE(chunks.size() == 1);
  CHECK(chunks[0].read_number == 2);
  CHECK(chunks[0].end == 2000);
}

TEST_CASE("Conditions of channels count for themselves, and depletion wants what is no target") {
  FlowCellSettings settings = one_channel();
  settings.channels = 3;
  settings.conditions = {Wanted::targets, Wanted::others};
  settings.channel_condition = {0};
  FlowCellModel model(settings);
  for (int i = 0; i < 3; ++i) model.add_read(read_of(4000, 1 << 30, i < 2));  // targets on channels 0 and 1
  model.end_of_reads();
  advance(model, 0.5);
  CHECK(model.channels_of(0) == 1);
  CHECK(model.channels_of(1) == 2);
  CHECK(model.counts(0.5, 0).target_reads == 1);
  CHECK(model.counts(0.5, 1).target_reads == 1);
  CHECK(model.counts(0.5, 1).reads == 2);
  CHECK(model.counts(0.5, 0).target_seconds == doctest::Approx(0.5));
  CHECK(model.counts(0.5).reads == 3);
  CHECK(model.counts(0.5).target_reads == 2);
}

TEST_CASE("Strands that are drawn again and again are the same mixture for channels that eject and for those that do not") {
  FlowCellSettings settings;
  settings.channels = 40;
  settings.repeat = Repeat::for_ever;
  settings.conditions = {Wanted::targets, Wanted::targets};
  settings.channel_condition.assign(20, 0);
  FlowCellModel model(settings);
  for (int i = 0; i < 10; ++i) model.add_read(read_of(i % 2 == 0 ? 24000 : 16000, 4, i % 2 == 0));
  for (double now = 0; now < 3000; now += 0.1)
    for (const Chunk& chunk : advance(model, now))
      if (chunk.channel < 20 && !chunk.read->is_target) model.decide(now, chunk.channel, chunk.read_number, Decision::reject, now);
  for (std::size_t condition = 0; condition < 2; ++condition) {
    const FlowCellCounts counts = model.counts(3000, condition);
    CHECK(static_cast<double>(counts.target_reads) / static_cast<double>(counts.reads) == doctest::Approx(0.5).epsilon(0.03));
  }
}

TEST_CASE("A pipeline that is behind gets one larger chunk, up to a limit, and beyond it the read is given up") {
  FlowCellSettings settings = one_channel();
  settings.largest_chunk = FlowCellSettings().largest_chunk;  // 4000
  FlowCellModel model(settings);
  model.add_read(read_of(400000));
  CHECK(advance(model, 0.125).front().end == 500);
  CHECK(advance(model, 1.125).front().end == 4500);
  CHECK(advance(model, 2.1254).empty());  // 4001 samples more
  CHECK(model.counts(2.2).given_up == 1);
  CHECK(advance(model, 2.2).empty());
  CHECK(model.decide(2.2, 0, 1, Decision::reject, 1.0) == Effect::none);
}

TEST_CASE("Of a read no more is sent than is kept, and it ends when it ended") {
  FlowCellModel model(one_channel());
  model.add_read(read_of(40000, 1000));
  model.end_of_reads();
  CHECK(advance(model, 1.0).front().end == 1000);
  CHECK(advance(model, 2.0).empty());
  CHECK_FALSE(model.is_over());
  CHECK(advance(model, 10.0).empty());
  CHECK(model.is_over());
  CHECK(model.counts(10).ended == 1);
}

TEST_CASE("Pores are free for exponential times, the same on every run") {
  FlowCellSettings settings;
  settings.channels = 1;
  settings.capture_seconds = 2;
  settings.repeat = Repeat::for_ever;
  FlowCellModel model(settings), again(settings);
  for (FlowCellModel* one : {&model, &again}) one->add_read(read_of(4));
  std::vector<double> starts;
  for (double now = 0; starts.size() < 5000; now += 0.01)
    for (const Chunk& chunk : advance(model, now))
      if (chunk.is_last) starts.push_back(chunk.start);
  double sum = 0, squares = 0;
  for (std::size_t i = 1; i < starts.size(); ++i) {
    const double waited = starts[i] - starts[i - 1] - 0.001;
    CHECK(waited >= 0);
    sum += waited;
    squares += waited * waited;
  }
  const double mean = sum / 4999, deviation = std::sqrt(squares / 4999 - mean * mean);
  CHECK(mean == doctest::Approx(2).epsilon(0.05));
  CHECK(deviation == doctest::Approx(2).epsilon(0.07));
  CHECK(advance(again, starts[0] + 0.0011).front().start == starts[0]);
}

TEST_CASE("The time until a pore has its first strand is that of SplitMix64 over seed, channel and count, as runs of earlier versions had it") {
  const auto mixed = [](std::uint64_t x) {
    x ^= x >> 30U, x *= 0xBF58476D1CE4E5B9U;
    x ^= x >> 27U, x *= 0x94D049BB133111EBU;
    return x ^ x >> 31U;
  };
  constexpr std::uint64_t golden = 0x9E3779B97F4A7C15U;
  FlowCellSettings settings;
  settings.channels = 3;
  settings.seed = 7;
  settings.capture_seconds = 2;
  FlowCellModel model(settings);
  double first = 1e9;
  for (std::uint64_t channel = 0; channel < 3; ++channel) {
    // The first strand has count 0.
    const std::uint64_t bits = mixed(mixed(mixed(7 + golden) + channel * golden));
    first = std::min(first, -2 * std::log((static_cast<double>(bits >> 12U) + 0.5) / 4503599627370496.0));
  }
  CHECK(model.quiet_until() == doctest::Approx(first).epsilon(1e-12));
  for (int i = 0; i < 3; ++i) model.add_read(read_of(40000));
  advance(model, first + 0.001);
  CHECK(model.counts(first + 0.001).reads == 1);
  CHECK(model.quiet_until() == 0);  // a strand is in a pore
}

TEST_CASE("A read without samples or without a sampling rate is none") {
  FlowCellModel model(one_channel());
  auto without_rate = std::make_shared<RecordedRead>(*read_of(400));
  without_rate->sampling_rate = 0;
  model.add_read(without_rate);
  model.add_read(read_of(0));
  CHECK(model.waiting_reads() == 0);
  model.add_read(read_of(1));
  CHECK(model.waiting_reads() == 1);
  auto slow = std::make_shared<RecordedRead>(*read_of(400));
  slow->sampling_rate = 1;
  model.add_read(slow);
  CHECK(model.waiting_reads() == 2);
}

TEST_CASE("Where a read has no more samples to send, the next one on its channel begins with the same call") {
  FlowCellModel model(one_channel());
  model.add_read(read_of(40000, 1000));
  model.add_read(read_of(40000));
  CHECK(advance(model, 1.0).front().end == 1000);
  const auto chunks = advance(model, 10.5);  // the first one ended at 10 s
  REQUIRE(chunks.size() == 1);
  CHECK(chunks[0].read_number == 2);
  CHECK(chunks[0].begin == 0);
  CHECK(chunks[0].end == 2000);
}

TEST_CASE("A clock that is more than a round ahead goes on with the last round, each group of channels once") {
  CHECK(tick_after(10, 3, 4) == 10);
  CHECK(tick_after(10, 14, 4) == 10);
  CHECK(tick_after(10, 15, 4) == 12);
  CHECK(tick_after(10, 1000, 4) == 997);
  CHECK(tick_after(10, 12, 1) == 12);
}

TEST_CASE("Where reads are missing, a pore waits and is counted as starved") {
  FlowCellModel model(one_channel());
  CHECK(advance(model, 1.0).empty());
  CHECK(advance(model, 2.0).empty());
  CHECK(model.counts(2).starved == 1);
  model.add_read(read_of(400));
  advance(model, 3.0);
  CHECK(advance(model, 4.0).front().start == 3.0);
}

TEST_CASE("The model of sequencing time agrees with what channels do") {
  FlowCellSettings settings;
  settings.channels = 200;
  settings.repeat = Repeat::for_ever;
  settings.ejection_seconds = 0.3;
  const double decision = 0.6;
  double seconds[2] = {0, 0};
  constexpr double duration = 3000;
  for (const bool read_until : {false, true}) {
    FlowCellModel model(settings);
    for (int i = 0; i < 20; ++i) model.add_read(read_of(i % 10 == 0 ? 32000 : 20000, 4, i % 10 == 0));
    std::vector<Chunk> chunks;
    std::multimap<double, Chunk> due;
    double now = 0;
    for (; now < duration; now += 0.05) {
      chunks.clear();
      model.advance(now, 0, 1, chunks);
      for (const Chunk& chunk : chunks)
        if (chunk.chunk_index == 0) due.emplace(chunk.start + decision, chunk);
      for (; !due.empty() && due.begin()->first <= now; due.erase(due.begin())) {
        const Chunk& chunk = due.begin()->second;
        if (read_until)
          model.decide(due.begin()->first, chunk.channel, chunk.read_number, chunk.read->is_target ? Decision::accept : Decision::reject,
                       due.begin()->first);
      }
    }
    seconds[read_until ? 1 : 0] = model.counts(now).target_seconds;
  }
  SequencingConditions conditions;
  conditions.channels = 200;
  conditions.ejection_seconds = 0.3;
  conditions.decision_seconds = decision;
  conditions.target_share = 0.1;
  conditions.target_read_seconds = 8;
  conditions.other_read_seconds = 5;
  conditions.target_bases = 48502;
  conditions.cost_per_hour = 10;
  const SequencingEstimate estimate = estimate_sequencing(conditions);
  CHECK(estimate.enrichment == doctest::Approx(seconds[1] / seconds[0]).epsilon(0.03));
  const double bases_per_hour = seconds[0] * conditions.bases_per_second / (duration / 3600);
  CHECK(estimate.hours_without == doctest::Approx(30 * 48502 / bases_per_hour).epsilon(0.03));
  CHECK(estimate.cost_with == doctest::Approx(10 * estimate.hours_with));
  // Where no target is ever sequenced there are no hours: none among the strands, or all ejected at once.
  const auto is_nothing = [](const SequencingConditions& of) {
    const SequencingEstimate none = estimate_sequencing(of);
    return none.hours_without == 0 && none.hours_with == 0 && none.cost_without == 0 && none.cost_with == 0 && none.enrichment == 0;
  };
  CHECK(!is_nothing(conditions));
  SequencingConditions blind = conditions;
  blind.recall = blind.decision_seconds = 0;
  CHECK(is_nothing(blind));
  conditions.target_share = 0;
  CHECK(is_nothing(conditions));
}

TEST_CASE("With nothing else said, hours are those of a MinION flow cell: 512 channels, 450 bases a second, lambda thirty-fold") {
  // Of 100 strands of 20 s, each after 1 s, one is lambda: 450 * 512 * 0.2 / 21 bases a second.
  CHECK(estimate_sequencing({}).hours_without == doctest::Approx(30 * 48502 / (450.0 * 512 * 0.2 / 21) / 3600));
  SequencingConditions conditions;
  conditions.channels = 1;
  CHECK(estimate_sequencing(conditions).hours_without == doctest::Approx(30 * 48502 / (450.0 * 0.2 / 21) / 3600));
  conditions.channels = 0;
  CHECK(estimate_sequencing(conditions).hours_without == 0);
  // The others leave after 1 + 0.5 s: all strands take 0.2 + 1.485 s on average, and 1 s until they come.
  CHECK(estimate_sequencing({}).enrichment == doctest::Approx(21 / 2.685));
}

TEST_CASE("A strand that ends with its decision is not ejected") {
  SequencingConditions conditions;
  conditions.decision_seconds = conditions.other_read_seconds = conditions.target_read_seconds = 16;
  CHECK(estimate_sequencing(conditions).enrichment == 1);
}
