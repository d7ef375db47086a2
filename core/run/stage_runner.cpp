// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/stage_runner.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string_view>
#include <thread>
#include <utility>

#include "batch/row_range.hpp"
#include "device/call_scope.hpp"
#include "run/call_mark.hpp"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void set_error(sluice_error& error, sluice_status code, const std::string& message, const std::string& remedy = {}) {
  error.code = code;
  std::snprintf(error.message, sizeof error.message, "%s", message.c_str());
  std::snprintf(error.remedy, sizeof error.remedy, "%s", remedy.c_str());
}

// What the host refused during a call, or a column that the plugin forgot.
sluice_status plugin_bug(sluice_error& error, const std::string& message) {
  set_error(error, SLUICE_ERROR_INTERNAL, message, "this is a bug in the plugin: please report it");
  return SLUICE_ERROR_INTERNAL;
}

// The name of a row for the account: its read id where the batch has one on the host.
std::string row_name(const BatchData& batch, std::int64_t row) {
  if (const ColumnHandle* column = batch.find("read_id"); column != nullptr && (*column)->is_on_host()) {
    const ArrowArray& array = (*column)->host();
    const auto* offsets = static_cast<const std::int64_t*>(array.buffers[1]) + array.offset;
    return {static_cast<const char*>(array.buffers[2]) + offsets[row], static_cast<std::size_t>(offsets[row + 1] - offsets[row])};
  }
  return batch.row_type + " " + std::to_string(row) + " of batch " + std::to_string(batch.sequence);
}

std::vector<const sluice_batch*> resource_views(const ResolvedStage& stage, const std::vector<BatchHandle>& resources, std::deque<BatchView>& keep) {
  std::vector<const sluice_batch*> result;
  for (const int index : stage.resources)
    result.push_back(index < 0 ? nullptr : &keep.emplace_back(*resources[static_cast<std::size_t>(index)]).get());
  return result;
}

// Views that instances point to for as long as they live. Leaked with them on purpose: a handful per run.
std::deque<BatchView>& lasting_views() {
  static auto* views = new std::deque<BatchView>;
  return *views;
}

sluice_status create_instance(const ResolvedStage& stage, const sluice_host& host, const std::vector<BatchHandle>& resources,
                              const std::uint8_t* wanted, const std::uint8_t* available, sluice_stage& instance, sluice_error& error) {
  std::vector<const sluice_batch*> views = resource_views(stage, resources, lasting_views());
  views.resize(std::max(views.size(), stage.entry.descriptor->resource_count), nullptr);
  sluice_create_args args{};
  args.struct_size = sizeof args;
  args.api = &RunContext::api();
  args.host = &host;
  args.instance = stage.name.c_str();
  args.parameters = stage.values.data();
  args.resources = views.data();
  args.wanted = wanted;
  args.available = available;
  args.feedback_sinks = static_cast<std::int32_t>(stage.feedback.size());
  const CallMark mark(host);
  return stage.entry.plugin->create(stage.entry.index, &args, &instance, &error);
}

// The lengths of the list or text column that holds most: what a kernel's work on a row mostly follows.
std::vector<double> lengths_of_rows(const BatchData& batch, const sluice_port& needs) {
  std::vector<double> lengths;
  double most = 0;
  for (const ColumnHandle& column : batch.named_by(needs)) {
    if (!column->type().starts_with("list<") && column->type() != "utf8" && column->type() != "binary") continue;
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

bool is_device_failure(sluice_status status) {
  return status == SLUICE_ERROR_DEVICE_MEMORY || status == SLUICE_ERROR_DEVICE_KERNEL || status == SLUICE_ERROR_DEVICE_LOST;
}

void StageRunner::set_error(CallResult& result, sluice_status status, const std::string& message, const std::string& remedy) {
  sluice::set_error(result.error, result.status = status, message, remedy);
}

StageRunner::~StageRunner() {
  if (stage_.self == nullptr || stage_.destroy == nullptr) return;
  const CallMark mark(host_);
  stage_.destroy(stage_.self);
}

bool StageRunner::create(const std::vector<BatchHandle>& resources) {
  CallResult result;
  result.status = create_instance(*planned_.stage, host_, resources, planned_.wanted.data(), planned_.available.data(), stage_, result.error);
  if (result.status != SLUICE_OK) {
    stage_.self = nullptr;
  } else {
    if (stage_.process == nullptr && kind() != SLUICE_SINK)
      set_error(result, SLUICE_ERROR_INTERNAL, "the plugin made an instance without process()");
    else if (stage_.commit == nullptr && kind() == SLUICE_SINK)
      set_error(result, SLUICE_ERROR_INTERNAL, "the plugin made a sink without commit()");
    else if (stage_.feedback == nullptr && !planned_.stage->feedback.empty())
      set_error(result, SLUICE_ERROR_INTERNAL, "the plugin made an instance without feedback()");
    std::vector<std::uint32_t>& offered = run_.implementations[index_];
    if (std::erase_if(offered, [&](std::uint32_t k) { return (stage_.declined >> k & 1) != 0; }) != 0 && offered.empty())
      set_error(result, SLUICE_ERROR_UNSUPPORTED, "none of the implementations that may be used here can do what the parameters ask for",
                "choose another --device for this stage");
  }
  if (result.status == SLUICE_OK) return true;
  fail(result);
  return false;
}

sluice_call StageRunner::make_call(std::uint32_t implementation, const sluice_device* device) const {
  sluice_call call{};
  call.struct_size = sizeof call;
  call.api = &RunContext::api();
  call.host = &host_;
  call.implementation = implementation;
  call.device = device;
  return call;
}

void StageRunner::fail(const CallResult& result) {
  const std::string message = result.error.message[0] != '\0' ? result.error.message : "failed with status " + std::to_string(result.status);
  if (result.status == SLUICE_ERROR_CANCELLED && run_.stopping()) return;
  run_.fail(planned_.stage->name, result.status, message, result.error.remedy);
}

void StageRunner::trace(const std::string& lane, double start, double seconds, std::uint64_t sequence, std::int64_t rows, const std::string& track) {
  if (run_.options.trace_file.empty()) return;
  static std::atomic<std::uint32_t> threads{0};
  thread_local const std::uint32_t thread = threads++;
  run_.recorder.trace({planned_.stage->name, lane, thread, start * 1e6, seconds * 1e6, sequence, rows, track, 0});
}

bool StageRunner::complete(const BatchData& batch, const std::vector<std::uint8_t>& wanted, std::string& missing) const {
  const sluice_port& output = descriptor().output;
  for (std::size_t c = 0; c < output.column_count; ++c)
    if (wanted[c] != 0 && batch.find(output.columns[c].name) == nullptr) {
      missing = output.columns[c].name;
      return false;
    }
  return true;
}

bool StageRunner::on_host(const BatchData& batch) const {
  const std::vector<ColumnHandle> needed = batch.named_by(planned_.input());
  return std::all_of(needed.begin(), needed.end(), [](const ColumnHandle& column) { return column->is_on_host(); });
}

CallSize StageRunner::size_of(const BatchData& batch) {
  const double work = batch.work > 0 ? batch.work : static_cast<double>(batch.rows);
  if (stage_.estimate == nullptr) return {work, work};
  // Looking at a batch that lies on a device would fetch it: there the size follows from the source's work and what earlier batches had of it.
  const bool here = on_host(batch);
  const std::lock_guard lock(size_mutex_);
  if (!here && size_per_work_.work > 0) return {work * size_per_work_.work, work * size_per_work_.largest_row};
  sluice_estimate estimate{};
  estimate.struct_size = sizeof estimate;
  try {
    const CallMark mark(host_, batch.sequence, batch.rows);
    const BatchView view(batch, planned_.input());
    if (stage_.estimate(stage_.self, &view.get(), &estimate) != SLUICE_OK || !(estimate.work > 0)) return {work, work};
  } catch (const Failure&) {
    return {work, work};  // the device that it lies on is gone: the call will see to that
  }
  const CallSize size{estimate.work, estimate.largest_row_work > 0 ? estimate.largest_row_work : estimate.work};
  size_per_work_ = {size.work / work, size.largest_row / work};
  return size;
}

std::shared_ptr<const std::vector<double>> StageRunner::row_work_of(BatchHandle& batch, double work) const {
  std::shared_ptr<const std::vector<double>> relative = batch->row_work;
  if (on_host(*batch)) {
    std::vector<double> rows(static_cast<std::size_t>(batch->rows), -1.0);
    sluice_estimate estimate{};
    estimate.struct_size = sizeof estimate;
    estimate.row_work = rows.data();
    const CallMark mark(host_, batch->sequence, batch->rows);
    const BatchView view(*batch, planned_.input());
    const bool said = stage_.estimate != nullptr && stage_.estimate(stage_.self, &view.get(), &estimate) == SLUICE_OK &&
                      std::all_of(rows.begin(), rows.end(), [](double row) { return row >= 0; });
    relative = std::make_shared<const std::vector<double>>(said ? std::move(rows) : lengths_of_rows(*batch, planned_.input()));
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

BatchHandle StageRunner::read(double target_work, std::uint64_t target_bytes, std::uint64_t sequence) {
  if (run_.stopping() || stage_.self == nullptr || ended_) return nullptr;
  sluice_call call = make_call(planned_.implementations.front(), nullptr);
  call.target_work = target_work;
  call.target_bytes = target_bytes;
  sluice_output output(host_, 0);
  output.rows_set = false;
  CallResult result;
  const double start = run_.seconds();
  const auto clock = Clock::now();
  {
    const CallMark mark(host_, sequence);
    result.status = stage_.process(stage_.self, &call, nullptr, &output, &result.error);
  }
  result.seconds = seconds_since(clock);
  ++run_.progress;
  const bool last = result.status == SLUICE_END;
  if (last) result.status = SLUICE_OK;
  if (result.status == SLUICE_OK && !output.problem.empty()) result.status = plugin_bug(result.error, output.problem);
  BatchData& batch = *output.batch;
  std::string missing;
  if (result.status == SLUICE_OK && batch.rows > 0 && !complete(batch, planned_.wanted, missing))
    result.status = plugin_bug(result.error, "the plugin did not give column '" + missing + "'");
  if (result.status != SLUICE_OK) return fail(result), nullptr;
  if (last) ended_ = true;
  batch.row_type = descriptor().output.row_type;
  batch.sequence = sequence;
  if (batch.work <= 0) batch.work = static_cast<double>(batch.rows);
  count_failures(batch, output.failures);
  if (std::any_of(output.failures.begin(), output.failures.end(), [](std::uint16_t s) { return s != 0; }))
    batch.status = std::make_shared<std::vector<std::uint16_t>>(std::move(output.failures));
  host_.recorder->call("cpu", result.seconds, 0, batch.rows, batch.work, batch.bytes());
  trace("reader", start, result.seconds, sequence, batch.rows);
  if (last && batch.rows == 0) return nullptr;
  return output.batch;
}

void StageRunner::count_failures(const BatchData& batch, const std::vector<std::uint16_t>& failures) {
  for (std::size_t row = 0; row < failures.size(); ++row)
    if (failures[row] != 0 && (!batch.status || (*batch.status)[row] == 0))
      host_.recorder->failed_row(run_.reason(failures[row]).second, row_name(batch, static_cast<std::int64_t>(row)));
}

// The input's rows with the output's columns; only what somebody behind needs is kept.
BatchHandle StageRunner::extend(const BatchData& input, sluice_output& output, CallResult& result) {
  std::string missing;
  if (!output.problem.empty()) return result.status = plugin_bug(result.error, output.problem), nullptr;
  if (kind() == SLUICE_MAP && !complete(*output.batch, planned_.wanted, missing))
    return result.status = plugin_bug(result.error, "the plugin did not give column '" + missing + "'"), nullptr;
  auto batch = std::make_shared<BatchData>(input);
  if (std::any_of(output.failures.begin(), output.failures.end(), [](std::uint16_t s) { return s != 0; })) {
    auto status = std::make_shared<std::vector<std::uint16_t>>(std::move(output.failures));
    if (input.status)
      for (std::size_t row = 0; row < status->size(); ++row)
        if ((*input.status)[row] != 0) (*status)[row] = (*input.status)[row];
    batch->status = std::move(status);
  }
  std::erase_if(batch->columns, [&](const ColumnHandle& column) { return !keeps(*column); });
  for (const ColumnHandle& column : output.batch->columns)
    if (keeps(*column)) batch->columns.push_back(column);
  return batch;
}

bool StageRunner::keeps(const Column& column) const {
  return kind() == SLUICE_SINK ||
         std::any_of(planned_.columns.begin(), planned_.columns.end(), [&](const PlannedColumn& kept) { return kept.name == column.name(); });
}

BatchHandle StageRunner::part_of(const BatchHandle& input, const std::vector<std::uint32_t>& rows) const {
  auto needed = std::make_shared<BatchData>(*input);
  needed->columns = input->named_by(planned_.input());
  // The account names rows that fail.
  if (const ColumnHandle* name = input->find("read_id"); name != nullptr && needed->find("read_id") == nullptr && (*name)->is_on_host())
    needed->columns.push_back(*name);
  return take_rows(needed, rows);
}

BatchHandle StageRunner::joined(const BatchHandle& whole, const std::vector<BatchHandle>& parts,
                                const std::vector<std::vector<std::uint32_t>>& rows) const {
  auto batch = std::make_shared<BatchData>(*join_rows(whole, parts, rows));
  std::erase_if(batch->columns, [&](const ColumnHandle& column) { return !keeps(*column); });
  return batch;
}

BatchHandle StageRunner::call_once(const BatchHandle& input, const CallPlace& place, CallResult& result) {
  const std::shared_ptr<DeviceMemory>& device = place.lane->memory();
  std::unique_lock one_at_a_time(serial_mutex_, std::defer_lock);
  if (is_serial()) one_at_a_time.lock();
  sluice_output output(host_, input->rows);
  output.device = device;
  const double start = run_.seconds();
  const auto clock = Clock::now();
  BatchHandle extended;
  try {
    const CallScope scope({planned_.stage->name, input->sequence, input->rows, place.stream.name}, device.get(), result.bytes_moved);
    const CallMark mark(host_, input->sequence, input->rows);
    const sluice_call call = make_call(place.implementation, place.stream.device);
    // Copies of columns that are not where the call needs them are made here, so they are part of the call's time.
    const BatchView view = device ? BatchView(*input, device, planned_.input()) : BatchView(*input, planned_.input());
    result.status = stage_.process == nullptr ? SLUICE_OK : stage_.process(stage_.self, &call, &view.get(), &output, &result.error);
    if (result.status == SLUICE_OK && device) device->synchronize(*place.stream.device);
    if (result.status == SLUICE_OK) extended = extend(*input, output, result);
    if (extended && device) keep_safe(input, *extended, result);
    if (result.status != SLUICE_OK) extended = nullptr;
  } catch (const Failure& failure) {
    set_error(result, failure.status(), failure.what(), failure.remedy());
  } catch (const std::bad_alloc&) {
    set_error(result, SLUICE_ERROR_MEMORY, "out of memory", "lower --memory or --threads");
  }
  result.seconds = seconds_since(clock);
  if (device && is_device_failure(result.status)) device->activity().failed(result.status);
  trace(place.lane->name(), start, result.seconds, input->sequence, input->rows, place.stream.name);
  return extended;
}

std::optional<std::uint32_t> StageRunner::cpu_implementation() const {
  const sluice_stage_descriptor& d = descriptor();
  for (std::uint32_t k = 0; k < d.implementation_count; ++k)
    if (std::string_view(d.implementations[k].device) == "cpu" && (stage_.declined >> k & 1) == 0) return k;
  return std::nullopt;
}

class StageRunner::CallOrigin : public ColumnOrigin {
 public:
  CallOrigin(StageRunner& runner, BatchHandle input, std::uint32_t implementation)
      : runner_(runner), implementation_(implementation), input_(std::move(input)) {}
  ColumnHandle make_again(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    if (input_) {
      runner_.run_.log(SLUICE_LOG_DEBUG, runner_.planned_.stage->name, "what lay on the lost device is made again on the CPU");
      const auto cpu = Lane::cpu();
      CallResult result;
      const BatchHandle output = runner_.call_on_lane(input_, {implementation_, cpu.get(), {}}, result);
      if (!output) throw Failure(result.status, result.error.message, result.error.remedy);
      for (const ColumnHandle& column : output->columns)
        if (std::find(input_->columns.begin(), input_->columns.end(), column) == input_->columns.end()) made_.push_back(column);
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
  StageRunner& runner_;
  const std::uint32_t implementation_;
  mutable std::mutex mutex_;  // guards everything below
  BatchHandle input_;         // null: used
  std::vector<ColumnHandle> made_;
};

// What an ordered stage gave can't be made again, as its state has moved on. A stage that survives the loss of its device gets its results off
// it at once.
void StageRunner::keep_safe(const BatchHandle& input, const BatchData& output, CallResult& result) {
  if (!is_ordered()) return remember_origin(input, output);
  if (!is_restartable()) return;
  BatchData made;
  for (const ColumnHandle& column : output.columns)
    if (std::find(input->columns.begin(), input->columns.end(), column) == input->columns.end()) made.columns.push_back(column);
  fetch(made, result);
}

void StageRunner::remember_origin(const BatchHandle& input, const BatchData& output) {
  const auto cpu = cpu_implementation();
  if (!cpu) return;
  // Only what the stage looks at is kept alive.
  auto needed = std::make_shared<BatchData>(*input);
  needed->columns = input->named_by(planned_.input());
  const auto origin = std::make_shared<CallOrigin>(*this, std::move(needed), *cpu);
  for (const ColumnHandle& column : output.columns)
    if (!column->is_on_host() && std::find(input->columns.begin(), input->columns.end(), column) == input->columns.end()) column->remember(origin);
}

BatchHandle StageRunner::call_on_lane(const BatchHandle& input, const CallPlace& place, CallResult& result) {
  if (place.lane->is_cpu()) return call_once(input, place, result);
  {
    const std::shared_lock beside_others(place.lane->memory()->calls());
    if (BatchHandle output = call_once(input, place, result)) return output;
  }
  if (result.status != SLUICE_ERROR_DEVICE_MEMORY || kind() != SLUICE_MAP || is_ordered()) return nullptr;
  host_.recorder->retry(place.lane->name());
  const std::unique_lock alone(place.lane->memory()->calls());
  result = CallResult();
  if (BatchHandle output = call_once(input, place, result)) return output;
  return result.status == SLUICE_ERROR_DEVICE_MEMORY ? call_in_halves(input, place, result) : nullptr;
}

bool StageRunner::fetch(const BatchData& batch, CallResult& result) {
  try {
    for (const ColumnHandle& column : batch.columns) column->host();
    return true;
  } catch (const Failure& failure) {
    set_error(result, failure.status(), failure.what(), failure.remedy());
    return false;
  }
}

BatchHandle StageRunner::call_in_halves(const BatchHandle& input, const CallPlace& place, CallResult& result) {
  if (input->rows < 2 || !fetch(*input, result)) return nullptr;
  for (const ColumnHandle& column : input->columns) column->leave(*place.lane->memory());
  std::vector<BatchHandle> parts;
  const std::int64_t middle = input->rows / 2;
  for (const auto& [begin, end] : {std::pair{std::int64_t{0}, middle}, std::pair{middle, input->rows}}) {
    const BatchHandle part = slice_rows(input, begin, end);
    CallResult half;
    BatchHandle output = call_once(part, place, half);
    if (!output && half.status == SLUICE_ERROR_DEVICE_MEMORY) output = call_in_halves(part, place, half);
    result.seconds += half.seconds;
    result.bytes_moved += half.bytes_moved;
    if (!output) {
      result.status = half.status;
      result.error = half.error;
      return nullptr;
    }
    // Fetched at once: what a part gave must not take the room that the next one needs.
    if (!fetch(*output, result)) return nullptr;
    parts.push_back(joined(part, {output}, {}));
  }
  result.status = SLUICE_OK;
  return joined(input, parts, {});
}

void StageRunner::account(const BatchData& input, const BatchData& output, const std::string& device, const CallResult& result, double work) {
  if (output.status && output.status != input.status) count_failures(input, *output.status);
  host_.recorder->call(device, result.seconds, input.rows, output.good_rows(), work,
                       output.bytes() > input.bytes() ? output.bytes() - input.bytes() : 0, result.bytes_moved);
}

// Every batch that is emitted into `output` is numbered, counted and goes to `emit`.
void StageRunner::send_emitted(sluice_output& output, const Emit& emit, Emission& emission) {
  if (kind() != SLUICE_REGROUP) return;
  output.emit = [this, &emit, &emission](std::shared_ptr<BatchData> batch) {
    if (run_.cancelled()) return false;
    batch->row_type = descriptor().output.row_type;
    batch->sequence = emitted_++;
    if (batch->work <= 0) batch->work = static_cast<double>(batch->rows);
    if (batch->status) {
      const std::vector<std::uint16_t> failures = *std::exchange(batch->status, nullptr);
      count_failures(*batch, failures);
      batch->status = std::make_shared<std::vector<std::uint16_t>>(failures);
    }
    emission.rows += batch->rows;
    emission.bytes += batch->bytes();
    const auto clock = Clock::now();
    bool goes_on = false;
    try {
      goes_on = emit(std::move(batch));
    } catch (const std::exception& exception) {  // must not pass through the plugin
      run_.fail(planned_.stage->name, SLUICE_ERROR_MEMORY, exception.what(), "lower --memory or --threads");
    }
    emission.seconds += seconds_since(clock);
    ++run_.progress;
    return goes_on;
  };
}

void StageRunner::regroup(const BatchHandle& input, const Emit& emit) {
  if (run_.cancelled() || input->rows == 0) return;
  sluice_output output(host_, 0);
  output.rows_set = false;
  Emission emission;
  send_emitted(output, emit, emission);
  CallResult result;
  const double start = run_.seconds();
  const auto clock = Clock::now();
  const sluice_call call = make_call(planned_.implementations.front(), nullptr);
  {
    const CallScope scope({planned_.stage->name, input->sequence, input->rows, ""}, nullptr, result.bytes_moved);
    const CallMark mark(host_, input->sequence, input->rows);
    try {
      const BatchView view(*input);
      result.status = stage_.process(stage_.self, &call, &view.get(), &output, &result.error);
    } catch (const Failure& failure) {
      set_error(result, failure.status(), failure.what(), failure.remedy());
    }
  }
  if (result.status == SLUICE_OK && output.problem.empty() && output.rows_set && output.batch->rows > 0) output.close_batch();
  result.seconds = std::max(seconds_since(clock) - emission.seconds, 0.0);
  ++run_.progress;
  if (result.status == SLUICE_OK && !output.problem.empty()) result.status = plugin_bug(result.error, output.problem);
  if (result.status != SLUICE_OK) return fail(result);
  host_.recorder->waited(emission.seconds);
  host_.recorder->call("cpu", result.seconds, input->rows, emission.rows, input->work, emission.bytes, result.bytes_moved);
  trace("cpu", start, result.seconds, input->sequence, input->rows);
}

bool StageRunner::commit(const BatchHandle& input) {
  if (run_.cancelled() || input->rows == 0) return false;
  CallResult result;
  const double start = run_.seconds();
  const auto clock = Clock::now();
  const sluice_call call = make_call(0, nullptr);
  try {
    const CallMark mark(host_, input->sequence, input->rows);
    const BatchView view(*input);
    result.status = stage_.commit(stage_.self, &call, &view.get(), &result.error);
  } catch (const Failure& failure) {
    set_error(result, failure.status(), failure.what(), failure.remedy());
  }
  result.seconds = seconds_since(clock);
  ++run_.progress;
  if (result.status != SLUICE_OK) return fail(result), false;
  host_.recorder->call("writer", result.seconds, 0, 0, 0, 0);
  if (std::isfinite(input->deadline)) host_.recorder->committed_by(input->deadline - run_.seconds());
  trace("writer", start, result.seconds, input->sequence, input->rows);
  return true;
}

void StageRunner::feedback(const BatchHandle& committed) {
  if (run_.cancelled() || stage_.feedback == nullptr) return;
  CallResult result;
  const sluice_call call = make_call(0, nullptr);
  try {
    const CallMark mark(host_, committed->sequence, committed->rows);
    const BatchView view(*committed, feedback_port(descriptor()));
    result.status = stage_.feedback(stage_.self, &call, &view.get(), &result.error);
  } catch (const Failure& failure) {
    set_error(result, failure.status(), failure.what(), failure.remedy());
  }
  ++run_.progress;
  if (result.status != SLUICE_OK) fail(result);
}

void StageRunner::finish(const Emit& emit) {
  if (stage_.finish == nullptr || stage_.self == nullptr || run_.cancelled()) return;
  sluice_output output(host_, 0);
  output.rows_set = false;
  Emission emission;
  send_emitted(output, emit, emission);
  CallResult result;
  const auto clock = Clock::now();
  const sluice_call call = make_call(0, nullptr);
  {
    const CallMark mark(host_);
    result.status = stage_.finish(stage_.self, &call, &output, &result.error);
  }
  if (result.status == SLUICE_OK && output.problem.empty() && output.rows_set && output.batch->rows > 0) output.close_batch();
  result.seconds = std::max(seconds_since(clock) - emission.seconds, 0.0);
  ++run_.progress;
  if (result.status == SLUICE_OK && !output.problem.empty()) result.status = plugin_bug(result.error, output.problem);
  if (result.status != SLUICE_OK) return fail(result);
  if (emission.rows == 0) return;
  host_.recorder->waited(emission.seconds);
  host_.recorder->call("cpu", result.seconds, 0, emission.rows, 0, emission.bytes);
}

std::vector<BatchHandle> make_resources(RunContext& run) {
  std::vector<BatchHandle> resources;
  for (std::size_t i = 0; i < run.plan.pipeline.resources.size(); ++i) {
    const ResolvedStage& resource = run.plan.pipeline.resources[i];
    const sluice_stage_descriptor& d = *resource.entry.descriptor;
    sluice_host& host = run.host_of_resource(i);
    sluice_error error{};
    const std::vector<std::uint8_t> wanted(std::max<std::size_t>(d.output.column_count, 1), 1);
    sluice_stage instance{};
    sluice_status status = create_instance(resource, host, resources, wanted.data(), wanted.data(), instance, error);
    sluice_output output(host, 0);
    output.rows_set = false;
    const auto clock = Clock::now();
    if (status == SLUICE_OK) {
      sluice_call call{};
      call.struct_size = sizeof call;
      call.api = &RunContext::api();
      call.host = &host;
      const CallMark mark(host);
      status = instance.process(instance.self, &call, nullptr, &output, &error);
      if (status == SLUICE_END) status = SLUICE_OK;
      if (status == SLUICE_OK && !output.problem.empty()) status = plugin_bug(error, output.problem);
      if (instance.destroy != nullptr) instance.destroy(instance.self);
    }
    if (run.stopping()) return {};  // whatever it says: nothing is kept
    if (status != SLUICE_OK) {
      run.fail(resource.name, status, error.message, error.remedy);
      return {};
    }
    output.batch->row_type = d.output.row_type;
    host.recorder->call("cpu", seconds_since(clock), 0, output.batch->rows, 0, output.batch->bytes());
    resources.push_back(output.batch);
  }
  return resources;
}

}  // namespace sluice
