// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cli/stage_bench.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <sluice/failure.hpp>

#include "machine/machine_profile.hpp"
#include "observe/quantity.hpp"
#include "sched/cost_model.hpp"
#include "session/exit_code.hpp"

namespace sluice::cli {
namespace {

const sluice_stage_descriptor& descriptor(const Plan& plan, std::size_t stage) { return *plan.stages[stage].stage->entry.descriptor; }

std::string work_unit(const Plan& plan, std::size_t stage) {
  const char* unit = descriptor(plan, stage).work_unit;
  return unit == nullptr ? "row" : unit;
}

double work_of(const ReplayPass& pass) {
  double work = 0;
  for (const ReplayCall& call : pass.calls) work += call.size.work;
  return work;
}

struct LaneTotal {
  std::size_t calls = 0;
  double work = 0, seconds = 0;
};

// What each lane did in the median pass.
void print_lanes(const ReplayPass& pass, const std::string& unit) {
  std::map<std::string, LaneTotal> lanes;
  for (const ReplayCall& call : pass.calls) {
    LaneTotal& lane = lanes[call.lane];
    ++lane.calls;
    lane.work += call.size.work;
    lane.seconds += call.seconds;
  }
  for (const auto& [name, lane] : lanes)
    std::printf("  %-22s %6zu calls %10s  %s per call in flight\n", name.c_str(), lane.calls, duration_text(lane.seconds).c_str(),
                rate_text(lane.seconds > 0 ? lane.work / lane.seconds : 0, unit).c_str());
}

// The fitted cost of one implementation, or nothing where the times say nothing.
std::optional<StageCost> fit(const std::vector<ReplayCall>& calls) {
  CostModel model;
  for (const ReplayCall& call : calls) model.observe(call.size.work, call.size.largest_row, call.seconds);
  if (!model.known()) return std::nullopt;
  const Cost fitted = model.fit();
  StageCost cost;
  cost.calls = calls.size();
  cost.seconds_per_call = fitted.constant;
  cost.seconds_per_work = fitted.per_work;
  cost.seconds_per_largest_row = fitted.per_largest_row;
  if (cost.predict(1, 1) <= 0) return std::nullopt;
  return cost;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

int bench_stage(const Plan& plan, const Registry& registry, std::size_t stage, const StageBenchOptions& options) {
  Replay replay(plan, registry, options.run, options.streams);
  const auto targets = replay.targets(stage);
  const std::string name = plan.stages[stage].stage->name, unit = work_unit(plan, stage);
  if (targets.empty()) throw Failure::usage("stage '" + name + "' does not run on --device " + options.run.device, "choose another device");
  replay.gather({stage}, options.limits);
  const std::vector<BatchHandle>& batches = replay.batches(stage);
  if (batches.empty()) throw Failure::input("no batch arrives at stage '" + name + "'", "give inputs that hold rows");
  std::uint64_t rows = 0;
  for (const BatchHandle& batch : batches) rows += static_cast<std::uint64_t>(batch->rows);
  std::printf("%s (%s): %s in %zu batches, median of %d passes over batches in memory, %d threads, %d streams a device\n", name.c_str(),
              descriptor(plan, stage).id, count_text(rows, "row").c_str(), batches.size(), options.repeat, replay.threads(), options.streams);
  std::vector<std::uint64_t> expected;
  bool same = true;
  for (const ReplayTarget& target : targets) {
    // The first pass checks the bytes, wakes the device and brings the columns there; it is not timed.
    const ReplayPass first = replay.pass(stage, target, batches, Pace::together, Outputs::fingerprinted);
    if (expected.empty()) expected = first.fingerprints;
    const auto different = std::inner_product(expected.begin(), expected.end(), first.fingerprints.begin(), std::size_t{0}, std::plus<>(),
                                              [](std::uint64_t a, std::uint64_t b) { return a != b ? std::size_t{1} : std::size_t{0}; });
    std::vector<double> seconds;
    ReplayPass last;
    for (int i = 0; i < options.repeat; ++i) {
      last = replay.pass(stage, target, batches, Pace::together, Outputs::dropped);
      seconds.push_back(last.seconds);
    }
    const double middle = median(seconds);
    std::printf("all: %s %.2f ms, %s (fastest %.2f ms)", target.name.c_str(), middle * 1e3, rate_text(work_of(last) / middle, unit).c_str(),
                *std::min_element(seconds.begin(), seconds.end()) * 1e3);
    std::printf(different == 0 ? "\n" : "; %zu of %zu batches have OTHER BYTES than on %s\n", different, expected.size(),
                targets.front().name.c_str());
    same = same && different == 0;
    print_lanes(last, unit);
  }
  if (same && targets.size() > 1) std::printf("every implementation gave the same bytes\n");
  return same ? exit_ok : exit_problems_found;
}

int calibrate(const Plan& plan, const Registry& registry, const StageBenchOptions& options, const std::filesystem::path& file) {
  Replay replay(plan, registry, options.run, options.streams);
  std::vector<std::size_t> stages;
  for (const std::size_t i : plan.order)
    if (descriptor(plan, i).kind == SLUICE_MAP && (descriptor(plan, i).traits & SLUICE_TRAIT_ORDERED) == 0 && replay.targets(i).size() > 1)
      stages.push_back(i);
  if (stages.empty()) {
    std::printf("nothing to calibrate: on this machine every stage of '%s' has one implementation\n", plan.pipeline.name.c_str());
    return exit_ok;
  }
  replay.gather(stages, options.limits);
  MachineProfile profile = profile_of_this_machine();
  const LoadedProfile before = load_profile(file);
  for (const StageCost& cost : before.profile.costs()) profile.put(cost);
  std::printf("  %-24s %-10s %12s %14s %14s %7s\n", "stage", "device", "a call", "a million", "largest row", "calls");
  for (const std::size_t stage : stages) {
    // Sizes take turns, and whole batches come last: the fit forgets slowly.
    std::vector<BatchHandle> batches;
    for (const BatchHandle& batch : replay.batches(stage)) {
      std::vector<BatchHandle> parts = parts_of_many_sizes(batch);
      batches.insert(batches.end(), parts.rbegin(), parts.rend());
    }
    if (batches.empty()) continue;
    for (const ReplayTarget& target : replay.targets(stage)) {
      // Devices of one kind and model cost the same: one is measured, alone.
      if (target.lanes.front()->is_cpu() ? target.name != "cpu" : target.name.find(':') == std::string::npos) continue;
      replay.pass(stage, target, {batches.front()}, Pace::one_by_one, Outputs::dropped);  // loads the kernels
      std::vector<ReplayCall> calls;
      for (int i = 0; i < options.repeat; ++i) {
        const ReplayPass pass = replay.pass(stage, target, batches, Pace::one_by_one, Outputs::dropped);
        calls.insert(calls.end(), pass.calls.begin(), pass.calls.end());
      }
      std::optional<StageCost> cost = fit(calls);
      if (!cost) continue;
      cost->stage = descriptor(plan, stage).id;
      cost->implementation = descriptor(plan, stage).implementations[target.implementation].device;
      cost->device = target.device_model;
      std::printf("  %-24s %-10s %12.6f %14.6f %14.6f %7zu\n", cost->stage.c_str(), target.name.c_str(), cost->seconds_per_call,
                  cost->seconds_per_work * 1e6, cost->seconds_per_largest_row * 1e6, calls.size());
      profile.put(std::move(*cost));
    }
  }
  if (const std::string problem = save_profile(profile, file); !problem.empty()) throw Failure::output(problem);
  std::printf("seconds, per call and per million of the stage's work; written to %s\n", file.c_str());
  return exit_ok;
}

}  // namespace sluice::cli
