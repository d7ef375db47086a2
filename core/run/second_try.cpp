// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/second_try.hpp"

#include <algorithm>
#include <utility>

#include "batch/row_range.hpp"
#include "device/device_fault.hpp"

namespace sluice {
namespace {

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

}  // namespace sluice
