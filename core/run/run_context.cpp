// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/run_context.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sluice/column.hpp>
#include <string_view>
#include <system_error>

#include "run/call_mark.hpp"

namespace sluice {
namespace {

void fill(sluice_error* error, const Failure& failure) {
  if (error == nullptr) return;
  error->code = failure.status();
  std::snprintf(error->message, sizeof error->message, "%s", failure.what());
  std::snprintf(error->remedy, sizeof error->remedy, "%s", failure.remedy().c_str());
}

// The declared type of an output column, or null. A sink may add private columns, whose names begin with '_'.
const char* declared_type(const sluice_output& output, std::string_view name) {
  const sluice_stage_descriptor& d = *output.host->stage->entry.descriptor;
  for (std::size_t c = 0; c < d.output.column_count; ++c)
    if (name == d.output.columns[c].name) return d.output.columns[c].type;
  return nullptr;
}

sluice_status refuse(sluice_output* output, std::string problem) {
  if (output->problem.empty()) output->problem = std::move(problem);
  return SLUICE_ERROR_INTERNAL;
}

// The type of a new column, or "" after refusing it.
std::string accept_name(sluice_output* output, const char* name, const ArrowSchema* schema) {
  const sluice_stage_descriptor& d = *output->host->stage->entry.descriptor;
  if (output->batch->find(name) != nullptr) return refuse(output, std::string("column '") + name + "' was added twice"), std::string();
  if (const char* type = declared_type(*output, name)) return type;
  if (d.kind == SLUICE_SINK && name[0] == '_') return column_type(*schema);
  return refuse(output, std::string("column '") + name + "' is not declared in gives"), std::string();
}

sluice_status api_add_column(sluice_output* output, const char* name, ArrowSchema* schema, ArrowArray* array) {
  const std::string type = accept_name(output, name, schema);
  if (type.empty()) return SLUICE_ERROR_INTERNAL;
  if (!output->rows_set) return refuse(output, std::string("column '") + name + "' was added before the number of rows was set");
  if (const std::string problem = check_column(type, output->batch->rows, *schema, *array); !problem.empty())
    return refuse(output, std::string("column '") + name + "' " + problem);
  output->batch->columns.push_back(std::make_shared<Column>(name, type, *schema, *array));
  schema->release = nullptr;
  array->release = nullptr;
  return SLUICE_OK;
}

sluice_status api_add_device_column(sluice_output* output, const char* name, ArrowSchema* schema, ArrowDeviceArray* array) {
  const std::string type = accept_name(output, name, schema);
  if (type.empty()) return SLUICE_ERROR_INTERNAL;
  if (!output->device) return refuse(output, std::string("device column '") + name + "' was added by a call on the CPU");
  if (column_type(*schema) != type) return refuse(output, std::string("column '") + name + "' is " + column_type(*schema) + ", declared as " + type);
  if (array->array.length != output->batch->rows) return refuse(output, std::string("column '") + name + "' has a wrong number of rows");
  output->batch->columns.push_back(std::make_shared<Column>(name, type, *schema, *array, output->device));
  schema->release = nullptr;
  array->array.release = nullptr;
  return SLUICE_OK;
}

void api_fail_row(sluice_output* output, std::int64_t row, std::uint32_t reason) {
  const sluice_stage_descriptor& d = *output->host->stage->entry.descriptor;
  if (row < 0 || row >= output->batch->rows || reason >= d.reason_count) {
    refuse(output, "row " + std::to_string(row) + " failed with reason " + std::to_string(reason) + ": no such row or reason");
    return;
  }
  output->failures[static_cast<std::size_t>(row)] = static_cast<std::uint16_t>(output->host->first_reason + reason);
}

sluice_status api_emit(sluice_output* output) {
  if (!output->rows_set) return refuse(output, "emit without set_row_count");
  if (!output->emit) return refuse(output, "emit by a stage that is not a regroup");
  return output->close_batch() ? SLUICE_OK : SLUICE_ERROR_CANCELLED;
}

// Is what this stage makes from now on thrown away? What maps and sinks have under way at the first interrupt is finished.
bool is_cancelled(const sluice_host& host) {
  const sluice_stage_kind kind = host.stage->entry.descriptor->kind;
  const bool drives = kind == SLUICE_SOURCE || kind == SLUICE_RESOURCE || !host.stage->feedback.empty();
  return host.run->cancelled() || (drives && host.run->stopping());
}

sluice_status api_parallel_for(const sluice_host* host, std::size_t count, std::size_t grain, sluice_status (*body)(void*, std::size_t, std::size_t),
                               void* argument) {
  const RunContext& run = *host->run;
  const bool is_resource = host->stage->entry.descriptor->kind == SLUICE_RESOURCE;
  const CallMark* const caller = CallMark::current();
  return run.parallel_for(count, std::max<std::size_t>(grain, 1), [&](std::size_t begin, std::size_t end) -> sluice_status {
    if (run.cancelled() || (is_resource && run.stopping())) return SLUICE_ERROR_CANCELLED;
    const CallMark mark(caller, *host);
    return body(argument, begin, end);
  });
}

template <class Body>
sluice_status guarded(sluice_error* error, Body&& body) {
  try {
    body();
    return SLUICE_OK;
  } catch (const Failure& failure) {
    fill(error, failure);
    return failure.status();
  } catch (const std::bad_alloc&) {
    fill(error, Failure::memory("out of memory"));
    return SLUICE_ERROR_MEMORY;
  }
}

sluice_host_api make_api() {
  sluice_host_api api{};
  api.struct_size = sizeof api;
  api.abi_major = SLUICE_ABI_MAJOR;
  api.abi_minor = SLUICE_ABI_MINOR;
  api.log = [](const sluice_host* host, sluice_log_level level, const char* message) { host->run->log(level, host->stage->name, message); };
  api.cancelled = [](const sluice_host* host) -> std::int32_t { return is_cancelled(*host) ? 1 : 0; };
  api.parallel_for = api_parallel_for;
  api.thread_count = [](const sluice_host* host) -> std::int32_t { return host->run->threads; };
  api.allocate = [](const sluice_host* host, std::size_t bytes) { return host->run->allocate(bytes); };
  api.free = [](const sluice_host* host, void* memory) { host->run->free(memory); };
  api.account = [](const sluice_host* host, std::uint32_t reason, std::uint64_t count, const char* name) {
    const sluice_stage_descriptor& d = *host->stage->entry.descriptor;
    host->recorder->accounted(reason < d.reason_count ? d.reasons[reason].code : "unknown", count, name);
  };
  api.count = [](const sluice_host* host, const char* counter, double amount) { host->recorder->count(counter, amount); };
  api.progress = [](const sluice_host* host, double share) { host->recorder->progress(share); };
  api.observe = [](const sluice_host* host, const char* quantity, double value) { host->recorder->observe(quantity, value); };
  api.outcome = [](const sluice_host* host, const char* name, std::uint64_t good, std::uint64_t total) {
    host->recorder->outcome(name, good, total);
  };
  api.set_deadline = [](sluice_output* output, double seconds) {
    if (seconds >= 0) output->batch->deadline = output->host->run->seconds() + seconds;
  };
  api.set_row_count = [](sluice_output* output, std::int64_t rows) { output->set_rows(std::max<std::int64_t>(rows, 0)); };
  api.add_column = api_add_column;
  api.add_device_column = api_add_device_column;
  api.set_attribute = [](sluice_output* output, const char* key, const char* value) { output->batch->attributes[key] = value; };
  api.fail_row = api_fail_row;
  api.set_work = [](sluice_output* output, double work) { output->batch->work = work; };
  api.emit = api_emit;
  api.open_file = [](const sluice_host* host, const char* path, sluice_file** file, sluice_error* error) {
    return guarded(error, [&] { *file = host->run->files.open(path); });
  };
  api.write_file = [](sluice_file* file, const void* data, std::size_t bytes, sluice_error* error) {
    return guarded(error, [&] { OutputFiles::write(*file, static_cast<const char*>(data), bytes); });
  };
  api.file_path = [](const sluice_file* file) { return file->temporary.c_str(); };
  api.close_file = [](sluice_file* file, sluice_error* error) { return guarded(error, [&] { OutputFiles::close(*file); }); };
  return api;
}

constexpr std::size_t header_bytes = 64;  // in front of every block: its size, and the alignment that SIMD loads want

}  // namespace

const sluice_host_api& RunContext::api() {
  static const sluice_host_api table = make_api();
  return table;
}

RunContext::RunContext(const Plan& plan_, const RunOptions& options_, int threads_)
    : plan(plan_), options(options_), threads(threads_), recorder(plan_) {
  for (const PlannedStage& stage : plan.stages) implementations.push_back(stage.implementations);
  std::uint16_t next_reason = 1;
  const auto add = [&](const ResolvedStage& stage, StageRecorder& stage_recorder) {
    auto host = std::make_unique<sluice_host>();
    host->run = this;
    host->stage = &stage;
    host->recorder = &stage_recorder;
    host->first_reason = next_reason;
    next_reason = static_cast<std::uint16_t>(next_reason + stage.entry.descriptor->reason_count);
    hosts_.push_back(std::move(host));
  };
  for (std::size_t i = 0; i < plan.pipeline.resources.size(); ++i) add(plan.pipeline.resources[i], recorder.resource(i));
  for (std::size_t i = 0; i < plan.pipeline.stages.size(); ++i) add(plan.pipeline.stages[i], recorder.stage(i));
  if (options.keep_account)
    for (StageRecorder& stage : recorder.stages()) stage.keep_all_names();
}

void RunContext::fail(const std::string& stage, sluice_status status, const std::string& message, const std::string& remedy) {
  {
    const std::lock_guard lock(mutex_);
    if (!failed_) {
      failure_.stage = stage;
      failure_.status = status;
      failure_.message = message;
      failure_.remedy = remedy;
    }
    failed_ = true;
  }
  cancelled_ = true;
}

void RunContext::fail_with_current_exception(const std::string& stage) noexcept {
  try {
    try {
      throw;
    } catch (const Failure& failure) {
      fail(stage, failure.status(), failure.what(), failure.remedy());
    } catch (const std::bad_alloc&) {
      fail(stage, SLUICE_ERROR_MEMORY, "out of memory", "lower --memory or --threads, or use a machine with more memory");
    } catch (const std::system_error& error) {  // a thread that can't be started
      fail(stage, SLUICE_ERROR_MEMORY, std::string("out of memory or threads: ") + error.what(), "lower --threads, or raise ulimit -v and -u");
    } catch (const std::exception& exception) {
      fail(stage, SLUICE_ERROR_INTERNAL, exception.what(), "");
    }
  } catch (...) {  // not even room for the words
    failed_ = cancelled_ = true;
  }
}

void RunContext::interrupt() {
  if (interrupts_.fetch_add(1) == 0)
    stopping_ = true;
  else
    cancelled_ = true;
}

void RunContext::take_failure(RunResult& result) const {
  const std::lock_guard lock(mutex_);
  result.stage = failure_.stage;
  result.status = failure_.status;
  result.message = failure_.message;
  result.remedy = failure_.remedy;
}

void RunContext::log(int level, const std::string& stage, const std::string& message) const {
  if (level < options.log_level || !options.log) return;
  const std::lock_guard lock(log_mutex_);
  options.log(level, stage.empty() ? message : stage + ": " + message);
}

std::pair<std::string, std::string> RunContext::reason(std::uint16_t status) const {
  for (const auto& host : hosts_) {
    const sluice_stage_descriptor& d = *host->stage->entry.descriptor;
    if (status >= host->first_reason && status < host->first_reason + d.reason_count)
      return {host->stage->name, d.reasons[status - host->first_reason].code};
  }
  return {"", "unknown"};
}

void* RunContext::allocate(std::size_t bytes) {
  if (bytes > SIZE_MAX - 2 * header_bytes) return nullptr;
  const std::size_t total = (bytes + header_bytes + 63) / 64 * 64;
  void* block = std::aligned_alloc(64, total);
  if (block == nullptr) return nullptr;
  std::memcpy(block, &total, sizeof total);
  const std::uint64_t now = memory_now_.fetch_add(total) + total;
  std::uint64_t peak = memory_peak_.load();
  while (now > peak && !memory_peak_.compare_exchange_weak(peak, now)) {
  }
  return static_cast<char*>(block) + header_bytes;
}

void RunContext::free(void* memory) {
  if (memory == nullptr) return;
  char* block = static_cast<char*>(memory) - header_bytes;
  std::size_t total = 0;
  std::memcpy(&total, block, sizeof total);
  memory_now_.fetch_sub(total);
  std::free(block);
}

}  // namespace sluice
