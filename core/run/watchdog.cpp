// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/watchdog.hpp"

#include <chrono>
#include <exception>

namespace sluice {

Watchdog::Watchdog(const RunContext& run, const MemoryBudget& budget, double seconds) : run_(run), budget_(budget), seconds_(seconds) {
  if (seconds_ > 0) thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::watch() {
  std::uint64_t seen = run_.progress;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::duration<double>(seconds_), [&] { return closing_; })) {
    const std::uint64_t now = run_.progress;
    if (now != seen) {
      seen = now;
      continue;
    }
    try {
      tell();
    } catch (const std::exception&) {  // no room for words: the next time, perhaps
    }
  }
}

void Watchdog::tell() const {
  std::string state = "no stage has finished a call for " + std::to_string(static_cast<int>(seconds_)) + " s; " +
                      std::to_string(budget_.in_flight()) + " batches are in flight, " + std::to_string(run_.memory_now() >> 20) + " MiB in columns;";
  for (const StageRecorder& recorder : run_.recorder.stages()) {
    const StageStatistics stage = recorder.statistics();
    state += " " + stage.name + " " + std::to_string(stage.batches) + " calls, " + std::to_string(stage.rows_in) + " rows in, " +
             std::to_string(stage.rows_out) + " out;";
  }
  run_.log(SLUICE_LOG_WARNING, "watchdog", state);
}

}  // namespace sluice
