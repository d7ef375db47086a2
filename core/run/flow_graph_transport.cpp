// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <oneapi/tbb/flow_graph.h>

#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "run/execution.hpp"
#include "run/worker_threads.hpp"

namespace sluice {
namespace {

namespace flow = oneapi::tbb::flow;
// Every stage is an async_node, so that a batch may leave on another thread than it came (a device's lane, a reader, a writer) and a regrouping
// stage may send several batches or none.
using StageNode = flow::async_node<Message, Message>;

class FlowGraphTransport : public Transport {
 public:
  explicit FlowGraphTransport(Execution& execution) : execution_(execution) {
    const Plan& plan = execution.plan();
    for (std::size_t i = 0; i < plan.stages.size(); ++i) stages_.push_back(std::make_unique<Stage>(graph_, execution, i));
    for (std::size_t from = 0; from < plan.stages.size(); ++from)
      for (const std::size_t consumer : plan.stages[from].consumers) flow::make_edge(stages_[from]->node, stages_[consumer]->node);
  }
  ~FlowGraphTransport() override {
    for (std::thread& source : sources_)
      if (source.joinable()) source.join();
  }

  void put(std::size_t from, Message message) override { stages_[from]->node.gateway().try_put(std::move(message)); }

  Token hold(std::size_t stage) override {
    auto& gateway = stages_[stage]->node.gateway();
    gateway.reserve_wait();
    // Should there be no room for the count, the pointer calls this at once.
    return {static_cast<const void*>(&gateway), [&gateway](const void*) { gateway.release_wait(); }};
  }

  void run_in_order(std::size_t stage, Job job) override { stages_[stage]->worker->submit(std::move(job)); }

  void run_source(std::size_t stage, Job loop) override {
    const Token token = hold(stage);
    execution_.guard(stage, [&] { sources_.emplace_back([loop = std::move(loop), token] { loop(); }); });
  }

  void call(Dispatcher& dispatcher, Segment& segment, const BatchHandle& input, const CallSize& size, Dispatcher::Done done) override {
    dispatcher.submit(segment, input, size, std::move(done));
  }

  void wait() override { graph_.wait_for_all(); }

 private:
  struct Stage {
    Stage(flow::graph& graph, Execution& execution, std::size_t index)
        : node(graph, execution.stages()[index] && execution.stages()[index]->is_serial() ? flow::serial : flow::unlimited,
               [&execution, index](const Message& message, StageNode::gateway_type&) { execution.receive(index, message); }) {
      if (const int threads = execution.own_threads(index); threads > 0) worker.emplace(threads);
    }
    StageNode node;
    std::optional<WorkerThreads> worker;
  };

  Execution& execution_;
  flow::graph graph_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<std::thread> sources_;
};

}  // namespace

std::unique_ptr<Transport> flow_graph_transport(Execution& execution) { return std::make_unique<FlowGraphTransport>(execution); }

}  // namespace sluice
