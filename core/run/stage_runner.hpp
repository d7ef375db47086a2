// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the runners of all kinds have in common: an instance of a stage, how it is called, and its part of the account. Executors move batches
// between runners; each kind has its own (source_runner.hpp, map_runner.hpp, regroup_runner.hpp, sink_runner.hpp, resources.hpp).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "batch/batch.hpp"
#include "device/call_scope.hpp"
#include "run/call_mark.hpp"
#include "run/host.hpp"
#include "run/run_context.hpp"
#include "run/stage_call.hpp"
#include "run/stage_instance.hpp"

namespace sluice {

// Takes an emitted batch; may wait for room, or not return before the batch has been through the pipeline. False: the run ends.
using Emit = std::function<bool(BatchHandle)>;

class StageRunner {
 public:
  StageRunner(RunContext& run, std::size_t index);
  virtual ~StageRunner() = default;
  StageRunner(const StageRunner&) = delete;

  // Makes the instance. False: failed, and the run has been told.
  bool create(const std::vector<BatchHandle>& resources);

  const PlannedStage& planned() const { return planned_; }
  const std::string& name() const { return planned_.stage->name; }
  const sluice_stage_descriptor& descriptor() const { return host_.descriptor(); }
  sluice_stage_kind kind() const { return descriptor().kind; }
  bool has(std::uint32_t trait) const { return (descriptor().traits & trait) != 0; }
  bool is_blocking() const { return has(SLUICE_TRAIT_BLOCKING); }
  bool is_side_by_side() const { return has(SLUICE_TRAIT_SIDE_BY_SIDE); }
  bool is_serial() const { return has(SLUICE_TRAIT_SERIAL) || kind() == SLUICE_REGROUP; }
  // A map that keeps state between calls.
  bool is_ordered() const { return has(SLUICE_TRAIT_ORDERED) && kind() == SLUICE_MAP; }
  std::size_t index() const { return index_; }
  // How many messages with one sequence number arrive: one per input.
  std::size_t inputs() const { return planned_.stage->inputs.size(); }

  // Has it something to say at a checkpoint beside what a source says, its position?
  bool keeps_state() const { return kind() == SLUICE_REGROUP || kind() == SLUICE_SINK || is_ordered(); }
  // Of an instance that keeps state: can it?
  // Whether the instance can't do with that implementation what its parameters ask for.
  bool declines(std::uint32_t implementation) const { return ((*instance_)->declined >> implementation & 1) != 0; }
  bool can_save() const { return (*instance_)->save != nullptr; }
  // Gives what it has now, between two calls, in pieces. False: it failed, and the run has been told. Throws what `write` throws.
  bool save(const std::function<void(std::string_view)>& write);

  // Ends the run.
  void fail(const CallResult& result);
  // Sources, regroups: takes back what a sink has committed.
  void feedback(const BatchHandle& committed);

 protected:
  sluice_call make_call(std::uint32_t implementation = 0, const sluice_device* device = nullptr) const;
  // Marks the call for crashes and profilers, times it, counts copies and progress. `body` throws where something goes wrong.
  template <class Body>
  CallResult call(std::uint64_t sequence, std::int64_t rows, DeviceStream* stream, Body&& body) const {
    CallResult result;
    run_call(result, [&] {
      const CallScope scope(name(), sequence, rows, stream, result.bytes_moved);
      const CallMark mark(host_, sequence, rows);
      body();
    });
    ++run_.progress;
    return result;
  }
  template <class Body>
  CallResult call(std::uint64_t sequence, std::int64_t rows, Body&& body) const {
    return call(sequence, rows, nullptr, std::forward<Body>(body));
  }
  // `failures`: statuses that this stage has given; rows of `batch` that had failed before are not counted again.
  // sequence: of the batch that the stage was called with.
  void count_failures(std::uint64_t sequence, const BatchData& batch, const std::vector<std::uint16_t>& failures);
  // How long the rows are that this stage has made, if it says which column tells that.
  void count_lengths(const BatchData& made);
  void trace(const std::string& lane, double start, double seconds, std::uint64_t sequence, std::int64_t rows, const std::string& track = {});

  RunContext& run_;
  const std::size_t index_;
  const PlannedStage& planned_;
  sluice_host& host_;
  std::optional<StageInstance> instance_;
  const StagePoint* const from_;  // where the run goes on; null: it begins

 private:
  // Takes what the instance declines from what may be used. Throws when nothing is left.
  void choose_among_offered();
};

}  // namespace sluice
