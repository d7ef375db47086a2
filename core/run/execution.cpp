// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/execution.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace sluice {
namespace {

SourceRunner& source(StageRunner& stage) { return static_cast<SourceRunner&>(stage); }
RegroupRunner& regroup(StageRunner& stage) { return static_cast<RegroupRunner&>(stage); }
MapRunner& map(StageRunner& stage) { return static_cast<MapRunner&>(stage); }
SinkRunner& sink(StageRunner& stage) { return static_cast<SinkRunner&>(stage); }

}  // namespace

std::unique_ptr<StageRunner> make_runner(RunContext& run, std::size_t index) {
  switch (run.plan.stages[index].stage->entry.descriptor->kind) {
    case SLUICE_SOURCE:
      return std::make_unique<SourceRunner>(run, index);
    case SLUICE_REGROUP:
      return std::make_unique<RegroupRunner>(run, index);
    case SLUICE_SINK:
      return std::make_unique<SinkRunner>(run, index);
    default:
      return std::make_unique<MapRunner>(run, index);
  }
}

namespace {

// The first batch that comes to a stage: of a run that goes on, the one at which what it gets its batches from stood.
std::uint64_t first_sequence(const RunContext& run, std::size_t stage) {
  const ResolvedStage& resolved = *run.plan.stages[stage].stage;
  if (const StagePoint* from = run.going_on_from(resolved.name)) return from->next;
  if (resolved.inputs.empty()) return 0;
  const std::size_t before = resolved.inputs.front();
  const ResolvedStage& giving = *run.plan.stages[before].stage;
  const StagePoint* from = run.going_on_from(giving.name);
  return from != nullptr && giving.entry.descriptor->kind == SLUICE_REGROUP ? from->emitted : first_sequence(run, before);
}

}  // namespace

Execution::Execution(RunContext& run, StageRunners& stages, const Segments& segments, Dispatcher& dispatcher, MemoryBudget& budget,
                     MakeTransport transport, ExecutionProbe probe, Checkpoints* checkpoints)
    : run_(run),
      stages_(stages),
      segments_(segments),
      dispatcher_(dispatcher),
      budget_(budget),
      probe_(std::move(probe)),
      checkpoints_(checkpoints),
      transport_(transport(*this)) {
  for (std::size_t i = 0; i < stages.size(); ++i) {
    stations_.push_back(std::make_unique<Station>(run.plan.stages[i].stage->inputs.size(), first_sequence(run, i)));
    if (!stages[i]) continue;
    const StageRunner& stage = *stages[i];
    // One after the other such a batch ends only behind all that follows it: nobody may wait for that.
    stations_.back()->only_on_cpu = dispatcher.may_use_devices() && run.options.executor != Executor::serial &&
                                    (stage.kind() == SLUICE_MAP || stage.kind() == SLUICE_SINK) && !stage.is_ordered() && !stage.is_serial() &&
                                    !stage.is_blocking() && segments[i] && dispatcher.calls_here(*segments[i]);
  }
  for (const std::size_t i : run.plan.order)
    if (stages[i] && stages[i]->kind() == SLUICE_REGROUP) stations_[i]->flow = &budget.add_flow();
  if (checkpoints_ != nullptr) take_part_in_checkpoints();
}

void Execution::run() {
  const auto of_kind = [&](sluice_stage_kind kind, const auto& work) {
    for (const std::size_t i : run_.plan.order)
      if (stages_[i] && stages_[i]->kind() == kind) work(i);
  };
  of_kind(SLUICE_SOURCE, [&](std::size_t) { dispatcher_.source_begins(); });
  of_kind(SLUICE_REGROUP, [&](std::size_t i) { dispatcher_.regroup_begins(i); });
  of_kind(SLUICE_SOURCE, [&](std::size_t i) {
    transport_->run_source(i, [this, i] {
      guard(i, [&] { read_all(i); });
      dispatcher_.source_ends();
    });
  });
  transport_->wait();
  if (checkpoints_ != nullptr) checkpoints_->settle();
  const bool regroups = std::any_of(stages_.begin(), stages_.end(), [](const auto& stage) { return stage && stage->kind() == SLUICE_REGROUP; });
  if (checkpoints_ != nullptr && !run_.cancelled() && (run_.life.interrupted() || (regroups && checkpoints_->wants_one()))) checkpoint();
  of_kind(SLUICE_REGROUP, [&](std::size_t i) {
    transport_->run_in_order(i, [this, i, token = transport_->hold(i)] {
      guard(i, [&] {
        const auto state = run_.options.takes_state.find(i);
        state == run_.options.takes_state.end() ? regroup(*stages_[i]).finish(emit_from(i)) : regroup(*stages_[i]).end_with_state(state->second);
      });
      dispatcher_.regroup_ends(i);
    });
    transport_->wait();
    if (checkpoints_ != nullptr && !run_.cancelled() && !run_.life.interrupted() && checkpoints_->wants_one()) checkpoint();
  });
  for (const sluice_stage_kind kind : {SLUICE_MAP, SLUICE_SINK}) of_kind(kind, [&](std::size_t i) { map(*stages_[i]).finish(); });
}

void Execution::read_all(std::size_t i) {
  using Clock = std::chrono::steady_clock;
  SourceRunner& reader = source(*stages_[i]);
  // A source whose batches have deadlines makes them when their time comes: it is never asked for larger ones.
  bool has_deadlines = false;
  std::uint64_t& sequence = stations_[i]->read;
  for (; !run_.stopping() && !reader.ended(); ++sequence) {
    if (checkpoints_ != nullptr) checkpoints_->source_stands(i, sequence, [&] { return reader.position(); });
    const double usual = budget_.batch_work(run_.threads);
    const double work = run_.options.batch_work > 0 ? run_.options.batch_work
                        : has_deadlines             ? usual
                                                    : dispatcher_.batch_work(usual, budget_.largest_batch_work());
    const auto asked = Clock::now();
    MemoryBudget::PermitHandle permit = budget_.acquire(work);
    run_.recorder.stage(i).waited(std::chrono::duration<double>(Clock::now() - asked).count());
    if (!permit) break;
    BatchHandle batch = reader.read(work, static_cast<std::uint64_t>(work * budget_.bytes_per_work()), sequence);
    if (batch && probe_.read) batch = probe_.read(std::move(batch));
    if (!batch) break;
    has_deadlines = has_deadlines || std::isfinite(batch->deadline);
    if (batch->work > work) budget_.grow(permit, batch->work);
    permit->used(batch->bytes());
    send(i, {std::move(batch), std::move(permit)});
  }
  if (checkpoints_ != nullptr && reader.ended()) checkpoints_->source_ends(i, sequence, reader.position());
}

void Execution::send(std::size_t from, Message message) {
  for (const std::size_t to : run_.plan.stages[from].consumers)
    if (stations_[to]->only_on_cpu) dispatcher_.cpu_only_begins();
  transport_->put(from, std::move(message));
}

void Execution::receive(std::size_t i, Message message) noexcept {
  guard(i, [&] {
    if (!stages_[i] || run_.cancelled() || !stations_[i]->join.arrive(message)) return;
    if (probe_.arrived) probe_.arrived(i, message.batch);
    enter(i, std::move(message));
  });
  if (stations_[i]->only_on_cpu) guard(i, [&] { dispatcher_.cpu_only_ends(); });
}

int Execution::own_threads(std::size_t i) const {
  const StageRunner* const stage = stages_[i].get();
  if (stage == nullptr || (stage->kind() != SLUICE_SINK && stage->kind() != SLUICE_REGROUP && !stage->is_blocking())) return 0;
  // Eight of the arena's take what one reads.
  return stage->is_side_by_side() && !run_.host_of_stage(i).follows ? std::clamp(run_.threads / 8, 1, 8) : 1;
}

void Execution::enter(std::size_t i, Message message) {
  const StageRunner& stage = *stages_[i];
  if (stage.kind() == SLUICE_REGROUP) return regroup_in_order(i, std::move(message));
  if (!anybody_behind(segments_[i]->last().index())) return;
  if (stage.is_ordered()) {
    {
      const std::lock_guard lock(stations_[i]->mutex);
      const std::uint64_t sequence = message.batch->sequence;
      stations_[i]->in_order.put(sequence, std::move(message));
    }
    return process_in_order(i);
  }
  if (!stage.is_blocking() || stage.kind() != SLUICE_MAP)
    return process(i, message, dispatcher_.calls_here(*segments_[i]) ? nullptr : transport_->hold(i));
  if (run_.host_of_stage(i).follows) return wait_in_order(i, std::move(message));
  transport_->run_in_order(i,
                           [this, i, message = std::move(message), token = transport_->hold(i)] { guard(i, [&] { process(i, message, token); }); });
}

// A batch that waits for files must not keep an earlier one from going on, which may have all that anybody needs.
void Execution::wait_in_order(std::size_t i, Message message) {
  transport_->run_in_order(i, [this, i, message = std::move(message), token = transport_->hold(i)]() mutable {
    guard(i, [&] {
      ReorderBuffer<Message>& in_order = stations_[i]->in_order;
      const std::uint64_t sequence = message.batch->sequence;
      in_order.put(sequence, std::move(message));
      while (const std::optional<Message> next = in_order.take()) process(i, *next, token);
    });
  });
}

// A sink has its files behind it.
bool Execution::anybody_behind(std::size_t i) const {
  const std::vector<std::size_t>& consumers = run_.plan.stages[i].consumers;
  return stages_[i]->kind() == SLUICE_SINK ||
         std::any_of(consumers.begin(), consumers.end(), [&](std::size_t consumer) { return stages_[consumer] != nullptr; });
}

void Execution::process(std::size_t i, const Message& message, const Transport::Token& token) {
  Segment& segment = *segments_[i];
  const std::size_t last = segment.last().index();
  if (message.batch->rows == 0) return leave(last, message);
  const CallNeeds needs = segment.first().needs_of(*message.batch);
  if (needs.bytes > 0) message.note_footprint(nullptr, needs.bytes);
  const auto begin = [this, i, last, message, needs](const MemoryBudget::LeaseHandle& lease, const Transport::Token& held) {
    if (lease && lease->is_beyond()) tell_of_call_beyond_memory(i, *message.batch, needs.bytes);
    transport_->call(dispatcher_, *segments_[i], message.batch, needs.size, [this, last, message, held, lease](BatchHandle output) {
      guard(last, [&] {
        if (lease) lease->over(output ? message.footprint(output) : 0);
        if (!output) return;
        message.note_footprint(output, 0);
        leave(last, {std::move(output), message.permit});
      });
    });
  };
  // What may go to a device, or has a thread of its own, does not wait.
  if (needs.most == 0 || run_.may_use_devices(i) || segment.first().is_blocking()) return begin(nullptr, token);
  const auto later = [this, i, begin, held = token ? token : transport_->hold(i)](const MemoryBudget::LeaseHandle& lease) {
    guard(i, [&] { dispatcher_.spawn([this, i, begin, held, lease] { guard(i, [&] { begin(lease, held); }); }); });
  };
  if (const auto lease = budget_.lend(message.permit, message.footprint(nullptr) + needs.most, later)) begin(*lease, token);
}

void Execution::tell_of_call_beyond_memory(std::size_t i, const BatchData& batch, std::uint64_t bytes) {
  const std::string rows = batch.rows == 1 ? batch.name_of(0) : std::to_string(batch.rows) + " rows";
  if (run_.recorder.stage(i).beyond_memory(bytes, rows))
    run_.log(SLUICE_LOG_INFO, stages_[i]->name(),
             rows + " takes " + std::to_string(bytes >> 20) + " MiB, beyond what the memory budget leaves: such rows are done one at a time");
}

void Execution::leave(std::size_t i, Message message) {
  if (stages_[i]->kind() == SLUICE_SINK) return commit_in_order(i, std::move(message));
  send(i, std::move(message));
}

// One batch after the other. A batch that waits here keeps nothing alive: the one that it waits for does, or the run has failed. The next one
// starts on the thread that has finished this one, but never inside its call, however many wait.
void Execution::process_in_order(std::size_t i) {
  Station& station = *stations_[i];
  std::unique_lock lock(station.mutex);
  if (station.serving) return;
  station.serving = true;
  while (!station.under_way) {
    lock.unlock();
    stand(i);
    lock.lock();
    std::optional<Message> next = station.in_order.take();
    if (!next) break;
    station.under_way = true;
    lock.unlock();
    // When the last copy of this token goes, the call has ended, whether or not anything came of it.
    const auto ended = [this, i, outer = transport_->hold(i)](const void*) mutable {
      {
        const std::lock_guard again(stations_[i]->mutex);
        stations_[i]->under_way = false;
      }
      guard(i, [&] { process_in_order(i); });
    };
    process(i, *next, Transport::Token(static_cast<const void*>(nullptr), ended));
    next.reset();
    lock.lock();
  }
  station.serving = false;
}

// On the stage's own thread, which has the buffer for itself: `take` gets one batch after the other.
template <class Take>
void Execution::take_in_order(std::size_t i, Message message, Take take) {
  if (message.permit) budget_.settle(message.permit);
  transport_->run_in_order(i, [this, i, take, message = std::move(message), token = transport_->hold(i)]() mutable {
    guard(i, [&] {
      ReorderBuffer<Message>& in_order = stations_[i]->in_order;
      const std::uint64_t sequence = message.batch->sequence;
      in_order.put(sequence, std::move(message));
      stand(i);
      while (std::optional<Message> next = in_order.take()) {
        take(next->batch);
        stand(i);
      }
    });
  });
}

// It may have to wait until there is room for what it emits.
void Execution::regroup_in_order(std::size_t i, Message message) {
  take_in_order(i, std::move(message), [this, i](const BatchHandle& batch) { regroup(*stages_[i]).regroup(batch, emit_from(i)); });
}

Emit Execution::emit_from(std::size_t i) {
  return [this, i](BatchHandle batch) {
    const std::uint64_t bytes = batch->bytes();
    MemoryBudget::PermitHandle permit = budget_.acquire_emitted(*stations_[i]->flow, bytes);
    if (!permit || run_.cancelled()) return false;
    permit->used(bytes);
    send(i, {std::move(batch), std::move(permit)});
    return !run_.cancelled();
  };
}

// Writes, and gives back to the stages that want it.
void Execution::commit_in_order(std::size_t i, Message message) {
  take_in_order(i, std::move(message), [this, i](const BatchHandle& batch) {
    if (!sink(*stages_[i]).commit(batch)) return;
    for (const std::size_t asks : run_.plan.stages[i].feeds_back_to) stages_[asks]->feedback(batch);
  });
}

void Execution::take_part_in_checkpoints() {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (!stages_[i] || (stages_[i]->kind() != SLUICE_SOURCE && !stages_[i]->keeps_state())) continue;
    const PlannedStage& planned = run_.plan.stages[i];
    Checkpoints::Member member;
    member.stage = i;
    if (stages_[i]->kind() != SLUICE_SOURCE) member.takes = run_.plan.stages[planned.stage->inputs.front()].stream;
    if (stages_[i]->kind() == SLUICE_SOURCE || stages_[i]->kind() == SLUICE_REGROUP) member.gives = planned.stream;
    checkpoints_->add(member);
  }
  checkpoints_->on_border([this](std::size_t stream) { stand_at_border(stream); });
}

std::shared_ptr<const SpoolFile> Execution::saved(std::size_t i) {
  try {
    auto state = checkpoints_->spool();
    if (stages_[i]->save([&](std::string_view piece) { state->append(piece); })) return state;
  } catch (const std::exception& exception) {  // no room: the run goes on without checkpoints
    checkpoints_->give_up(exception.what());
  }
  return nullptr;
}

void Execution::stand(std::size_t i) {
  if (checkpoints_ == nullptr || run_.cancelled() || !checkpoints_->is_due(i, stations_[i]->in_order.next())) return;
  const double start = run_.seconds();
  StagePoint point = point_of(i);
  point.spooled = saved(i);
  if (!point.spooled) return;
  std::vector<FilePoint> files = run_.files.flush(&run_.host_of_stage(i));
  checkpoints_->stands(i, std::move(point), std::move(files), run_.seconds() - start);
}

void Execution::stand_at_border(std::size_t stream) {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (!stages_[i] || !stages_[i]->keeps_state() || run_.plan.stages[run_.plan.stages[i].stage->inputs.front()].stream != stream) continue;
    if (stages_[i]->is_ordered())
      guard(i, [&] { process_in_order(i); });
    else
      transport_->run_in_order(i, [this, i, token = transport_->hold(i)] { guard(i, [&] { stand(i); }); });
  }
}

StagePoint Execution::point_of(std::size_t i) const {
  const StageRunner& stage = *stages_[i];
  if (stage.kind() == SLUICE_SOURCE) {
    const auto& reader = static_cast<const SourceRunner&>(stage);
    return {stations_[i]->read, 0, reader.ended(), reader.position(), nullptr, {}};
  }
  if (stage.kind() != SLUICE_REGROUP) return {stations_[i]->in_order.next(), 0, false, "", nullptr, {}};
  const auto& regroup = static_cast<const RegroupRunner&>(stage);
  return {stations_[i]->in_order.next(), regroup.emitted(), regroup.has_finished(), "", nullptr, {}};
}

void Execution::checkpoint() {
  const double start = run_.seconds();
  Checkpoint checkpoint;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (!stages_[i] || (stages_[i]->kind() != SLUICE_SOURCE && !stages_[i]->keeps_state())) continue;
    StagePoint& point = checkpoint.stages[stages_[i]->name()] = point_of(i);
    if (stages_[i]->kind() == SLUICE_SOURCE || point.ended) continue;
    point.spooled = saved(i);
    if (!point.spooled) return;
    for (FilePoint& file : run_.files.flush(&run_.host_of_stage(i))) checkpoint.files.push_back(std::move(file));
  }
  checkpoints_->take(std::move(checkpoint), run_.seconds() - start);
}

}  // namespace sluice
