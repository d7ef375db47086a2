// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Consecutive maps that are placed as one: a batch goes through all of them where it is, and only what somebody behind the last one needs leaves
// that place. Most segments are a single stage.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "run/map_runner.hpp"

namespace sluice {

// The stages of a plan, by their indices there. Null: not made.
using StageRunners = std::vector<std::unique_ptr<StageRunner>>;

class Segment {
 public:
  Segment(RunContext& run, std::vector<MapRunner*> stages);

  MapRunner& first() const { return *stages_.front(); }
  MapRunner& last() const { return *stages_.back(); }
  // By which the scheduler knows it: that of its first stage.
  std::size_t index() const { return first().index(); }
  const std::vector<MapRunner*>& stages() const { return stages_; }
  // The columns that its stages need and do not make themselves.
  sluice_port input() const { return {first().planned().input().row_type, needs_.size(), sizeof(sluice_column_spec), needs_.data()}; }
  // May all of it run on the CPU in this run?
  bool offers_cpu() const;

  // What became of a call.
  struct Outcome {
    BatchHandle output;           // null: `failed` is the stage that failed, with `result`
    MapRunner* failed = nullptr;  // null: cancelled
    CallResult result;
    struct Call {
      MapRunner* stage;
      BatchHandle input, output;
      CallResult result;
      double work;
    };
    std::vector<Call> calls;  // those that succeeded
  };
  // Calls the stages one after the other on one lane. implementation: of the first one; the others take theirs for this kind of lane.
  // work: of the first stage.
  Outcome call(const BatchHandle& input, const CallPlace& place, double work);
  // Counts the calls of an outcome that nothing of will be done again.
  static void account(const Outcome& outcome, const std::string& lane);

  // Some rows with the columns that a call needs, and what such parts became put together. Throw Failure when a device can't be read.
  BatchHandle part_of(const BatchHandle& input, const std::vector<std::uint32_t>& rows) const;
  BatchHandle joined(const BatchHandle& whole, const std::vector<BatchHandle>& parts, const std::vector<std::vector<std::uint32_t>>& rows) const {
    return last().joined(whole, parts, rows);
  }
  // The rows of several batches behind each other, with the columns that a call needs; and each batch with its rows of what that became.
  BatchHandle gathered(const std::vector<BatchHandle>& inputs) const;
  std::vector<BatchHandle> dealt_out(const std::vector<BatchHandle>& inputs, const BatchHandle& output) const;

 private:
  std::uint32_t implementation_of(const MapRunner& stage, const Lane& lane) const;
  void leave_device(const BatchHandle& input, const BatchData& output, const CallPlace& place);

  RunContext& run_;
  const std::vector<MapRunner*> stages_;
  std::vector<sluice_column_spec> needs_;
  bool goes_on_on_devices_ = false;  // a stage behind the last one may run on a device, and reads the columns there
};

// One for each map and sink of the plan, by the index of its first stage; null for all others. Where devices may take part, maps that follow
// each other, and may run on the same lanes, are one.
using Segments = std::vector<std::unique_ptr<Segment>>;
enum class Chains { none, where_devices_are };
Segments make_segments(RunContext& run, const StageRunners& stages, Chains chains);

}  // namespace sluice
