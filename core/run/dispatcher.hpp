// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Carries out what the scheduler decides: batches wait, are divided or gathered, called on a lane, done again elsewhere when a device fails, and
// put together again.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "batch/batch.hpp"
#include "device/lane.hpp"
#include "run/run_context.hpp"
#include "run/segment.hpp"
#include "sched/scheduler.hpp"

namespace sluice {

// May devices take part in the run? With `never` every batch is called at once on the thread that brings it.
enum class Devices { never, possible };

class Dispatcher {
 public:
  using Done = std::function<void(BatchHandle)>;
  // Runs a job on a thread of the run, now or later.
  using Spawn = std::function<void(std::function<void()>)>;

  Dispatcher(RunContext& run, const Segments& segments, Devices devices, Spawn spawn);
  // Waits for every job.
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;

  // Does the job on one of the run's threads.
  void spawn(std::function<void()> job) { spawn_(std::move(job)); }
  bool may_use_devices() const { return devices_ == Devices::possible; }
  // Is a call of this segment over when submit() returns?
  bool calls_here(const Segment& segment) const {
    return devices_ == Devices::never || run_.implementations[segment.index()].empty() || segment.first().is_blocking();
  }
  // Calls the segment with the batch; `done` is called exactly once, perhaps on another thread, with nullptr after a failure. Where not even that can
  // be done the run has failed, and `done` ends uncalled.
  void submit(Segment& segment, const BatchHandle& input, const CallSize& size, Done done);

  // A device takes part from now on. streams: calls on it at once. Throws Failure when a stream can't be opened. Thread-safe.
  void add_device(const std::shared_ptr<Device>& device, int streams);

  // Stages that keep state get the lane that they stay on: the first device that they may use, else the CPU. Once, when devices are open.
  void pin_ordered_stages();

  // [thread-safe] How far the sources have come.
  SourceProgress progress() const;
  // [thread-safe] Will a regroup give more that devices may do? What has been read says little about how much, then.
  bool regroups_go_on() const { return regroups_ > 0; }
  // A batch waits for a call of a stage that only the CPU does; its call has ended.
  void cpu_only_begins() { ++cpu_only_batches_; }
  void cpu_only_ends();
  // Devices are being opened, or no longer.
  void devices_come(bool come);
  void source_begins() { ++sources_; }
  void source_ends() { --sources_; }
  void regroup_begins(std::size_t stage) { regroups_ += feeds_devices_[stage] ? 1 : 0; }
  void regroup_ends(std::size_t stage) { regroups_ -= feeds_devices_[stage] ? 1 : 0; }
  // How much the source should read next, in its unit of work; usual: without devices.
  double batch_work(double usual, double largest);

  SchedulerStatistics statistics() const;
  std::vector<std::string> decisions() const { return scheduler_.decisions(); }

 private:
  struct Division;
  class Job;
  // What the scheduler carries for a task.
  struct Piece {
    Segment* segment;
    BatchHandle input;
    Done done;
    std::vector<std::size_t> excluded;  // lanes that have failed on it
    std::mutex mutex;                   // guards division
    std::shared_ptr<Division> division;
  };

  // What a call does, and for whom: one piece or part of one, or several pieces.
  using Pieces = std::vector<std::shared_ptr<Piece>>;
  static std::shared_ptr<Piece> piece_of(Task& task) { return std::static_pointer_cast<Piece>(std::exchange(task.payload, nullptr)); }
  void call_here(Segment& segment, const BatchHandle& input, const CallSize& size, const Done& done);
  void add(std::shared_ptr<Piece> piece, const CallSize& size, bool divisible);
  void describe_place(const BatchData& batch, const sluice_port& needs, Task& task);
  // Starts every call for which there is room, and fails what no lane can do any more. Of a run that is cancelled nothing is left waiting.
  void go_on() noexcept;
  void begin(Assignment&& assignment);
  void fail_stranded();
  void give_up(Assignment& assignment);
  void carry_out(Assignment& assignment, DeviceStream* stream);
  void carry_out_gathered(Assignment& assignment, DeviceStream* stream);
  Done part_done(const std::shared_ptr<Piece>& whole, const Assignment& assignment);
  // One call. `again`: what is to be done elsewhere if the device fails.
  void call(const Assignment& assignment, Segment& segment, const BatchHandle& input, const Done& done,
            const std::function<void(const std::string& why)>& again, DeviceStream* stream);
  void try_again(const Assignment& assignment, const Piece& whole, const BatchHandle& input, const Done& done, const std::string& why);
  Lane& lane(std::size_t number);
  int lane_of(const Device* device);

  RunContext& run_;
  const Segments& segments_;
  const Devices devices_;
  const Spawn spawn_;
  Scheduler scheduler_;
  // Of the plan, never changed:
  std::vector<std::size_t> only_on_cpu_;  // stages
  std::vector<bool> feeds_devices_;       // per stage: one behind it may use them
  std::vector<bool> behind_regroup_;      // per stage: batches have another unit of work than the source's
  std::atomic<int> sources_{0}, regroups_{0}, cpu_only_batches_{0};
  std::atomic<double> devices_come_since_{-1};  // seconds of the run; < 0: they don't
  mutable std::mutex mutex_;                    // guards everything below
  std::string last_fault_;                      // of a device, in words
  std::deque<std::unique_ptr<Lane>> lanes_;
  std::condition_variable idle_;
  int jobs_ = 0;
};

}  // namespace sluice
