// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Runs a plan to its end.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/device_fault.hpp"
#include "machine/machine_profile.hpp"
#include "plan/plan.hpp"
#include "plugin/registry.hpp"
#include "record/run_listener.hpp"
#include "run/checkpoint.hpp"
#include "run/run_identity.hpp"
#include "run/run_life.hpp"
#include "sched/policy_table.hpp"

namespace sluice {

class OutputFiles;
class RunContext;
class SharedResources;

enum class Executor { flow_graph, serial };

using SaveState = std::function<void(const std::function<void(std::string_view)>& write)>;

// How far checkpoints are apart.
struct CheckpointPace {
  double seconds = 0;     // at least; 0: none are taken
  double share = 0;       // so that they take no more of the run; 0: whatever they take
  bool required = false;  // a run that can't be resumed fails at once
};

struct RunOptions {
  int threads = 0;  // 0: what the cgroup and affinity allow
  std::string device = "auto";
  std::uint64_t memory_bytes = 0;         // 0: default_memory_budget()
  std::uint64_t memory_limit_bytes = 0;   // columns never take more; 0: what the process may use of the machine
  std::uint64_t device_memory_bytes = 0;  // of each device; 0: all that is free
  Executor executor = Executor::flow_graph;
  std::string policy = default_policy;                         // which batch is called next, and where: one of policy_names()
  double batch_work = 0;                                       // > 0: cut batches at this much work instead of choosing
  std::shared_ptr<const MachineProfile> profile;               // what calls are expected to cost before any was made; null: unknown
  std::vector<DeviceFaultRule> device_faults;                  // made on purpose, for tests
  double watchdog_seconds = 30;                                // no progress for this long: dump the state to the log
  SharedResources* shared = nullptr;                           // of this run and others; lives as long as any of them; null: each makes its own
  RunListener* listener = nullptr;                             // hears of every call, copy and lost row; null: nobody
  CheckpointPace checkpoints;                                  // kept in `journal`
  std::filesystem::path journal;                               // beside the outputs; gone when they are complete
  RunIdentity identity;                                        // what the journal says of the run
  std::shared_ptr<const Checkpoint> going_on_from;             // of an earlier run with the same identity; null: the run begins
  std::map<std::string, std::string> begin_at;                 // by source: a position that it has said once
  std::uint64_t part = 0, parts = 1;                           // which part of the run this is: sources read that of their input
  std::vector<std::uint8_t> whole;                             // per stage: 1: it is made as if there were one part; empty: none is
  std::vector<std::uint8_t> made;                              // per stage: 0: it is left out, with what only it needs; empty: all are made
  std::map<std::size_t, std::vector<std::string_view>> saved;  // by stage: what its instance goes on behind
  // By regroup: takes its state behind the last row, instead of the rows that it would emit then. save: gives it, piece by piece.
  std::map<std::size_t, std::function<void(OutputFiles&, const SaveState& save)>> takes_state;
  std::function<void(RunContext&)> job;                         // done instead of moving batches
  std::function<void(LifeState)> entered;                       // told of each state of the run, on its thread
  bool is_last = false;                                         // the process ends without destructors behind this run
  bool is_all_or_nothing = false;                               // the first interrupt ends everything, and nothing is kept
  int log_level = 1;                                            // sluice_log_level
  std::function<void(int level, const std::string& line)> log;  // called from any thread, one line at a time

  bool makes(std::size_t stage) const { return made.empty() || made[stage] != 0; }
  bool makes_whole(std::size_t stage) const { return !whole.empty() && whole[stage] != 0; }
};

enum class RunState { finished, failed, interrupted };

struct RunResult {
  RunState state = RunState::finished;
  sluice_status status = SLUICE_OK;  // of the first failure
  std::string stage;                 // where it happened
  std::string message, remedy;
  bool can_be_resumed = false;     // what there is waits for a run that goes on
  bool has_no_statistics = false;  // there was no memory for them: outputs are all that they say
  bool was_interrupted = false;    // also a finished run may be, while its outputs get their names
  RunStatistics statistics;
  std::map<std::string, std::uint64_t> header_bytes;  // of outputs, see sluice_host_api.header_of_file
};

// 0 ok, 2 usage, 4 failed, 130 interrupted, 141 the reader of an output has gone, as a shell sees other filters end (3, nothing or too many bad
// reads, is decided by the command line).
int exit_code(const RunResult& result);

// present: those of this machine. possible: with device = "auto" also those that nobody has looked for yet, so that no driver is woken.
enum class DeviceSearch { present, possible };

// Kinds of devices ("cpu" first): what make_plan wants to know. With device = "cpu" no driver is woken.
std::vector<std::string> device_kinds(const Registry& registry, const std::string& device = "auto", DeviceSearch search = DeviceSearch::present);

// The number of bytes a run may use when the user says nothing.
std::uint64_t default_memory_budget(int threads);

class Run {
 public:
  Run(const Plan& plan, const Registry& registry, const RunOptions& options);
  ~Run();
  // Makes resources and stages, runs the graph, renames the outputs. Call once.
  RunResult execute();
  // First call: sources stop, what is in flight is finished. Second call: everything stops. [thread-safe, async-signal-safe]
  LifeAnswer interrupt();
  // The same, but that sources which follow (sluice/input_turns.hpp) first give what is there, and the run ends as if that were all.
  LifeAnswer end_input_or_interrupt() { return end_following() ? LifeAnswer::ends_input : interrupt(); }
  bool end_following();  // false: none follows, or it was said before
  // Something else has happened to it. [thread-safe, async-signal-safe]
  LifeAnswer tell(LifeEvent event);
  LifeState state() const;
  bool has_whole_outputs() const;  // under their names, for good [thread-safe]
  // For a process that has to end at once, from another thread than execute()'s: deletes what outputs have become so far. What cannot be had
  // without waiting stays for the next run that writes the same names.
  void remove_temporaries();
  // After execute(): gives up devices. What remains is the memory of resources that others share.
  void end_but_for_memory();
  // [thread-safe] A snapshot for progress displays while execute() runs on another thread.
  RunStatistics snapshot() const;

 private:
  struct Implementation;
  Implementation* implementation_;
};

}  // namespace sluice
