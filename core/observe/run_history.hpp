// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a run did over time, in memory that does not grow with its length: when a series is full, two neighbours become one.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "record/run_listener.hpp"
#include "record/statistics.hpp"

namespace sluice {

// Points and intervals of a series, at most.
constexpr std::size_t most_points = 256;

// How things stood at one moment.
struct HistorySample {
  struct OfStage {
    std::uint64_t rows = 0;   // that have left it
    double work = 0;          // done, in its unit
    double wait_seconds = 0;  // sources, regroups: until there was room
  };
  struct OfDevice {
    double busy_seconds = 0;
    std::uint64_t bytes_to_device = 0, bytes_to_host = 0;
    std::uint64_t memory_bytes = 0;  // that the run uses there
  };
  double seconds = 0;  // since the run began
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0, column_bytes = 0;
  std::vector<OfStage> stages;  // as RunStatistics::stages
  std::vector<OfDevice> devices;
};

HistorySample sample_of(const RunStatistics& statistics, std::uint64_t resident_bytes);

// Seconds of calls of one stage on one lane, by interval: 1.5 in an interval of a second are one and a half calls at once.
struct ActivityTrack {
  std::string lane, stage;
  std::vector<double> busy_seconds;
};

struct RunHistory {
  std::vector<HistorySample> samples;
  double interval_seconds = 0;  // of the tracks
  std::vector<ActivityTrack> tracks;
};

// Thread-safe. Calls that have ended are spread over the intervals that they lasted.
class ActivityListener : public RunListener {
 public:
  bool traces() const override { return true; }
  void happened(const TraceEvent& event) noexcept override;
  void give(RunHistory& history) const;

 private:
  void add(std::vector<double>& bins, double start, double end);
  mutable std::mutex mutex_;  // guards everything below
  double interval_ = 0.01;
  std::vector<ActivityTrack> tracks_;
};

// Samples that are `interval` apart, which doubles whenever there are most_points of them.
class SampleSeries {
 public:
  void add(HistorySample sample);
  double interval() const { return interval_; }
  std::vector<HistorySample> take() { return std::move(samples_); }

 private:
  double interval_ = 0.02;
  std::vector<HistorySample> samples_;
};

// Looks at a run from a thread of its own until it is stopped.
class RunSampler {
 public:
  explicit RunSampler(std::function<RunStatistics()> snapshot);
  ~RunSampler();
  RunSampler(const RunSampler&) = delete;
  RunSampler& operator=(const RunSampler&) = delete;
  std::vector<HistorySample> stop();

 private:
  void watch(const std::function<RunStatistics()>& snapshot);
  std::mutex mutex_;  // guards ended_
  std::condition_variable wake_;
  bool ended_ = false;
  SampleSeries series_;  // the thread's until it has been joined
  std::thread thread_;
};

}  // namespace sluice
