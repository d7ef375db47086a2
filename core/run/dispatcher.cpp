// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/dispatcher.hpp"

#include <algorithm>
#include <utility>

#include "batch/row_range.hpp"
#include "run/second_try.hpp"
#include "run/stage_traits.hpp"

namespace sluice {

namespace {

// From the moment on in which devices begin to open, threads are kept free for their sake for so long: a driver that nobody has used today may
// take seconds.
constexpr double seconds_to_wait_for_devices = 1.0;

// Batches with the same number can lie behind each other in one call: what a batch says beside its columns is the same.
std::size_t kind_of(const BatchData& batch) {
  std::string all = batch.row_type;
  for (const auto& [key, value] : batch.attributes) all += '\0' + key + '\0' + value;
  for (const ColumnHandle& column : batch.columns) all += '\0' + column->name();
  return std::max<std::size_t>(std::hash<std::string>()(all), 1);
}

}  // namespace

// A batch in several parts, which are put together when the last one is done.
struct Dispatcher::Division {
  explicit Division(std::size_t parts) : outputs(parts), rows(parts), left(parts) {}
  std::mutex mutex;  // guards everything below
  std::vector<BatchHandle> outputs;
  std::vector<std::vector<std::uint32_t>> rows;
  std::size_t left;
};

// A call that the scheduler has begun. When the last copy goes it is over, also where it could not be made or has ended with an exception.
class Dispatcher::Job {
 public:
  Job(Dispatcher& dispatcher, Assignment&& made) noexcept : assignment(std::move(made)), dispatcher_(dispatcher) {
    const std::lock_guard lock(dispatcher_.mutex_);
    ++dispatcher_.jobs_;
  }
  ~Job() {
    dispatcher_.scheduler_.completed(assignment, dispatcher_.run_.seconds(), CallOutcome::failed);  // nothing where it has been told before
    // Under the lock, so that the object is still there while its condition is notified.
    const std::lock_guard lock(dispatcher_.mutex_);
    if (--dispatcher_.jobs_ == 0) dispatcher_.idle_.notify_all();
  }
  Job(const Job&) = delete;

  Assignment assignment;

 private:
  Dispatcher& dispatcher_;
};

Dispatcher::Dispatcher(RunContext& run, const Segments& segments, Devices devices, Spawn spawn)
    : run_(run),
      segments_(segments),
      devices_(devices),
      spawn_(std::move(spawn)),
      scheduler_(stage_traits(run, segments), run.threads, make_policy(run.options.policy)) {
  lanes_.push_back(Lane::cpu());
  for (std::size_t stage = 0; stage < run.plan.stages.size(); ++stage)
    if (!run.may_use_devices(stage)) only_on_cpu_.push_back(stage);
  feeds_devices_.resize(run.plan.stages.size());
  for (auto stage = run.plan.order.rbegin(); stage != run.plan.order.rend(); ++stage)
    for (const std::size_t consumer : run.plan.stages[*stage].consumers)
      feeds_devices_[*stage] = feeds_devices_[*stage] || feeds_devices_[consumer] || run.may_use_devices(consumer);
  behind_regroup_.resize(run.plan.stages.size());
  for (const std::size_t stage : run.plan.order)
    if (behind_regroup_[stage] || run.plan.stages[stage].stage->entry.descriptor->kind == SLUICE_REGROUP)
      for (const std::size_t consumer : run.plan.stages[stage].consumers) behind_regroup_[consumer] = true;
}

Dispatcher::~Dispatcher() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return jobs_ == 0; });
}

Lane& Dispatcher::lane(std::size_t number) {
  const std::lock_guard lock(mutex_);
  return *lanes_[number];
}

int Dispatcher::lane_of(const Device* device) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 1; i < lanes_.size(); ++i)
    if (lanes_[i]->device().get() == device) return static_cast<int>(i);
  return -1;
}

void Dispatcher::add_device(const std::shared_ptr<Device>& device, int streams) {
  std::unique_ptr<Lane> lane = Lane::on_device(device, streams);
  const sluice_device_info& info = device->info();
  const LaneTraits traits{device->name(),        device->kind(),        streams,
                          info.bytes_per_second, info.seconds_per_copy, static_cast<double>(device->limit())};
  // The books of half a lane are none to go on with.
  try {
    std::size_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      number = lanes_.size();
      lanes_.push_back(std::move(lane));
    }
    scheduler_.add_lane(traits, run_.seconds());
    devices_come_since_ = run_.seconds();  // so far it has only come
    // A profile's costs are in each stage's own unit of work: they can't be added up for several stages.
    if (run_.options.profile)
      for (std::size_t stage = 0; stage < run_.plan.stages.size(); ++stage) {
        if (!segments_[stage] || segments_[stage]->stages().size() > 1) continue;
        const sluice_stage_descriptor& d = *run_.plan.stages[stage].stage->entry.descriptor;
        for (const std::uint32_t k : run_.implementations[stage])
          for (const std::size_t of : {std::size_t{0}, number})
            if (const StageCost* cost = run_.options.profile->find(d.id, d.implementations[k].device, of == 0 ? "" : info.name))
              scheduler_.prime(stage, k, of == 0 ? "cpu" : traits.name,
                               {cost->seconds_per_call, cost->seconds_per_work, cost->seconds_per_largest_row});
      }
  } catch (...) {
    run_.fail_with_current_exception("");
  }
  go_on();
}

void Dispatcher::pin_ordered_stages() {
  const std::lock_guard lock(mutex_);
  for (std::size_t stage = 0; stage < run_.plan.stages.size(); ++stage) {
    const ResolvedStage& resolved = *run_.plan.stages[stage].stage;
    const sluice_stage_descriptor& d = *resolved.entry.descriptor;
    if ((d.traits & SLUICE_TRAIT_ORDERED) == 0) continue;
    const auto may_use = [&](const Lane& lane) {
      const bool named = resolved.device.find(':') != std::string::npos;
      return (!named || lane.name() == resolved.device) && std::any_of(run_.implementations[stage].begin(), run_.implementations[stage].end(),
                                                                       [&](std::uint32_t k) { return lane.kind() == d.implementations[k].device; });
    };
    std::size_t chosen = 0;
    for (std::size_t i = lanes_.size(); i-- > 1;)
      if (may_use(*lanes_[i])) chosen = i;
    scheduler_.pin(stage, chosen);
  }
}

SourceProgress Dispatcher::progress() const {
  SourceProgress result;
  result.ended = sources_ == 0 && regroups_ == 0;
  for (const StageRecorder& stage : run_.recorder.stages())
    if (const double share = stage.progress(); share >= 0) result.share = result.share < 0 ? share : std::min(result.share, share);
  if (sources_ == 0 && !result.ended) result.share = -1;
  for (const std::size_t stage : only_on_cpu_) result.cpu_seconds += run_.recorder.stage(stage).busy_seconds();
  result.cpu_only_batches = cpu_only_batches_;
  const double since = devices_come_since_;
  result.devices_come = since >= 0 && run_.seconds() - since < seconds_to_wait_for_devices;
  return result;
}

void Dispatcher::cpu_only_ends() {
  --cpu_only_batches_;
  go_on();
}

void Dispatcher::devices_come(bool come) {
  if (come)
    devices_come_since_ = run_.seconds();
  else if (run_.devices.empty())
    devices_come_since_ = -1;
  if (!come) go_on();
}

double Dispatcher::batch_work(double usual, double largest) {
  return devices_ == Devices::never ? usual : scheduler_.batch_work(usual, largest, progress());
}

SchedulerStatistics Dispatcher::statistics() const {
  SchedulerStatistics result = scheduler_.statistics(run_.seconds());
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 1; i < lanes_.size() && i < result.lanes.size(); ++i) {
    const DeviceStatistics device = lanes_[i]->device()->statistics();
    result.lanes[i].bytes_moved = device.bytes_to_device + device.bytes_to_host;
    result.lanes[i].memory_peak = device.memory_peak;
  }
  return result;
}

void Dispatcher::submit(Segment& segment, const BatchHandle& input, const CallSize& size, Done done) {
  if (run_.cancelled()) return done(nullptr);
  if (input->rows == 0) return done(input);
  // A stage that waits has a thread of its own, and what only one thread may do has no choice either.
  if (calls_here(segment)) return call_here(segment, input, size, done);
  auto piece = std::make_shared<Piece>();
  piece->segment = &segment;
  piece->input = input;
  piece->done = std::move(done);
  add(std::move(piece), size, !segment.first().is_ordered());
  go_on();
}

void Dispatcher::call_here(Segment& segment, const BatchHandle& input, const CallSize& size, const Done& done) {
  MapRunner& stage = segment.first();
  CallResult result;
  BatchHandle output;
  const auto implementation = stage.cpu_implementation();
  if (!implementation && stage.descriptor().implementation_count > 0)
    result.set_failure(SLUICE_ERROR_USAGE, "the stage does not run on the CPU", "allow a device that it has an implementation for");
  else
    output = stage.call_once(input, {implementation.value_or(0), &lane(0), nullptr}, result);
  if (output)
    stage.account(*input, *output, "cpu", result, size.work);
  else if (!run_.cancelled())
    stage.fail(result);
  done(std::move(output));
}

void Dispatcher::describe_place(const BatchData& batch, const sluice_port& needs, Task& task) {
  const Device* home = nullptr;
  for (const ColumnHandle& column : batch.named_by(needs)) {
    ++task.columns;
    task.bytes += static_cast<double>(column->bytes());
    if (column->is_on_host()) continue;
    task.bytes_away += static_cast<double>(column->bytes());
    if (home == nullptr) home = column->home();
  }
  if (home != nullptr) task.home = lane_of(home);
}

void Dispatcher::add(std::shared_ptr<Piece> piece, const CallSize& size, bool divisible) {
  Segment& segment = *piece->segment;
  MapRunner& stage = segment.first();
  Task task;
  task.stage = segment.index();
  task.sequence = piece->input->sequence;
  task.row_count = static_cast<std::uint64_t>(piece->input->rows);
  if (!behind_regroup_[stage.index()]) task.source_work = piece->input->work;
  task.deadline = piece->input->deadline;
  task.excluded = piece->excluded;
  task.size = size;
  const std::size_t offered = run_.implementations[stage.index()].size();
  const bool on_cpu = segment.offers_cpu();
  if (divisible && on_cpu && offered > 1 && stage.kind() == SLUICE_MAP && piece->input->rows > 1)
    if (const auto row_work = stage.row_work_of(piece->input, task.size.work)) task.rows = std::make_shared<const RowOrder>(*row_work);
  if (offered > 1 || !on_cpu) describe_place(*piece->input, segment.input(), task);
  if (divisible && piece->excluded.empty() && stage.kind() == SLUICE_MAP) task.like = kind_of(*piece->input);
  task.payload = piece;  // shared: should there be no room for the task, the piece ends behind this call, outside the scheduler
  scheduler_.add(std::move(task));
}

// Nothing leaves it, as whoever calls it has something else to end. What could not be begun ends the run.
void Dispatcher::go_on() noexcept {
  try {
    while (!run_.cancelled()) {
      std::optional<Assignment> assignment = scheduler_.take(run_.seconds(), progress());
      if (!assignment) break;
      begin(std::move(*assignment));
    }
    fail_stranded();
  } catch (...) {
    run_.fail_with_current_exception("");
  }
  if (!run_.cancelled()) return;
  while (std::optional<Assignment> waiting = scheduler_.give_up()) give_up(*waiting);
}

void Dispatcher::begin(Assignment&& assignment) {
  const std::size_t number = assignment.lane;
  const auto job = [this, made = std::make_shared<Job>(*this, std::move(assignment))](DeviceStream* stream) {
    try {
      carry_out(made->assignment, stream);
    } catch (...) {
      run_.fail_with_current_exception(run_.plan.stages[made->assignment.task.stage].stage->name);
    }
    go_on();
  };
  if (number == 0)
    spawn_([job] { job(nullptr); });
  else
    lane(number).submit(job);
}

void Dispatcher::fail_stranded() {
  for (Task& task : scheduler_.stranded()) {
    const auto piece = piece_of(task);
    CallResult result;
    std::string message = "no device is left that this stage can run on";
    {
      const std::lock_guard lock(mutex_);
      if (!last_fault_.empty()) message += ": " + last_fault_;
    }
    result.set_failure(SLUICE_ERROR_DEVICE_LOST, std::move(message), "allow the CPU: --device auto");
    if (!run_.cancelled()) piece->segment->first().fail(result);
    piece->done(nullptr);
  }
}

// Of a run that is cancelled. Where there is no room even to say so, the end of `done` does.
void Dispatcher::give_up(Assignment& assignment) {
  const auto piece = piece_of(assignment.task);
  try {
    (assignment.parts > 1 ? part_done(piece, assignment) : piece->done)(nullptr);
  } catch (...) {
    run_.fail_with_current_exception("");
  }
}

// One assignment, on the thread that makes its call.
void Dispatcher::carry_out(Assignment& assignment, DeviceStream* stream) {
  if (!assignment.more.empty()) return carry_out_gathered(assignment, stream);
  const auto piece = piece_of(assignment.task);
  Segment& segment = *piece->segment;
  Done done = piece->done;
  BatchHandle input = piece->input;
  CallResult cutting;
  if (assignment.parts > 1) {
    done = part_done(piece, assignment);
    if (!run_.cancelled()) run_call(cutting, [&] { input = segment.part_of(piece->input, assignment.rows); });
    if (!cutting.ok()) segment.first().fail(cutting);
  }
  call(
      assignment, segment, input, done, [&](const std::string& why) { try_again(assignment, *piece, input, done, why); }, stream);
}

// Several batches in one call. Each gets its rows of the output; after a fault each is done elsewhere by itself.
void Dispatcher::carry_out_gathered(Assignment& assignment, DeviceStream* stream) {
  Pieces pieces = {piece_of(assignment.task)};
  for (Task& task : assignment.more) pieces.push_back(piece_of(task));
  Segment& segment = *pieces.front()->segment;
  std::vector<BatchHandle> inputs;
  for (const auto& piece : pieces) inputs.push_back(piece->input);
  BatchHandle input;
  CallResult gathering;
  if (!run_.cancelled()) run_call(gathering, [&] { input = segment.gathered(inputs); });
  if (!gathering.ok()) segment.first().fail(gathering);
  const Done deal_out = [&](const BatchHandle& output) {
    std::vector<BatchHandle> outputs(pieces.size());
    CallResult dealing;
    if (output) run_call(dealing, [&] { outputs = segment.dealt_out(inputs, output); });
    if (!dealing.ok()) segment.first().fail(dealing);
    for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i]->done(std::move(outputs[i]));
  };
  const auto each_again = [&](const std::string& why) {
    for (const auto& piece : pieces) try_again(assignment, *piece, piece->input, piece->done, why);
  };
  call(assignment, segment, input, deal_out, each_again, stream);
}

// What is done with the output of one part.
Dispatcher::Done Dispatcher::part_done(const std::shared_ptr<Piece>& whole, const Assignment& assignment) {
  const std::size_t parts = assignment.parts, part = assignment.part;
  std::shared_ptr<Division> division;
  {
    const std::lock_guard lock(whole->mutex);
    if (!whole->division) whole->division = std::make_shared<Division>(parts);
    division = whole->division;
  }
  return [whole, division, part, rows = assignment.rows](BatchHandle output) {
    {
      const std::lock_guard lock(division->mutex);
      division->outputs[part] = std::move(output);
      division->rows[part] = rows;
      if (--division->left > 0) return;
    }
    const bool complete = std::all_of(division->outputs.begin(), division->outputs.end(), [](const BatchHandle& part) { return part != nullptr; });
    BatchHandle joined;
    CallResult joining;
    if (complete) run_call(joining, [&] { joined = whole->segment->joined(whole->input, division->outputs, division->rows); });
    if (!joining.ok()) whole->segment->first().fail(joining);
    whole->done(std::move(joined));
  };
}

void Dispatcher::call(const Assignment& assignment, Segment& segment, const BatchHandle& input, const Done& done,
                      const std::function<void(const std::string& why)>& again, DeviceStream* stream) {
  Lane& on = lane(assignment.lane);
  Segment::Outcome outcome;
  if (!run_.cancelled()) outcome = segment.call(input, {assignment.implementation, &on, stream}, assignment.size.work);
  CallResult& result = outcome.result;
  if (!outcome.output && result.status == SLUICE_ERROR_DEVICE_LOST && !on.is_cpu()) scheduler_.retire(assignment.lane, result.message);
  scheduler_.completed(assignment, run_.seconds(), outcome.output ? CallOutcome::finished : CallOutcome::failed);
  if (outcome.output) {
    Segment::account(outcome, on.name());
    go_on();  // what was waiting begins while this batch goes on its way
    return done(std::move(outcome.output));
  }
  if (run_.cancelled()) return done(nullptr);
  MapRunner& stage = *outcome.failed;
  const AfterFault next = after_fault(stage, on, result);
  if (next == AfterFault::fail) {
    stage.fail(result);
    return done(nullptr);
  }
  stage.retried(on.name());
  if (next == AfterFault::restart) {
    stage.log(SLUICE_LOG_WARNING, on.name() + ": " + result.message + "; the stage begins afresh on the CPU");
    scheduler_.pin(segment.index(), 0);
  }
  again(on.name() + ": " + result.message);
}

void Dispatcher::try_again(const Assignment& assignment, const Piece& whole, const BatchHandle& input, const Done& done, const std::string& why) {
  Segment& segment = *whole.segment;
  segment.first().log(SLUICE_LOG_DEBUG, why + "; the batch is done elsewhere");
  {
    const std::lock_guard lock(mutex_);
    last_fault_ = why;
  }
  auto again = std::make_shared<Piece>();
  again->segment = &segment;
  again->input = input;
  again->done = done;
  again->excluded = whole.excluded;
  again->excluded.push_back(assignment.lane);
  add(std::move(again), segment.first().needs_of(*input).size, false);
}

}  // namespace sluice
