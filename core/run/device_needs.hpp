// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Whether a run needs devices, and whether opening one is worth its while: that takes half a second.

#include <array>
#include <cstddef>
#include <string>

#include "plan/plan.hpp"
#include "plugin/registry.hpp"
#include "run/dispatcher.hpp"

namespace sluice {

enum class Wait { for_devices, never };

// May any stage run on a device, and must the run wait until devices are there? With --device auto the CPU begins at once.
struct DeviceNeeds {
  Devices devices = Devices::never;
  Wait wait = Wait::never;
};
DeviceNeeds device_needs(const Plan& plan, const std::string& wish);

// What comes behind a regroup is most of a run that has one (polish 3 of 3.5 s, correct 48 of 50), and so is what an index that takes long to make is
// made for (overlap 7 of 7.7 s).
inline constexpr double times_as_long_behind_regroup = 9, times_as_long_behind_resources = 4.5;

// How long a run will go on. By how much has been read since the first batches: these are read ahead of everything, and fill empty caches. And by
// the shortest of the last ten answers, as a run is slow for a moment; half of what the last three say is believed at once. Where nobody knows, as
// long again.
class SecondsLeft {
 public:
  explicit SecondsLeft(double now) : began_(now) {}
  double operator()(double now, const Dispatcher& dispatcher);

 private:
  const double began_;
  double first_share_ = -1, first_at_ = 0;
  std::array<double, 10> answers_{};  // the newest first
};

// A run of large files lasts, as hardly any reads faster than this. (Of those that look up some of a file a device is opened that they could do
// without.)
double least_seconds(const Plan& plan, const Registry& registry, int threads);

}  // namespace sluice
