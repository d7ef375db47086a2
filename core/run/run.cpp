// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/run.hpp"

#include <sys/resource.h>

#include <algorithm>

#include "device/call_scope.hpp"
#include "device/cuda_provider.hpp"
#include "device/host_limits.hpp"
#include "run/arena.hpp"
#include "run/executor.hpp"
#include "run/run_context.hpp"
#include "run/watchdog.hpp"

namespace sluice {
namespace {

std::uint64_t resident_peak() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Two streams a device: while one lane's thread copies or plans, the other's kernels run.
constexpr int lanes_per_device = 2;

// Copies become events of the trace.
void trace_copies(DeviceMemory& device, RunContext& run) {
  if (run.options.trace_file.empty()) return;
  device.activity().observe_copies([&run, name = device.name()](const CopyEvent& copy) {
    // Events of one track must not overlap: a copy lies within its call's, or within those of the thread that fetches.
    static std::atomic<std::uint32_t> threads{0};
    thread_local const std::uint32_t thread = threads++;
    TraceEvent event;
    event.name = copy.direction == CopyDirection::to_device ? "to device" : "to host";
    event.lane = name;
    event.track = "copies of thread " + std::to_string(thread);
    event.start_us = (run.seconds() - copy.seconds) * 1e6;
    event.duration_us = copy.seconds * 1e6;
    event.bytes = copy.bytes;
    if (const CallScope* call = CallScope::current()) {
      event.name += " for " + call->name().stage;
      event.sequence = call->name().sequence;
      event.rows = call->name().rows;
      if (!call->name().stream.empty()) event.track = call->name().stream;
    }
    run.recorder.trace(std::move(event));
  });
}

// The CPU, and the devices that the run may use. A device that can't be opened is left out, with a warning.
std::vector<std::unique_ptr<Lane>> open_lanes(const Registry& registry, RunContext& run) {
  std::vector<std::unique_ptr<Lane>> lanes;
  lanes.push_back(Lane::cpu());
  const auto faults = std::make_shared<DeviceFaultInjector>(run.options.device_faults);
  const std::string& wish = run.options.device;
  if (wish == "cpu") return lanes;
  for (const sluice_device_provider* provider : device_providers(registry))
    for (int ordinal = 0; ordinal < provider->count(); ++ordinal) {
      const std::string name = std::string(provider->kind) + ":" + std::to_string(ordinal);
      if (wish != "auto" && wish != provider->kind && wish != name) continue;
      try {
        run.devices.push_back(DeviceMemory::open(*provider, ordinal, run.options.device_memory_bytes));
        run.devices.back()->inject(faults);
        trace_copies(*run.devices.back(), run);
        for (int number = 0; number < lanes_per_device; ++number) lanes.push_back(Lane::device(run.devices.back(), number));
      } catch (const Failure& failure) {
        run.log(SLUICE_LOG_WARNING, "", std::string(failure.what()) + " (the run goes on without it)");
      }
    }
  return lanes;
}

}  // namespace

std::vector<const sluice_device_provider*> device_providers(const Registry& registry) {
  std::vector<const sluice_device_provider*> result = registry.device_providers();
  if (const sluice_device_provider* cuda = cuda_provider()) result.push_back(cuda);
  return result;
}

std::vector<std::string> device_kinds(const Registry& registry, const std::string& device) {
  std::vector<std::string> kinds = {"cpu"};
  if (device == "cpu") return kinds;
  for (const sluice_device_provider* provider : device_providers(registry))
    if (provider->count() > 0) kinds.emplace_back(provider->kind);
  return kinds;
}

// Enough for several batches per thread, without taking a laptop's memory: 96 MiB a thread, at most a quarter of what there is.
std::uint64_t default_memory_budget(int threads) {
  const std::uint64_t wish = std::max<std::uint64_t>(std::uint64_t{96} * static_cast<std::uint64_t>(threads), 192) << 20;
  return std::max<std::uint64_t>(std::min(wish, host_limits().usable_memory() / 4), std::uint64_t{64} << 20);
}

int exit_code(const RunResult& result) {
  if (result.state == RunState::interrupted) return 130;
  if (result.state == RunState::finished) return 0;
  return result.status == SLUICE_ERROR_USAGE ? 2 : 4;
}

struct Run::Implementation {
  Implementation(const Plan& plan_, const Registry& registry_, const RunOptions& options_)
      : registry(registry_),
        options(options_),
        threads(options_.threads > 0 ? options_.threads : host_limits().usable_cpus()),
        memory(options_.memory_bytes > 0 ? options_.memory_bytes : default_memory_budget(threads)),
        context(plan_, options, threads),
        // Two batches a thread keep every thread busy; more only make an interrupt slow and memory large.
        budget(memory, plan_.bytes_per_work, 2 * threads + 2) {}

  RunStatistics statistics() const {
    RunStatistics result;
    result.pipeline = context.plan.pipeline.name;
    result.elapsed_seconds = context.seconds();
    result.cpu_seconds = cpu_seconds();
    result.threads = threads;
    result.memory_budget = memory;
    result.memory_peak = context.memory_peak();
    result.resident_peak = resident_peak();
    result.batches_in_flight = static_cast<std::uint64_t>(budget.in_flight());
    for (const StageRecorder& stage : context.recorder.stages()) {
      result.stages.push_back(stage.statistics());
      // With several sources the one that is furthest behind counts.
      if (const double share = stage.progress(); share >= 0)
        result.source_progress = result.source_progress < 0 ? share : std::min(result.source_progress, share);
    }
    result.parameters = context.plan.pipeline.parameters;
    return result;
  }

  // Resources, stages and batches live inside this call; the context, which owns their memory, outlives them.
  void run_stages() {
    std::vector<BatchHandle> resources = make_resources(context);
    if (context.failed() || context.interrupted()) return;
    std::vector<std::unique_ptr<StageRunner>> stages;
    for (std::size_t i = 0; i < context.plan.stages.size(); ++i) {
      stages.push_back(std::make_unique<StageRunner>(context, i));
      if (!stages.back()->create(resources)) return;
    }
    Scheduler scheduler(context.plan, open_lanes(registry, context), threads);
    ExecutionParts parts{context, stages, scheduler, budget};
    const Watchdog watchdog(context, budget, options.watchdog_seconds);
    if (options.executor == Executor::serial) {
      execute_serial(parts);
    } else {
      arena->execute([&] { execute_flow_graph(parts); });
    }
    decisions = scheduler.decisions();
  }

  void write_account() {
    sluice_file* file = context.files.open(options.account_file);
    std::vector<std::string> lines;
    for (const StageRecorder& stage : context.recorder.stages()) {
      const std::string name = stage.statistics().name;
      for (const FailedRow& row : stage.names()) lines.push_back(row.row + "\t" + name + "\t" + row.reason + "\n");
    }
    std::sort(lines.begin(), lines.end());
    const std::string header = "read\tstage\treason\n";
    OutputFiles::write(*file, header.data(), header.size());
    for (const std::string& line : lines) OutputFiles::write(*file, line.data(), line.size());
  }

  RunResult execute() {
    RunResult result;
    std::vector<std::string> outputs;
    try {
      if (options.executor == Executor::serial) {
        context.parallel_for = [](std::size_t count, std::size_t, const auto& body) { return count == 0 ? SLUICE_OK : body(0, count); };
      } else {
        arena = std::make_unique<Arena>(threads);
        context.parallel_for = [this](std::size_t count, std::size_t grain, const auto& body) { return arena->parallel_for(count, grain, body); };
      }
      run_stages();
      if (!context.failed() && !options.account_file.empty()) write_account();
      if (context.failed() || (context.interrupted() && context.cancelled()))
        context.files.discard();
      else
        outputs = context.interrupted() ? context.files.keep_partial() : context.files.commit();
    } catch (const Failure& failure) {
      context.fail("", failure.status(), failure.what(), failure.remedy());
      context.files.discard();
    } catch (const std::exception& exception) {
      context.fail("", SLUICE_ERROR_INTERNAL, exception.what(), "");
      context.files.discard();
    }
    if (context.failed()) {
      result.state = RunState::failed;
      context.take_failure(result);
    } else if (context.interrupted()) {
      result.state = RunState::interrupted;
    }
    result.statistics = statistics();
    for (const auto& device : context.devices) result.statistics.devices.push_back(device->statistics());
    result.statistics.trace = context.recorder.take_trace();
    result.statistics.outputs = std::move(outputs);
    result.statistics.decisions = decisions;
    return result;
  }

  const Registry& registry;
  const RunOptions options;
  const int threads;
  const std::uint64_t memory;
  RunContext context;
  MemoryBudget budget;
  std::unique_ptr<Arena> arena;
  std::vector<std::string> decisions;
};

Run::Run(const Plan& plan, const Registry& registry, const RunOptions& options) : implementation_(new Implementation(plan, registry, options)) {}
Run::~Run() { delete implementation_; }
RunResult Run::execute() { return implementation_->execute(); }
void Run::interrupt() { implementation_->context.interrupt(); }
RunStatistics Run::snapshot() const { return implementation_->statistics(); }

}  // namespace sluice
