// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/stage_runner.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "batch/row_range.hpp"
#include "device/call_scope.hpp"

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

bool is_device_failure(sluice_status status) {
  return status == SLUICE_ERROR_DEVICE_MEMORY || status == SLUICE_ERROR_DEVICE_KERNEL || status == SLUICE_ERROR_DEVICE_LOST;
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
  return stage.entry.plugin->create(stage.entry.index, &args, &instance, &error);
}

}  // namespace

StageRunner::~StageRunner() {
  if (stage_.self != nullptr && stage_.destroy != nullptr) stage_.destroy(stage_.self);
}

bool StageRunner::create(const std::vector<BatchHandle>& resources) {
  CallResult result;
  result.status = create_instance(*planned_.stage, host_, resources, planned_.wanted.data(), planned_.available.data(), stage_, result.error);
  if (result.status == SLUICE_OK) {
    if (stage_.process == nullptr && kind() != SLUICE_SINK)
      set_error(result.error, result.status = SLUICE_ERROR_INTERNAL, "the plugin made an instance without process()");
    else if (stage_.commit == nullptr && kind() == SLUICE_SINK)
      set_error(result.error, result.status = SLUICE_ERROR_INTERNAL, "the plugin made a sink without commit()");
  }
  if (result.status == SLUICE_OK) return true;
  stage_.self = nullptr;
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

CallSize StageRunner::size_of(const BatchData& batch) {
  const double work = batch.work > 0 ? batch.work : static_cast<double>(batch.rows);
  if (stage_.estimate == nullptr) return {work, work};
  // Looking at a batch that lies on a device would fetch it: there the size follows from the source's work and what earlier batches had of it.
  const bool on_host = std::all_of(batch.columns.begin(), batch.columns.end(), [](const ColumnHandle& column) { return column->is_on_host(); });
  const std::lock_guard lock(size_mutex_);
  if (!on_host && size_per_work_.work > 0) return {work * size_per_work_.work, work * size_per_work_.largest_row};
  sluice_estimate estimate{};
  estimate.struct_size = sizeof estimate;
  const BatchView view(batch);
  if (stage_.estimate(stage_.self, &view.get(), &estimate) != SLUICE_OK || estimate.work <= 0) return {work, work};
  const CallSize size{estimate.work, estimate.largest_row_work > 0 ? estimate.largest_row_work : estimate.work};
  size_per_work_ = {size.work / work, size.largest_row / work};
  return size;
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
  result.status = stage_.process(stage_.self, &call, nullptr, &output, &result.error);
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
  if (kind() == SLUICE_MAP)
    std::erase_if(batch->columns, [&](const ColumnHandle& column) {
      return std::none_of(planned_.columns.begin(), planned_.columns.end(), [&](const PlannedColumn& kept) { return kept.name == column->name(); });
    });
  for (const ColumnHandle& column : output.batch->columns)
    if (kind() == SLUICE_SINK ||
        std::any_of(planned_.columns.begin(), planned_.columns.end(), [&](const PlannedColumn& kept) { return kept.name == column->name(); }))
      batch->columns.push_back(column);
  return batch;
}

BatchHandle StageRunner::call_once(const BatchHandle& input, const Choice& choice, CallResult& result) {
  const std::shared_ptr<DeviceMemory>& device = choice.lane->memory();
  std::unique_lock one_at_a_time(serial_mutex_, std::defer_lock);
  if (is_serial()) one_at_a_time.lock();
  sluice_output output(host_, input->rows);
  output.device = device;
  const double start = run_.seconds();
  const auto clock = Clock::now();
  BatchHandle extended;
  try {
    const CallScope scope({planned_.stage->name, input->sequence, input->rows, choice.lane->stream_name()}, device.get(), result.bytes_moved);
    const sluice_call call = make_call(choice.implementation, choice.lane->stream());
    // Copies of columns that are not where the call needs them are made here, so they are part of the call's time.
    const BatchView view = device ? BatchView(*input, device, descriptor().input) : BatchView(*input);
    result.status = stage_.process == nullptr ? SLUICE_OK : stage_.process(stage_.self, &call, &view.get(), &output, &result.error);
    if (result.status == SLUICE_OK && device) device->synchronize(*choice.lane->stream());
    if (result.status == SLUICE_OK) extended = extend(*input, output, result);
    if (extended && device) remember_origin(input, *extended);
  } catch (const Failure& failure) {
    set_error(result.error, result.status = failure.status(), failure.what(), failure.remedy());
  } catch (const std::bad_alloc&) {
    set_error(result.error, result.status = SLUICE_ERROR_MEMORY, "out of memory", "lower --memory or --threads");
  }
  result.seconds = seconds_since(clock);
  if (device && is_device_failure(result.status)) device->activity().failed(result.status);
  trace(choice.lane->device_name(), start, result.seconds, input->sequence, input->rows, choice.lane->stream_name());
  return extended;
}

class StageRunner::CallOrigin : public ColumnOrigin {
 public:
  CallOrigin(StageRunner& runner, BatchHandle input, std::uint32_t implementation)
      : runner_(runner), input_(std::move(input)), implementation_(implementation) {}
  ColumnHandle make_again(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    if (!made_) {
      runner_.run_.log(SLUICE_LOG_DEBUG, runner_.planned_.stage->name, "what lay on the lost device is made again on the CPU");
      const auto cpu = Lane::cpu();
      const Trial trial = runner_.try_on(input_, *cpu, implementation_);
      if (!trial.output) throw Failure(trial.status, trial.problem);
      made_ = trial.output;
    }
    const ColumnHandle* column = made_->find(name);
    if (column == nullptr) throw Failure(SLUICE_ERROR_INTERNAL, "the CPU did not make column '" + name + "' again");
    return *column;
  }

 private:
  StageRunner& runner_;
  const BatchHandle input_;
  const std::uint32_t implementation_;
  std::mutex mutex_;  // guards made_
  BatchHandle made_;
};

void StageRunner::remember_origin(const BatchHandle& input, const BatchData& output) {
  const sluice_stage_descriptor& d = descriptor();
  std::uint32_t implementation = 0;
  while (implementation < d.implementation_count && std::string_view(d.implementations[implementation].device) != "cpu") ++implementation;
  if (implementation == d.implementation_count) return;
  // Only what the stage looks at is kept alive.
  std::vector<std::string> needed;
  for (std::size_t c = 0; c < d.input.column_count; ++c) needed.emplace_back(d.input.columns[c].name);
  const auto origin = std::make_shared<CallOrigin>(*this, input->with_only(needed), implementation);
  for (const ColumnHandle& column : output.columns)
    if (!column->is_on_host() && std::find(input->columns.begin(), input->columns.end(), column) == input->columns.end()) column->remember(origin);
}

BatchHandle StageRunner::call_on_lane(const BatchHandle& input, const Choice& choice, CallResult& result) {
  if (choice.lane->is_cpu()) return call_once(input, choice, result);
  {
    const std::shared_lock beside_others(choice.lane->memory()->calls());
    if (BatchHandle output = call_once(input, choice, result)) return output;
  }
  if (result.status != SLUICE_ERROR_DEVICE_MEMORY || kind() != SLUICE_MAP) return nullptr;
  host_.recorder->retry(choice.lane->device_name());
  const std::unique_lock alone(choice.lane->memory()->calls());
  result = CallResult();
  if (BatchHandle output = call_once(input, choice, result)) return output;
  return result.status == SLUICE_ERROR_DEVICE_MEMORY ? call_in_halves(input, choice, result) : nullptr;
}

BatchHandle StageRunner::call_in_halves(const BatchHandle& input, const Choice& choice, CallResult& result) {
  if (input->rows < 2) return nullptr;
  for (const ColumnHandle& column : input->columns) {
    column->host();
    column->leave(*choice.lane->memory());
  }
  std::vector<BatchHandle> parts;
  const std::int64_t middle = input->rows / 2;
  for (const auto& [begin, end] : {std::pair{std::int64_t{0}, middle}, std::pair{middle, input->rows}}) {
    const BatchHandle part = slice_rows(input, begin, end);
    CallResult half;
    BatchHandle output = call_once(part, choice, half);
    if (!output && half.status == SLUICE_ERROR_DEVICE_MEMORY) output = call_in_halves(part, choice, half);
    result.seconds += half.seconds;
    result.bytes_moved += half.bytes_moved;
    if (!output) {
      result.status = half.status;
      result.error = half.error;
      return nullptr;
    }
    // Fetched at once: what a part gave must not take the room that the next one needs.
    parts.push_back(join_rows(part, {output}));
  }
  result.status = SLUICE_OK;
  return join_rows(input, parts);
}

StageRunner::Trial StageRunner::try_on(const BatchHandle& input, Lane& lane, std::uint32_t implementation) {
  CallResult result;
  Trial trial;
  trial.output = call_on_lane(input, {implementation, &lane, 0}, result);
  trial.seconds = result.seconds;
  trial.status = result.status;
  trial.problem = result.error.message;
  return trial;
}

void StageRunner::process(const BatchHandle& input, Scheduler& scheduler, const std::function<void(BatchHandle)>& done) {
  if (run_.cancelled()) return done(nullptr);
  if (input->rows == 0) return done(input);
  const CallSize size = size_of(*input);
  const Choice choice = planned_.implementations.empty() ? Choice{0, &scheduler.cpu(), 0} : scheduler.choose(index_, *input, size);
  if (choice.lane == nullptr) {
    CallResult result;
    set_error(result.error, result.status = SLUICE_ERROR_DEVICE_LOST, "no device is left that this stage can run on", "allow the CPU: --device auto");
    fail(result);
    return done(nullptr);
  }
  choice.lane->submit([this, input, choice, size, &scheduler, done] {
    Choice used = choice;
    std::vector<const DeviceMemory*> failed;
    for (;;) {
      CallResult result;
      BatchHandle output = run_.cancelled() ? nullptr : call_on_lane(input, used, result);
      scheduler.completed(index_, used, size, result.seconds, result.status == SLUICE_OK);
      ++run_.progress;
      if (output) {
        if (output->status && output->status != input->status) count_failures(*input, *output->status);
        host_.recorder->call(used.lane->device_name(), result.seconds, input->rows, output->good_rows(), size.work,
                             output->bytes() > input->bytes() ? output->bytes() - input->bytes() : 0, result.bytes_moved);
        return done(std::move(output));
      }
      if (run_.cancelled()) return done(nullptr);
      if (!is_device_failure(result.status) || used.lane->is_cpu()) {
        fail(result);
        return done(nullptr);
      }
      host_.recorder->retry(used.lane->device_name());
      failed.push_back(used.lane->memory().get());
      if (result.status == SLUICE_ERROR_DEVICE_LOST) scheduler.retire(*used.lane, result.error.message);
      run_.log(SLUICE_LOG_DEBUG, planned_.stage->name, used.lane->device_name() + ": " + result.error.message + "; the batch is done elsewhere");
      used = scheduler.choose(index_, *input, size, failed);
      if (used.lane == nullptr) {
        set_error(result.error, result.status, std::string(result.error.message) + ", and no other device can do it", "allow the CPU: --device auto");
        fail(result);
        return done(nullptr);
      }
    }
  });
}

std::vector<BatchHandle> StageRunner::collect(sluice_output& output) {
  std::vector<BatchHandle> result;
  if (output.rows_set && output.batch->rows > 0) output.close_batch();
  for (auto& batch : output.emitted) {
    batch->row_type = descriptor().output.row_type;
    batch->sequence = emitted_++;
    if (batch->work <= 0) batch->work = static_cast<double>(batch->rows);
    if (batch->status) {
      const std::vector<std::uint16_t> failures = *std::exchange(batch->status, nullptr);
      count_failures(*batch, failures);
      batch->status = std::make_shared<std::vector<std::uint16_t>>(failures);
    }
    result.push_back(std::move(batch));
  }
  return result;
}

std::vector<BatchHandle> StageRunner::regroup(const BatchHandle& input) {
  if (run_.cancelled() || input->rows == 0) return {};
  sluice_output output(host_, 0);
  output.rows_set = false;
  CallResult result;
  const double start = run_.seconds();
  const auto clock = Clock::now();
  const sluice_call call = make_call(planned_.implementations.front(), nullptr);
  const CallScope scope({planned_.stage->name, input->sequence, input->rows, ""}, nullptr, result.bytes_moved);
  const BatchView view(*input);
  result.status = stage_.process(stage_.self, &call, &view.get(), &output, &result.error);
  result.seconds = seconds_since(clock);
  ++run_.progress;
  if (result.status == SLUICE_OK && !output.problem.empty()) result.status = plugin_bug(result.error, output.problem);
  if (result.status != SLUICE_OK) return fail(result), std::vector<BatchHandle>();
  std::vector<BatchHandle> batches = collect(output);
  std::int64_t rows = 0;
  for (const BatchHandle& batch : batches) rows += batch->rows;
  host_.recorder->call("cpu", result.seconds, input->rows, rows, input->work, 0, result.bytes_moved);
  trace("cpu", start, result.seconds, input->sequence, input->rows);
  return batches;
}

void StageRunner::commit(const BatchHandle& input) {
  if (run_.cancelled() || input->rows == 0) return;
  CallResult result;
  const double start = run_.seconds();
  const auto clock = Clock::now();
  const sluice_call call = make_call(0, nullptr);
  const BatchView view(*input);
  result.status = stage_.commit(stage_.self, &call, &view.get(), &result.error);
  result.seconds = seconds_since(clock);
  ++run_.progress;
  if (result.status != SLUICE_OK) return fail(result);
  host_.recorder->call("writer", result.seconds, 0, 0, 0, 0);
  trace("writer", start, result.seconds, input->sequence, input->rows);
}

std::vector<BatchHandle> StageRunner::finish() {
  if (stage_.finish == nullptr || stage_.self == nullptr || run_.cancelled()) return {};
  sluice_output output(host_, 0);
  output.rows_set = false;
  CallResult result;
  const sluice_call call = make_call(0, nullptr);
  result.status = stage_.finish(stage_.self, &call, &output, &result.error);
  ++run_.progress;
  if (result.status == SLUICE_OK && !output.problem.empty()) result.status = plugin_bug(result.error, output.problem);
  if (result.status != SLUICE_OK) return fail(result), std::vector<BatchHandle>();
  std::vector<BatchHandle> batches = collect(output);
  for (const BatchHandle& batch : batches) host_.recorder->call("cpu", 0, 0, batch->rows, 0, batch->bytes());
  return batches;
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
      status = instance.process(instance.self, &call, nullptr, &output, &error);
      if (status == SLUICE_END) status = SLUICE_OK;
      if (status == SLUICE_OK && !output.problem.empty()) status = plugin_bug(error, output.problem);
      if (instance.destroy != nullptr) instance.destroy(instance.self);
    }
    if (status != SLUICE_OK) {
      run.fail(resource.name, status, error.message, error.remedy);
      return {};
    }
    output.batch->row_type = d.output.row_type;
    host.recorder->call("cpu", seconds_since(clock), 0, output.batch->rows, 0, output.batch->bytes());
    resources.push_back(output.batch);
    if (run.stopping()) return {};
  }
  return resources;
}

}  // namespace sluice
