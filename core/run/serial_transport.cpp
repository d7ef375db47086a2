// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "run/execution.hpp"

namespace sluice {
namespace {

// What a call gives on another thread. To end it needs no memory, unlike the end of a std::promise that was not kept.
class Answer {
 public:
  enum class State : std::uint8_t { open, given, lost };
  // The first time counts.
  void end(State state, BatchHandle batch) noexcept {
    const std::lock_guard lock(mutex_);
    if (state_ != State::open) return;
    batch_ = std::move(batch);
    state_ = state;
    came_.notify_all();
  }
  // Throws std::bad_alloc where nobody gives it any more: only a lack of memory keeps a call from its end.
  BatchHandle wait() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return state_ != State::open; });
    if (state_ == State::lost) throw std::bad_alloc();
    return std::move(batch_);
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable came_;
  State state_ = State::open;
  BatchHandle batch_;
};

// Lives in the call's `done`: the answer is lost when its last copy goes and nobody has called it.
class Giver {
 public:
  explicit Giver(std::shared_ptr<Answer> answer) : answer_(std::move(answer)) {}
  Giver(const Giver&) = delete;
  ~Giver() { answer_->end(Answer::State::lost, nullptr); }
  void give(BatchHandle batch) { answer_->end(Answer::State::given, std::move(batch)); }

 private:
  const std::shared_ptr<Answer> answer_;
};

class SerialTransport : public Transport {
 public:
  explicit SerialTransport(Execution& execution) : execution_(execution) {}
  void put(std::size_t from, Message message) override {
    for (const std::size_t consumer : execution_.plan().stages[from].consumers) execution_.receive(consumer, message);
  }
  Token hold(std::size_t) override { return nullptr; }
  void run_in_order(std::size_t, Job job) override { job(); }
  void run_source(std::size_t, Job loop) override { loop(); }
  // The output may come from a thread of a device; what follows happens here.
  void call(Dispatcher& dispatcher, Segment& segment, const BatchHandle& input, const CallSize& size, Dispatcher::Done done) override {
    const auto answer = std::make_shared<Answer>();
    dispatcher.submit(segment, input, size, [giver = std::make_shared<Giver>(answer)](BatchHandle batch) { giver->give(std::move(batch)); });
    done(answer->wait());
  }
  void wait() override {}

 private:
  Execution& execution_;
};

}  // namespace

std::unique_ptr<Transport> serial_transport(Execution& execution) { return std::make_unique<SerialTransport>(execution); }

}  // namespace sluice
