// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Collects what the stages of a run do. Thread-safe.

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "observe/distribution.hpp"
#include "observe/statistics.hpp"
#include "plan/plan.hpp"

namespace sluice {

class StageRecorder {
 public:
  explicit StageRecorder(const ResolvedStage& stage);

  void call(const std::string& device, double seconds, std::int64_t rows_in, std::int64_t rows_out, double work, std::uint64_t output_bytes,
            std::uint64_t bytes_moved = 0);
  void retry(const std::string& device);
  void failed_row(const std::string& reason, const std::string& name);
  void accounted(const std::string& reason, std::uint64_t count, const char* name);
  void count(const std::string& counter, double amount);
  void observe(const std::string& quantity, double value);
  void outcome(const std::string& name, std::uint64_t good, std::uint64_t total);
  // Sinks: a batch with a deadline was committed with so many seconds left; < 0: late.
  void committed_by(double seconds_left);
  void waited(double seconds);
  void progress(double share) { progress_.store(share); }
  double progress() const { return progress_.load(); }  // < 0: unknown
  StageStatistics statistics() const;
  // (row, reason) of every row that failed or never became one, if names are kept.
  void keep_all_names() { keep_all_ = true; }
  std::vector<FailedRow> names() const;

 private:
  static constexpr std::size_t kept_examples = 20;
  std::atomic<double> progress_{-1};
  mutable std::mutex mutex_;  // guards everything below
  StageStatistics totals_;
  std::vector<Distribution> durations_;  // per implementation in totals_
  std::map<std::string, Distribution> quantities_;
  std::vector<FailedRow> all_names_;
  bool keep_all_ = false;
};

class Recorder {
 public:
  explicit Recorder(const Plan& plan);
  StageRecorder& resource(std::size_t index) { return stages_[index]; }
  StageRecorder& stage(std::size_t index) { return stages_[resources_ + index]; }
  const std::deque<StageRecorder>& stages() const { return stages_; }
  std::deque<StageRecorder>& stages() { return stages_; }
  void trace(TraceEvent event);
  std::vector<TraceEvent> take_trace();

 private:
  std::size_t resources_;
  std::deque<StageRecorder> stages_;
  std::mutex mutex_;  // guards trace_
  std::vector<TraceEvent> trace_;
};

}  // namespace sluice
