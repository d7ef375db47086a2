// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The calls under way on one lane, and how many there were at once.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sched/cost_model.hpp"

namespace sluice {

class LaneCalls {
 public:
  struct Ended {
    double seconds = 0, mean_calls = 0;  // how long it took, and beside how many, itself included
  };

  explicit LaneCalls(double now) : last_change_(now) {}

  std::size_t size() const { return calls_.size(); }

  // alone: seconds that it is expected to take if it has the lane to itself.
  void begin(std::uint64_t call, double alone, double sharing, double now) {
    advance(now);
    calls_.push_back({call, now, integral_, alone, sharing});
  }
  // Nothing: there is no such call.
  std::optional<Ended> end(std::uint64_t number, double now) {
    advance(now);
    const auto call = std::find_if(calls_.begin(), calls_.end(), [&](const Call& c) { return c.number == number; });
    if (call == calls_.end()) return std::nullopt;
    const double seconds = std::max(now - call->start, 1e-9);
    const Ended ended{seconds, (integral_ - call->integral_then) / seconds};
    calls_.erase(call);
    return ended;
  }
  // Seconds that they still need, as if each had the lane to itself.
  double backlog(double now) const {
    double backlog = 0;
    for (const Call& call : calls_) {
      const double elapsed = now - call.start;
      const double integral = integral_ + (now - last_change_) * static_cast<double>(calls_.size()) - call.integral_then;
      const double done = elapsed > 0 ? elapsed / slowdown(call.sharing, integral / elapsed) : 0.0;
      backlog += std::max(call.alone - done, 0.05 * call.alone);
    }
    return backlog;
  }
  // Time with at least one call under way.
  double busy_seconds(double now) const { return busy_seconds_ + (calls_.empty() ? 0.0 : std::max(now - last_change_, 0.0)); }

 private:
  struct Call {
    std::uint64_t number;
    double start, integral_then, alone, sharing;
  };
  void advance(double now) {
    busy_seconds_ = busy_seconds(now);
    integral_ += std::max(now - last_change_, 0.0) * static_cast<double>(calls_.size());
    last_change_ = std::max(now, last_change_);
  }

  std::vector<Call> calls_;
  double integral_ = 0;  // over time, of the number of calls
  double last_change_, busy_seconds_ = 0;
};

}  // namespace sluice
