// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Values too large to have two of, asked for by number on many threads, nearly in ascending order: one at a time, made by whoever asks first and with
// the help of those who wait for it.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace sluice::minimizer_seeding {

// A loop that other threads join while it runs: those that wait for its end would be idle otherwise, and a pool of threads does not know of them.
class SharedLoop {
 public:
  // body(i) for all of [0, count) by this thread, those that call help(), and those on which spread(job) calls job(). Throws what a body has thrown
  // first; then not all of them were called. One run() at a time.
  template <class Spread>
  void run(std::size_t count, const std::function<void(std::size_t)>& body, Spread spread) {
    {
      const std::lock_guard lock(mutex_);
      body_ = &body, count_ = count, next_ = 0, failure_ = nullptr;
    }
    spread([this] { help(); });
    help();
    std::unique_lock lock(mutex_);
    all_left_.wait(lock, [this] { return inside_ == 0; });
    body_ = nullptr;
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  // Takes part until there is nothing left to begin. Returns whether there was anything.
  bool help() {
    std::unique_lock lock(mutex_);
    if (body_ == nullptr || next_ >= count_) return false;
    ++inside_;
    lock.unlock();
    for (std::size_t i = next_++; i < count_; i = next_++) try {
        (*body_)(i);
      } catch (...) {
        next_ = count_;
        const std::lock_guard failing(mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
    lock.lock();
    if (--inside_ == 0) all_left_.notify_all();
    return true;
  }

 private:
  std::mutex mutex_;  // guards what follows but next_
  std::condition_variable all_left_;
  const std::function<void(std::size_t)>* body_ = nullptr;
  std::size_t count_ = 0, inside_ = 0;
  std::exception_ptr failure_;
  std::atomic<std::size_t> next_ = 0;
};

template <class Value>
class PartInTurn {
 public:
  // The value of that number: what is there, or what make(loop) returns, which may run its loops by `loop`. The value before is destroyed first, when
  // nobody holds it; until then it is still given to those who ask for it late. Throws what make() throws. Who holds a value must not ask for
  // another.
  template <class Make>
  std::shared_ptr<const Value> get(std::size_t number, const Make& make) {
    std::unique_lock lock(mutex_);
    while (true) {
      if (std::shared_ptr<const Value> value = there(number)) return value;
      if (!is_making_) break;
      lock.unlock();
      const bool has_helped = loop_.help();
      lock.lock();
      if (!has_helped) made_.wait_for(lock, a_moment, [this] { return !is_making_; });
    }
    is_making_ = true;
    std::shared_ptr<const Value> before = std::exchange(current_, nullptr);
    leaving_ = before;
    leaving_number_ = current_number_;
    lock.unlock();
    const Finishing finishing{*this};
    if (before != nullptr) std::this_thread::sleep_for(time_for_the_late);
    before.reset();
    while (!leaving_.expired()) std::this_thread::sleep_for(a_moment);
    std::shared_ptr<const Value> value = make(loop_);
    lock.lock();
    current_ = value;
    current_number_ = number;
    lock.unlock();
    return value;
  }

 private:
  static constexpr std::chrono::milliseconds a_moment{1};
  // Whoever has taken up its work before the first of the next number but has not asked yet: else a value would be made twice.
  static constexpr std::chrono::milliseconds time_for_the_late{10};

  struct Finishing {
    PartInTurn& parts;
    ~Finishing() {
      const std::lock_guard lock(parts.mutex_);
      parts.is_making_ = false;
      parts.made_.notify_all();
    }
  };

  std::shared_ptr<const Value> there(std::size_t number) const {
    if (current_ != nullptr && current_number_ == number) return current_;
    return leaving_number_ == number ? leaving_.lock() : nullptr;
  }

  std::mutex mutex_;  // guards what follows but loop_; leaving_ changes only where is_making_ becomes true
  std::condition_variable made_;
  bool is_making_ = false;
  std::shared_ptr<const Value> current_;
  std::weak_ptr<const Value> leaving_;
  std::size_t current_number_ = 0, leaving_number_ = 0;
  SharedLoop loop_;
};

}  // namespace sluice::minimizer_seeding
