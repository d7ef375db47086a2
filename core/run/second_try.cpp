// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/second_try.hpp"

#include <algorithm>
#include <utility>

#include "batch/row_range.hpp"
#include "device/device_fault.hpp"

namespace sluice {
namespace {

bool is_one_of(const ColumnHandle& column, const std::vector<ColumnHandle>& columns) {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

void fetch_all(const std::vector<ColumnHandle>& columns) {
  for (const ColumnHandle& column : columns) column->host();
}

// Two halves, each in two again while the device is too small for it. Null: even one row does not fit.
BatchHandle call_in_halves(MapRunner& stage, const BatchHandle& input, const CallPlace& place, CallResult& result) {
  if (input->rows < 2) return nullptr;
  fetch_all(input->columns);
  for (const ColumnHandle& column : input->columns) column->leave(*place.lane->device());
  std::vector<BatchHandle> parts;
  const std::int64_t middle = input->rows / 2;
  for (const auto& [begin, end] : {std::pair{std::int64_t{0}, middle}, std::pair{middle, input->rows}}) {
    const BatchHandle part = slice_rows(input, begin, end);
    BatchHandle output = stage.call_once(part, place, result);
    if (!output && result.status == SLUICE_ERROR_DEVICE_MEMORY) output = call_in_halves(stage, part, place, result);
    if (!output) return nullptr;
    fetch_all(output->columns);  // at once: what a part gave must not take the room that the next one needs
    parts.push_back(stage.joined(part, {output}, {}));
  }
  result.status = SLUICE_OK;
  return stage.joined(input, parts, {});
}

// Makes the columns of one device call again, on the CPU.
class CallOrigin : public ColumnOrigin {
 public:
  CallOrigin(MapRunner& stage, BatchHandle input, std::uint32_t implementation)
      : stage_(stage), implementation_(implementation), input_(std::move(input)) {}
  ColumnHandle make_again(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    if (input_) {
      stage_.log(SLUICE_LOG_DEBUG, "what did not come back from a device is made again on the CPU");
      const auto cpu = Lane::cpu();
      CallResult result;
      const BatchHandle output = stage_.call_once(input_, {implementation_, cpu.get(), nullptr}, result);
      if (!output) result.raise();
      for (const ColumnHandle& column : output->columns)
        if (!is_one_of(column, input_->columns)) made_.push_back(column);
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
  MapRunner& stage_;
  const std::uint32_t implementation_;
  mutable std::mutex mutex_;  // guards everything below
  BatchHandle input_;         // null: used
  std::vector<ColumnHandle> made_;
};

}  // namespace

BatchHandle call_on_lane(MapRunner& stage, const BatchHandle& input, const CallPlace& place, CallResult& result) {
  if (place.lane->is_cpu()) return stage.call_once(input, place, result);
  {
    const std::shared_lock beside_others(place.lane->device()->calls());
    if (BatchHandle output = stage.call_once(input, place, result)) return output;
  }
  if (result.status != SLUICE_ERROR_DEVICE_MEMORY || stage.is_ordered()) return nullptr;
  stage.retried(place.lane->name());
  const std::unique_lock alone(place.lane->device()->calls());
  if (BatchHandle output = stage.call_once(input, place, result)) return output;
  if (result.status != SLUICE_ERROR_DEVICE_MEMORY) return nullptr;
  BatchHandle output;
  CallResult copying;
  run_call(copying, [&] { output = call_in_halves(stage, input, place, result); });
  if (!copying.ok()) result.set_failure(copying.status, copying.message, copying.remedy);
  return result.ok() ? output : nullptr;
}

AfterFault after_fault(const MapRunner& stage, const Lane& lane, CallResult& result) {
  if (lane.is_cpu() || !is_device_failure(result.status)) return AfterFault::fail;
  if (!stage.is_ordered()) return AfterFault::elsewhere;
  if (stage.is_restartable() && stage.offers_cpu()) return AfterFault::restart;
  result.message += " (with it what this stage remembers of earlier batches)";
  result.remedy = stage.is_restartable() ? "allow the CPU, where the stage can begin afresh: --device auto"
                                         : "run again, with device = \"cpu\" for this stage if it fails again";
  return AfterFault::fail;
}

void keep_for_lost_device(MapRunner& stage, const BatchHandle& input, const BatchData& made) {
  std::vector<ColumnHandle> columns;
  std::copy_if(made.columns.begin(), made.columns.end(), std::back_inserter(columns),
               [&](const ColumnHandle& column) { return !is_one_of(column, input->columns); });
  if (stage.is_ordered()) {
    if (stage.is_restartable()) fetch_all(columns);
    return;
  }
  const auto cpu = stage.cpu_implementation();
  if (!cpu) return;
  // Only what the stage looks at is kept alive.
  auto needed = std::make_shared<BatchData>(*input);
  needed->columns = input->named_by(stage.planned().input());
  const auto origin = std::make_shared<CallOrigin>(stage, std::move(needed), *cpu);
  for (const ColumnHandle& column : columns)
    if (!column->is_on_host()) column->remember(origin);
}

}  // namespace sluice
