// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Single stages of a pipeline on batches that are in memory already: what `sluice bench STAGE` and `sluice bench --calibrate` measure.
// Everything in front of them runs once, on the CPU, by the serial execution; nothing behind them is even made, so no output file is opened.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "run/arena.hpp"
#include "run/execution.hpp"
#include "run/run.hpp"

namespace sluice {

// Where the sources stop; 0: at their end.
struct ReplayLimits {
  std::uint64_t rows = 0;
  double work = 0;  // in the source's unit
};

// One implementation of the stage and the lanes that it may use.
struct ReplayTarget {
  std::string name;  // "cpu", "cuda:0", "cuda" (all devices of the kind)
  std::uint32_t implementation = 0;
  std::string device_model;  // "" for the CPU
  std::vector<Lane*> lanes;  // one per device
};

struct ReplayCall {
  std::string lane;
  CallSize size;
  double seconds = 0;
};

enum class Pace {
  together,   // as many calls at once as there are threads, or streams
  one_by_one  // each call has the machine to itself
};
enum class Outputs { dropped, fingerprinted };

struct ReplayPass {
  double seconds = 0;  // from the first call's start to the last one's end; fingerprints are not in it when calls are dropped
  std::vector<ReplayCall> calls;
  std::vector<std::uint64_t> fingerprints;  // per batch; 0: dropped
};

// Every failure is thrown as Failure, with the stage's name in front.
class Replay {
 public:
  // streams: calls at once on each device.
  Replay(const Plan& plan, const Registry& registry, const RunOptions& options, int streams);
  ~Replay();

  // Keeps the batches that arrive at these map stages.
  void gather(const std::vector<std::size_t>& stages, const ReplayLimits& limits);
  const std::vector<BatchHandle>& batches(std::size_t stage) const { return kept_.at(stage); }

  // The CPU first, then each kind of device that options.device allows; with several devices of a kind, the first one alone and then all. Behind
  // gather() without those that the stage's parameters rule out.
  std::vector<ReplayTarget> targets(std::size_t stage) const;
  ReplayPass pass(std::size_t stage, const ReplayTarget& target, const std::vector<BatchHandle>& batches, Pace pace, Outputs outputs);

  CallSize size_of(std::size_t stage, const BatchData& batch) { return map_stage(stage).needs_of(batch).size; }
  int threads() const { return context_.threads; }

 private:
  void make_stages(const std::vector<std::size_t>& stages);
  void throw_if_failed() const;
  MapRunner& map_stage(std::size_t stage) const { return static_cast<MapRunner&>(*stages_.at(stage)); }
  ReplayCall call(std::size_t stage, const ReplayTarget& target, const CallPlace& place, const BatchHandle& batch, Outputs outputs,
                  std::uint64_t& fingerprint);

  const RunOptions options_;
  const int streams_;
  RunContext context_;
  Arena arena_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // [0]: the CPU
  std::vector<BatchHandle> resources_;
  StageRunners stages_;
  std::map<std::size_t, std::vector<BatchHandle>> kept_;
};

// The batch, and parts of it down to a sixteenth, so that a cost can be fitted to calls of different sizes.
std::vector<BatchHandle> parts_of_many_sizes(const BatchHandle& batch);

}  // namespace sluice
