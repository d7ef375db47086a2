// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/replay.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <latch>
#include <mutex>
#include <sluice/failure.hpp>

#include "batch/fingerprint.hpp"
#include "batch/row_range.hpp"
#include "machine/host_limits.hpp"
#include "run/resources.hpp"
#include "run/second_try.hpp"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

int threads_of(const RunOptions& options) { return options.threads > 0 ? options.threads : host_limits().usable_cpus(); }

// The implementation for this kind of device; false: there is none.
bool find_implementation(const PlannedStage& stage, const std::string& kind, std::uint32_t& index) {
  const sluice_stage_descriptor& d = *stage.stage->entry.descriptor;
  for (std::uint32_t k = 0; k < d.implementation_count; ++k)
    if (kind == d.implementations[k].device) return index = k, true;
  return false;
}

}  // namespace

Replay::Replay(const Plan& plan, const Registry& registry, const RunOptions& options, int streams)
    : options_(options), streams_(streams), context_(plan, options_, threads_of(options)), arena_(context_.threads) {
  context_.parallel_for = [this](std::size_t count, std::size_t grain, const auto& body) { return arena_.parallel_for(count, grain, body); };
  lanes_.push_back(Lane::cpu());
  if (options_.device == "cpu") return;
  for (const sluice_device_provider* provider : registry.device_providers())
    for (int ordinal = 0; ordinal < provider->count(); ++ordinal) {
      const std::string name = std::string(provider->kind) + ":" + std::to_string(ordinal);
      if (options_.device != "auto" && options_.device != provider->kind && options_.device != name) continue;
      context_.devices.push_back(Device::open(*provider, ordinal, options_.device_memory_bytes));
      lanes_.push_back(Lane::on_device(context_.devices.back(), streams));
    }
}

Replay::~Replay() = default;

void Replay::throw_if_failed() const {
  if (!context_.failed()) return;
  RunResult result;
  context_.take_failure(result);
  throw Failure(result.status, (result.stage.empty() ? "" : "stage '" + result.stage + "': ") + result.message, result.remedy);
}

void Replay::make_stages(const std::vector<std::size_t>& stages) {
  const Plan& plan = context_.plan;
  std::vector<std::uint8_t> needed(plan.stages.size(), 0);
  for (const std::size_t stage : stages) needed[stage] = 1;
  for (auto i = plan.order.rbegin(); i != plan.order.rend(); ++i)
    if (needed[*i] != 0)
      for (const std::size_t input : plan.stages[*i].stage->inputs) needed[input] = 1;
  resources_ = make_resources(context_);
  throw_if_failed();
  stages_.resize(plan.stages.size());
  for (const std::size_t i : plan.order) {
    if (needed[i] == 0) continue;
    stages_[i] = make_runner(context_, i);
    stages_[i]->create(resources_);
    throw_if_failed();
  }
}

void Replay::gather(const std::vector<std::size_t>& stages, const ReplayLimits& limits) {
  for (const std::size_t stage : stages) kept_[stage];
  make_stages(stages);
  // Batches as a run would cut them.
  const std::uint64_t memory = options_.memory_bytes > 0 ? options_.memory_bytes : default_memory_budget(context_.threads);
  MemoryBudget budget(memory, context_.plan.bytes_per_work, 2 * context_.threads + 2);
  const Segments segments = make_segments(context_, stages_, Chains::none);
  Dispatcher on_cpu(context_, segments, Devices::never, [](const std::function<void()>& job) { job(); });
  std::uint64_t rows = 0;
  double work = 0;
  ExecutionProbe probe;
  probe.read = [&](BatchHandle batch) -> BatchHandle {
    if ((limits.rows > 0 && rows >= limits.rows) || (limits.work > 0 && work >= limits.work)) return nullptr;
    if (limits.rows > 0 && rows + static_cast<std::uint64_t>(batch->rows) > limits.rows)
      batch = slice_rows(batch, 0, static_cast<std::int64_t>(limits.rows - rows));
    rows += static_cast<std::uint64_t>(batch->rows);
    work += batch->work;
    return batch;
  };
  probe.arrived = [&](std::size_t stage, const BatchHandle& batch) {
    if (const auto kept = kept_.find(stage); kept != kept_.end() && batch->rows > 0) kept->second.push_back(batch);
  };
  Execution(context_, stages_, segments, on_cpu, budget, serial_transport, probe).run();
  throw_if_failed();
}

std::vector<ReplayTarget> Replay::targets(std::size_t stage) const {
  const PlannedStage& planned = context_.plan.stages[stage];
  std::vector<ReplayTarget> result;
  std::uint32_t implementation = 0;
  const auto find = [&](const std::string& kind) {
    const bool is_made = stage < stages_.size() && stages_[stage] != nullptr;
    return find_implementation(planned, kind, implementation) && !(is_made && stages_[stage]->declines(implementation));
  };
  const bool wants_cpu = options_.device == "cpu" || options_.device == "auto";
  if (wants_cpu && find("cpu")) result.push_back({"cpu", implementation, "", {lanes_.front().get()}});
  for (const auto& lane : lanes_) {
    if (lane->is_cpu() || !find(lane->kind())) continue;
    const auto all = std::find_if(result.begin(), result.end(), [&](const ReplayTarget& target) { return target.name == lane->kind(); });
    if (all != result.end())
      all->lanes.push_back(lane.get());
    else
      result.push_back({lane->kind(), implementation, lane->device()->info().name, {lane.get()}});
  }
  // Several devices of a kind: the first one is measured alone too.
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i].lanes.front()->is_cpu()) continue;
    if (result[i].lanes.size() == 1) {
      result[i].name = result[i].lanes.front()->name();
      continue;
    }
    ReplayTarget first = result[i];
    first.lanes.resize(1);
    first.name = first.lanes.front()->name();
    result.insert(result.begin() + static_cast<std::ptrdiff_t>(i++), first);
  }
  return result;
}

ReplayCall Replay::call(std::size_t stage, const ReplayTarget& target, const CallPlace& place, const BatchHandle& batch, Outputs outputs,
                        std::uint64_t& fingerprint_of) {
  MapRunner& runner = map_stage(stage);
  CallResult result;
  const BatchHandle output = call_on_lane(runner, batch, place, result);
  if (!output) throw Failure(result.status, "stage '" + runner.name() + "' on " + target.name + ": " + result.message, result.remedy);
  if (outputs == Outputs::fingerprinted) {
    std::vector<std::string> names;
    const sluice_port& port = runner.descriptor().output;
    for (std::size_t c = 0; c < port.column_count; ++c) names.emplace_back(port.columns[c].name);
    fingerprint_of = fingerprint(*output, names);
  }
  const std::string stream = place.stream != nullptr ? " " + place.stream->name() : "";
  return {place.lane->name() + stream, runner.needs_of(*batch).size, result.seconds};
}

ReplayPass Replay::pass(std::size_t stage, const ReplayTarget& target, const std::vector<BatchHandle>& batches, Pace pace, Outputs outputs) {
  ReplayPass result;
  result.calls.resize(batches.size());
  result.fingerprints.resize(batches.size());
  const auto start = Clock::now();
  // A worker per thread or stream takes the next batch when it is free. The CPU's are the arena's, as in a run.
  std::atomic<std::size_t> next{0};
  std::mutex mutex;  // guards problem
  std::exception_ptr problem;
  const auto work = [&](Lane& lane, DeviceStream* stream) {
    try {
      for (std::size_t i = next++; i < batches.size(); i = next++)
        result.calls[i] = call(stage, target, {target.implementation, &lane, stream}, batches[i], outputs, result.fingerprints[i]);
    } catch (...) {
      const std::lock_guard lock(mutex);
      problem = std::current_exception();
      next = batches.size();
    }
  };
  if (target.lanes.front()->is_cpu()) {
    const auto workers = pace == Pace::one_by_one ? std::size_t{1} : static_cast<std::size_t>(context_.threads);
    if (workers == 1) {
      work(*target.lanes.front(), nullptr);
    } else {
      arena_.parallel_for(workers, 1, [&](std::size_t begin, std::size_t end) -> sluice_status {
        for (std::size_t w = begin; w < end; ++w) work(*target.lanes.front(), nullptr);
        return SLUICE_OK;
      });
    }
  } else {
    const int jobs = pace == Pace::one_by_one ? 1 : streams_;
    std::latch done(static_cast<std::ptrdiff_t>(pace == Pace::one_by_one ? 1 : target.lanes.size() * static_cast<std::size_t>(streams_)));
    for (Lane* lane : target.lanes) {
      for (int job = 0; job < jobs; ++job)
        lane->submit([&, lane](DeviceStream* stream) {
          work(*lane, stream);
          done.count_down();
        });
      if (pace == Pace::one_by_one) break;
    }
    done.wait();
  }
  if (problem) std::rethrow_exception(problem);
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

std::vector<BatchHandle> parts_of_many_sizes(const BatchHandle& batch) {
  std::vector<BatchHandle> parts = {batch};
  for (std::int64_t divisor = 2; divisor <= 16 && batch->rows >= divisor; divisor *= 2) {
    // The middle of the batch: its first rows are often the shortest, or the longest.
    const std::int64_t rows = batch->rows / divisor, begin = (batch->rows - rows) / 2;
    parts.push_back(slice_rows(batch, begin, begin + rows));
  }
  return parts;
}

}  // namespace sluice
