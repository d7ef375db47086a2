// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How a run may end other than by itself: Ctrl-C, SIGTERM, a crash in a plugin, a plugin that calls exit().

#include <semaphore.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "run/run.hpp"

namespace sluice::cli {

// While this lives:
//  - the first Ctrl-C lets the run finish what is under way, and is the end of the input of a run that follows files, which is then whole; the second
//  stops it, and ends the process after two seconds if it does not react;
//  - SIGTERM does what the first Ctrl-C does, and ends the process after two seconds;
//  - a crash is told with the stage, the plugin and the batch, then the process dies of it (what it leaves is removed by the next run);
//  - exit() in a plugin ends the process with exit_failed, without outputs.
// One at a time.
class RunEnding {
 public:
  explicit RunEnding(Run& run);
  RunEnding(const RunEnding&) = delete;
  ~RunEnding();

 private:
  static constexpr int signal_count = 7;
  void install(int signal, void (*handler)(int), int flags);
  void watch();

  Run& run_;
  sem_t wake_;  // posted by handlers
  std::atomic<bool> over_{false};
  int installed_ = 0;
  struct {
    int signal;
    struct sigaction action;
  } before_[signal_count];
  std::thread watcher_;
};

}  // namespace sluice::cli
