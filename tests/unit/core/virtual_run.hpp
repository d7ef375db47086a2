// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A run in virtual time: the real Scheduler decides, the lanes are formulas. Deterministic, so makespans can be asserted.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sched/scheduler.hpp"

namespace sluice::testing_core {

enum class Rows { equal, varied };            // of 1 unit of work, or lognormal with sigma 1.2 and the same mean
enum class Threads { spread, one_per_call };  // do idle threads help a call?
enum class Progress { known, unknown };

struct VirtualMachine {
  int threads = 1;
  Threads how = Threads::spread;
  int devices = 1;
  double speed = 1;  // of one device, relative to all threads together
  int streams = 8;
  double side_by_side = 1;      // calls that a device runs at full speed at once; more share it
  double constant = 0;          // seconds of every device call
  double per_largest_row = 0;   // seconds per unit of the largest row, on the device
  double bytes_per_second = 0;  // 0: copies cost nothing
  double bytes_per_work = 2000;
  double first_call = 0;  // seconds more of the first call on each device
  double opened_at = 0;
  double noise = 0.05;  // every call takes up to so much more or less
  bool cpu_allowed = true;
  double only_on_cpu = 0;  // seconds of one thread per unit of work before the stage, such as decoding
};

struct VirtualInput {
  Rows rows = Rows::equal;
  int batches = 240;   // of the usual size
  double usual = 100;  // units of work
  double largest = 400;
  Progress progress = Progress::known;
  int giants_every = 0;  // every n-th row has 40 units; 0: none
  int in_flight = 0;     // batches at once; 0: enough for every lane
  bool divisible = true;
  std::uint64_t seed = 7;  // of the rows' sizes and the noise
};

struct VirtualResult {
  double makespan = 0, oracle = 0;
  double device_share = 0, oracle_share = 0;  // of the work, behind the first 20 batches
  int learned_after = 0;                      // batches until the share that follows from the learned costs is within 0.1 of the oracle's
  SchedulerStatistics statistics;
  std::vector<std::vector<int>> done;  // per batch: how many times each row was done (must be 1)
};

class VirtualRun {
 public:
  VirtualRun(const VirtualMachine& machine, const VirtualInput& input, std::unique_ptr<const Policy> policy = make_policy(default_policy))
      : machine_(machine), input_(input), scheduler_(stages(machine), machine.threads, std::move(policy)), random_(input.seed) {}

  VirtualResult operator()() {
    // 1,000 units a second and thread: a batch of the usual size takes a thread 0.1 s.
    thread_rate_ = 1000;
    cpu_rate_ = thread_rate_ * machine_.threads;
    total_ = input_.batches * input_.usual;
    lanes_.resize(1);
    bool opened = false;
    for (;;) {
      if (!opened && now_ >= machine_.opened_at) {
        for (int i = 0; i < machine_.devices; ++i) {
          LaneTraits traits{"device:" + std::to_string(i), "device", machine_.streams,
                            machine_.bytes_per_second > 0 ? machine_.bytes_per_second : 1e18, 0};
          scheduler_.add_lane(traits, now_);
          lanes_.emplace_back();
        }
        opened = true;
      }
      read();
      prepare();
      while (auto assignment = scheduler_.take(now_, progress())) begin(std::move(*assignment));
      double next = std::numeric_limits<double>::infinity();
      for (const auto& lane : lanes_)
        for (const Call& call : lane) next = std::min(next, call.left / rate(lane, call));
      for (std::size_t i = 0; i < preparing_now(); ++i) next = std::min(next, preparing_[i].left / thread_share());
      if (!opened) next = std::min(next, machine_.opened_at - now_);
      if (std::isinf(next)) break;
      step(next);
    }
    return result();
  }

 private:
  struct Call {
    Assignment assignment;
    double left;  // seconds when alone (CPU: on one thread)
    double rows;
  };
  struct Preparing {
    Task task;
    double left;  // seconds of a thread
  };
  struct Batch {
    std::vector<double> rows;
    int parts_left = 0;
    double work = 0, on_device = 0;
  };

  static std::vector<StageTraits> stages(const VirtualMachine& machine) {
    StageTraits stage;
    stage.name = "work";
    if (machine.cpu_allowed) stage.implementations.push_back({0, "cpu"});
    stage.implementations.push_back({1, "device"});
    return {stage};
  }
  SourceProgress progress() const {
    return {input_.progress == Progress::known ? std::max(read_ / total_, 1e-9) : -1.0, read_ >= total_, cpu_seconds_,
            static_cast<int>(preparing_.size()), devices_come()};
  }
  bool devices_come() const { return lanes_.size() == 1 && machine_.devices > 0; }

  double row() {
    ++row_count_;
    if (input_.giants_every > 0 && row_count_ % input_.giants_every == 0) return 40;
    if (input_.rows == Rows::equal) return 1;
    std::lognormal_distribution<double> lengths(-0.72, 1.2);
    return lengths(random_);
  }

  void read() {
    const int limit =
        input_.in_flight > 0 ? input_.in_flight : 2 * machine_.threads + 2 + (devices_come() ? 384 : 96 * static_cast<int>(lanes_.size() - 1));
    while (read_ < total_ && in_flight_ < limit) {
      const double target = std::min(scheduler_.batch_work(input_.usual, input_.largest, progress()), total_ - read_);
      Batch& batch = batches_.emplace_back();
      while (batch.work < target) batch.work += batch.rows.emplace_back(row());
      read_ += batch.work;
      done_.emplace_back(batch.rows.size(), 0);
      ++in_flight_;
      Task task;
      task.sequence = batches_.size() - 1;
      task.row_count = batch.rows.size();
      task.size = {batch.work, *std::max_element(batch.rows.begin(), batch.rows.end())};
      task.source_work = batch.work;
      if (input_.divisible) task.rows = std::make_shared<const RowOrder>(batch.rows);
      task.bytes = batch.work * machine_.bytes_per_work;
      task.columns = 1;
      task.like = 1;
      preparing_.push_back({std::move(task), batch.work * machine_.only_on_cpu});
    }
  }

  // Gives what is ready to the scheduler.
  void prepare() {
    for (std::size_t i = 0; i < preparing_.size();) {
      if (preparing_[i].left > 1e-12) {
        ++i;
        continue;
      }
      scheduler_.add(std::move(preparing_[i].task));
      preparing_.erase(preparing_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  // There is one thread more than compute, and calls that have begun keep theirs.
  std::size_t preparing_now() const {
    const std::size_t threads = static_cast<std::size_t>(machine_.threads) + 1;
    return std::min(preparing_.size(), threads - std::min(lanes_.front().size(), threads - 1));
  }
  double thread_share() const {
    const std::size_t busy = preparing_now() + (machine_.how == Threads::spread ? 0 : lanes_.front().size());
    return busy == 0 ? 1.0 : std::min(1.0, machine_.threads / static_cast<double>(busy));
  }

  void begin(Assignment assignment) {
    double work = 0, largest = 0, rows = 0;
    const auto begin_task = [&](const Task& task) {
      Batch& batch = batches_[task.sequence];
      if (batch.parts_left == 0) batch.parts_left = static_cast<int>(assignment.parts);
      const double before = work;
      const auto take = [&](std::size_t i) {
        ++done_[task.sequence][i];
        ++rows;
        work += batch.rows[i];
        largest = std::max(largest, batch.rows[i]);
      };
      if (assignment.parts == 1)
        for (std::size_t i = 0; i < batch.rows.size(); ++i) take(i);
      else
        for (const std::uint32_t i : assignment.rows) take(i);
      if (assignment.lane != 0) batch.on_device += work - before;
    };
    begin_task(assignment.task);
    for (const Task& task : assignment.more) begin_task(task);
    double seconds = 0;
    if (assignment.lane == 0) {
      seconds = work / thread_rate_;
    } else {
      seconds = machine_.constant + work * machine_.side_by_side / (machine_.speed * cpu_rate_) + machine_.per_largest_row * largest;
      if (machine_.bytes_per_second > 0) seconds += work * machine_.bytes_per_work / machine_.bytes_per_second;
      if (++calls_on_[assignment.lane] == 1) seconds += machine_.first_call;
    }
    std::uniform_real_distribution<double> noise(1 - machine_.noise, 1 + machine_.noise);
    const std::size_t lane = assignment.lane;
    lanes_[lane].push_back({std::move(assignment), seconds * noise(random_), rows});
  }

  // Seconds of the call's time that pass in one second.
  double rate(const std::vector<Call>& lane, const Call& call) const {
    const auto calls = static_cast<double>(lane.size());
    if (&lane != &lanes_.front()) return std::min(1.0, machine_.side_by_side / calls);
    return machine_.how == Threads::spread ? std::min(machine_.threads / calls, call.rows) : thread_share();
  }

  void step(double seconds) {
    const std::size_t prepared = preparing_now();
    const double share = thread_share();
    now_ += seconds;
    std::vector<Assignment> ended;
    for (auto& lane : lanes_) {
      std::vector<double> rates;
      for (const Call& call : lane) rates.push_back(rate(lane, call));
      for (std::size_t i = 0; i < lane.size(); ++i) lane[i].left -= seconds * rates[i];
      for (const Call& call : lane)
        if (call.left <= 1e-12) ended.push_back(call.assignment);
      std::erase_if(lane, [](const Call& call) { return call.left <= 1e-12; });
    }
    for (std::size_t i = 0; i < prepared; ++i) {
      preparing_[i].left -= seconds * share;
      cpu_seconds_ += seconds;
    }
    for (const Assignment& assignment : ended) {
      scheduler_.completed(assignment, now_, CallOutcome::finished);
      for (const Task& task : assignment.more) {
        batches_[task.sequence].parts_left = 0;
        --in_flight_;
        ++finished_;
      }
      if (--batches_[assignment.task.sequence].parts_left > 0) continue;
      --in_flight_;
      ++finished_;
      if (learned_after_ == 0 && std::abs(learned_share() - oracle_share()) <= 0.10) learned_after_ = finished_;
    }
  }

  // Everybody busy all the time, batches as large as may be, rows divided at will.
  double device_rate() const {
    const double call = machine_.constant + input_.largest * machine_.side_by_side / (machine_.speed * cpu_rate_) +
                        (machine_.bytes_per_second > 0 ? input_.largest * machine_.bytes_per_work / machine_.bytes_per_second : 0.0);
    return machine_.devices * machine_.side_by_side * input_.largest / call;
  }
  double oracle_share() const { return device_rate() / (device_rate() + (machine_.cpu_allowed ? cpu_rate_ : 0.0)); }
  // A lane that has not finished a call yet counts as nothing.
  double learned_share() const {
    double on_cpu = 0, on_devices = 0;
    for (const PlacementStatistics& p : scheduler_.statistics(now_).placements) {
      double seconds = p.constant + p.per_work * input_.largest + p.per_largest_row;
      if (seconds <= 0) continue;
      if (p.lane != "cpu" && machine_.bytes_per_second > 0) seconds += input_.largest * machine_.bytes_per_work / machine_.bytes_per_second;
      (p.lane == "cpu" ? on_cpu : on_devices) += input_.largest / seconds * speedup(p.sharing, p.calls_at_once);
    }
    return on_devices > 0 ? on_devices / (on_cpu + on_devices) : 0.0;
  }

  VirtualResult result() {
    VirtualResult r;
    r.makespan = now_;
    const double rates = device_rate() + (machine_.cpu_allowed ? cpu_rate_ : 0.0);
    double work = 0;
    for (const Batch& batch : batches_) work += batch.work;
    // Devices do all while the CPU prepares, or the CPU helps for as long as makes both end together.
    const double prepares = work * machine_.only_on_cpu / machine_.threads;
    r.oracle = std::max(prepares, (work + prepares * cpu_rate_ + machine_.opened_at * device_rate()) / rates);
    r.oracle_share = oracle_share();
    const int batches = static_cast<int>(batches_.size());
    const auto share = [&](int begin, int end) {
      double all = 0, on_device = 0;
      for (int i = begin; i < end; ++i)
        all += batches_[static_cast<std::size_t>(i)].work, on_device += batches_[static_cast<std::size_t>(i)].on_device;
      return on_device / all;
    };
    r.device_share = batches > 20 ? share(20, batches) : 0;
    r.learned_after = learned_after_ > 0 ? learned_after_ : batches;
    r.statistics = scheduler_.statistics(now_);
    r.done = done_;
    return r;
  }

  const VirtualMachine machine_;
  const VirtualInput input_;
  Scheduler scheduler_;
  std::mt19937_64 random_;
  double now_ = 0, thread_rate_ = 0, cpu_rate_ = 0, total_ = 0, read_ = 0, cpu_seconds_ = 0;
  int in_flight_ = 0, finished_ = 0, learned_after_ = 0;
  std::uint64_t row_count_ = 0;
  std::vector<Batch> batches_;
  std::vector<Preparing> preparing_;
  std::vector<std::vector<int>> done_;
  std::vector<std::vector<Call>> lanes_;
  std::map<std::size_t, int> calls_on_;
};

}  // namespace sluice::testing_core
