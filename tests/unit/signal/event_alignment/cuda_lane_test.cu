// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The device's lanes and its walk back, compiled for the host: 32 of them in step find the path of the reference. What needs a device (shuffles, the
// queue of rows) is in tests/gpu.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "event_alignment/cuda_lane.hpp"
#include "event_alignment/event_alignment.hpp"
#include "unit/signal/event_alignment/simulated_record.hpp"

namespace {

using namespace sluice;
using namespace sluice::event_alignment;
using cuda::kLanes;

bool same(const PathCell& a, const PathCell& b) { return a.row == b.row && a.column == b.column && a.state == b.state; }

// A segment as a warp sees it; the path from its last row to its first.
template <int kColumns>
std::vector<PathCell> path_of_warp(const Segment& segment, const KmerModelView& model) {
  const int columns = static_cast<int>(column_count(segment, model.k));
  std::vector<std::uint32_t> ranks(kMaximumColumns);
  segment_ranks(segment, model.k, std::span<std::uint32_t, kMaximumColumns>(ranks));
  std::array<cuda::Lane<kColumns>, kLanes> lanes;
  bool by_reciprocal = true;
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int c = 0; c < kColumns; ++c) {
      const int column = lane * kColumns + c;
      auto& level = lanes[lane].level[c];
      level = {};
      if (column < columns) level = cuda::lane_level(event_hmm::scale_level(model, ranks[static_cast<std::size_t>(column)], segment.scaling));
      by_reciprocal = by_reciprocal && cuda::may_use_reciprocal(level);
    }
    lanes[lane].begin(lane);
  }
  const int last_lane = (columns - 1) / kColumns;
  std::vector<std::array<std::uint32_t, kLanes>> choices(static_cast<std::size_t>(segment.rows + last_lane));
  for (std::size_t step = 0; step < choices.size(); ++step) {
    std::array<cuda::Passing, kLanes> left;
    for (int lane = 1; lane < kLanes; ++lane) left[lane] = lanes[lane - 1].passing();
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::int64_t row = std::clamp<std::int64_t>(static_cast<std::int64_t>(step) - lane, 0, segment.rows - 1);
      const float event = segment.event_mean[static_cast<std::size_t>(segment.first_event + row * segment.step)];
      auto& own = lanes[lane];
      choices[step][lane] = by_reciprocal ? own.template advance<true>(event, left[lane], segment.transitions)
                                          : own.template advance<false>(event, left[lane], segment.transitions);
    }
  }
  std::vector<PathCell> path;
  if (lanes[last_lane].best[(columns - 1) % kColumns] == event_hmm::kMinusInfinity)
    return {{static_cast<std::int32_t>(segment.rows - 1), static_cast<std::int16_t>(columns - 1), State::match}};
  std::int64_t step_before = static_cast<std::int64_t>(choices.size());
  cuda::walk_back<kColumns>(
      segment.rows, columns,
      [&](std::int64_t step, int lane) {
        CHECK(step <= step_before);
        step_before = step;
        return choices[static_cast<std::size_t>(step)][lane];
      },
      [&](std::int64_t row, int column, State state) {
        path.push_back({static_cast<std::int32_t>(row), static_cast<std::int16_t>(column), state});
      });
  return path;
}

TEST_CASE("a warp finds the path of the reference") {
  std::mt19937_64 random(1);
  event_alignment::Workspace workspace;
  for (const std::uint32_t k : {1U, 5U, 6U, 9U}) {
    const simulation::Model model(k);
    for (int turn = 0; turn < 100; ++turn) {
      const std::size_t columns = 1 + random() % (kMaximumColumns - k + 1), rows = 1 + random() % (turn % 4 == 0 ? 400 : 50);
      std::string sequence;
      for (std::size_t i = 0; i < columns + k - 1; ++i) sequence += "ACGT"[random() % 4];
      std::normal_distribution<float> noise(90.0F, 15.0F);
      std::vector<float> events;
      for (std::size_t i = 0; i < rows; ++i) events.push_back(turn % 10 == 9 && random() % 9 == 0 ? 1e15F : noise(random));
      Segment segment;
      segment.event_mean = events;
      segment.step = random() % 2 == 0 ? 1 : -1;
      segment.first_event = segment.step > 0 ? 0 : static_cast<std::int64_t>(rows) - 1;
      segment.rows = static_cast<std::int64_t>(rows);
      segment.sequence = sequence;
      segment.strand = random() % 2 == 0 ? Strand::forward : Strand::reverse;
      segment.scaling = {1.0F, 0.5F, turn % 10 == 8 ? 3e-12F : 1.2F, turn % 10 == 7 ? -0.918938F : 0.2F};
      segment.transitions = *event_hmm::make_transitions(1.0 + 0.01 * static_cast<double>(random() % 300), event_hmm::EventsPerBase::raised);
      if (turn % 5 == 0) segment.transitions = {-1.0F, -1.0F, -4.0F, -4.0F, -1.0F, -1.0F, -1.0F, -1.0F, -1.0F};
      segment_path_reference(segment, model.view, workspace);
      CHECK(std::ranges::equal(path_of_warp<4>(segment, model.view), workspace.path, same));
      if (columns <= 96) CHECK(std::ranges::equal(path_of_warp<3>(segment, model.view), workspace.path, same));
    }
  }
}

}  // namespace
