// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The run's threads, which the flow graph and every parallel_for of a stage share. What a thread of its own asks for (a source, a sink, a device's
// stream) goes before the calls that wait: the whole run waits for those threads, and they would wait behind its longest calls.

#include <sluice/abi.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace sluice {

class Arena {
 public:
  explicit Arena(int threads);
  ~Arena();
  void execute(const std::function<void()>& body);
  // Runs a job on a thread of the arena, after what was enqueued before it. Returns at once.
  void enqueue(std::function<void()> job);
  // The first status that is not SLUICE_OK. May be called from any thread, of the arena or not.
  sluice_status parallel_for(std::size_t count, std::size_t grain, const std::function<sluice_status(std::size_t, std::size_t)>& body);
  // oneTBB's threads end a little after the last arena. Of a process that is forked meanwhile they hold locks that nobody releases in the child.
  // Where others use oneTBB, too, nothing is waited for.
  static void wait_for_idle_threads() noexcept;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace sluice
