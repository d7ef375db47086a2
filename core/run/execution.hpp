// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Moves batches from the sources through the stages to the sinks: the one set of rules, whatever threads there are (see transport.hpp).

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "run/checkpoints.hpp"
#include "run/dispatcher.hpp"
#include "run/map_runner.hpp"
#include "run/message.hpp"
#include "run/regroup_runner.hpp"
#include "run/sink_runner.hpp"
#include "run/source_runner.hpp"
#include "run/transport.hpp"
#include "sched/memory_budget.hpp"
#include "sched/reorder_buffer.hpp"

namespace sluice {

std::unique_ptr<StageRunner> make_runner(RunContext& run, std::size_t index);

// For replays, which look at batches on their way.
struct ExecutionProbe {
  // Sources: the batch, less of it, or null to stop reading.
  std::function<BatchHandle(BatchHandle)> read;
  std::function<void(std::size_t stage, const BatchHandle&)> arrived;
};

class Execution {
 public:
  using MakeTransport = std::unique_ptr<Transport> (*)(Execution&);

  Execution(RunContext& run, StageRunners& stages, const Segments& segments, Dispatcher& dispatcher, MemoryBudget& budget, MakeTransport transport,
            ExecutionProbe probe = {}, Checkpoints* checkpoints = nullptr);

  // Until the sources have ended and everything has been written, or the run has failed.
  void run();

  // A batch has come to the stage along one of its inputs. No exception leaves.
  void receive(std::size_t stage, Message message) noexcept;

  const Plan& plan() const { return run_.plan; }
  const StageRunners& stages() const { return stages_; }
  // How many threads the stage has for itself, beside the arena's.
  int own_threads(std::size_t stage) const;
  // Runs the job; what it throws ends the run.
  template <class Job>
  void guard(std::size_t stage, Job&& job) noexcept {
    try {
      job();
    } catch (...) {
      run_.fail_with_current_exception(run_.plan.stages[stage].stage->name);
    }
  }

 private:
  // What a stage has beside its runner.
  struct Station {
    Station(std::size_t inputs, std::uint64_t first) : join(inputs), in_order(first), read(first) {}
    BranchJoin join;
    MemoryBudget::Flow* flow = nullptr;  // of a regroup
    bool only_on_cpu = false;            // any thread calls the stage, at once, and no device could
    std::mutex mutex;                    // of an ordered map: guards what follows. Of others the own thread has it alone
    ReorderBuffer<Message> in_order;
    std::uint64_t read = 0;  // sources: sequence number of the next batch
    bool serving = false;    // a thread looks for the next batch
    bool under_way = false;  // a call has not ended
  };

  void read_all(std::size_t source);
  void send(std::size_t from, Message message);
  void enter(std::size_t stage, Message message);
  void process(std::size_t stage, const Message& message, const Transport::Token& token);
  void tell_of_call_beyond_memory(std::size_t stage, const BatchData& batch, std::uint64_t bytes);
  // A batch with the stage's columns.
  void leave(std::size_t stage, Message message);
  void process_in_order(std::size_t stage);
  void wait_in_order(std::size_t stage, Message message);
  template <class Take>
  void take_in_order(std::size_t stage, Message message, Take take);
  void regroup_in_order(std::size_t stage, Message message);
  void commit_in_order(std::size_t stage, Message message);
  void take_part_in_checkpoints();
  // A stage that keeps state says where it is, if a border has come to it.
  // What the stage has now, on the disk. Null: it failed, or there is no room for it, and that has been said.
  std::shared_ptr<const SpoolFile> saved(std::size_t stage);
  void stand(std::size_t stage);
  void stand_at_border(std::size_t stream);
  StagePoint point_of(std::size_t stage) const;
  // While nothing is under way.
  void checkpoint();
  Emit emit_from(std::size_t stage);
  bool anybody_behind(std::size_t stage) const;

  RunContext& run_;
  StageRunners& stages_;
  const Segments& segments_;
  Dispatcher& dispatcher_;
  MemoryBudget& budget_;
  const ExecutionProbe probe_;
  std::vector<std::unique_ptr<Station>> stations_;
  Checkpoints* const checkpoints_;  // null: none are taken
  const std::unique_ptr<Transport> transport_;
};

}  // namespace sluice
