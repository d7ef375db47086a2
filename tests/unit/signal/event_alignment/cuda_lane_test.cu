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
using cuda::CellKind;
using cuda::kLanes;

bool same(const PathCell& a, const PathCell& b) { return a.row == b.row && a.column == b.column && a.state == b.state; }

// The path of a segment from its last row to row 1, as a warp finds it with room for the choices of `room` rows: all windows, or the first one with
// what the origins say.
template <int kColumns>
class HostWarp {
 public:
  HostWarp(const Segment& segment, const KmerModelView& model)
      : segment_(segment), columns_(static_cast<int>(column_count(segment, model.k))), last_row_(static_cast<int>(segment.rows) - 1) {
    std::vector<std::uint32_t> ranks(kMaximumColumns);
    segment_ranks(segment, model.k, std::span<std::uint32_t, kMaximumColumns>(ranks));
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int c = 0; c < kColumns; ++c) {
        const int column = lane * kColumns + c;
        auto& level = lanes_[lane].level[c];
        level = {};
        if (column < columns_) level = cuda::lane_level(event_hmm::scale_level(model, ranks[static_cast<std::size_t>(column)], segment.scaling));
        by_reciprocal_ = by_reciprocal_ && cuda::may_use_reciprocal(level);
      }
    }
  }

  bool is_reachable() {
    fill(last_row_, -1);
    return last_lane().best[(columns_ - 1) % kColumns] > event_hmm::kMinusInfinity;
  }

  // In windows of at most `room` rows, from behind.
  std::vector<PathCell> whole_path(int room) {
    std::vector<PathCell> path;
    cuda::PathPoint from{last_row_, columns_ - 1, CellKind::match};
    while (from.row > 0) {
      fill(static_cast<int>(from.row), -1);
      from = back(from, std::max(0, static_cast<int>(from.row) + 1 - room), path);
    }
    return path;
  }

  // With choices up to a step, and origins behind it.
  bool may_have_origins(int last_step) const { return last_step >= kLanes && last_step < last_row_ + (columns_ - 1) / kColumns; }
  std::vector<PathCell> path_through_origins(int last_step) {
    fill(last_row_, last_step);
    std::vector<PathCell> path;
    back(cuda::point_of<kColumns>(last_lane().origins[(columns_ - 1) % kColumns].match, last_step), 0, path);
    return path;
  }

 private:
  const cuda::Lane<kColumns>& last_lane() const { return lanes_[(columns_ - 1) / kColumns]; }

  cuda::PathPoint back(const cuda::PathPoint& from, int stop, std::vector<PathCell>& path) {
    return cuda::walk_back<kColumns>(
        from, stop,
        [&](std::int64_t row, int lane) {
          CHECK((row >= stop && row <= from.row && row + lane < static_cast<std::int64_t>(choices_.size())));
          return choices_[static_cast<std::size_t>(row + lane)][lane];
        },
        [&](const cuda::PathPoint& point) {
          path.push_back({static_cast<std::int32_t>(point.row), static_cast<std::int16_t>(point.column),
                          point.kind == CellKind::match ? State::match : State::bad});
        });
  }

  // Rows 0 .. last_row, with origins behind a step if that is not -1.
  void fill(int last_row, int last_stored) {
    for (int lane = 0; lane < kLanes; ++lane) lanes_[lane].begin(lane, segment_.transitions);
    choices_.clear();
    for (int step = 0; step <= last_row + (columns_ - 1) / kColumns; ++step) {
      std::array<cuda::Passing, kLanes> left;
      std::array<cuda::Origins, kLanes> left_origins;
      for (int lane = 0; lane < kLanes; ++lane) {  // the first one gets its own, as from a shuffle
        left[lane] = lanes_[std::max(0, lane - 1)].passing();
        left_origins[lane] = lanes_[std::max(0, lane - 1)].passing_origins();
      }
      const bool is_stored = last_stored < 0 || step <= last_stored;
      if (is_stored) choices_.emplace_back();
      for (int lane = 0; lane < kLanes; ++lane) {
        const int row = std::clamp(step - lane, 0, last_row);
        const float event = segment_.event_mean[static_cast<std::size_t>(segment_.first_event + row * segment_.step)];
        auto& own = lanes_[lane];
        const auto advance = [&]<bool kByReciprocal> {
          if (is_stored) {
            choices_.back()[lane] = own.template advance<kByReciprocal>(event, left[lane], segment_.transitions);
          } else {
            own.template advance_with_origins<kByReciprocal>(event, left[lane], segment_.transitions, left_origins[lane]);
          }
        };
        by_reciprocal_ ? advance.template operator()<true>() : advance.template operator()<false>();
        if (step == last_stored) own.begin_origins(lane);
      }
    }
  }

  const Segment& segment_;
  int columns_, last_row_;
  std::array<cuda::Lane<kColumns>, kLanes> lanes_;
  bool by_reciprocal_ = true;
  std::vector<std::array<std::uint32_t, kLanes>> choices_;
};

template <int kColumns>
void check_paths(const Segment& segment, const KmerModelView& model, std::vector<PathCell> expected, int room) {
  HostWarp<kColumns> warp(segment, model);
  if (!warp.is_reachable()) {
    CHECK(expected.size() == 1);
    return;
  }
  expected.pop_back();  // row 0
  CHECK(std::ranges::equal(warp.whole_path(room), expected, same));
  CHECK(std::ranges::equal(warp.whole_path(static_cast<int>(segment.rows)), expected, same));
  for (const int last_step : {32, 60, 81, 200}) {
    if (!warp.may_have_origins(last_step)) continue;
    const std::vector<PathCell> found = warp.path_through_origins(last_step);
    CHECK(found.size() + kLanes >= static_cast<std::size_t>(std::min<std::int64_t>(last_step, segment.rows) - 1));
    CHECK(std::ranges::equal(found, std::span(expected).last(found.size()), same));
  }
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
      const int room = 2 + static_cast<int>(random() % 60);
      check_paths<4>(segment, model.view, workspace.path, room);
      if (columns <= 96) check_paths<3>(segment, model.view, workspace.path, room);
    }
  }
}

}  // namespace
