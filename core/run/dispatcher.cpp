// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/dispatcher.hpp"

#include <algorithm>

#include "batch/row_range.hpp"
#include "run/stage_runner.hpp"
#include "run/stage_traits.hpp"

namespace sluice {

// A batch in parts.
struct Dispatcher::Division {
  explicit Division(std::size_t parts) : outputs(parts), rows(parts), left(parts) {}
  std::mutex mutex;  // guards everything below
  std::vector<BatchHandle> outputs;
  std::vector<std::vector<std::uint32_t>> rows;
  std::size_t left;
};

namespace {

// What is made of a piece's rows on the way to a call or back. Null: the run has failed and been told.
template <class Make>
BatchHandle made_or_failed(RunContext& run, const StageRunner& stage, const Make& make) {
  try {
    return make();
  } catch (const Failure& failure) {
    run.fail(stage.planned().stage->name, failure.status(), failure.what(), failure.remedy());
  } catch (const std::exception& exception) {
    run.fail(stage.planned().stage->name, SLUICE_ERROR_MEMORY, exception.what(), "lower --memory or --threads");
  }
  return nullptr;
}

}  // namespace

Dispatcher::Dispatcher(RunContext& run, Devices devices, Spawn spawn)
    : run_(run),
      devices_(devices),
      spawn_(std::move(spawn)),
      scheduler_(stage_traits(run.plan, run.implementations), run.threads, make_policy(run.options.policy)) {
  lanes_.push_back(Lane::cpu());
}

Dispatcher::~Dispatcher() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return jobs_ == 0; });
}

Lane& Dispatcher::lane(std::size_t number) {
  const std::lock_guard lock(mutex_);
  return *lanes_[number];
}

int Dispatcher::lane_of(const DeviceMemory* device) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 1; i < lanes_.size(); ++i)
    if (lanes_[i]->memory().get() == device) return static_cast<int>(i);
  return -1;
}

void Dispatcher::add_device(const std::shared_ptr<DeviceMemory>& device, int streams) {
  std::unique_ptr<Lane> lane = Lane::device(device, streams);
  const sluice_device_info& info = device->info();
  const LaneTraits traits{device->name(), device->kind(), streams, info.bytes_per_second, info.seconds_per_copy};
  std::size_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = lanes_.size();
    lanes_.push_back(std::move(lane));
  }
  scheduler_.add_lane(traits, run_.seconds());
  if (run_.options.profile)
    for (std::size_t stage = 0; stage < run_.plan.stages.size(); ++stage) {
      const sluice_stage_descriptor& d = *run_.plan.stages[stage].stage->entry.descriptor;
      for (const std::uint32_t k : run_.implementations[stage])
        for (const std::size_t of : {std::size_t{0}, number})
          if (const StageCost* cost = run_.options.profile->find(d.id, d.implementations[k].device, of == 0 ? "" : info.name))
            scheduler_.prime(stage, k, of == 0 ? "cpu" : traits.name,
                             {cost->seconds_per_call, cost->seconds_per_work, cost->seconds_per_largest_row});
    }
  pump();
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
  result.ended = sources_ == 0;
  for (const StageRecorder& stage : run_.recorder.stages())
    if (const double share = stage.progress(); share >= 0) result.share = result.share < 0 ? share : std::min(result.share, share);
  return result;
}

double Dispatcher::batch_work(double usual, double largest) {
  return devices_ == Devices::never ? usual : scheduler_.batch_work(usual, largest, progress());
}

SchedulerStatistics Dispatcher::statistics() const {
  SchedulerStatistics result = scheduler_.statistics(run_.seconds());
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 1; i < lanes_.size() && i < result.lanes.size(); ++i) {
    const DeviceStatistics device = lanes_[i]->memory()->statistics();
    result.lanes[i].bytes_moved = device.bytes_to_device + device.bytes_to_host;
    result.lanes[i].memory_peak = device.memory_peak;
  }
  return result;
}

void Dispatcher::submit(StageRunner& stage, const BatchHandle& input, Done done) {
  if (run_.cancelled()) return done(nullptr);
  if (input->rows == 0) return done(input);
  // A stage that waits has a thread of its own, and what only one thread may do has no choice either.
  const std::vector<std::uint32_t>& offered = run_.implementations[stage.index()];
  if (devices_ == Devices::never || offered.empty() || stage.is_blocking()) {
    const std::uint32_t implementation = offered.empty() ? 0 : offered.front();
    CallResult result;
    BatchHandle output = stage.call_on_lane(input, {implementation, &lane(0), {}}, result);
    ++run_.progress;
    if (output)
      stage.account(*input, *output, "cpu", result, stage.size_of(*input).work);
    else if (!run_.cancelled())
      stage.fail(result);
    return done(std::move(output));
  }
  auto piece = std::make_shared<Piece>();
  piece->stage = &stage;
  piece->input = input;
  piece->done = std::move(done);
  add(std::move(piece), !stage.is_ordered());
  pump();
  fail_stranded();
}

void Dispatcher::place(const BatchData& batch, const sluice_port& needs, Task& task) {
  const DeviceMemory* home = nullptr;
  for (const ColumnHandle& column : batch.named_by(needs)) {
    ++task.columns;
    task.bytes += static_cast<double>(column->bytes());
    if (column->is_on_host()) continue;
    task.bytes_away += static_cast<double>(column->bytes());
    if (home == nullptr) home = column->home();
  }
  if (home != nullptr) task.home = lane_of(home);
}

// May this run use the stage's implementation for the CPU?
bool Dispatcher::offers_cpu(const StageRunner& stage) const {
  const std::vector<std::uint32_t>& offered = run_.implementations[stage.index()];
  return std::any_of(offered.begin(), offered.end(),
                     [&](std::uint32_t k) { return std::string_view(stage.descriptor().implementations[k].device) == "cpu"; });
}

void Dispatcher::add(std::shared_ptr<Piece> piece, bool divisible) {
  StageRunner& stage = *piece->stage;
  Task task;
  task.stage = stage.index();
  task.sequence = piece->input->sequence;
  task.row_count = static_cast<std::uint64_t>(piece->input->rows);
  task.source_work = piece->input->work;
  task.deadline = piece->input->deadline;
  task.excluded = piece->excluded;
  task.size = stage.size_of(*piece->input);
  const std::vector<std::uint32_t>& offered = run_.implementations[stage.index()];
  const bool on_cpu = offers_cpu(stage);
  if (divisible && on_cpu && offered.size() > 1 && stage.kind() == SLUICE_MAP && piece->input->rows > 1)
    if (const auto row_work = stage.row_work_of(piece->input, task.size.work)) task.rows = std::make_shared<const RowOrder>(*row_work);
  if (offered.size() > 1 || !on_cpu) place(*piece->input, stage.planned().input(), task);
  task.payload = std::move(piece);
  scheduler_.add(std::move(task));
}

void Dispatcher::pump() {
  while (auto assignment = scheduler_.take(run_.seconds(), progress())) {
    if (assignment->lane == 0) {
      {
        const std::lock_guard lock(mutex_);
        on_cpu_.push_back(std::move(*assignment));
        ++jobs_;
      }
      spawn_([this] { run_next_on_cpu(); });
    } else {
      {
        const std::lock_guard lock(mutex_);
        ++jobs_;
      }
      Lane& on = lane(assignment->lane);
      on.submit(
          [this, shared = std::make_shared<Assignment>(std::move(*assignment))](const LaneStream& stream) { call(std::move(*shared), stream); });
    }
  }
}

void Dispatcher::run_next_on_cpu() {
  Assignment assignment;
  {
    const std::lock_guard lock(mutex_);
    assignment = std::move(on_cpu_.front());
    on_cpu_.pop_front();
  }
  call(std::move(assignment), {});
}

void Dispatcher::call(Assignment assignment, const LaneStream& stream) {
  {
    const auto piece = std::static_pointer_cast<Piece>(std::exchange(assignment.task.payload, nullptr));
    if (assignment.parts == 1) {
      const CallSize size = assignment.size;
      call_part(std::move(assignment), piece, piece->input, size, stream, piece->done);
    } else {
      std::shared_ptr<Division> division;
      {
        const std::lock_guard lock(piece->mutex);
        if (!piece->division) piece->division = std::make_shared<Division>(assignment.parts);
        division = piece->division;
      }
      const std::size_t part = assignment.part;
      const std::vector<std::uint32_t> rows = std::move(assignment.rows);
      const Done done = [this, piece, division, part, rows](BatchHandle output) {
        BatchHandle joined;
        {
          const std::lock_guard lock(division->mutex);
          division->outputs[part] = std::move(output);
          division->rows[part] = rows;
          if (--division->left > 0) return;
        }
        if (std::all_of(division->outputs.begin(), division->outputs.end(), [](const BatchHandle& output) { return output != nullptr; }))
          joined = made_or_failed(run_, *piece->stage, [&] { return piece->stage->joined(piece->input, division->outputs, division->rows); });
        piece->done(std::move(joined));
      };
      const CallSize size = assignment.size;
      BatchHandle input =
          run_.cancelled() ? piece->input : made_or_failed(run_, *piece->stage, [&] { return piece->stage->part_of(piece->input, rows); });
      call_part(std::move(assignment), piece, std::move(input), size, stream, done);
    }
  }
  // Under the lock, so that the object is still there while its condition is notified.
  const std::lock_guard lock(mutex_);
  if (--jobs_ == 0) idle_.notify_all();
}

// One call, what follows for the scheduler, and another try elsewhere if a device failed. input null: the run has failed.
void Dispatcher::call_part(Assignment assignment, const std::shared_ptr<Piece>& whole, BatchHandle input, const CallSize& size,
                           const LaneStream& stream, Done done) {
  StageRunner& stage = *whole->stage;
  Lane& on = lane(assignment.lane);
  CallResult result;
  BatchHandle output;
  if (!run_.cancelled()) output = stage.call_on_lane(input, {assignment.implementation, &on, stream}, result);
  if (!output && result.status == SLUICE_ERROR_DEVICE_LOST && !on.is_cpu()) scheduler_.retire(assignment.lane, result.error.message);
  scheduler_.completed(assignment, run_.seconds(), output ? CallOutcome::finished : CallOutcome::failed);
  ++run_.progress;
  if (output) {
    stage.account(*input, *output, on.name(), result, size.work);
    pump();
    return done(std::move(output));
  }
  const bool can_restart = stage.is_restartable() && offers_cpu(stage);
  const bool state_is_lost = stage.is_ordered() && !can_restart;
  if (run_.cancelled() || on.is_cpu() || !is_device_failure(result.status) || state_is_lost) {
    if (state_is_lost && is_device_failure(result.status))
      StageRunner::set_error(result, result.status, std::string(result.error.message) + " (with it what this stage remembers of earlier batches)",
                             stage.is_restartable() ? "allow the CPU, where the stage can begin afresh: --device auto"
                                                    : "run again, with device = \"cpu\" for this stage if it fails again");
    if (!run_.cancelled()) stage.fail(result);
    pump();
    return done(nullptr);
  }
  stage.retry(on.name());
  if (stage.is_ordered()) {
    run_.log(SLUICE_LOG_WARNING, stage.planned().stage->name, on.name() + ": " + result.error.message + "; the stage begins afresh on the CPU");
    scheduler_.pin(stage.index(), 0);
  }
  run_.log(SLUICE_LOG_DEBUG, stage.planned().stage->name, on.name() + ": " + result.error.message + "; the batch is done elsewhere");
  auto again = std::make_shared<Piece>();
  again->stage = &stage;
  again->input = std::move(input);
  again->done = std::move(done);
  again->excluded = whole->excluded;
  again->excluded.push_back(assignment.lane);
  add(std::move(again), false);
  pump();
  fail_stranded();
}

void Dispatcher::fail_stranded() {
  for (Task& task : scheduler_.stranded()) {
    const auto piece = std::static_pointer_cast<Piece>(task.payload);
    CallResult result;
    StageRunner::set_error(result, SLUICE_ERROR_DEVICE_LOST, "no device is left that this stage can run on", "allow the CPU: --device auto");
    if (!run_.cancelled()) piece->stage->fail(result);
    piece->done(nullptr);
  }
}

}  // namespace sluice
