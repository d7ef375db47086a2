// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The time of a flow cell that is played: real time, faster than that, or a time that passes only when it is told to.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

namespace sluice::flow_cell_simulator {

class ModelClock {
 public:
  virtual ~ModelClock() = default;
  // Seconds of the flow cell since start().
  virtual double now() const = 0;
  virtual void start() = 0;
  // Returns at `time`, or soon after `cancelled` says so.
  virtual void wait_until(double time, const std::function<bool()>& cancelled) = 0;
  // Seconds of the flow cell in one second; 0: time is virtual, and waiting takes none.
  virtual double speed() const = 0;
};

// Channels are looked at in so many groups (waves), one a tick. The tick that follows, where the clock is at tick `now`: `next`; more than a round
// later the first of the last round, so that every group is looked at once.
inline std::uint64_t tick_after(std::uint64_t next, std::uint64_t now, std::uint64_t waves) { return now > next + waves ? now - waves + 1 : next; }

class RealClock final : public ModelClock {
 public:
  explicit RealClock(double speed) : speed_(speed) {}
  double now() const override { return speed_ * std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  void start() override { start_ = std::chrono::steady_clock::now(); }
  void wait_until(double time, const std::function<bool()>& cancelled) override {
    // Short enough that an interrupt is noticed.
    constexpr double longest_sleep = 0.05;
    for (double left = (time - now()) / speed_; left > 0 && !cancelled(); left = (time - now()) / speed_)
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, longest_sleep)));
  }
  double speed() const override { return speed_; }

 private:
  const double speed_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class VirtualClock final : public ModelClock {
 public:
  double now() const override { return now_; }
  void start() override { now_ = 0; }
  void wait_until(double time, const std::function<bool()>&) override { now_ = std::max(now_, time); }
  double speed() const override { return 0; }

 private:
  double now_ = 0;
};

}  // namespace sluice::flow_cell_simulator
