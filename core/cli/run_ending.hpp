// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How a command may end other than by itself: Ctrl-C, SIGTERM, a crash in a plugin, a plugin that calls exit().

#include <semaphore.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "run/run.hpp"

namespace sluice::cli {

// While this lives, from the first run of a command to its last word:
//  - the first Ctrl-C is told to the run, and is the end of the input of one that follows files, which is then whole; the second stops it, and ends
//  the process after two seconds if it does not react (run/run_life.hpp says what is done when);
//  - SIGTERM does what the first Ctrl-C does, and ends the process after two seconds;
//  - exit() in a plugin ends the process with exit_failed, without outputs.
// A signal that was ignored when the process began stays so (nohup, a shell's background). One at a time.
class RunEnding {
 public:
  RunEnding();
  RunEnding(const RunEnding&) = delete;
  ~RunEnding();

  // Has a signal come that no run has taken for the end of its input? Nothing new should be begun then.
  bool interrupted() const;

  // The run that is told, from before it begins; one at a time.
  class Of {
   public:
    explicit Of(Run& run);
    Of(const Of&) = delete;
    ~Of();
  };

 private:
  static constexpr int signal_count = 2;
  void install(int signal, void (*handler)(int), int flags);
  void watch();

  sem_t wake_;  // posted by handlers
  std::atomic<bool> over_{false};
  int installed_ = 0;
  struct {
    int signal;
    struct sigaction action;
  } before_[signal_count];
  std::thread watcher_;
};

// From then on a crash is told with the stage, the plugin and the batch, or the plugin that is being loaded; then the process dies of it (what it
// leaves is removed by the next run). Where no memory is left, that is what is told.
void tell_of_crashes();

// For std::set_new_handler and std::set_terminate: where a function that may not throw, as some in libraries, gets no memory, the process says so and
// ends without outputs.
[[noreturn]] void note_lack_of_memory();
[[noreturn]] void end_uncaught();

}  // namespace sluice::cli
