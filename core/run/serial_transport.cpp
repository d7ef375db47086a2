// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <future>
#include <utility>

#include "run/execution.hpp"

namespace sluice {
namespace {

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
    std::future<BatchHandle> output;
    {
      // Should nobody ever call it, get() throws when the last copy is gone.
      const auto promise = std::make_shared<std::promise<BatchHandle>>();
      output = promise->get_future();
      dispatcher.submit(segment, input, size, [promise](BatchHandle batch) { promise->set_value(std::move(batch)); });
    }
    done(output.get());
  }
  void wait() override {}

 private:
  Execution& execution_;
};

}  // namespace

std::unique_ptr<Transport> serial_transport(Execution& execution) { return std::make_unique<SerialTransport>(execution); }

}  // namespace sluice
