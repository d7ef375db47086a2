// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/segment.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "batch/row_range.hpp"
#include "run/second_try.hpp"

namespace sluice {
namespace {

bool named(const std::vector<sluice_column_spec>& columns, std::string_view name) {
  return std::any_of(columns.begin(), columns.end(), [&](const sluice_column_spec& column) { return name == column.name; });
}

std::vector<std::string_view> kinds_of(const RunContext& run, const MapRunner& stage) {
  std::vector<std::string_view> kinds;
  for (const std::uint32_t k : run.implementations[stage.index()]) kinds.emplace_back(stage.descriptor().implementations[k].device);
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

bool can_be_chained(const RunContext& run, const StageRunner& stage) {
  const sluice_port needs = stage.planned().input();
  const bool needs_all = std::any_of(needs.columns, needs.columns + needs.column_count,
                                     [](const sluice_column_spec& column) { return std::string_view(column.name) == "*"; });
  return stage.kind() == SLUICE_MAP && !stage.is_ordered() && !stage.is_serial() && !stage.is_blocking() && !needs_all &&
         run.may_use_devices(stage.index());
}

// Such a stage has nothing of it that a column is on the device already.
bool reads_on_host(const RunContext& run, std::size_t stage) {
  return (run.plan.stages[stage].stage->entry.descriptor->traits & SLUICE_TRAIT_HOST_COLUMNS) != 0;
}

// Those that the batch did not have before.
std::vector<ColumnHandle> columns_made(const BatchData& before, const BatchData& after) {
  std::vector<ColumnHandle> made;
  for (const ColumnHandle& column : after.columns)
    if (std::find(before.columns.begin(), before.columns.end(), column) == before.columns.end()) made.push_back(column);
  return made;
}

// Makes what one call has given again, on the CPU.
class CallOrigin : public ColumnOrigin {
 public:
  CallOrigin(Segment& segment, BatchHandle input) : segment_(segment), input_(std::move(input)) {}
  ColumnHandle make_again(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    if (input_) {
      segment_.last().log(SLUICE_LOG_DEBUG, "what did not come back from a device is made again on the CPU");
      const auto cpu = Lane::cpu();
      const Segment::Outcome outcome = segment_.call(input_, {*segment_.first().cpu_implementation(), cpu.get(), nullptr}, 0);
      if (!outcome.output) outcome.result.raise();
      made_ = columns_made(*input_, *outcome.output);
      input_.reset();
    }
    for (const ColumnHandle& column : made_)
      if (column->name() == name) return column;
    throw Failure(SLUICE_ERROR_INTERNAL, "the CPU did not make column '" + name + "' again");
  }
  std::vector<ColumnHandle> keeps() const override {
    const std::lock_guard lock(mutex_);
    return input_ ? input_->columns : made_;
  }

 private:
  Segment& segment_;
  mutable std::mutex mutex_;  // guards everything below
  BatchHandle input_;         // null: used
  std::vector<ColumnHandle> made_;
};

}  // namespace

Segment::Segment(RunContext& run, std::vector<MapRunner*> stages) : run_(run), stages_(std::move(stages)) {
  for (const MapRunner* stage : stages_) {
    const sluice_port port = stage->planned().input();
    for (std::size_t c = 0; c < port.column_count; ++c) {
      const bool made_inside = std::any_of(stages_.begin(), stages_.end(), [&](const MapRunner* maker) {
        const sluice_port& made = maker->descriptor().output;
        return maker != stage && std::any_of(made.columns, made.columns + made.column_count,
                                             [&](const sluice_column_spec& column) { return std::string_view(column.name) == port.columns[c].name; });
      });
      if (!made_inside && !named(needs_, port.columns[c].name)) needs_.push_back(port.columns[c]);
    }
  }
  for (const std::size_t consumer : last().planned().consumers)
    goes_on_on_devices_ = goes_on_on_devices_ || (run.may_use_devices(consumer) && !reads_on_host(run, consumer));
}

bool Segment::offers_cpu() const {
  return std::all_of(stages_.begin(), stages_.end(), [](const MapRunner* stage) { return stage->offers_cpu(); });
}

// The first that fits the lane, as for a stage that stands alone.
std::uint32_t Segment::implementation_of(const MapRunner& stage, const Lane& lane) const {
  if (lane.is_cpu()) return stage.cpu_implementation().value_or(0);
  for (const std::uint32_t k : run_.implementations[stage.index()])
    if (lane.kind() == stage.descriptor().implementations[k].device) return k;
  throw Failure(SLUICE_ERROR_INTERNAL, "stage '" + stage.name() + "' has no implementation for " + lane.name());
}

Segment::Outcome Segment::call(const BatchHandle& input, const CallPlace& place, double work) {
  Outcome outcome;
  BatchHandle batch = input;
  for (MapRunner* stage : stages_) {
    if (run_.cancelled()) return {};
    CallPlace here = place;
    if (stage != stages_.front()) {
      here.implementation = implementation_of(*stage, *place.lane);
      work = stage->needs_of(*batch, Fetching::never).size.work;
    }
    CallResult result;
    BatchHandle output = call_on_lane(*stage, batch, here, result);
    if (output && stage == &last()) run_call(result, [&] { leave_device(input, *output, place); });
    if (!output || !result.ok()) {
      outcome.failed = stage;
      outcome.result = std::move(result);
      return outcome;
    }
    outcome.calls.push_back({stage, batch, output, std::move(result), work});
    batch = std::move(output);
  }
  outcome.output = std::move(batch);
  return outcome;
}

void Segment::account(const Outcome& outcome, const std::string& lane) {
  for (const Outcome::Call& call : outcome.calls) call.stage->account(*call.input, *call.output, lane, call.result, call.work);
}

// What somebody on the host needs comes back at once, beside the next call; what goes on to another call on a device can be made again, should the
// device be lost. What an ordered stage gave can't, as its state has moved on: one that survives the loss gets its results off the device.
void Segment::leave_device(const BatchHandle& input, const BatchData& output, const CallPlace& place) {
  if (place.stream == nullptr) return;
  const std::vector<ColumnHandle> made = columns_made(*input, output);
  if (last().is_ordered() ? last().is_restartable() : !goes_on_on_devices_) {
    for (const ColumnHandle& column : made) {
      column->host();
      column->leave(place.stream->device());
    }
    return;
  }
  if (last().is_ordered() || std::any_of(stages_.begin(), stages_.end(), [](const MapRunner* stage) { return !stage->cpu_implementation(); })) return;
  // Only what the stages look at is kept alive.
  auto needed = std::make_shared<BatchData>(*input);
  needed->columns = input->named_by(this->input());
  const auto origin = std::make_shared<CallOrigin>(*this, std::move(needed));
  for (const ColumnHandle& column : made)
    if (!column->is_on_host()) column->remember(origin);
}

BatchHandle Segment::part_of(const BatchHandle& input, const std::vector<std::uint32_t>& rows) const {
  auto needed = std::make_shared<BatchData>(*input);
  needed->columns = input->named_by(this->input());
  // The account names rows that fail.
  if (const ColumnHandle* name = input->row_name.empty() ? nullptr : input->find(input->row_name);
      name != nullptr && needed->find(input->row_name) == nullptr && (*name)->is_on_host())
    needed->columns.push_back(*name);
  return take_rows(needed, rows);
}

BatchHandle Segment::gathered(const std::vector<BatchHandle>& inputs) const {
  std::vector<BatchHandle> needed;
  for (const BatchHandle& input : inputs) {
    auto batch = std::make_shared<BatchData>(*input);
    batch->columns = input->named_by(this->input());
    needed.push_back(std::move(batch));
  }
  auto batch = std::make_shared<BatchData>(*append_rows(needed));
  batch->gathered_from = std::make_shared<const std::vector<BatchHandle>>(inputs);
  return batch;
}

std::vector<BatchHandle> Segment::dealt_out(const std::vector<BatchHandle>& inputs, const BatchHandle& output) const {
  std::vector<BatchHandle> result;
  std::int64_t row = 0;
  for (const BatchHandle& input : inputs) {
    result.push_back(joined(input, {slice_rows(output, row, row + input->rows)}, {}));
    row += input->rows;
  }
  return result;
}

Segments make_segments(RunContext& run, const StageRunners& stages, Chains chains) {
  Segments segments(stages.size());
  std::vector<bool> placed(stages.size(), false);
  const auto map = [&](std::size_t i) { return static_cast<MapRunner*>(stages[i].get()); };
  for (const std::size_t i : run.plan.order) {
    if (!stages[i] || placed[i] || (stages[i]->kind() != SLUICE_MAP && stages[i]->kind() != SLUICE_SINK)) continue;
    std::vector<MapRunner*> members = {map(i)};
    for (std::size_t at = i; chains == Chains::where_devices_are && can_be_chained(run, *stages[at]);) {
      const std::vector<std::size_t>& consumers = run.plan.stages[at].consumers;
      if (consumers.size() != 1) break;
      const std::size_t next = consumers.front();
      if (!stages[next] || stages[next]->inputs() != 1 || !can_be_chained(run, *stages[next]) || reads_on_host(run, next)) break;
      // Such a limit is in the stage's own unit of work, and calls of a segment are measured in its first one's.
      if (run.plan.stages[next].stage->device_max_row_work > 0) break;
      if (kinds_of(run, *map(at)) != kinds_of(run, *map(next)) || run.plan.stages[at].stage->device != run.plan.stages[next].stage->device) break;
      members.push_back(map(next));
      placed[next] = true;
      at = next;
    }
    segments[i] = std::make_unique<Segment>(run, std::move(members));
  }
  return segments;
}

}  // namespace sluice
