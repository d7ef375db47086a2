// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sluice::methylation_frequency {

// Whether a regroup should share its work or do it alone. The run's threads are for the stages in front of it. While they are all busy, one that
// wants them to help waits for one to come free, and so gains nothing; and it has a thread of its own. So it does alone what it can do alone in half
// of the time that there is. What comes out does not depend on it.
class Helpers {
 public:
  // Some work is about to be done; what was done before has had all the time since the last call.
  void begin() {
    const auto now = Clock::now();
    const double period = std::chrono::duration<double>(now - begun_).count();
    alone_ = begun_ != Clock::time_point() && static_cast<double>(work_.exchange(0)) * 1e-9 <= 0.5 * period;
    begun_ = now;
  }
  bool alone() const { return alone_; }

  // body(i) for each i below count. `share` takes some(begin, end), and calls it on all threads for what makes up [0, count).
  template <class Body, class Share>
  void share(std::size_t count, const Body& body, const Share& share) {
    const auto some = [&](std::size_t begin, std::size_t end) {
      const auto start = Clock::now();
      for (std::size_t i = begin; i < end; ++i) body(i);
      work_ += std::chrono::nanoseconds(Clock::now() - start).count();
    };
    if (alone_)
      some(0, count);
    else
      share(some);
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<std::int64_t> work_{0};  // nanoseconds of all threads together since begin()
  Clock::time_point begun_;
  bool alone_ = false;
};

}  // namespace sluice::methylation_frequency
