// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// For sources and regroups, whose calls have a thread of their own beside the run's: whether to share the work of a call or do it alone.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sluice {

// The run's threads are for the stages around this one. While they are all busy, a call that wants them to help waits for one to come free, and so
// gains nothing. So it does alone what it can do alone in half of the time that there is. What comes out must not depend on it.
class WorkSharing {
 public:
  // A call begins. Calls may be short, so it looks back on some of them.
  void begin() {
    constexpr double shortest = 0.05;  // seconds
    const auto now = Clock::now();
    const double period = std::chrono::duration<double>(now - begun_).count();
    if (period < shortest) return;
    alone_ = static_cast<double>(work_.exchange(0)) * 1e-9 <= 0.5 * period;
    begun_ = now;
  }

  // body(begin, end) for parts of [0, count); share(some) calls some(begin, end) on all threads for what makes up [0, count).
  template <class Body, class Share>
  void share(std::size_t count, const Body& body, const Share& share) {
    const auto timed = [&](std::size_t begin, std::size_t end) {
      const auto start = Clock::now();
      body(begin, end);
      work_ += std::chrono::nanoseconds(Clock::now() - start).count();
    };
    if (!alone_)
      share(timed);
    else if (count > 0)
      timed(0, count);
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<std::int64_t> work_{0};  // nanoseconds of all threads together
  Clock::time_point begun_ = Clock::now();
  bool alone_ = false;
};

}  // namespace sluice
