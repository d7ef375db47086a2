// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sluice::alignment_reader {

// Whether a source should share its work or do it alone. The run's threads are for the stages behind it. While they are all busy, a source that
// wants them to help waits for one to come free, and so gains nothing; and it has a thread of its own. So it does alone what it can do alone in half
// of the time that there is. What is read does not depend on it.
class Helpers {
 public:
  // A batch is about to be made. Windows and batches do not come together, so it looks back on some of them.
  void begin() {
    constexpr double shortest = 0.05;  // seconds
    const auto now = Clock::now();
    const double period = std::chrono::duration<double>(now - begun_).count();
    if (period < shortest) return;
    alone_ = static_cast<double>(work_.exchange(0)) * 1e-9 <= 0.5 * period;
    begun_ = now;
  }

  // body(begin, end) for parts of [0, count); `share` takes what to call for them, and calls it on all threads.
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

}  // namespace sluice::alignment_reader
