// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Collects what the stages of a run do. Thread-safe.

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "record/distribution.hpp"
#include "record/run_listener.hpp"

namespace sluice {

class StageRecorder {
 public:
  explicit StageRecorder(const ResolvedStage& stage, RunListener* listener = nullptr);

  // Of no batch, or of none that is known.
  static constexpr std::uint64_t no_batch = UINT64_MAX;

  // sequence: of the batch that was called with.
  void call(std::uint64_t sequence, const std::string& device, double seconds, std::int64_t rows_in, std::int64_t rows_out, double work,
            std::uint64_t output_bytes, std::uint64_t bytes_moved = 0);
  void retry(const std::string& device);
  void failed_row(std::uint64_t sequence, const std::string& reason, const std::string& name);
  void accounted(std::uint64_t sequence, const std::string& reason, std::uint64_t count, const char* name);
  void count(std::uint64_t sequence, const std::string& counter, double amount);
  void observe(const std::string& quantity, double value);
  // Rows that were made: a list's or text's offsets, one more than rows. status: null, or 0 for rows that are fine.
  void lengths(std::span<const std::int64_t> offsets, const std::uint16_t* status);
  void outcome(std::uint64_t sequence, const std::string& name, std::uint64_t good, std::uint64_t total);
  // Sinks: a batch with a deadline was committed with so many seconds left; < 0: late.
  void committed_by(double seconds_left);
  void waited(double seconds);
  // One call needs so many bytes, which is beyond the memory budget. True: that is the first.
  bool beyond_memory(std::uint64_t bytes, const std::string& rows);
  void progress(double share) { progress_.store(share); }
  // Of all calls so far, threads that help a call not counted.
  double busy_seconds() const { return busy_seconds_.load(std::memory_order_relaxed); }
  double progress() const { return progress_.load(); }  // < 0: unknown
  // Sources that know positions: where the next row begins.
  void stands_at(const std::string& position);

  // Checkpoints. From now on what batches from this one on bring is counted apart, and the listener does not hear of it, until release().
  void border(std::uint64_t sequence);
  StageCounts counts_before_border() const;
  void release();
  void go_on_from(const StageCounts& counts);
  StageStatistics statistics() const;

 private:
  static constexpr std::size_t kept_examples = 20;
  std::atomic<double> progress_{-1};
  std::atomic<double> busy_seconds_{0};
  mutable std::mutex mutex_;  // guards everything below
  bool is_behind(std::uint64_t sequence) const { return sequence != no_batch && sequence >= border_; }
  StageCounts& counts(std::uint64_t sequence) { return is_behind(sequence) ? behind_ : totals_; }
  void lost(std::uint64_t sequence, const std::string& reason, const std::string& name);
  std::size_t implementation(const std::string& device);  // of totals_; a new one where there is none

  std::uint64_t border_ = no_batch;
  StageCounts behind_;             // the border
  std::vector<FailedRow> losses_;  // behind it
  StageStatistics totals_;
  std::vector<Distribution> durations_;  // for each of totals_'s implementations
  std::map<std::string, Distribution> quantities_;
  std::optional<Distribution> lengths_;  // where the stage names a column for that
  RunListener* const listener_;          // null: nobody
};

class Recorder {
 public:
  // listener: null, or lives as long as the recorder.
  Recorder(const Plan& plan, RunListener* listener);
  StageRecorder& resource(std::size_t index) { return stages_[index]; }
  StageRecorder& stage(std::size_t index) { return stages_[resources_ + index]; }
  const std::deque<StageRecorder>& stages() const { return stages_; }
  std::deque<StageRecorder>& stages() { return stages_; }
  bool traces() const { return listener_ != nullptr && listener_->traces(); }
  void trace(const TraceEvent& event) {
    if (listener_ != nullptr) listener_->happened(event);
  }

 private:
  std::size_t resources_;
  std::deque<StageRecorder> stages_;
  RunListener* const listener_;
};

}  // namespace sluice
