// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a run measured: the source of the report, the progress line and the account of bad rows. Plain data.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "device/device_statistics.hpp"
#include "sched/lane_statistics.hpp"

namespace sluice {

struct ImplementationStatistics {
  std::string device;  // "cpu", "cuda:0", ...
  std::uint64_t batches = 0, rows = 0;
  double work = 0;
  double seconds = 0;                       // sum over calls
  std::uint64_t retries = 0;                // calls that failed here and were done elsewhere
  std::uint64_t bytes_moved = 0;            // to and from the device for these calls
  double p50_seconds = 0, p95_seconds = 0;  // per call
  double rate = 0;                          // work per second of call time, as the scheduler sees it now
};

// Values of one quantity; the percentiles are right to 1 %.
struct DistributionStatistics {
  std::uint64_t count = 0;
  double p50 = 0, p99 = 0, maximum = 0;
};

// How long the rows are that a stage has made and that were fine: elements of the column that it names for that.
struct LengthStatistics {
  std::string unit;  // "base"; "": the stage names no such column
  std::uint64_t rows = 0, total = 0, maximum = 0;
  double p50 = 0, n50 = 0;                                // right to 1 %; half of `total` lies in rows at least as long as n50
  std::vector<std::pair<double, std::uint64_t>> classes;  // middles of lengths, 2 % apart, and rows
};

// What became of the rows of a stage, in its own words: of `total` rows `good` were "mapped".
struct OutcomeStatistics {
  std::uint64_t good = 0, total = 0;
};

struct FailedRow {
  std::string row;  // read id where there is one, else "row N"
  std::string reason;
};

// How rows are counted, so that a run's account adds up. A row that fails is counted once, in `failed` of the stage where it failed.
//   source:  rows_out = rows made, those that fail there included; accounted = inputs that never became rows
//   map:     rows_in = rows that arrived, failed ones included; rows_out = rows that are still fine when they leave
//   sink:    rows_in as above; rows_out = rows that are still fine when they are committed
//   regroup: rows_in as above; rows_out = rows of the new type
// Along every path from a source to a sink: rows made = rows committed + sum of failed.
//
// What of it a run that goes on takes over from the one before:
struct StageCounts {
  std::uint64_t batches = 0, rows_in = 0, rows_out = 0, output_bytes = 0;
  std::map<std::string, std::uint64_t> failed;  // rows that failed here, by reason code
  std::map<std::string, std::uint64_t>
      accounted;  // inputs that never became rows, by reason code; maps: those of `failed` that were left out on purpose
  std::map<std::string, std::uint64_t> nameless;  // those of them that came without a name
  std::map<std::string, OutcomeStatistics> outcomes;
  std::map<std::string, double> counters;

  void add(const StageCounts& more);
};

struct StageStatistics : StageCounts {
  std::string name, id, work_unit;
  std::string role;                                          // "source", "map", "regroup", "sink", "resource"
  std::string row_type;                                      // of the rows that enter (sources, resources: that leave)
  std::string row_noun;                                      // sources, regroups: what a user calls a row that leaves
  std::vector<FailedRow> examples;                           // the first few of those that failed or never became rows, for the report
  std::map<std::string, DistributionStatistics> quantities;  // that the stage has observed, by name
  LengthStatistics lengths;
  std::uint64_t batches_with_deadline = 0, late_batches = 0;  // sinks: committed, and of those later than they should have been
  std::vector<ImplementationStatistics> implementations;
  double busy_seconds = 0;  // sum over calls, all implementations
  double wait_seconds = 0;  // sources: waiting for the memory budget
  // The most that one call needed where that was beyond the memory budget; and the name of its row, or how many there were.
  std::uint64_t beyond_memory = 0;
  std::string beyond_memory_rows;
  std::string position;  // sources that know it: where the next row begins
  double progress = -1;  // that a stage says: sources and regroups of the rows that they give, sinks of their finish(); 0..1; < 0: nothing
};

struct TraceEvent {
  std::string name;  // stage
  std::string lane;  // "cpu", "cuda:0", "reader"
  std::uint32_t thread = 0;
  double start_us = 0, duration_us = 0;
  std::uint64_t sequence = 0;
  std::int64_t rows = 0;
  std::string track;        // of a device: "stream 2", "to host"; "": the thread's own
  std::uint64_t bytes = 0;  // of a copy
};

// What a run has kept so that another one can go on from there.
struct CheckpointStatistics {
  std::uint64_t kept = 0;
  double seconds = 0;    // in all, from the first state to the journal's name
  bool goes_on = false;  // the run itself goes on from one
};

struct RunStatistics {
  std::string pipeline;
  double elapsed_seconds = 0, cpu_seconds = 0;
  int threads = 0;
  std::uint64_t memory_budget = 0;  // bytes
  std::uint64_t memory_now = 0;     // bytes of columns
  std::uint64_t memory_peak = 0;    // bytes of columns and of what stages keep at the same time, by the run's own count
  std::uint64_t resident_peak = 0;  // bytes, of the whole process, by the kernel's count
  std::uint64_t batches_in_flight = 0;
  double source_progress = -1;          // 0..1, < 0: unknown
  std::vector<StageStatistics> stages;  // resources first, then stages in plan order
  std::vector<DeviceStatistics> devices;
  SchedulerStatistics scheduler;
  CheckpointStatistics checkpoints;
  std::map<std::string, std::string> parameters;
  std::vector<std::string> outputs;    // final names
  std::vector<std::string> decisions;  // what the scheduler did and why, in words
};

}  // namespace sluice
