// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/arena.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <latch>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <sluice/failure.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "machine/c_locale.hpp"

namespace sluice {

namespace tbb = oneapi::tbb;
namespace {

// Threads of a run that are none of the arena's: its sources, sinks, regroups and streams. More of them would wait for each other.
constexpr int threads_beside = 32;

[[noreturn]] void throw_no_threads(const std::string& reason) {
  throw Failure(SLUICE_ERROR_MEMORY, "out of memory or threads: " + reason, "lower --threads, or raise ulimit -v and -u");
}

// oneTBB may wait for ever, or crash, where a thread of its own can't be started. So it is tried before with threads of ours.
void throw_unless_threads_start(int threads) {
  constexpr std::size_t beside_stack = 1 << 20, beside_all = 8 << 20;
  const std::size_t room =
      static_cast<std::size_t>(threads) * (tbb::global_control::active_value(tbb::global_control::thread_stack_size) + beside_stack) + beside_all;
  void* const probe = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) throw_no_threads(std::strerror(errno));
  ::munmap(probe, room);
  std::vector<std::thread> started;
  std::latch all(1);
  std::string problem;
  try {
    for (int i = 1; i < threads; ++i) started.emplace_back([&all] { all.wait(); });
  } catch (const std::exception& error) {
    problem = error.what();
  }
  all.count_down();
  for (std::thread& thread : started) thread.join();
  if (!problem.empty()) throw_no_threads(problem);
}

// oneTBB 2021.8 reads the limits of the process without a lock where an arena is made, while another thread may change them.
std::mutex& limits_mutex() {
  static auto& mutex = *new std::mutex;  // never destroyed: runs of other threads may still end
  return mutex;
}

// Of oneTBB's limits of the process the smallest counts. So there is one, of what all runs have together; each run's arenas take no more than its
// own.
class ThreadShare {
 public:
  explicit ThreadShare(int threads) : threads_(threads) { change(threads_); }
  // Never gives it back.
  void leave() { is_left_ = true; }
  ~ThreadShare() {
    if (is_left_) return;
    try {
      change(-threads_);
    } catch (const std::bad_alloc&) {  // the limit stays higher than it has to be
    }
  }
  ThreadShare(const ThreadShare&) = delete;

 private:
  static void change(int by) {
    const std::lock_guard lock(limits_mutex());  // guards what follows, too
    static int all = 0;
    static auto& limit = *new std::unique_ptr<tbb::global_control>;  // as the mutex
    if (by < 0) all += by;
    std::unique_ptr<tbb::global_control> next;
    if (const int wanted = by < 0 ? all : all + by; wanted > 0)
      next = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(wanted));
    if (by > 0) all += by;
    limit = std::move(next);
  }
  const int threads_;
  bool is_left_ = false;
};

// Knows which threads are the arena's, and gives them the C locale for as long as they are.
class Members : public tbb::task_scheduler_observer {
 public:
  explicit Members(tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  ~Members() override { observe(false); }
  void on_scheduler_entry(bool) override {
    of_this_thread = this;
    locale.emplace();
  }
  void on_scheduler_exit(bool) override {
    of_this_thread = nullptr;
    locale.reset();
  }
  bool has_this_thread() const { return of_this_thread == this; }

 private:
  static thread_local const Members* of_this_thread;
  static thread_local std::optional<CLocale> locale;
};
thread_local const Members* Members::of_this_thread = nullptr;
thread_local std::optional<CLocale> Members::locale;

}  // namespace

struct Arena::Implementation {
  explicit Implementation(int threads)
      : share(threads),
        arena(threads, 1),
        ahead(threads - 1 + threads_beside, threads_beside, tbb::task_arena::priority::high),
        members(initialized(arena)) {
    initialized(ahead);
    start_workers(threads);
  }
  // An observer that fails to make its arena would crash in its destructor; an arena that can't be made only throws.
  tbb::task_arena& initialized(tbb::task_arena& arena) {
    try {
      const std::lock_guard lock(limits_mutex());
      arena.initialize();
    } catch (const std::bad_alloc&) {
      share.leave();  // oneTBB keeps a lock then, for which its limit would wait for ever
      throw;
    }
    return arena;
  }
  // oneTBB starts its threads when there is work for them. They are started here, where a failure ends the run before it has begun.
  void start_workers(int threads) {
    constexpr std::chrono::milliseconds longest(5);
    std::atomic<int> arrived{0};
    const auto end = std::chrono::steady_clock::now() + longest;
    try {
      arena.execute([&] {
        tbb::parallel_for(
            tbb::blocked_range<int>(0, threads),
            [&](const tbb::blocked_range<int>&) {
              ++arrived;
              while (arrived < threads && std::chrono::steady_clock::now() < end) std::this_thread::yield();
            },
            tbb::simple_partitioner());
      });
    } catch (const std::exception& error) {
      throw_no_threads(error.what());
    }
  }
  ThreadShare share;             // --threads may exceed the cores (tests of order and races do that)
  tbb::task_arena arena, ahead;  // the same threads
  Members members;
};

Arena::Arena(int threads) {
  throw_unless_threads_start(std::max(threads, 1));
  implementation_ = std::make_unique<Implementation>(std::max(threads, 1));
}
Arena::~Arena() = default;

void Arena::wait_for_idle_threads() noexcept {
  try {
    tbb::task_scheduler_handle all{tbb::attach{}};
    static_cast<void>(tbb::finalize(all, std::nothrow));
  } catch (const std::bad_alloc&) {  // as if others used it
  }
}

void Arena::execute(const std::function<void()>& body) { implementation_->arena.execute(body); }

void Arena::enqueue(std::function<void()> job) { implementation_->arena.enqueue(std::move(job)); }

sluice_status Arena::parallel_for(std::size_t count, std::size_t grain, const std::function<sluice_status(std::size_t, std::size_t)>& body) {
  if (count == 0) return SLUICE_OK;
  if (count <= grain) return body(0, count);
  const std::size_t parts = (count + grain - 1) / grain;
  // Also orders the caller's memory before every part and every part before the return: oneTBB does so too, but ThreadSanitizer can't see it.
  std::atomic<sluice_status> first{SLUICE_OK};
  first.store(SLUICE_OK, std::memory_order_release);
  (implementation_->members.has_this_thread() ? implementation_->arena : implementation_->ahead).execute([&] {
    // Isolated: a thread that waits for its parts must not take up another batch meanwhile, which would hold this one's memory and delay it.
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>(0, parts),
          [&](const tbb::blocked_range<std::size_t>& range) {
            if (first.load(std::memory_order_acquire) != SLUICE_OK) return;
            const sluice_status status = body(range.begin() * grain, std::min(count, range.end() * grain));
            sluice_status expected = SLUICE_OK;
            if (status != SLUICE_OK) first.compare_exchange_strong(expected, status);
            first.fetch_add(0, std::memory_order_acq_rel);
          },
          tbb::simple_partitioner());
    });
  });
  return first.load(std::memory_order_acquire);
}

}  // namespace sluice
