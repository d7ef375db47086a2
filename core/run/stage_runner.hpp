// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One stage instance: makes it, calls it, checks what it gives, and keeps the account. Executors move batches between runners.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "batch/batch.hpp"
#include "device/lane.hpp"
#include "run/run_context.hpp"
#include "sched/memory_budget.hpp"
#include "sched/scheduler.hpp"

namespace sluice {

// A batch on its way, with the permit that its memory is counted under. Copies are cheap.
struct Message {
  BatchHandle batch;  // rows == 0: a tombstone, which only keeps the order
  MemoryBudget::PermitHandle permit;
};

// How one call went.
struct CallResult {
  sluice_status status = SLUICE_OK;
  sluice_error error{};
  double seconds = 0;
  std::uint64_t bytes_moved = 0;  // to and from devices
};
bool is_device_failure(sluice_status status);

// Where one call runs.
struct CallPlace {
  std::uint32_t implementation = 0;  // index into the descriptor's implementations
  Lane* lane = nullptr;
  LaneStream stream;
};

class StageRunner {
 public:
  StageRunner(RunContext& run, std::size_t index) : run_(run), index_(index), planned_(run.plan.stages[index]), host_(run.host_of_stage(index)) {}
  ~StageRunner();
  StageRunner(const StageRunner&) = delete;

  // Makes the instance. False: failed (the run has been told).
  bool create(const std::vector<BatchHandle>& resources);

  const PlannedStage& planned() const { return planned_; }
  const sluice_stage_descriptor& descriptor() const { return *planned_.stage->entry.descriptor; }
  sluice_stage_kind kind() const { return descriptor().kind; }
  bool is_blocking() const { return (descriptor().traits & SLUICE_TRAIT_BLOCKING) != 0; }
  bool is_serial() const { return (descriptor().traits & SLUICE_TRAIT_SERIAL) != 0 || kind() == SLUICE_REGROUP; }
  // A map that keeps state between calls.
  bool is_ordered() const { return (descriptor().traits & SLUICE_TRAIT_ORDERED) != 0 && kind() == SLUICE_MAP; }
  bool is_restartable() const { return (descriptor().traits & SLUICE_TRAIT_RESTARTABLE) != 0; }
  std::size_t index() const { return index_; }
  // How many messages with one sequence number arrive: one per input.
  std::size_t inputs() const { return planned_.stage->inputs.size(); }

  // Sources: reads the next batch. nullptr: no more rows, or the run is stopping or has failed.
  BatchHandle read(double target_work, std::uint64_t target_bytes, std::uint64_t sequence);
  bool ended() const { return ended_; }

  // Maps: the input with new columns. Sinks: the same with private columns. Null: failed, see `result`. On a device that is full once more
  // with the device to itself, then in halves; but never again if the stage is ordered. Thread-safe.
  BatchHandle call_on_lane(const BatchHandle& input, const CallPlace& place, CallResult& result);
  // Some rows with the columns that a call needs, and what such parts became put together. Throw Failure when a device can't be read.
  BatchHandle part_of(const BatchHandle& input, const std::vector<std::uint32_t>& rows) const;
  BatchHandle joined(const BatchHandle& whole, const std::vector<BatchHandle>& parts, const std::vector<std::vector<std::uint32_t>>& rows) const;

  // Counts a call that succeeded, and the rows that failed in it; and one that is repeated elsewhere.
  void account(const BatchData& input, const BatchData& output, const std::string& device, const CallResult& result, double work);
  void retry(const std::string& device) { host_.recorder->retry(device); }
  // Ends the run.
  void fail(const CallResult& result);
  static void set_error(CallResult& result, sluice_status status, const std::string& message, const std::string& remedy = {});

  // Takes an emitted batch; may wait for room, or not return before the batch has been through the pipeline. False: the run ends.
  using Emit = std::function<bool(BatchHandle)>;
  // Regroups: feeds one batch, in order. What the stage emits, numbered in order, goes to `emit` while the call is under way.
  void regroup(const BatchHandle& input, const Emit& emit);
  // Sinks: writes one prepared batch, in order. False: not written.
  bool commit(const BatchHandle& input);
  // Sources, regroups: takes back what a sink has committed.
  void feedback(const BatchHandle& committed);
  // After the last batch. Regroups may emit.
  void finish(const Emit& emit);

  CallSize size_of(const BatchData& batch);
  // The work of each row, together `work`; nothing when nobody knows. Kept with the batch for when its columns have left the host.
  std::shared_ptr<const std::vector<double>> row_work_of(BatchHandle& batch, double work) const;

 private:
  sluice_call make_call(std::uint32_t implementation, const sluice_device* device) const;
  BatchHandle call_once(const BatchHandle& input, const CallPlace& place, CallResult& result);
  // What a device call gave can be made again on the CPU from its input.
  class CallOrigin;
  // Index into the descriptor's implementations, also where this run would not choose it. Nothing: there is none that the instance offers.
  std::optional<std::uint32_t> cpu_implementation() const;
  void keep_safe(const BatchHandle& input, const BatchData& output, CallResult& result);
  void remember_origin(const BatchHandle& input, const BatchData& output);
  // Two halves, each in two again while the device is too small for it. Null: even one row does not fit.
  BatchHandle call_in_halves(const BatchHandle& input, const CallPlace& place, CallResult& result);
  // Fetches every column. False: a device can't be read, see `result`.
  static bool fetch(const BatchData& batch, CallResult& result);
  BatchHandle extend(const BatchData& input, sluice_output& output, CallResult& result);
  // What a call of a regroup has emitted so far.
  struct Emission {
    std::int64_t rows = 0;
    std::uint64_t bytes = 0;
    double seconds = 0;  // spent in Emit: waiting, or in later stages
  };
  void send_emitted(sluice_output& output, const Emit& emit, Emission& emission);
  void count_failures(const BatchData& batch, const std::vector<std::uint16_t>& failures);
  void trace(const std::string& lane, double start, double seconds, std::uint64_t sequence, std::int64_t rows, const std::string& track = {});
  bool keeps(const Column& column) const;
  bool on_host(const BatchData& batch) const;
  bool complete(const BatchData& batch, const std::vector<std::uint8_t>& wanted, std::string& missing) const;

  RunContext& run_;
  std::size_t index_;
  const PlannedStage& planned_;
  sluice_host& host_;
  sluice_stage stage_{};
  std::mutex serial_mutex_;    // held during a call of a serial stage, on whichever lane
  std::mutex size_mutex_;      // guards size_per_work_
  CallSize size_per_work_;     // of the last batch that was looked at; 0: none yet
  std::uint64_t emitted_ = 0;  // regroups: next sequence number
  bool ended_ = false;         // sources: the last rows have been read
};

// Makes the resource batches of a plan, in order. Empty after a failure (the run has been told).
std::vector<BatchHandle> make_resources(RunContext& run);

}  // namespace sluice
