// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the scheduler is told: lanes, stages and batches; and what it answers: calls.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "sched/row_order.hpp"

namespace sluice {

// The number of the CPU's lane; devices follow in the order in which they were opened.
constexpr std::size_t cpu_lane = 0;

struct CallSize {
  double work = 0, largest_row = 0;  // in the stage's work unit
};

struct LaneTraits {
  std::string name = "cpu", kind = "cpu";
  int slots = 1;  // calls at once
  double bytes_per_second = 0, seconds_per_copy = 0;
  double memory_bytes = 0;  // of a device; 0: unknown
};

struct StageTraits {
  struct Implementation {
    std::uint32_t index = 0;  // into the descriptor's implementations
    std::string kind;         // of the lanes that can run it
  };
  std::string name;
  std::vector<Implementation> implementations;
  std::string only_lane;                                          // "": any of the kind; else "cuda:1"
  double max_row_work = std::numeric_limits<double>::infinity();  // rows above are the CPU's
  bool serial = false;                                            // one call at a time
  int depth = 0;                                                  // place in the run: later stages go first, so that memory gets free
  std::size_t stream = 0;                                         // stages of one see the same batches: a regroup numbers its own anew
};

// One batch at one stage.
struct Task {
  std::size_t stage = 0;
  std::uint64_t number = 0;  // set by the scheduler: no two tasks of a run have the same
  std::uint64_t sequence = 0;
  std::uint64_t row_count = 0;
  CallSize size;
  double deadline = std::numeric_limits<double>::infinity();  // seconds of the run
  double source_work = 0;                                     // the same batch in the source's unit; 0: behind a regroup nobody knows
  std::shared_ptr<const RowOrder> rows;                       // null: not to be divided
  // Bytes of the columns that the stage needs; those that lie on a device only, and which (-1: the host has all).
  double bytes = 0, bytes_away = 0;
  int columns = 0;
  int home = -1;
  std::vector<std::size_t> excluded;  // lanes that have failed on this batch
  std::size_t like = 0;               // tasks of a stage with the same number may be gathered into one call; 0: with no other
  std::shared_ptr<void> payload;      // the caller's
};

// A call that may start now: a batch, one part of it, or several batches.
struct Assignment {
  std::uint64_t call = 0;  // for completed()
  std::size_t lane = 0;
  Task task;               // size and rows are those of the whole batch
  std::vector<Task> more;  // gathered into the same call, behind `task`
  CallSize size;           // of this call
  std::uint64_t row_count = 0;
  std::uint32_t implementation = 0;
  std::vector<std::uint32_t> rows;  // ascending; empty: all
  std::size_t part = 0, parts = 1;  // of the batch; parts 0 to parts - 1 together have every row once
};

enum class CallOutcome { finished, failed };

// How far the sources have read: what is left of the run decides whether a slow lane helps.
struct SourceProgress {
  double share = -1;  // 0 to 1; < 0: unknown
  bool ended = false;
  double cpu_seconds = 0;     // that threads have spent so far on what only the CPU does
  int cpu_only_batches = 0;   // that wait for calls which only the CPU can make, or are in one
  bool devices_come = false;  // devices are being opened, or have just been
};

}  // namespace sluice
