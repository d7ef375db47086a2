// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "device/device_opening.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <sluice/failure.hpp>
#include <thread>
#include <utility>

namespace sluice {
namespace {

std::atomic<int> threads_opening{0};

// A device must be able to earn back the time that it takes to open and, behind the end of the run, to close, also where it is hardly faster than all
// threads: of runs that 16 of them do in 1.5 s none was shorter with one.
constexpr double times_as_long = 3.75;
constexpr std::chrono::milliseconds look_again_after{10};

}  // namespace

bool devices_are_opening() { return threads_opening > 0; }

struct DeviceOpening::State {
  std::mutex mutex;  // guards everything below; held while something is delivered
  std::condition_variable changed;
  std::vector<std::shared_ptr<Device>> devices;  // not delivered yet
  std::vector<std::string> problems;
  Opened opened;
  Problem problem;
  Coming coming;
  SecondsLeft seconds_left;
  bool delivering = false, stopped = false, finished = false;
  bool come = false, told_that_they_come = false;

  void open_all(const std::vector<const sluice_device_provider*>& providers, const std::string& wish, std::uint64_t limit_bytes, Start start);

  // False: stopped before.
  bool wait_until_worthwhile(double seconds) {
    std::unique_lock lock(mutex);
    while (!stopped && seconds > 0 && !(seconds_left && seconds_left() > times_as_long * seconds)) changed.wait_for(lock, look_again_after);
    return !stopped;
  }

  // Where something went wrong that no device is to blame for: the run goes on with what is open, or says that no device is left. Should there not
  // even be room to say so, threads are held back for a second.
  void give_up(const char* why) noexcept {
    try {
      const std::lock_guard lock(mutex);
      problems.push_back(std::string("devices could not be opened: ") + why);
      come = false;
      flush();
    } catch (...) {
    }
  }

  void say_that_they_come(bool now) {
    const std::lock_guard lock(mutex);
    come = now;
    flush();
  }

  void flush() {
    if (!delivering || stopped) return;
    if (come && !told_that_they_come) coming(told_that_they_come = true);
    for (const auto& device : std::exchange(devices, {})) opened(device);
    for (const std::string& text : std::exchange(problems, {})) problem(text);
    if (!come && told_that_they_come) coming(told_that_they_come = false);
  }
};

void DeviceOpening::State::open_all(const std::vector<const sluice_device_provider*>& providers, const std::string& wish, std::uint64_t limit_bytes,
                                    Start start) {
  for (const sluice_device_provider* provider : providers) {
    if (start == Start::when_worthwhile && !wait_until_worthwhile(provider->seconds_to_open)) return;
    say_that_they_come(true);
    const int count = provider->count();
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      const std::string name = std::string(provider->kind) + ":" + std::to_string(ordinal);
      if (wish != "auto" && wish != provider->kind && wish != name) continue;
      std::shared_ptr<Device> device;
      std::string problem;
      try {
        device = Device::open(*provider, ordinal, limit_bytes);
      } catch (const Failure& failure) {
        problem = failure.what();
      }
      const std::lock_guard lock(mutex);
      if (stopped) return;
      if (device) devices.push_back(std::move(device));
      if (!problem.empty()) problems.push_back(std::move(problem));
      flush();
    }
    say_that_they_come(false);
  }
}

DeviceOpening::DeviceOpening(std::vector<const sluice_device_provider*> providers, std::string wish, std::uint64_t limit_bytes, Start start)
    : state_(std::make_shared<State>()) {
  ++threads_opening;
  try {
    std::thread([state = state_, providers = std::move(providers), wish = std::move(wish), limit_bytes, start] {
      try {
        state->open_all(providers, wish, limit_bytes, start);
      } catch (const std::bad_alloc&) {
        state->give_up("out of memory");
      } catch (const std::exception& exception) {
        state->give_up(exception.what());
      }
      {
        const std::lock_guard lock(state->mutex);
        state->finished = true;
        state->changed.notify_all();
      }
      --threads_opening;
    }).detach();
  } catch (...) {  // no thread has begun that would count itself
    --threads_opening;
    throw;
  }
}

void DeviceOpening::expect(SecondsLeft seconds_left) {
  const std::lock_guard lock(state_->mutex);
  state_->seconds_left = std::move(seconds_left);
}

void DeviceOpening::deliver(Opened opened, Problem problem, Coming coming) {
  const std::lock_guard lock(state_->mutex);
  state_->opened = std::move(opened);
  state_->problem = std::move(problem);
  state_->coming = std::move(coming);
  state_->delivering = true;
  state_->flush();
}

void DeviceOpening::wait() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->finished; });
}

void DeviceOpening::stop() {
  const std::lock_guard lock(state_->mutex);
  state_->stopped = true;
  state_->devices.clear();
  state_->opened = nullptr;
  state_->problem = nullptr;
  state_->coming = nullptr;
  state_->seconds_left = nullptr;
  state_->changed.notify_all();
}

}  // namespace sluice
