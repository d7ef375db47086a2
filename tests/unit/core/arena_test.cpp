// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/arena.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

using namespace sluice;

namespace {

// Opens when so many have come, or never.
class Gate {
 public:
  explicit Gate(int needed) : needed_(needed) {}
  void come() {
    const std::lock_guard lock(mutex_);
    if (++come_ >= needed_) changed_.notify_all();
  }
  bool wait() {
    constexpr std::chrono::seconds long_enough(30);
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, long_enough, [&] { return come_ >= needed_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  const int needed_;
  int come_ = 0;
};

}  // namespace

TEST_CASE("What sources, sinks and streams ask for does not wait for the calls of the run's threads, nor for each other") {
  for (const int threads : {1, 2, 4}) {
    CAPTURE(threads);
    Arena arena(threads);
    constexpr int callers = 3;
    Gate release(1), all_at_work(callers), ended(threads);
    for (int i = 0; i < threads; ++i)
      arena.enqueue([&] {
        release.wait();
        ended.come();
      });
    std::atomic<int> met{0}, parts{0};
    {
      std::vector<std::jthread> beside;
      for (int i = 0; i < callers; ++i)
        beside.emplace_back([&] {
          std::atomic<bool> first{true};
          const sluice_status status = arena.parallel_for(8, 1, [&](std::size_t begin, std::size_t end) {
            parts += static_cast<int>(end - begin);
            if (!first.exchange(false)) return SLUICE_OK;
            all_at_work.come();
            met += all_at_work.wait() ? 1 : 0;
            return SLUICE_OK;
          });
          CHECK(status == SLUICE_OK);
        });
    }
    CHECK(met == callers);
    CHECK(parts == callers * 8);
    release.come();
    CHECK(ended.wait());
  }
}

TEST_CASE("The first status that is not OK comes back, from whatever thread asks") {
  Arena arena(2);
  const auto odd = [](std::size_t begin, std::size_t) { return begin == 5 ? SLUICE_ERROR_INPUT : SLUICE_OK; };
  CHECK(arena.parallel_for(8, 1, odd) == SLUICE_ERROR_INPUT);
  CHECK(arena.parallel_for(0, 1, odd) == SLUICE_OK);
  arena.execute([&] {
    CHECK(arena.parallel_for(8, 1, odd) == SLUICE_ERROR_INPUT);
    // Inside a part of another.
    CHECK(arena.parallel_for(2, 1, [&](std::size_t, std::size_t) { return arena.parallel_for(6, 1, odd); }) == SLUICE_ERROR_INPUT);
  });
}

TEST_CASE("A run with one thread leaves the threads of another run alone, however often runs begin and end beside it") {
  constexpr int threads = 3;
  for (int times = 0; times < 3; ++times) {
    Arena one(1);
    Arena several(threads);
    { Arena another(1); }
    Gate all_at_work(threads);
    std::atomic<int> met{0};
    several.execute([&] {
      CHECK(several.parallel_for(threads, 1, [&](std::size_t, std::size_t) {
        all_at_work.come();
        met += all_at_work.wait() ? 1 : 0;
        return SLUICE_OK;
      }) == SLUICE_OK);
    });
    CHECK(met == threads);
  }
}
