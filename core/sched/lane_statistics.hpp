// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the scheduler did with each lane, for the report. Plain data; a snapshot may be taken at any time of a run.

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

// One lane: the CPU, or one device with all its streams.
struct LaneStatistics {
  std::string name;  // "cpu", "cuda:0"
  std::string kind;  // "cpu", "cuda"
  int slots = 0;     // calls that may run at once: threads, or streams of the device
  std::uint64_t calls = 0, failed_calls = 0;
  double busy_seconds = 0;          // time with at least one call under way
  double call_seconds = 0;          // sum over calls; / busy_seconds: mean number of calls side by side
  std::uint64_t bytes_moved = 0;    // to and from the device
  std::uint64_t memory_peak = 0;    // bytes allocated on the device at one moment
  double opened_after_seconds = 0;  // of the run
  bool retired = false;
  std::string retired_because;
};

// One implementation of one stage on one lane.
struct PlacementStatistics {
  std::size_t stage = 0;  // index into Plan::stages
  std::uint32_t implementation = 0;
  std::string lane;
  std::uint64_t whole_batches = 0;   // batches that were done here in one piece
  std::uint64_t parts = 0;           // parts of batches, also of those cut to try a device with a small part
  std::uint64_t gathered_calls = 0;  // calls that took several batches
  std::uint64_t tail_rows = 0;       // CPU: rows taken out of a device's batch because they would have held it up, or may not be done there
  std::uint64_t explored = 0;        // calls made to learn the speed
  std::uint64_t failed = 0;
  std::uint64_t rows = 0;        // in calls that finished
  double work = 0, seconds = 0;  // in the stage's work unit; sum over calls
  // Seconds of a call that has the lane to itself: constant + per_work * work + per_largest_row * work of the largest row.
  double constant = 0, per_work = 0, per_largest_row = 0;
  double sharing = 0;     // 0: calls side by side do not slow each other, 1: they share the lane's speed
  int calls_at_once = 1;  // that the lane is given
};

struct StageDecisions {
  std::uint64_t batches = 0;  // that had a choice
  std::uint64_t divided = 0;  // of those: between lanes, because that was expected to pay or max_row_work asked for it
};

struct SchedulerStatistics {
  std::vector<LaneStatistics> lanes;            // the CPU first
  std::vector<PlacementStatistics> placements;  // of stages with more than one candidate or a device
  std::vector<StageDecisions> stages;           // per Plan::stages
  std::uint64_t refused_choices = 0;            // of the policy, that could not be carried out: 0 unless it has a fault
};

}  // namespace sluice
