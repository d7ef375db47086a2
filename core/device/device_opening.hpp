// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Devices are opened on a thread of their own, because waking a driver takes 0.2 to 0.5 s in which a CPU could work, and not at all when the
// run is expected to be over soon: a process that wakes a driver also ends 0.1 s later.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace sluice {

class DeviceOpening {
 public:
  using Opened = std::function<void(const std::shared_ptr<Device>&)>;
  using Problem = std::function<void(const std::string&)>;
  using SecondsLeft = std::function<double()>;    // how long the run is expected to go on
  using Coming = std::function<void(bool come)>;  // devices are being opened, or no longer
  enum class Start { now, when_worthwhile };

  // Begins to open the devices that `wish` names ("auto": all, a kind, or "cuda:1"). limit_bytes: memory on each, 0: all that is free.
  // Providers live as long as the process.
  DeviceOpening(std::vector<const sluice_device_provider*> providers, std::string wish, std::uint64_t limit_bytes, Start start);
  // What is not open yet is not waited for: it is closed as soon as it is open.
  ~DeviceOpening() { stop(); }
  DeviceOpening(const DeviceOpening&) = delete;

  // seconds_left is asked until another takes its place, or stop().
  void expect(SecondsLeft seconds_left);
  // Every device that is open, and each one that follows, goes to `opened`, perhaps on another thread; a device that can't be opened to
  // `problem`; and `coming` is told when the opening begins and when it has ended. Once per object.
  void deliver(Opened opened, Problem problem, Coming coming);
  // Until all of them have been delivered.
  void wait();
  // Nothing is delivered any more.
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the thread, which may outlive this object
};

// Is a driver being woken that nobody waits for? Then the process must end without running destructors under that thread's feet.
bool devices_are_opening();

}  // namespace sluice
