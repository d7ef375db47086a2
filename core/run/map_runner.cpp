// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/map_runner.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sluice/column_check.hpp>
#include <string_view>

#include "batch/row_range.hpp"
#include "device/device_fault.hpp"
#include "run/second_try.hpp"

namespace sluice {
namespace {

// The lengths of the list or text column that holds most: what a kernel's work on a row mostly follows.
std::vector<double> lengths_of_rows(const BatchData& batch, const sluice_port& needs) {
  std::vector<double> lengths;
  double most = 0;
  for (const ColumnHandle& column : batch.named_by(needs)) {
    if (!is_list(column->type()) && !is_text(column->type())) continue;
    const ArrowArray& array = column->host();
    const auto* offsets = static_cast<const std::int64_t*>(array.buffers[1]) + array.offset;
    const auto values = static_cast<double>(offsets[array.length] - offsets[0]);
    if (values <= most) continue;
    most = values;
    lengths.resize(static_cast<std::size_t>(array.length));
    for (std::size_t row = 0; row < lengths.size(); ++row) lengths[row] = static_cast<double>(offsets[row + 1] - offsets[row]);
  }
  if (lengths.empty()) lengths.assign(static_cast<std::size_t>(batch.rows), 1.0);
  return lengths;
}

}  // namespace

BatchHandle MapRunner::call_once(const BatchHandle& input, const CallPlace& place, CallResult& result) {
  std::unique_lock one_at_a_time(serial_mutex_, std::defer_lock);
  if (is_serial()) one_at_a_time.lock();
  sluice_output output(host_, input->rows, place.stream);
  BatchHandle made;
  const double start = run_.seconds();
  const CallResult one = call(input->sequence, input->rows, place.stream, [&] {
    sluice_error error{};
    const sluice_call raw = make_call(place.implementation, place.stream != nullptr ? &place.stream->handle() : nullptr);
    if (place.stream != nullptr && has(SLUICE_TRAIT_HOST_COLUMNS))
      for (const ColumnHandle& column : input->named_by(planned_.input())) column->host();
    // Copies of columns that are not where the call needs them are made here, so they are part of the call's time.
    const BatchView view = place.stream != nullptr ? BatchView(*input, *place.stream, planned_.input()) : BatchView(*input, planned_.input());
    sluice_status status = SLUICE_OK;
    if ((*instance_)->process != nullptr) status = (*instance_)->process(instance_->self(), &raw, &view.get(), &output, &error);
    output.throw_if_refused();
    if (status == SLUICE_END && has(SLUICE_TRAIT_ORDERED))
      run_.needs_no_more(index_);
    else
      throw_unless_ok(status, error);
    CallScope::current()->synchronize();
    if (kind() == SLUICE_MAP) output.throw_if_incomplete(planned_.wanted);
    made = extended(*input, output);
  });
  result.status = one.status;
  result.message = one.message;
  result.remedy = one.remedy;
  result.seconds += one.seconds;
  result.bytes_moved += one.bytes_moved;
  trace(place.lane->name(), start, run_.seconds() - start, input->sequence, input->rows, place.stream != nullptr ? place.stream->name() : "");
  if (one.ok()) return made;
  if (place.stream != nullptr && is_device_failure(one.status)) place.stream->device().activity().failed(one.status);
  return nullptr;
}

// The input's rows with the output's columns; only what somebody behind needs is kept.
BatchHandle MapRunner::extended(const BatchData& input, const sluice_output& output) const {
  auto batch = std::make_shared<BatchData>(input);
  if (auto status = output.failures_with(input)) batch->status = std::move(status);
  std::erase_if(batch->columns, [&](const ColumnHandle& column) { return !keeps(*column); });
  for (const ColumnHandle& column : output.batch->columns)
    if (keeps(*column)) batch->columns.push_back(column);
  return batch;
}

bool MapRunner::keeps(const Column& column) const {
  return kind() == SLUICE_SINK ||
         std::any_of(planned_.columns.begin(), planned_.columns.end(), [&](const PlannedColumn& kept) { return kept.name == column.name(); });
}

bool MapRunner::is_on_host(const BatchData& batch) const {
  const std::vector<ColumnHandle> needed = batch.named_by(planned_.input());
  return std::all_of(needed.begin(), needed.end(), [](const ColumnHandle& column) { return column->is_on_host(); });
}

bool MapRunner::estimate(const BatchData& batch, sluice_estimate& estimate) const {
  if ((*instance_)->estimate == nullptr) return false;
  estimate.struct_size = sizeof estimate;
  const CallMark mark(host_, batch.sequence, batch.rows);
  const BatchView view(batch, planned_.input());
  return (*instance_)->estimate(instance_->self(), &view.get(), &estimate) == SLUICE_OK;
}

CallNeeds MapRunner::needs_of(const BatchData& batch, Fetching fetching) {
  const double work = batch.work > 0 ? batch.work : static_cast<double>(batch.rows);
  const CallNeeds unknown{{work, work}, 0, 0};
  if ((*instance_)->estimate == nullptr) return unknown;
  const bool here = is_on_host(batch);
  const std::lock_guard lock(needs_mutex_);
  if (!here && needs_per_work_.size.work > 0)
    return {{work * needs_per_work_.size.work, work * needs_per_work_.size.largest_row}, needs_per_work_.bytes, 0};
  if (!here && fetching == Fetching::never) return unknown;
  sluice_estimate said{};
  try {
    if (!estimate(batch, said) || !(said.work > 0)) return unknown;
  } catch (const Failure&) {
    return unknown;  // the device that it lies on is gone: the call will see to that
  }
  const double largest = said.largest_row_work > 0 ? said.largest_row_work : said.work;
  // An estimate may be anything.
  const double at_once = std::clamp(std::ceil(said.work / largest), 1.0, static_cast<double>(run_.threads));
  const double most = std::min(static_cast<double>(said.output_bytes) + static_cast<double>(said.scratch_bytes) * at_once, 0x1p62);
  const CallNeeds needs{{said.work, largest}, said.output_bytes + said.scratch_bytes, static_cast<std::uint64_t>(most)};
  needs_per_work_ = {{needs.size.work / work, needs.size.largest_row / work}, needs.bytes, 0};
  return needs;
}

std::shared_ptr<const std::vector<double>> MapRunner::row_work_of(BatchHandle& batch, double work) const {
  std::shared_ptr<const std::vector<double>> relative = batch->row_work;
  if (is_on_host(*batch)) {
    std::vector<double> rows(static_cast<std::size_t>(batch->rows), -1.0);
    sluice_estimate said{};
    said.row_work = rows.data();
    const bool known = estimate(*batch, said) && std::all_of(rows.begin(), rows.end(), [](double row) { return row >= 0; });
    relative = std::make_shared<const std::vector<double>>(known ? std::move(rows) : lengths_of_rows(*batch, planned_.input()));
    auto keeping = std::make_shared<BatchData>(*batch);
    keeping->row_work = relative;
    batch = std::move(keeping);
  }
  if (!relative || relative->size() != static_cast<std::size_t>(batch->rows)) return nullptr;
  const double sum = std::accumulate(relative->begin(), relative->end(), 0.0);
  if (!(sum > 0) || !std::isfinite(sum)) return nullptr;
  auto rows = std::make_shared<std::vector<double>>(*relative);
  for (double& row : *rows) row *= work / sum;
  return rows;
}

BatchHandle MapRunner::joined(const BatchHandle& whole, const std::vector<BatchHandle>& parts,
                              const std::vector<std::vector<std::uint32_t>>& rows) const {
  auto batch = std::make_shared<BatchData>(*join_rows(whole, parts, rows));
  std::erase_if(batch->columns, [&](const ColumnHandle& column) { return !keeps(*column); });
  return batch;
}

std::optional<std::uint32_t> MapRunner::cpu_implementation() const {
  const sluice_stage_descriptor& d = descriptor();
  for (std::uint32_t k = 0; k < d.implementation_count; ++k)
    if (std::string_view(d.implementations[k].device) == "cpu" && !declines(k)) return k;
  return std::nullopt;
}

bool MapRunner::offers_cpu() const {
  const std::vector<std::uint32_t>& offered = run_.implementations[index_];
  return std::any_of(offered.begin(), offered.end(),
                     [&](std::uint32_t k) { return std::string_view(descriptor().implementations[k].device) == "cpu"; });
}

void MapRunner::account(const BatchData& input, const BatchData& output, const std::string& lane, const CallResult& result, double work) {
  if (output.status && output.status != input.status) count_failures(input.sequence, input, *output.status);
  count_lengths(output);
  host_.recorder->call(input.sequence, lane, result.seconds, input.rows, output.good_rows(), work,
                       output.bytes() > input.bytes() ? output.bytes() - input.bytes() : 0, result.bytes_moved);
}

void MapRunner::finish() {
  if ((*instance_)->finish == nullptr || run_.cancelled()) return;
  sluice_output output(host_);
  const CallResult result = call(CallMark::no_batch, 0, [&] {
    sluice_error error{};
    const sluice_call made = make_host_call();
    throw_unless_ok((*instance_)->finish(instance_->self(), &made, &output, &error), error);
    output.throw_if_refused();
  });
  if (!result.ok()) fail(result);
}

}  // namespace sluice
