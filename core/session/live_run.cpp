// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "session/live_run.hpp"

#include <algorithm>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <vector>

namespace sluice {
namespace {

struct LiveRuns {
  std::mutex mutex;  // guards what follows, and what the runs in it say of themselves
  std::condition_variable changed;
  std::vector<LiveRun*> runs;
};

LiveRuns& live_runs() {
  static auto& all = *new LiveRuns;  // never destroyed: runs of other threads may still end
  return all;
}

thread_local const LiveRun* of_this_thread = nullptr;

}  // namespace

LiveRun::LiveRun(Run& run) : run_(run) {
  LiveRuns& all = live_runs();
  const std::lock_guard lock(all.mutex);
  all.runs.push_back(this);
}

LiveRun::~LiveRun() {
  LiveRuns& all = live_runs();
  const std::lock_guard lock(all.mutex);
  std::erase(all.runs, this);
}

LiveRun::Executing::Executing(LiveRun& run) : run_(run) {
  const std::lock_guard lock(live_runs().mutex);
  run_.executing_ = true;
  of_this_thread = &run;
}

LiveRun::Executing::~Executing() {
  LiveRuns& all = live_runs();
  const std::lock_guard lock(all.mutex);
  run_.executing_ = false;
  of_this_thread = nullptr;
  all.changed.notify_all();
}

void LiveRun::end_all() {
  LiveRuns& all = live_runs();
  std::unique_lock lock(all.mutex);
  std::vector<LiveRun*> told;
  std::copy_if(all.runs.begin(), all.runs.end(), std::back_inserter(told), [](const LiveRun* run) { return run->made_in_ == ::getpid(); });
  for (LiveRun* run : told) run->run_.tell(LifeEvent::end_all);
  all.changed.wait(lock, [&] {
    return std::none_of(all.runs.begin(), all.runs.end(), [&](const LiveRun* run) {
      return run->executing_ && run != of_this_thread && std::find(told.begin(), told.end(), run) != told.end();
    });
  });
}

}  // namespace sluice
