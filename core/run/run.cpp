// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/run.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <thread>

#include "config/stage_values.hpp"
#include "device/call_scope.hpp"
#include "device/device_opening.hpp"
#include "machine/host_limits.hpp"
#include "machine/recycled_memory.hpp"
#include "machine/sanitizers.hpp"
#include "plan/plan_files.hpp"
#include "run/arena.hpp"
#include "run/device_needs.hpp"
#include "run/execution.hpp"
#include "run/journal_file.hpp"
#include "run/resources.hpp"
#include "run/run_journal.hpp"
#include "run/shared_resources.hpp"
#include "run/watchdog.hpp"

namespace sluice {
namespace {

std::uint64_t resident_peak() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

void say_in_given_names(const ResolvedPipeline& pipeline, RunResult& result) {
  for (const auto* list : {&pipeline.resources, &pipeline.stages})
    for (const ResolvedStage& stage : *list)
      if (stage.name == result.stage) {
        result.message = in_given_names(stage, result.message);
        result.remedy = in_given_names(stage, result.remedy);
        return;
      }
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Calls on one device at once. A thread that waits for its stream costs nothing; whether calls side by side are faster is measured.
constexpr int streams_per_device = 8;

// Copies become events of the trace.
void trace_copies(Device& device, RunContext& run) {
  if (!run.recorder.traces()) return;
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
      event.name += " for " + call->stage();
      event.sequence = call->sequence();
      event.rows = call->rows();
      if (call->stream() != nullptr) event.track = call->stream()->name();
    }
    run.recorder.trace(event);
  });
}

// Enough that calls of all streams, some thirty batches each, find others waiting. What bounds them usually is memory.
constexpr int batches_per_device = 384;
// While a device is opened, threads read and decode ahead for it: in half a second 16 of them do so many batches.
constexpr int batches_ahead_of_devices = 384;
// What so many batches of the usual size take: 2 GiB, at most a quarter of what is left of the machine.
std::uint64_t memory_per_device() { return std::min<std::uint64_t>(std::uint64_t{2} << 30, host_limits().usable_memory() / 4); }

// Of a process that was forked while runs were in flight in its parent, the threads that had hold of what they share are missing.
std::atomic<int> runs_in_flight{0};
std::atomic<bool> forked_amid_runs{false};
struct InFlight {
  InFlight() { ++runs_in_flight; }
  InFlight(const InFlight&) = delete;
  ~InFlight() { --runs_in_flight; }
};
void before_fork() {
  if (runs_in_flight == 0) Arena::wait_for_idle_threads();
}
void on_fork() {
  if (runs_in_flight > 0) forked_amid_runs = true;
}

}  // namespace

std::vector<std::string> device_kinds(const Registry& registry, const std::string& device, DeviceSearch search) {
  std::vector<std::string> kinds = {"cpu"};
  if (device == "cpu") return kinds;
  for (const sluice_device_provider* provider : registry.device_providers())
    if ((search == DeviceSearch::possible && device == "auto") || provider->count() > 0) kinds.emplace_back(provider->kind);
  return kinds;
}

// Enough for several batches per thread, without taking a laptop's memory: 96 MiB a thread, at most a quarter of what there is.
std::uint64_t default_memory_budget(int threads) {
  const std::uint64_t wish = std::max<std::uint64_t>(std::uint64_t{96} * static_cast<std::uint64_t>(threads), 192) << 20;
  return std::max<std::uint64_t>(std::min(wish, host_limits().usable_memory() / 4), std::uint64_t{64} << 20);
}

int exit_code(const RunResult& result) {
  if (result.state == RunState::interrupted || (result.state == RunState::finished && result.was_interrupted)) return 130;
  if (result.state == RunState::finished) return 0;
  return result.status == SLUICE_ERROR_USAGE ? 2 : result.status == SLUICE_ERROR_CLOSED_PIPE ? 141 : 4;
}

struct Run::Implementation {
  Implementation(const Plan& plan_, const Registry& registry_, const RunOptions& options_)
      : registry(registry_),
        options(options_),
        threads(options_.threads > 0 ? options_.threads : host_limits().usable_cpus()),
        memory(options_.memory_bytes > 0 ? options_.memory_bytes : default_memory_budget(threads)),
        context(plan_, options, threads),
        // Two batches a thread keep every thread busy; more only make an interrupt slow and memory large.
        budget(memory, plan_.bytes_per_work, 2 * threads + 2, [this] { return context.cancelled(); }),
        needs(device_needs(plan_, options.device)),
        faults(std::make_shared<DeviceFaultInjector>(options.device_faults)) {
    // A budget that nobody has chosen is for batches alone.
    if (options.memory_bytes > 0) context.on_kept = [this](std::uint64_t bytes) { budget.keep(bytes); };
  }

  RunStatistics statistics() const {
    RunStatistics result;
    result.pipeline = context.plan.pipeline.name;
    result.elapsed_seconds = context.seconds();
    result.cpu_seconds = cpu_seconds();
    result.threads = threads;
    result.memory_budget = budget.limit();
    result.memory_now = context.memory_now();
    result.memory_peak = context.memory_peak();
    result.resident_peak = resident_peak();
    result.batches_in_flight = static_cast<std::uint64_t>(budget.in_flight());
    for (const StageRecorder& stage : context.recorder.stages()) {
      result.stages.push_back(stage.statistics());
      // With several sources the one that is furthest behind counts.
      if (const double share = stage.progress(); share >= 0 && result.stages.back().role == "source")
        result.source_progress = result.source_progress < 0 ? share : std::min(result.source_progress, share);
    }
    result.parameters = context.plan.pipeline.parameters;
    const std::lock_guard lock(devices_mutex);
    for (const auto& device : context.devices) result.devices.push_back(device->statistics());
    return result;
  }

  void use(const std::shared_ptr<Device>& device, Dispatcher& dispatcher) {
    if (options.is_last) keep_freed_memory();  // the process is the run's
    device->inject(faults);
    trace_copies(*device, context);
    {
      const std::lock_guard lock(devices_mutex);
      context.devices.push_back(device);
    }
    try {
      dispatcher.add_device(device, streams_per_device);
      allow_for_devices(batches_per_device * static_cast<int>(context.devices.size()), context.devices.size());
      device->lock_at_most(budget.limit());
      if (context.devices.size() == 1) context.lock_columns(*device);
    } catch (const Failure& failure) {
      context.log(SLUICE_LOG_WARNING, "", std::string(failure.what()) + " (the run goes on without it where it can)");
    }
  }

  // A budget that the user has chosen stays.
  void allow_for_devices(int batches, std::uint64_t devices) {
    budget.allow_for_devices(batches, options.memory_bytes > 0 ? 0 : devices * memory_per_device(), devices);
    context.recycle(budget.limit());
  }

  void expect_devices(bool come, Dispatcher& dispatcher) {
    const std::size_t open = context.devices.size();
    allow_for_devices(batches_per_device * static_cast<int>(open) + (come ? batches_ahead_of_devices : 0), std::max<std::size_t>(open, come ? 1 : 0));
    dispatcher.devices_come(come);
  }

  // Resources, stages and batches live inside this call; the context, which owns their memory, outlives them.
  void run_stages() {
    std::optional<DeviceOpening> opening;
    for (const sluice_device_provider* provider : registry.device_providers())
      if (provider->begin_range != nullptr && provider->end_range != nullptr) show_ranges_with(provider);
    if (needs.devices == Devices::possible) {
      const auto start = needs.wait == Wait::for_devices ? DeviceOpening::Start::now : DeviceOpening::Start::when_worthwhile;
      opening.emplace(registry.device_providers(), options.device, options.device_memory_bytes, start);
      opening->expect([this, least = least_seconds(context.plan, registry, threads)] {
        return std::max(least, times_as_long_behind_resources * context.seconds());
      });
    }
    context.inputs.take(context.plan, {[this](std::size_t stage) { return options.makes(stage); }, [this] { return context.stopping(); },
                                       [this](const std::string& line) { context.log(SLUICE_LOG_INFO, "", line); }});
    if (context.stopping()) return;
    std::vector<BatchHandle> resources = make_resources(context);
    if (context.failed() || context.stopping()) return;
    StageRunners stages(context.plan.stages.size());
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (!options.makes(i)) continue;
      stages[i] = make_runner(context, i);
      if (!stages[i]->create(resources)) return;
    }
    const bool takes_checkpoints = journal.may_take_checkpoints(stages);
    if (context.failed()) return;
    const Segments segments = make_segments(context, stages, needs.devices == Devices::possible ? Chains::where_devices_are : Chains::none);
    std::optional<Checkpoints> checkpoints;
    if (takes_checkpoints) checkpoints.emplace(context, options.checkpoints, [this](Checkpoint taken) { journal.keep(std::move(taken)); });
    Dispatcher dispatcher(context, segments, needs.devices, [this](std::function<void()> job) { arena ? arena->enqueue(std::move(job)) : job(); });
    const Watchdog watchdog(context, budget, context.follows_files() ? 0 : options.watchdog_seconds);  // files may come after hours
    // Nothing may be delivered to what has gone, also where an exception ends this call.
    const struct StopsOpening {
      std::optional<DeviceOpening>& opening;
      ~StopsOpening() {
        if (opening) opening->stop();
      }
    } stops_opening{opening};
    if (opening) {
      opening->deliver(
          [&](const std::shared_ptr<Device>& device) { use(device, dispatcher); },
          [&](const std::string& problem) { context.log(SLUICE_LOG_WARNING, "", problem + " (the run goes on without it where it can)"); },
          [&](bool come) { expect_devices(come, dispatcher); });
      opening->expect([&, left = SecondsLeft(context.seconds())]() mutable { return left(context.seconds(), dispatcher); });
      if (needs.wait == Wait::for_devices) opening->wait();
    }
    if (needs.devices == Devices::possible) dispatcher.pin_ordered_stages();
    if (options.executor == Executor::serial)
      Execution(context, stages, segments, dispatcher, budget, serial_transport, {}, checkpoints ? &*checkpoints : nullptr).run();
    else
      arena->execute(
          [&] { Execution(context, stages, segments, dispatcher, budget, flow_graph_transport, {}, checkpoints ? &*checkpoints : nullptr).run(); });
    if (checkpoints) checkpoint_statistics = checkpoints->statistics();
    if (opening) opening->stop();
    if (options.shared != nullptr) options.shared->leave(context.devices);
    scheduler_statistics = dispatcher.statistics();
    decisions = dispatcher.decisions();
  }

  void end_but_for_memory() {
    const std::lock_guard lock(devices_mutex);
    context.devices.clear();
  }

  // A reader that has gone is no fault; libraries that write to standard output themselves only know that they could not.
  bool reader_has_gone(const RunResult& result) const {
    if (result.status == SLUICE_ERROR_CLOSED_PIPE) return true;
    pollfd standard_output{STDOUT_FILENO, POLLOUT, 0};
    return result.status == SLUICE_ERROR_OUTPUT && context.files.uses_standard_output() && ::poll(&standard_output, 1, 0) == 1 &&
           (standard_output.revents & POLLERR) != 0;
  }

  // What may lie beside the outputs.
  std::vector<std::string> beside_outputs() const {
    std::vector<std::string> paths;
    for (const PlannedFile& file : files_of(context.plan, registry))
      if (file.side && file.use == FileUse::writes && !file.path.ends_with(".partial")) paths.push_back(file.path);
    return paths;
  }

  bool enter(LifeState state) {
    const bool goes_on = context.life.step(state);
    if (options.entered && (goes_on || state == LifeState::ended)) options.entered(state);
    return goes_on;
  }

  void work() {
    journal.begin();
    if (options.executor == Executor::serial) {
      context.parallel_for = [](std::size_t count, std::size_t, const auto& body) { return count == 0 ? SLUICE_OK : body(0, count); };
    } else {
      // One thread more than compute, so that a batch finds its way to a device while all of them are busy.
      arena = std::make_unique<Arena>(needs.devices == Devices::possible ? threads + 1 : threads);
      context.parallel_for = [this](std::size_t count, std::size_t grain, const auto& body) -> sluice_status {
        if (!budget.one_is_beyond()) return arena->parallel_for(count, grain, body);
        // As little at once as can be.
        for (std::size_t begin = 0; begin < count; begin += grain)
          if (const sluice_status status = body(begin, std::min(count, begin + grain)); status != SLUICE_OK) return status;
        return SLUICE_OK;
      };
    }
    if (options.job)
      options.job(context);
    else
      run_stages();
  }

  // All outputs get their names, or none. What is told meanwhile is answered until the last has its name.
  std::vector<std::string> publish() {
    std::vector<std::string> names;
    if (enter(LifeState::publishing)) {
      const auto goes_on = [this](OutputFiles::Step step) {
        return step == OutputFiles::Step::last ? enter(LifeState::ended) : !context.life.drops();
      };
      names = context.life.keeps_part() ? context.files.keep_partial(goes_on) : context.files.commit(beside_outputs(), goes_on);
    }
    if (context.life.drops()) return {};
    if (!context.life.keeps_part()) journal.remove();
    return names;
  }

  RunResult execute() {
    RunResult result;
    std::vector<std::string> outputs;
    try {
      if (enter(LifeState::running)) {
        work();
        outputs = publish();
        result.header_bytes = context.files.header_bytes();
      }
    } catch (...) {
      context.fail_with_current_exception("");
    }
    arena.reset();
    if (context.life.state() != LifeState::ended) enter(LifeState::ended);
    if (context.life.drops()) context.files.discard();
    result.was_interrupted = context.life.interrupted();
    if (context.failed()) {
      result.state = RunState::failed;
      context.take_failure(result);
      if (result.status == SLUICE_ERROR_USAGE) say_in_given_names(context.plan.pipeline, result);
      if (reader_has_gone(result)) result.status = SLUICE_ERROR_CLOSED_PIPE;
    } else if (context.life.drops() || context.life.keeps_part()) {
      result.state = RunState::interrupted;
    }
    // What was kept and has been changed since would be refused again.
    result.can_be_resumed = journal.has_kept() && result.state != RunState::finished && result.remedy != begin_anew;
    // Behind the last name of an output nothing may hide that they are there.
    try {
      result.statistics = statistics();
      result.statistics.decisions = decisions;
      result.statistics.scheduler = scheduler_statistics;
      result.statistics.checkpoints = checkpoint_statistics;
      result.statistics.checkpoints.goes_on = options.going_on_from != nullptr;
    } catch (const std::bad_alloc&) {
      result.statistics = {};
      result.has_no_statistics = true;
    }
    result.statistics.outputs = std::move(outputs);
    return result;
  }

  const Registry& registry;
  const RunOptions options;
  const int threads;
  const std::uint64_t memory;
  RunContext context;
  mutable std::mutex devices_mutex;  // guards context.devices while it grows, for snapshots
  MemoryBudget budget;
  const DeviceNeeds needs;
  const std::shared_ptr<DeviceFaultInjector> faults;
  RunJournal journal{context};
  std::unique_ptr<Arena> arena;
  SchedulerStatistics scheduler_statistics;
  CheckpointStatistics checkpoint_statistics;
  std::vector<std::string> decisions;
};

Run::Run(const Plan& plan, const Registry& registry, const RunOptions& options) : implementation_(new Implementation(plan, registry, options)) {}
Run::~Run() {
#ifndef SLUICE_SANITIZED
  if (implementation_->options.is_last) leave_to_the_system(implementation_->context.devices);
#endif
  delete implementation_;
}
// On a thread of its own: oneTBB's threads go with the last one that has used them, so that a process forked between runs can start some again.
RunResult Run::execute() {
  static const int watched = ::pthread_atfork(before_fork, nullptr, on_fork);
  static_cast<void>(watched);
  RunResult result;
  std::exception_ptr escaped;
  const auto execute_here = [&]() noexcept {
    try {
      result = implementation_->execute();
    } catch (...) {
      escaped = std::current_exception();
    }
  };
  try {
    if (forked_amid_runs)
      throw Failure::usage("this process was forked while a run was in flight, and has none of its threads",
                           "fork before the first run, or start the process anew (multiprocessing.get_context('spawn'))");
    const InFlight counted;
    std::thread(execute_here).join();
  } catch (...) {
    implementation_->context.fail_with_current_exception("");
    result.state = RunState::failed;
    implementation_->context.take_failure(result);
  }
  if (escaped) std::rethrow_exception(escaped);
  return result;
}
LifeAnswer Run::interrupt() {
  RunLife& life = implementation_->context.life;
  return implementation_->options.is_all_or_nothing ? life.tell(LifeEvent::second_interrupt) : life.interrupt();
}
LifeAnswer Run::tell(LifeEvent event) { return implementation_->context.life.tell(event); }
LifeState Run::state() const { return implementation_->context.life.state(); }
bool Run::has_whole_outputs() const { return implementation_->context.life.has_whole_outputs(); }
void Run::end_but_for_memory() { implementation_->end_but_for_memory(); }
bool Run::end_following() { return implementation_->context.end_following(); }
void Run::remove_temporaries() {
  for (const std::string& file : implementation_->context.files.temporaries()) ::unlink(file.c_str());
}
RunStatistics Run::snapshot() const { return implementation_->statistics(); }

}  // namespace sluice
