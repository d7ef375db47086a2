// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// On which threads an execution's work is done. Two ways that give the same bytes: one after the other where it is asked for (the reference, and
// what replays use), and the oneTBB flow graph.

#include <cstddef>
#include <functional>
#include <memory>

#include "run/dispatcher.hpp"
#include "run/message.hpp"

namespace sluice {

class Execution;

class Transport {
 public:
  using Job = std::function<void()>;
  // While a copy lives, wait() does not return: a batch that is under way cannot be forgotten.
  using Token = std::shared_ptr<const void>;

  virtual ~Transport() = default;
  // To every stage behind `from`: each gets Execution::receive().
  virtual void put(std::size_t from, Message message) = 0;
  virtual Token hold(std::size_t stage) = 0;
  // On a thread of the stage's own, after what was given to it before. No exception leaves a job.
  virtual void run_in_order(std::size_t stage, Job job) = 0;
  // A source's loop, on a thread of its own.
  virtual void run_source(std::size_t stage, Job loop) = 0;
  // Gives a call to the dispatcher; `done` gets the output on whichever thread goes on with it.
  virtual void call(Dispatcher& dispatcher, Segment& segment, const BatchHandle& input, const CallSize& size, Dispatcher::Done done) = 0;
  // Until everything that was begun has been done.
  virtual void wait() = 0;
};

// Everything happens where it is asked for: a batch has been through the pipeline when put() returns.
std::unique_ptr<Transport> serial_transport(Execution& execution);
// The edges of the graph are those of the plan. Must be made and used on a thread of the run's arena.
std::unique_ptr<Transport> flow_graph_transport(Execution& execution);

}  // namespace sluice
