// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <oneapi/tbb/flow_graph.h>

#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "run/executor.hpp"
#include "run/worker_thread.hpp"
#include "sched/reorder_buffer.hpp"

namespace sluice {
namespace {

namespace flow = oneapi::tbb::flow;
using StageNode = flow::async_node<Message, Message>;
using Gateway = StageNode::gateway_type;

// Keeps the graph alive until a batch has left a stage, on whichever thread. It cannot be forgotten: what ends it is the end of its last copy.
class Hold {
 public:
  explicit Hold(Gateway& gateway) : gateway_(gateway) { gateway_.reserve_wait(); }
  Hold(const Hold&) = delete;
  ~Hold() { gateway_.release_wait(); }

 private:
  Gateway& gateway_;
};
using HoldHandle = std::shared_ptr<const Hold>;

// A stage in the graph. Every stage is an async_node, so that a batch may leave on another thread than it came (a device's lane, a
// reader, a writer) and a regrouping stage may send several batches or none.
class GraphStage {
 public:
  GraphStage(flow::graph& graph, ExecutionParts& parts, StageRunner& stage)
      : parts_(parts),
        stage_(stage),
        join_(stage.inputs()),
        flow_(stage.kind() == SLUICE_REGROUP ? &parts.budget.add_flow() : nullptr),
        node_(graph, stage.is_serial() ? flow::serial : flow::unlimited,
              [this](const Message& message, Gateway& gateway) { guarded_receive(message, gateway); }) {
    if (stage.kind() == SLUICE_SINK || stage.kind() == SLUICE_REGROUP || stage.is_blocking()) worker_.emplace();
  }

  StageNode& node() { return node_; }
  StageRunner& stage() { return stage_; }

  // Source batches enter here.
  void send(Message message) { node_.gateway().try_put(std::move(message)); }

  // Calls finish() on the stage's own thread; the graph is kept alive until it returns.
  void finish_regroup() {
    Gateway& gateway = node_.gateway();
    worker_->submit(guarded([this, &gateway, hold = std::make_shared<const Hold>(gateway)] { stage_.finish(emit_into(gateway)); }));
  }

 private:
  // No exception may leave a node's body (oneTBB would cancel the graph and lose the reason) or a thread (the process would end).
  std::function<void()> guarded(std::function<void()> job) {
    return [this, job = std::move(job)] {
      try {
        job();
      } catch (...) {
        parts_.run.fail_with_current_exception(stage_.planned().stage->name);
      }
    };
  }
  void guarded_receive(const Message& message, Gateway& gateway) {
    try {
      receive(message, gateway);
    } catch (...) {
      parts_.run.fail_with_current_exception(stage_.planned().stage->name);
    }
  }

  void receive(Message message, Gateway& gateway) {
    if (parts_.run.cancelled() || !join_.arrive(message)) return;
    auto hold = std::make_shared<const Hold>(gateway);
    if (stage_.kind() == SLUICE_REGROUP) return regroup_later(std::move(message), gateway, std::move(hold));
    if (stage_.is_ordered()) {
      {
        const std::lock_guard lock(order_mutex_);
        put_in_order(std::move(message));
      }
      return serve_in_order(gateway);
    }
    if (stage_.is_blocking() && stage_.kind() == SLUICE_MAP)
      worker_->submit(guarded([this, message, &gateway, hold] { process(message, gateway, hold); }));
    else
      process(message, gateway, hold);
  }

  void process(const Message& message, Gateway& gateway, const HoldHandle& hold) {
    parts_.dispatcher.submit(stage_, message.batch, [this, message, &gateway, hold](BatchHandle output) {
      if (!output) return;
      note_footprint(message, output);
      if (stage_.kind() == SLUICE_SINK) return commit_later({std::move(output), message.permit}, hold);
      gateway.try_put({std::move(output), message.permit});
    });
  }

  // One batch after the other. A batch that waits here keeps nothing alive: the one that it waits for does, or the run has failed. The next
  // one starts on the thread that has finished this one, but never inside its call, however many wait.
  void serve_in_order(Gateway& gateway) {
    std::unique_lock lock(order_mutex_);
    if (serving_) return;
    serving_ = true;
    while (!under_way_) {
      std::optional<Message> next = in_order_.take();
      if (!next) break;
      under_way_ = true;
      lock.unlock();
      parts_.dispatcher.submit(stage_, next->batch,
                               [this, message = *next, &gateway, hold = std::make_shared<const Hold>(gateway)](BatchHandle output) {
                                 if (output) {
                                   note_footprint(message, output);
                                   gateway.try_put({std::move(output), message.permit});
                                 }
                                 {
                                   const std::lock_guard again(order_mutex_);
                                   under_way_ = false;
                                 }
                                 serve_in_order(gateway);
                               });
      next.reset();
      lock.lock();
    }
    serving_ = false;
  }

  // On the stage's own thread, as it may have to wait until there is room for what it emits.
  void regroup_later(Message message, Gateway& gateway, HoldHandle hold) {
    worker_->submit(guarded([this, message = std::move(message), &gateway, hold = std::move(hold)]() mutable {
      // Only the worker touches the buffer.
      put_in_order(std::move(message));
      while (std::optional<Message> next = in_order_.take()) stage_.regroup(next->batch, emit_into(gateway));
    }));
  }

  StageRunner::Emit emit_into(Gateway& gateway) {
    return [this, &gateway](BatchHandle batch) {
      const std::uint64_t bytes = batch->bytes();
      MemoryBudget::PermitHandle permit = parts_.budget.acquire_emitted(*flow_, bytes);
      if (!permit || parts_.run.cancelled()) return false;
      permit->used(bytes);
      gateway.try_put({std::move(batch), std::move(permit)});
      return true;
    };
  }

  void commit_later(Message message, HoldHandle hold) {
    worker_->submit(guarded([this, message = std::move(message), hold = std::move(hold)]() mutable {
      // Only the worker touches the buffer.
      put_in_order(std::move(message));
      while (std::optional<Message> next = in_order_.take()) commit(parts_, stage_, next->batch);
    }));
  }

  void put_in_order(Message message) {
    const std::uint64_t sequence = message.batch->sequence;
    in_order_.put(sequence, std::move(message));
  }

  ExecutionParts& parts_;
  StageRunner& stage_;
  BranchJoin join_;
  MemoryBudget::Flow* flow_;  // of a regroup
  ReorderBuffer<Message> in_order_;
  std::mutex order_mutex_;  // of an ordered map: guards in_order_ and what follows
  bool serving_ = false;    // a thread looks for the next batch
  bool under_way_ = false;  // a call has not ended
  StageNode node_;
  std::optional<WorkerThread> worker_;
};

}  // namespace

void execute_flow_graph(ExecutionParts& parts) {
  flow::graph graph;
  std::vector<std::unique_ptr<GraphStage>> stages;
  for (const auto& stage : parts.stages) stages.push_back(std::make_unique<GraphStage>(graph, parts, *stage));
  for (const auto& from : stages)
    for (const std::size_t consumer : from->stage().planned().consumers) flow::make_edge(from->node(), stages[consumer]->node());

  std::vector<std::thread> sources;
  for (const auto& stage : stages)
    if (stage->stage().kind() == SLUICE_SOURCE) {
      graph.reserve_wait();
      parts.dispatcher.source_begins();
      try {
        sources.emplace_back([&, source = stage.get()] {
          try {
            pump_source(parts, source->stage(), [&](Message message) { source->send(std::move(message)); });
          } catch (...) {
            parts.run.fail_with_current_exception(source->stage().planned().stage->name);
          }
          graph.release_wait();
        });
      } catch (...) {  // no thread for it
        parts.run.fail_with_current_exception(stage->stage().planned().stage->name);
        graph.release_wait();
      }
    }
  graph.wait_for_all();
  for (std::thread& source : sources) source.join();

  for (const std::size_t i : parts.run.plan.order)
    if (stages[i]->stage().kind() == SLUICE_REGROUP) {
      stages[i]->finish_regroup();
      graph.wait_for_all();
    }
  for (const std::size_t i : parts.run.plan.order)
    if (stages[i]->stage().kind() == SLUICE_SINK) stages[i]->stage().finish(nullptr);
}

}  // namespace sluice
