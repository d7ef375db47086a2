// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "library/program_merge.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <sluice/failure.hpp>
#include <thread>

#include "session/live_run.hpp"
#include "session/run_settings.hpp"

namespace sluice {
namespace {

// Looks at the caller's number while a run goes on.
class StopWatch {
 public:
  StopWatch(Run& run, const volatile std::int32_t* stop)
      : thread_([this, &run, stop] {
          std::unique_lock lock(mutex_);
          while (!over_.wait_for(lock, std::chrono::milliseconds(50), [&] { return ended_; }))
            if (stop != nullptr && *stop != 0) return static_cast<void>(run.tell(LifeEvent::second_interrupt));
        }) {}
  ~StopWatch() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    over_.notify_all();
    thread_.join();
  }
  StopWatch(const StopWatch&) = delete;

 private:
  std::mutex mutex_;  // guards ended_
  std::condition_variable over_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace

std::string merge_for_program(const Registry& registry, const MergeRequest& request, const std::vector<std::pair<std::string, std::string>>& options,
                              const volatile std::int32_t* stop) {
  Diagnostics diagnostics;
  RunSettings settings = read_settings(options, Spelling::names, diagnostics);
  check_device(settings.options.device, settings.spelling, registry, diagnostics);
  if (diagnostics.has_errors()) throw Failure::usage(diagnostics.list().front().message, diagnostics.list().front().remedy);
  settings.options.checkpoints = {};
  const Merged merged = merge_shards(request, settings.options, registry, [&](Run& run) {
    const StopWatch watch(run, stop);
    LiveRun live(run);
    const LiveRun::Executing executing(live);
    return run.execute();
  });
  if (merged.interrupted) throw Failure(SLUICE_ERROR_CANCELLED, "interrupted: nothing was written");
  return merged.report.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace sluice
