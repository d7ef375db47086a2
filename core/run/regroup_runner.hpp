// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Feeds batches in order to a stage that emits others.

#include "run/stage_runner.hpp"

namespace sluice {

class RegroupRunner : public StageRunner {
 public:
  RegroupRunner(RunContext& run, std::size_t index) : StageRunner(run, index), emitted_(from_ != nullptr ? from_->emitted : 0) {}

  // What the stage emits, numbered in order, goes to `emit` while the call is under way.
  void regroup(const BatchHandle& input, const Emit& emit);
  // After the last batch.
  void finish(const Emit& emit);
  // Instead of that: gives the state, which must be all that has become of the rows.
  void end_with_state(const std::function<void(OutputFiles&, const SaveState& save)>& take);
  bool has_finished() const { return finished_; }
  // The sequence number of the batch that it emits next.
  std::uint64_t emitted() const { return emitted_; }

 private:
  // What one call has emitted so far.
  struct Emission {
    std::int64_t rows = 0;
    std::uint64_t bytes = 0;
    double seconds = 0;  // spent in Emit: waiting, or in later stages
  };
  bool send(std::shared_ptr<BatchData> batch, const Emit& emit, Emission& emission);
  // Runs `body`, which calls the plugin with the output; the last batch is emitted by itself.
  template <class Body>
  void emitting_call(const BatchHandle& input, const Emit& emit, Body&& body);

  std::uint64_t emitted_;
  bool finished_ = from_ != nullptr && from_->ended;
};

}  // namespace sluice
