// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the parts of one run share: options, cancellation, the first failure, memory counts, and reasons of bad rows.

#include <sluice/abi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <sluice/failure.hpp>
#include <string>
#include <utility>
#include <vector>

#include "batch/batch.hpp"
#include "device/device.hpp"
#include "machine/recycled_memory.hpp"
#include "record/recorder.hpp"
#include "run/host.hpp"
#include "run/output_files.hpp"
#include "run/run.hpp"
#include "run/run_life.hpp"
#include "run/spooled_inputs.hpp"

namespace sluice {

class RunContext {
 public:
  // Runs body over [0, count) in parts of at least `grain`, on the run's threads.
  using ParallelFor =
      std::function<sluice_status(std::size_t count, std::size_t grain, const std::function<sluice_status(std::size_t, std::size_t)>& body)>;

  RunContext(const Plan& plan, const RunOptions& options, int threads);

  // Hosts live as long as the context; columns may outlive a run's stages but not its context.
  sluice_host& host_of_resource(std::size_t index) { return *hosts_[index]; }
  sluice_host& host_of_stage(std::size_t index) { return *hosts_[plan.pipeline.resources.size() + index]; }

  // The first failure wins; everything stops as soon as it can.
  void fail(const std::string& stage, sluice_status status, const std::string& message, const std::string& remedy);
  // The same for whatever is being handled by a catch.
  void fail_with_current_exception(const std::string& stage) noexcept;
  bool failed() const { return life.failed(); }
  // Everything in flight should end now: after a failure or a second interrupt.
  bool cancelled() const { return life.drops(); }
  // Sources should end: after the first interrupt too.
  bool stopping() const { return life.stops(); }
  // Sources that follow should give what is there and end, as at the end of their input. False: none follows, or they have been told. After that
  // one interrupt ends everything.
  bool end_following() { return follows_ && !life.input_ended() && life.tell(LifeEvent::end_of_followed) == LifeAnswer::ends_input; }
  bool follows_files() const { return follows_; }
  bool following_ended() const { return life.input_ended(); }
  // A stage needs no more rows. What gives rows only to such stages may end.
  void needs_no_more(std::size_t stage);
  bool is_enough(std::size_t stage) const { return enough_[stage].load(std::memory_order_relaxed); }
  void take_failure(RunResult& result) const;

  void log(int level, const std::string& stage, const std::string& message) const;
  // The row's status in words: the stage's name and the reason code.
  std::pair<std::string, std::string> reason(std::uint16_t status) const;

  // Memory of columns. Null: the machine, or this process's share of it, has no more.
  void* allocate(std::size_t bytes);
  bool has_room_for(std::uint64_t bytes) const { return bytes <= memory_limit_ && memory_now_ <= memory_limit_ - bytes; }
  void free(void* memory);
  // From now on keeps what large columns gave back for others, as long as all of them take no more than so much. For runs with devices: what is
  // gathered into one call is beyond what the C library keeps.
  void recycle(std::uint64_t bytes) {
    large_.limit(bytes);
    recycles_.store(bytes > 0, std::memory_order_relaxed);
  }
  // Large columns are made in the device's page-locked memory from now on, while there is any. The device is one of `devices`.
  void lock_columns(Device& device) { locked_.store(&device.locked_memory(), std::memory_order_release); }
  // An instance keeps `now` bytes beside columns, which were `before` until now.
  void keeps(std::uint64_t before, std::uint64_t now);
  std::uint64_t memory_kept() const { return memory_kept_.load(); }
  std::uint64_t memory_peak() const { return memory_peak_.load(); }
  std::uint64_t memory_now() const { return memory_now_.load(); }

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  bool may_use_devices(std::size_t stage) const;
  // Where a stage stands from which the run goes on; null: the run begins.
  const StagePoint* going_on_from(const std::string& stage) const;

  RunLife life;
  const Plan& plan;
  std::vector<std::vector<std::uint32_t>> implementations;  // per stage: the plan's, less those that the stage's instance declines
  const RunOptions& options;
  const int threads;
  Recorder recorder;
  OutputFiles files;

 private:
  SpooledInputs own_inputs_;

 public:
  SpooledInputs& inputs;                         // of this run, or of all that share resources
  std::vector<std::shared_ptr<Device>> devices;  // outlive every column, stage and lane of the run
  ParallelFor parallel_for;
  std::function<void(std::uint64_t bytes)> on_kept;  // told whenever memory_kept() changes
  std::atomic<std::uint64_t> progress{0};            // counts completed calls and their loops: the watchdog looks whether it moves

 private:
  std::deque<std::unique_ptr<sluice_host>> hosts_;
  bool follows_ = false;
  std::vector<std::atomic<bool>> enough_;  // per stage
  mutable std::mutex mutex_;               // guards failure_ and has_failure_
  bool has_failure_ = false;
  struct {
    std::string stage, message, remedy;
    sluice_status status = SLUICE_OK;
  } failure_;
  const std::uint64_t memory_limit_;
  mutable std::mutex log_mutex_;  // one line at a time
  void count_memory(std::uint64_t now);
  std::atomic<std::uint64_t> memory_now_{0}, memory_kept_{0}, memory_peak_{0};
  RecycledMemory large_{large_pages(), 0, RecycledMemory::Beyond::makes};
  std::atomic<bool> recycles_{false};
  std::atomic<RecycledMemory*> locked_{nullptr};
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace sluice
