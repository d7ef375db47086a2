// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/executor.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>

namespace sluice {

void pump_source(ExecutionParts& parts, StageRunner& source, const std::function<void(Message)>& put) {
  using Clock = std::chrono::steady_clock;
  RunContext& run = parts.run;
  // However the source ends, the dispatcher learns that nothing follows.
  struct Reading {
    Dispatcher& dispatcher;
    ~Reading() { dispatcher.source_ends(); }
  } const reading{parts.dispatcher};
  // A source whose batches have deadlines makes them when their time comes: it is never asked for larger ones.
  bool has_deadlines = false;
  for (std::uint64_t sequence = 0; !run.stopping() && !source.ended(); ++sequence) {
    const double work = run.options.batch_work > 0 ? run.options.batch_work
                        : has_deadlines            ? parts.budget.batch_work(run.threads)
                                        : parts.dispatcher.batch_work(parts.budget.batch_work(run.threads), parts.budget.largest_batch_work());
    const auto asked = Clock::now();
    MemoryBudget::PermitHandle permit = parts.budget.acquire(work);
    run.recorder.stage(source.index()).waited(std::chrono::duration<double>(Clock::now() - asked).count());
    if (!permit) return;
    const auto bytes = static_cast<std::uint64_t>(work * parts.budget.bytes_per_work());
    BatchHandle batch = source.read(work, bytes, sequence);
    if (!batch) return;
    has_deadlines = has_deadlines || std::isfinite(batch->deadline);
    if (batch->work > work) parts.budget.grow(permit, batch->work);
    permit->used(batch->bytes());
    put({std::move(batch), std::move(permit)});
  }
}

void commit(ExecutionParts& parts, StageRunner& sink, const BatchHandle& batch) {
  if (!sink.commit(batch)) return;
  for (const std::size_t source : sink.planned().feeds_back_to) parts.stages[source]->feedback(batch);
}

void note_footprint(const Message& input, const BatchHandle& output) {
  if (!input.permit || !output) return;
  std::vector<ColumnHandle> held = input.batch->columns;
  const auto add = [&](const std::vector<ColumnHandle>& columns) {
    for (const ColumnHandle& column : columns)
      if (std::find(held.begin(), held.end(), column) == held.end()) held.push_back(column);
  };
  add(output->columns);
  // What is kept in case a device is lost takes room too.
  for (std::size_t i = 0; i < held.size(); ++i) add(held[i]->kept_for_origin());
  std::uint64_t bytes = 0;
  for (const ColumnHandle& column : held) bytes += column->bytes();
  input.permit->used(bytes);
}

bool BranchJoin::arrive(Message& message) {
  if (branches_ <= 1) return true;
  const std::uint64_t sequence = message.batch->sequence;
  std::vector<Message> complete;
  {
    const std::lock_guard lock(mutex_);
    std::vector<Message>& parts = waiting_[sequence];
    parts.push_back(std::move(message));
    if (parts.size() < branches_) return false;
    complete = std::move(parts);
    waiting_.erase(sequence);
  }
  std::vector<BatchHandle> batches;
  for (const Message& part : complete) batches.push_back(part.batch);
  message = {merge(batches), complete.front().permit};
  return true;
}

namespace {

class SerialExecution {
 public:
  explicit SerialExecution(ExecutionParts& parts) : parts_(parts) {
    for (const auto& stage : parts.stages) joins_.push_back(std::make_unique<BranchJoin>(stage->inputs()));
  }

  void run() {
    for (const auto& stage : parts_.stages)
      if (stage->kind() == SLUICE_SOURCE) parts_.dispatcher.source_begins();
    for (const std::size_t i : parts_.run.plan.order)
      if (parts_.stages[i]->kind() == SLUICE_SOURCE) pump_source(parts_, *parts_.stages[i], [&](Message message) { hand_on(i, message); });
    for (const std::size_t i : parts_.run.plan.order) {
      StageRunner& stage = *parts_.stages[i];
      if (stage.kind() == SLUICE_REGROUP || stage.kind() == SLUICE_SINK) stage.finish(emit_from(i));
    }
  }

 private:
  // An emitted batch goes through the rest of the pipeline before the stage makes the next one, so it needs no permit.
  StageRunner::Emit emit_from(std::size_t i) {
    return [this, i](BatchHandle batch) {
      hand_on(i, {std::move(batch), nullptr});
      return !parts_.run.cancelled();
    };
  }
  void hand_on(std::size_t from, const Message& message) {
    for (const std::size_t consumer : parts_.stages[from]->planned().consumers) deliver(consumer, message);
  }
  void deliver(std::size_t i, Message message) {
    StageRunner& stage = *parts_.stages[i];
    if (parts_.run.cancelled() || !joins_[i]->arrive(message)) return;
    if (stage.kind() == SLUICE_REGROUP) {
      return stage.regroup(message.batch, emit_from(i));
    }
    std::promise<BatchHandle> promise;
    std::future<BatchHandle> result = promise.get_future();
    parts_.dispatcher.submit(stage, message.batch, [&](BatchHandle output) { promise.set_value(std::move(output)); });
    BatchHandle output = result.get();
    if (!output) return;
    note_footprint(message, output);
    if (stage.kind() == SLUICE_SINK)
      commit(parts_, stage, output);
    else
      hand_on(i, {std::move(output), message.permit});
  }

  ExecutionParts& parts_;
  std::vector<std::unique_ptr<BranchJoin>> joins_;
};

}  // namespace

void execute_serial(ExecutionParts& parts) { SerialExecution(parts).run(); }

}  // namespace sluice
