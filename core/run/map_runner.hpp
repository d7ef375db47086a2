// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Gives rows new columns: calls a map (or what prepares a sink's rows) with one batch, on the CPU or on a stream of a device.

#include <mutex>

#include "device/lane.hpp"
#include "run/stage_runner.hpp"
#include "sched/scheduler.hpp"

namespace sluice {

// Where one call runs.
struct CallPlace {
  std::uint32_t implementation = 0;  // index into the descriptor's implementations
  Lane* lane = nullptr;
  DeviceStream* stream = nullptr;  // null on the CPU
};

// What a call is expected to take.
struct CallNeeds {
  CallSize size;
  std::uint64_t bytes = 0;  // of the columns that it makes, and of one thread's working memory
  std::uint64_t most = 0;   // the same with that of as many threads as have rows like the largest; 0: unknown
};

// May columns be copied from a device to find out what a call takes?
enum class Fetching { allowed, never };

class MapRunner : public StageRunner {
 public:
  using StageRunner::StageRunner;

  // The input with new columns (a sink's are private). Null: failed, see `result`. Thread-safe.
  BatchHandle call_once(const BatchHandle& input, const CallPlace& place, CallResult& result);

  // What a call with the batch takes; from earlier batches where looking at this one would fetch it from a device.
  CallNeeds needs_of(const BatchData& batch, Fetching fetching = Fetching::allowed);
  // The work of each row, together `work`; nothing when nobody knows. Kept with the batch for when its columns have left the host.
  std::shared_ptr<const std::vector<double>> row_work_of(BatchHandle& batch, double work) const;

  // What parts of a batch became, put together. Throws Failure when a device can't be read.
  BatchHandle joined(const BatchHandle& whole, const std::vector<BatchHandle>& parts, const std::vector<std::vector<std::uint32_t>>& rows) const;

  // After the last batch: a sink closes its files, a map may say what is left to be said.
  void finish();

  // Can go on without the state that a device took with it.
  bool is_restartable() const { return has(SLUICE_TRAIT_RESTARTABLE); }
  // The implementation for the CPU, also where this run would not choose it. Nothing: there is none that the instance offers.
  std::optional<std::uint32_t> cpu_implementation() const;
  // May this run use it?
  bool offers_cpu() const;

  // Counts a call that succeeded, and the rows that failed in it; and one that is repeated.
  void account(const BatchData& input, const BatchData& output, const std::string& lane, const CallResult& result, double work);
  void retried(const std::string& lane) { host_.recorder->retry(lane); }
  void log(int level, const std::string& message) const { run_.log(level, name(), message); }

 protected:
  // A call on the host that is not one of an implementation: finish(), and a sink's commits.
  virtual sluice_call make_host_call() const { return make_call(); }

 private:
  BatchHandle extended(const BatchData& input, const sluice_output& output) const;
  bool keeps(const Column& column) const;
  bool is_on_host(const BatchData& batch) const;
  bool estimate(const BatchData& batch, sluice_estimate& estimate) const;

  std::mutex serial_mutex_;   // held during a call of a serial stage, on whichever lane
  std::mutex needs_mutex_;    // guards needs_per_work_
  CallNeeds needs_per_work_;  // of the last batch that was looked at; 0: none yet
};

}  // namespace sluice
