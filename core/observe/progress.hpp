// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Standard error of a run: log lines, and on a terminal one line that shows how far it is.

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "observe/time_left.hpp"
#include "plan/plan.hpp"
#include "record/statistics.hpp"

namespace sluice {

// "methylation: 12,345 reads, 3.2 Mbases/s, 45.0 %, 1:23 left, 512 MiB", cut to `width` columns; before the first row what is waited for: "map:
// making 'index' (minimizer_index), 12 s, 512 MiB". Of a run that follows files: "45.0 % of what is there" or "waiting for more files".
std::string progress_line(const Plan& plan, const RunStatistics& statistics, TimeLeft& time_left, std::size_t width);

// Writes whole lines to a file descriptor and keeps the progress line, if any, below them. Thread-safe.
class Console {
 public:
  explicit Console(int descriptor = 2) : descriptor_(descriptor) {}
  void line(const std::string& text);
  void show_progress(const std::string& text);
  void clear_progress();
  bool is_terminal() const;
  std::size_t width() const;

 private:
  void write(const std::string& text);
  std::mutex mutex_;  // guards progress_ and the order of writes
  std::string progress_;
  int descriptor_;
};

// Shows snapshots on the console twice a second until it is destroyed.
class ProgressDisplay {
 public:
  ProgressDisplay(Console& console, const Plan& plan, std::function<RunStatistics()> snapshot);
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

 private:
  Console& console_;
  std::mutex mutex_;  // guards ended_
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace sluice
