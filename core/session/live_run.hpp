// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// All runs of the process, so that they can be ended before what their stages are written in goes away.

#include <sys/types.h>
#include <unistd.h>

#include "run/run.hpp"

namespace sluice {

// Known for as long as it lives, which is not longer than the run.
class LiveRun {
 public:
  explicit LiveRun(Run& run);
  LiveRun(const LiveRun&) = delete;
  ~LiveRun();

  // A thread is in it: from before Run::execute() until all that comes with its end is done.
  class Executing {
   public:
    explicit Executing(LiveRun& run);
    Executing(const Executing&) = delete;
    ~Executing();

   private:
    LiveRun& run_;
  };

  // Tells all of them LifeEvent::end_all, and waits for those that a thread is in, but for the calling one. [thread-safe]
  static void end_all();

 private:
  Run& run_;
  const pid_t made_in_ = ::getpid();  // a forked process has none of its parent's runs
  bool executing_ = false;
};

}  // namespace sluice
