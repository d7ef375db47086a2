// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/run_history.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <utility>

namespace sluice {
namespace {

// Of this process, now. 0: the kernel does not say.
std::uint64_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long long all = 0, resident = 0;
  const int found = std::fscanf(file, "%llu %llu", &all, &resident);
  std::fclose(file);
  return found == 2 ? resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

// Two intervals become one of twice the length.
void halve(std::vector<double>& bins) {
  for (std::size_t i = 0; i < bins.size(); i += 2) bins[i / 2] = bins[i] + (i + 1 < bins.size() ? bins[i + 1] : 0);
  bins.resize((bins.size() + 1) / 2);
}

}  // namespace

HistorySample sample_of(const RunStatistics& statistics, std::uint64_t resident) {
  HistorySample sample;
  sample.seconds = statistics.elapsed_seconds;
  sample.cpu_seconds = statistics.cpu_seconds;
  sample.resident_bytes = resident;
  sample.column_bytes = statistics.memory_now;
  for (const StageStatistics& stage : statistics.stages) {
    double work = 0;
    for (const ImplementationStatistics& implementation : stage.implementations) work += implementation.work;
    sample.stages.push_back({stage.rows_out, work, stage.wait_seconds});
  }
  for (const DeviceStatistics& device : statistics.devices)
    sample.devices.push_back({device.busy_seconds, device.bytes_to_device, device.bytes_to_host, device.memory_now});
  return sample;
}

void ActivityListener::happened(const TraceEvent& event) noexcept {
  if (event.bytes > 0) return;  // a copy is part of a call
  const std::lock_guard lock(mutex_);
  try {
    auto track = std::find_if(tracks_.begin(), tracks_.end(), [&](const auto& one) { return one.lane == event.lane && one.stage == event.name; });
    if (track == tracks_.end()) track = tracks_.insert(track, {event.lane, event.name, {}});
    const double start = std::max(event.start_us * 1e-6, 0.0), end = start + std::max(event.duration_us * 1e-6, 0.0);
    while (end >= interval_ * static_cast<double>(most_points)) {
      for (ActivityTrack& one : tracks_) halve(one.busy_seconds);
      interval_ *= 2;
    }
    add(track->busy_seconds, start, end);
  } catch (const std::exception&) {  // no room: a picture lacks a call
  }
}

void ActivityListener::add(std::vector<double>& bins, double start, double end) {
  const auto first = static_cast<std::size_t>(start / interval_), last = static_cast<std::size_t>(end / interval_);
  if (bins.size() <= last) bins.resize(last + 1);
  for (std::size_t i = first; i <= last; ++i) {
    const double begins = interval_ * static_cast<double>(i);
    bins[i] += std::max(std::min(end, begins + interval_) - std::max(start, begins), 0.0);
  }
}

void ActivityListener::give(RunHistory& history) const {
  const std::lock_guard lock(mutex_);
  history.interval_seconds = interval_;
  history.tracks = tracks_;
}

void SampleSeries::add(HistorySample sample) {
  samples_.push_back(std::move(sample));
  if (samples_.size() < most_points) return;
  for (std::size_t i = 2; i < samples_.size(); i += 2) samples_[i / 2] = std::move(samples_[i]);
  samples_.resize((samples_.size() + 1) / 2);
  interval_ *= 2;
}

RunSampler::RunSampler(std::function<RunStatistics()> snapshot) {
  thread_ = std::thread([this, snapshot = std::move(snapshot)] { watch(snapshot); });
}

RunSampler::~RunSampler() {
  if (thread_.joinable()) stop();
}

void RunSampler::watch(const std::function<RunStatistics()>& snapshot) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::duration<double>(series_.interval()), [this] { return ended_; })) {
    lock.unlock();
    try {
      series_.add(sample_of(snapshot(), resident_bytes()));
    } catch (const std::exception&) {  // no room for a sample: the next one, perhaps
    }
    lock.lock();
  }
}

std::vector<HistorySample> RunSampler::stop() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  return series_.take();
}

}  // namespace sluice
