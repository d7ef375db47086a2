// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment/event_alignment.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "unit/signal/event_alignment/simulated_record.hpp"

namespace sluice::event_alignment {
namespace {

using simulation::SimulatedRecord;

struct Row {
  std::int32_t event, position;
  std::uint8_t state;
  bool operator==(const Row&) const = default;
};

struct Aligned {
  RecordStatus status;
  std::vector<Row> rows;
};

Aligned align(const Record& record, const KmerModelView& model, const Settings& settings = {},
              SegmentPath segment_path = event_alignment::segment_path) {
  Workspace workspace;
  EventPath path;
  Aligned aligned{align_events(record, CheckedModel(model), settings, segment_path, workspace, path), {}};
  REQUIRE(path.position.size() == path.event.size());
  REQUIRE(path.state.size() == path.event.size());
  for (std::size_t i = 0; i < path.event.size(); ++i) aligned.rows.push_back({path.event[i], path.position[i], path.state[i]});
  return aligned;
}

// The walk over a record word by word: lists of aligned pairs, searched from the front.
std::vector<Row> literal_walk(const SimulatedRecord& record, const KmerModelView& model, const Settings& settings) {
  struct Pair {
    std::int64_t position, read_position;
  };
  std::vector<std::vector<Pair>> stretches(1);
  std::int64_t position = record.ref_start, read_position = 0;
  for (const std::uint32_t word : record.cigar) {
    for (std::uint32_t i = 0; i < word >> 4U; ++i) switch (word & 15U) {
        case 0:
        case 7:
        case 8:
          stretches.back().push_back({position++, read_position++});
          break;
        case 1:
        case 4:
          ++read_position;
          break;
        case 2:
          ++position;
          break;
        case 3:
          if (i == 0) stretches.emplace_back();
          ++position;
          break;
        case 5:
          read_position += settings.hard_clips == HardClips::count ? 1 : 0;
          break;
        default:
          break;
      }
  }
  const std::int64_t k = model.k, read_length = static_cast<std::int64_t>(record.read_length);
  const auto nearest = [&](std::int64_t at) -> std::int64_t {
    const std::int64_t q = record.strand == Strand::forward ? at : read_length - at - k;
    const auto& map = record.first_event;
    for (std::int64_t i = q, stop = std::max<std::int64_t>(0, q - 1000); i != stop && i >= 0; --i)
      if (map[static_cast<std::size_t>(i)] != -1) return map[static_cast<std::size_t>(i)];
    for (std::int64_t i = q, stop = std::min<std::int64_t>(q + 1000, static_cast<std::int64_t>(map.size()) - 1); i < stop; ++i)
      if (map[static_cast<std::size_t>(i)] != -1) return map[static_cast<std::size_t>(i)];
    return -1;
  };
  std::vector<Row> rows;
  for (auto& pairs : stretches) {
    std::erase_if(pairs, [&](const Pair& pair) { return pair.position < settings.clip_start || pair.position > settings.clip_end; });
    while (!pairs.empty() && pairs.back().read_position > read_length - k) pairs.pop_back();
    if (pairs.empty()) return rows;
    std::int64_t event = nearest(pairs.front().read_position);
    const std::int64_t last_event = nearest(pairs.back().read_position);
    if (event == -1 || last_event == -1) continue;
    const bool forward = event < last_event;
    std::int64_t at = pairs.front().position;
    while (forward ? event < last_event : event > last_event) {
      std::size_t end = pairs.size() - 1;
      while (pairs[end].position > at + 100) --end;
      const std::string_view sequence =
          std::string_view(record.contig).substr(static_cast<std::size_t>(at), static_cast<std::size_t>(pairs[end].position - at + 1));
      const std::int64_t stop = nearest(pairs[end].read_position);
      if (sequence.size() < 2 * model.k || std::abs(event - stop) < 2 || stop == -1) break;
      const std::int64_t step = event < stop ? 1 : -1;
      Workspace workspace;
      segment_path_reference({record.event_mean, event, std::abs(stop - event) + 1, step, sequence, record.strand, record.scaling,
                              *event_hmm::make_transitions(record.events_per_base, settings.events_per_base)},
                             model, workspace);
      std::int64_t new_event = 0, new_position = 0;
      std::size_t count = 0;
      for (std::size_t i = workspace.path.size(); i-- > 0;) {
        if (count >= 50 && end + 1 != pairs.size()) break;
        const std::int64_t of_row = event + workspace.path[i].row * step;
        if (of_row == event) continue;
        new_event = of_row;
        new_position = at + workspace.path[i].column;
        rows.push_back({static_cast<std::int32_t>(new_event), static_cast<std::int32_t>(new_position),
                        workspace.path[i].state == State::match ? std::uint8_t{1} : std::uint8_t{0}});
        ++count;
      }
      if (count == 0) break;
      event = new_event;
      at = new_position;
    }
  }
  return rows;
}

TEST_CASE("a record is walked as by the letter, on both strands, with clips, deletions, splices and regions") {
  std::mt19937_64 random(1);
  std::size_t rows = 0;
  for (const std::uint32_t k : {3U, 6U}) {
    const simulation::Model model(k);
    for (int turn = 0; turn < 60; ++turn) {
      simulation::Options options;
      options.aligned_bases = 1 + random() % 900;
      options.splices = turn % 3 == 0 ? 0.01 : 0.0;
      options.long_deletions = turn % 4 == 0 ? 0.01 : 0.0;
      options.missing_events = turn % 5 == 0 ? 0.5 : 0.05;
      const SimulatedRecord record = simulate_record(model, random() % 2 == 0 ? Strand::forward : Strand::reverse, options, random);
      Settings settings;
      if (turn % 2 == 0) settings.hard_clips = HardClips::compat;
      if (turn % 3 == 1) {
        settings.clip_start = static_cast<std::int64_t>(random() % 500);
        settings.clip_end = settings.clip_start + static_cast<std::int64_t>(random() % 500);
      }
      const Aligned aligned = align(record.view(), model.view, settings);
      CHECK(aligned.status == RecordStatus::ok);
      CHECK(aligned.rows == literal_walk(record, model.view, settings));
      rows += aligned.rows.size();
    }
  }
  CHECK(rows > 20'000);
}

TEST_CASE("paths follow the events: along the reference, one step of an event at a time, close to the truth") {
  const simulation::Model model(6);
  std::mt19937_64 random(2);
  for (const Strand strand : {Strand::forward, Strand::reverse}) {
    const SimulatedRecord record = simulate_record(model, strand, {.aligned_bases = 3000, .errors = 0.0, .clips = false}, random);
    const Aligned aligned = align(record.view(), model.view);
    REQUIRE(aligned.rows.size() > 4000);
    const std::int32_t step = strand == Strand::forward ? 1 : -1;
    std::size_t close = 0;
    for (std::size_t i = 0; i < aligned.rows.size(); ++i) {
      if (i > 0) {
        CHECK(aligned.rows[i].event == aligned.rows[i - 1].event + step);
        CHECK(aligned.rows[i].position >= aligned.rows[i - 1].position);
      }
      const auto at = static_cast<std::size_t>(aligned.rows[i].position - record.ref_start);
      const std::int32_t first = record.first_event[strand == Strand::forward ? at : record.first_event.size() - 1 - at];
      close += first >= 0 && std::abs(first - aligned.rows[i].event) <= 3 ? 1 : 0;
    }
    CHECK(close * 10 > aligned.rows.size() * 9);
  }
}

TEST_CASE("a read that is too short, or none of whose bases is aligned, has no rows and does not fail") {
  const simulation::Model model(6);
  std::mt19937_64 random(3);
  SimulatedRecord record = simulate_record(model, Strand::forward, {.aligned_bases = 400, .clips = false}, random);
  const auto expect_nothing = [&](const Settings& settings = {}) {
    const Aligned aligned = align(record.view(), model.view, settings);
    CHECK(aligned.status == RecordStatus::ok);
    CHECK(aligned.rows.empty());
  };
  expect_nothing({.clip_start = 100'000});
  expect_nothing({.clip_end = 0});
  const auto cigar = std::exchange(record.cigar, {});
  expect_nothing();
  record.cigar = {static_cast<std::uint32_t>(record.read_length) << 4U | 4U};
  expect_nothing();
  record.cigar = {0U, 3U, 3U, 8U << 4U, 0U};  // matches of no bases, splices of none
  expect_nothing();
  record.cigar = cigar;
  const auto map = record.first_event;
  record.first_event.assign(map.size(), -1);
  expect_nothing();
  record.event_mean.clear();
  expect_nothing();
  record.first_event = map;
  CHECK(align(record.view(), model.view).status == RecordStatus::bad_base_to_event_map);
  record.read_length = 5;  // shorter than k
  record.first_event.clear();
  CHECK(align(record.view(), model.view).status == RecordStatus::bad_base_to_event_map);
}

TEST_CASE("hostile records fail by name") {
  const simulation::Model model(6);
  std::mt19937_64 random(4);
  const SimulatedRecord good = simulate_record(model, Strand::reverse, {.aligned_bases = 400}, random);
  REQUIRE(align(good.view(), model.view).status == RecordStatus::ok);
  const auto status_of = [&](const auto& change, const Settings& settings = {}) {
    SimulatedRecord bad = good;
    change(bad);
    const Aligned aligned = align(bad.view(), model.view, settings);
    if (aligned.status != RecordStatus::ok) CHECK(aligned.rows.empty());
    return aligned.status;
  };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(status_of([](auto& r) { r.contig.resize(300); }) == RecordStatus::outside_contig);
  CHECK(status_of([](auto& r) { r.ref_start = -3; }) == RecordStatus::outside_contig);
  CHECK(status_of([](auto& r) { r.cigar.assign(40, 0xFFFFFFF0U); }) == RecordStatus::outside_contig);
  CHECK(status_of([](auto& r) { r.cigar.insert(r.cigar.begin(), 9, 0xFFFFFFF2U); }) == RecordStatus::outside_contig);
  CHECK(status_of([](auto& r) { r.cigar.assign(40, 0xFFFFFFF1U); }) == RecordStatus::ok);
  CHECK(status_of([](auto& r) { r.cigar[0] |= 9U; }) == RecordStatus::bad_cigar);
  CHECK(status_of([](auto& r) { r.cigar.back() |= 15U; }) == RecordStatus::bad_cigar);
  CHECK(status_of([](auto& r) { r.read_length += 1; }) == RecordStatus::bad_base_to_event_map);
  CHECK(status_of([](auto& r) { r.read_length = std::numeric_limits<std::size_t>::max(); }) == RecordStatus::bad_base_to_event_map);
  CHECK(status_of([](auto& r) { r.first_event[100] = 1 << 30; }) == RecordStatus::bad_base_to_event_map);
  CHECK(status_of([](auto& r) { r.first_event[100] = -2; }) == RecordStatus::bad_base_to_event_map);
  CHECK(status_of([](auto& r) { std::ranges::reverse(r.first_event); }) == RecordStatus::bad_base_to_event_map);
  CHECK(status_of([](auto& r) { r.event_mean.pop_back(), r.event_mean.resize(10); }) == RecordStatus::bad_base_to_event_map);
  CHECK(status_of([](auto& r) { r.event_mean[7] = infinity; }) == RecordStatus::not_finite);
  CHECK(status_of([](auto& r) { r.event_mean[7] = 2e15F; }) == RecordStatus::not_finite);
  CHECK(status_of([](auto& r) { r.scaling.shift = infinity; }) == RecordStatus::not_finite);
  CHECK(status_of([](auto& r) { r.scaling.scale = -1e14F; }) == RecordStatus::not_finite);
  CHECK(status_of([](auto& r) { r.scaling.var = 0.0F; }) == RecordStatus::not_finite);
  CHECK(status_of([](auto& r) { r.scaling.log_var = std::numeric_limits<float>::quiet_NaN(); }) == RecordStatus::not_finite);
  CHECK(status_of([](auto& r) { r.events_per_base = nan; }) == RecordStatus::bad_events_per_base);
  CHECK(status_of([](auto& r) { r.events_per_base = 300.0; }) == RecordStatus::bad_events_per_base);
  CHECK(status_of([](auto& r) { r.events_per_base = 0.5; }) == RecordStatus::ok);
  CHECK(status_of([](auto& r) { r.events_per_base = 1.0; }) == RecordStatus::ok);
  CHECK(status_of([](auto& r) { r.events_per_base = nan; }, {.events_per_base = event_hmm::EventsPerBase::compat}) ==
        RecordStatus::bad_events_per_base);
  const simulation::Model other(5);
  KmerModelView truncated = model.view;
  truncated.level_stdv = truncated.level_stdv.first(100);
  CHECK(align(good.view(), truncated).status == RecordStatus::not_finite);
  CHECK(align(good.view(), other.view).status == RecordStatus::bad_base_to_event_map);
}

TEST_CASE("random words as a CIGAR never leave the record") {
  const simulation::Model model(6);
  std::mt19937_64 random(5);
  for (int turn = 0; turn < 300; ++turn) {
    SimulatedRecord record = simulate_record(model, random() % 2 == 0 ? Strand::forward : Strand::reverse, {.aligned_bases = 300}, random);
    for (int change = 0; change < 3; ++change) record.cigar[random() % record.cigar.size()] = static_cast<std::uint32_t>(random() % (60U << 4U));
    if (turn % 3 == 0) record.ref_start = static_cast<std::int64_t>(random() % 400);
    const Aligned aligned = align(record.view(), model.view);
    for (const Row& row : aligned.rows) {
      CHECK(row.event >= 0);
      CHECK(row.event < static_cast<std::int32_t>(record.event_mean.size()));
      CHECK(row.position >= 0);
      CHECK(row.position + 6 <= static_cast<std::int32_t>(record.contig.size()));
    }
    CHECK(aligned.rows == align(record.view(), model.view, {}, segment_path_reference).rows);
  }
}

TEST_CASE("fewer than one event per base: 1.25 by default; with compat every event of a segment on its last k-mer") {
  const simulation::Model model(6);
  std::mt19937_64 random(6);
  SimulatedRecord record = simulate_record(model, Strand::forward, {.aligned_bases = 400, .errors = 0.0, .clips = false}, random);
  record.events_per_base = 1.25;
  const auto expected = align(record.view(), model.view).rows;
  record.events_per_base = 0.75;
  CHECK(align(record.view(), model.view).rows == expected);
  const Aligned compat = align(record.view(), model.view, {.events_per_base = event_hmm::EventsPerBase::compat});
  CHECK(compat.status == RecordStatus::ok);
  REQUIRE(compat.rows.size() > 50);
  for (std::size_t i = 0; i < 50; ++i) CHECK(compat.rows[i].position == record.ref_start + 100 - 5);
  CHECK(compat.rows[0].event == expected[0].event);
}

TEST_CASE("a stall is followed up to a bound, and fails the record beyond it") {
  const simulation::Model model(6);
  std::mt19937_64 random(7);
  const SimulatedRecord plain = simulate_record(model, Strand::forward, {.aligned_bases = 200, .errors = 0.0, .clips = false}, random);
  const auto stalled = [&](std::size_t events) {
    SimulatedRecord record = plain;
    const auto at = static_cast<std::size_t>(record.first_event[110] < 0 ? record.first_event[111] : record.first_event[110]);
    record.event_mean.insert(record.event_mean.begin() + static_cast<std::ptrdiff_t>(at), events, record.event_mean[at]);
    for (std::int32_t& event : record.first_event)
      if (event > static_cast<std::int32_t>(at)) event += static_cast<std::int32_t>(events);
    return record;
  };
  const SimulatedRecord few = stalled(3'000);
  const Aligned aligned = align(few.view(), model.view);
  CHECK(aligned.status == RecordStatus::ok);
  CHECK(aligned.rows.size() > 3'000);
  CHECK(aligned.rows == literal_walk(few, model.view, {}));
  CHECK(align(stalled(70'000).view(), model.view).status == RecordStatus::stalled);
}

}  // namespace
}  // namespace sluice::event_alignment
