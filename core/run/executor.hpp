// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Moves batches between stages until the sources have ended. Two forms that give the same bytes: serial (one thread, the reference)
// and the oneTBB flow graph.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "run/dispatcher.hpp"
#include "run/stage_runner.hpp"
#include "sched/memory_budget.hpp"

namespace sluice {

struct ExecutionParts {
  RunContext& run;
  std::vector<std::unique_ptr<StageRunner>>& stages;  // indices as in the plan
  Dispatcher& dispatcher;
  MemoryBudget& budget;
};

void execute_serial(ExecutionParts& parts);
void execute_flow_graph(ExecutionParts& parts);

// Reads a source to its end and hands on each batch with its permit.
void pump_source(ExecutionParts& parts, StageRunner& source, const std::function<void(Message)>& put);

// Writes a batch, and gives it back to the stages that want it.
void commit(ExecutionParts& parts, StageRunner& sink, const BatchHandle& batch);

// Notes how much memory a batch and what was made of it took at one moment.
void note_footprint(const Message& input, const BatchHandle& output);

// Brings together the messages of one sequence number that come along several branches. Thread-safe.
class BranchJoin {
 public:
  explicit BranchJoin(std::size_t branches) : branches_(branches) {}
  // True and the joined message in `message` when this was the last branch.
  bool arrive(Message& message);

 private:
  const std::size_t branches_;
  std::mutex mutex_;  // guards waiting_
  std::map<std::uint64_t, std::vector<Message>> waiting_;
};

}  // namespace sluice
