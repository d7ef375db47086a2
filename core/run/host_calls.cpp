// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <new>
#include <sluice/column_check.hpp>
#include <sluice/failure.hpp>
#include <sluice/follow_state.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "device/device_column.hpp"
#include "run/call_mark.hpp"
#include "run/host.hpp"
#include "run/run_context.hpp"

namespace sluice {
namespace {

sluice_status say(sluice_error* error, sluice_status status, const char* message, const char* remedy) {
  if (error != nullptr) {
    error->code = status;
    std::snprintf(error->message, sizeof error->message, "%s", message);
    std::snprintf(error->remedy, sizeof error->remedy, "%s", remedy);
  }
  return status;
}

// Nothing that goes wrong here may pass through the plugin.
template <class Body>
sluice_status guarded(sluice_error* error, Body&& body) noexcept {
  try {
    body();
    return SLUICE_OK;
  } catch (const Failure& failure) {
    return say(error, failure.status(), failure.what(), failure.remedy().c_str());
  } catch (const std::bad_alloc&) {
    return say(error, SLUICE_ERROR_MEMORY, "out of memory", "lower --memory or --threads");
  } catch (const std::system_error& problem) {
    return say(error, SLUICE_ERROR_MEMORY, problem.what(), "lower --threads");
  } catch (const std::exception& problem) {
    return say(error, SLUICE_ERROR_INTERNAL, problem.what(), "");
  } catch (...) {
    return say(error, SLUICE_ERROR_INTERNAL, "an exception of an unknown type", "");
  }
}

// The same for what fills an output: `body` returns what is wrong with the plugin's request, or "".
template <class Body>
sluice_status checked(sluice_output* output, Body&& body) noexcept {
  sluice_status status = SLUICE_OK;
  const sluice_status thrown = guarded(nullptr, [&] {
    if (std::string problem = body(); !problem.empty()) status = output->refuse(problem);
  });
  return thrown != SLUICE_OK ? thrown : status;
}

std::string quoted(const char* name) { return name == nullptr ? "without a name" : "'" + std::string(name) + "'"; }

// ---- the instance's calls

void log(const sluice_host* host, sluice_log_level level, const char* message) {
  guarded(nullptr, [&] { host->run->log(level, host->stage->name, message == nullptr ? "" : message); });
}

// One that follows hears that it should give what is there and end, or that nobody waits for it any more.
FollowState follow_state(const sluice_host& host) {
  if (host.run->cancelled() || (host.enough != nullptr && *host.enough)) return FollowState::not_needed;
  return host.run->following_ended() || host.run->stopping() ? FollowState::ends : FollowState::goes_on;
}

// Is what this stage makes from now on thrown away? What maps and sinks have under way at the first interrupt is finished.
std::int32_t cancelled(const sluice_host* host) {
  if (host->follows) return static_cast<std::int32_t>(follow_state(*host));
  const sluice_stage_kind kind = host->descriptor().kind;
  const bool drives = kind == SLUICE_SOURCE || kind == SLUICE_RESOURCE || !host->stage->feedback.empty();
  return host->run->cancelled() || (drives && host->run->stopping()) ? 1 : 0;
}

sluice_status parallel_for(const sluice_host* host, std::size_t count, std::size_t grain, sluice_status (*body)(void*, std::size_t, std::size_t),
                           void* argument) {
  const RunContext& run = *host->run;
  const bool is_resource = host->descriptor().kind == SLUICE_RESOURCE;
  const CallMark* const caller = CallMark::current();
  sluice_status status = SLUICE_OK;
  const sluice_status thrown = guarded(nullptr, [&] {
    status = run.parallel_for(count, std::max<std::size_t>(grain, 1), [&](std::size_t begin, std::size_t end) -> sluice_status {
      if (run.cancelled() || (is_resource && run.stopping())) return SLUICE_ERROR_CANCELLED;
      const CallMark mark(caller, *host);
      return body(argument, begin, end);
    });
  });
  ++host->run->progress;
  return thrown != SLUICE_OK ? thrown : status;
}

void keeps(const sluice_host* host, std::uint64_t bytes) {
  // The instance's own count; everything else of the host is const for it.
  const std::uint64_t before = const_cast<sluice_host*>(host)->kept.exchange(bytes);
  host->run->keeps(before, bytes);
}

sluice_status account(const sluice_host* host, std::uint32_t reason, std::uint64_t count, const char* name) {
  return guarded(nullptr, [&] {
    const sluice_stage_descriptor& d = host->descriptor();
    if (reason >= d.reason_count) throw Failure(SLUICE_ERROR_INTERNAL, "an account for reason " + std::to_string(reason) + ", which is not declared");
    host->recorder->accounted(CallMark::current_sequence(), d.reasons[reason].code, count, name);
  });
}

template <class Body>
sluice_status named(const char* name, Body&& body) {
  return guarded(nullptr, [&] {
    if (name == nullptr) throw Failure(SLUICE_ERROR_INTERNAL, "a number without a name");
    body();
  });
}

void progress(const sluice_host* host, double share) {
  if (std::isfinite(share)) host->recorder->progress(std::clamp(share, 0.0, 1.0));
}

// ---- an output's calls

// Only the reader of a batch can be surprised by more rows than this.
constexpr std::int64_t most_rows = std::int64_t{1} << 40;

sluice_status set_row_count(sluice_output* output, std::int64_t rows) {
  return checked(output, [&]() -> std::string {
    if (!output->makes_rows) return std::string("the number of rows was set by a ") + kind_name(output->host.descriptor().kind);
    if (!output->batch->columns.empty()) return "the number of rows was set after columns were added";
    if (rows < 0 || rows > most_rows) return "the number of rows was set to " + std::to_string(rows);
    if (!output->host.run->has_room_for(static_cast<std::uint64_t>(rows) * sizeof output->failures[0])) throw std::bad_alloc();
    output->set_rows(rows);
    return {};
  });
}

// The declared type of an output column, or "". A sink may add private columns, whose names begin with '_'.
std::string declared_type(const sluice_output& output, const char* name, const ArrowSchema& schema) {
  const sluice_stage_descriptor& d = output.host.descriptor();
  for (std::size_t c = 0; c < d.output.column_count; ++c)
    if (std::string_view(name) == d.output.columns[c].name) return d.output.columns[c].type;
  return d.kind == SLUICE_SINK && name[0] == '_' ? column_type(schema) : std::string();
}

std::string add_column_problem(const sluice_output& output, const sluice_new_column* column, std::string& type) {
  if (column == nullptr || !SLUICE_HAS(column, sluice_new_column, buffer_bytes)) return "a column was added without saying what it is";
  const std::string name = "column " + quoted(column->name);
  if (column->name == nullptr || column->schema == nullptr || (column->array == nullptr) == (column->device == nullptr))
    return name + " was added without a name, a schema, or exactly one array";
  if (!output.open) return name + " was added before the number of rows was set";
  if (output.batch->find(column->name) != nullptr) return name + " was added twice";
  type = declared_type(output, column->name, *column->schema);
  if (type.empty()) return name + " is not declared in gives";
  if (column->device != nullptr && output.device == nullptr) return name + " was added on a device by a call on the CPU";
  const ArrowArray& array = column->array != nullptr ? *column->array : column->device->array;
  if (column->schema->release == nullptr || array.release == nullptr) return name + " has been released";
  const std::string problem = column_problem(type, output.batch->rows, *column->schema, array, {column->buffer_bytes, column->buffer_count},
                                             column->array != nullptr ? Place::host : Place::device);
  return problem.empty() ? std::string() : name + " " + problem;
}

sluice_status add_column(sluice_output* output, const sluice_new_column* column) {
  return checked(output, [&]() -> std::string {
    std::string type;
    if (std::string problem = add_column_problem(*output, column, type); !problem.empty()) return problem;
    output->batch->columns.reserve(output->batch->columns.size() + 1);
    std::shared_ptr<Column> made;
    if (column->array != nullptr) {
      made = std::make_shared<Column>(column->name, type, *column->schema, *column->array);
      column->array->release = nullptr;
    } else {
      auto there = std::make_unique<DeviceColumn>();
      there->buffer_bytes.assign(column->buffer_bytes, column->buffer_bytes + column->buffer_count);
      there->device = output->device->device().shared_from_this();
      there->array = std::exchange(*column->device, ArrowDeviceArray{});
      made = std::make_shared<Column>(column->name, type, *column->schema, std::move(there));
    }
    column->schema->release = nullptr;
    output->batch->columns.push_back(std::move(made));
    return {};
  });
}

sluice_status set_attribute(sluice_output* output, const char* key, const char* value) {
  return checked(output, [&]() -> std::string {
    if (key == nullptr || value == nullptr) return "an attribute without name or value";
    output->batch->attributes[key] = value;
    return {};
  });
}

sluice_status fail_row(sluice_output* output, std::int64_t row, std::uint32_t reason) {
  const std::size_t reasons = output->host.descriptor().reason_count;
  if (row >= 0 && static_cast<std::size_t>(row) < output->failures.size() && reason < reasons) {
    output->failures[static_cast<std::size_t>(row)] = static_cast<std::uint16_t>(output->host.first_reason + reason);
    return SLUICE_OK;
  }
  return checked(output, [&] {
    return "row " + std::to_string(row) + " of " + std::to_string(output->failures.size()) + " failed for reason " + std::to_string(reason) + " of " +
           std::to_string(reasons);
  });
}

sluice_status set_work(sluice_output* output, double work) {
  return checked(output, [&]() -> std::string {
    if (!std::isfinite(work) || work < 0) return "the work of a batch was set to " + std::to_string(work);
    output->batch->work = work;
    return {};
  });
}

sluice_status set_deadline(sluice_output* output, double seconds) {
  return checked(output, [&]() -> std::string {
    if (!output->makes_rows) return "a deadline was set by a stage that makes no batches";
    if (!(seconds >= 0)) return "a deadline was set that is not in the future";
    output->batch->deadline = output->host.run->seconds() + seconds;
    return {};
  });
}

sluice_status emit(sluice_output* output) {
  bool goes_on = true;
  const sluice_status status = checked(output, [&]() -> std::string {
    if (!output->emit) return "a batch was emitted by a stage that is not a regroup";
    if (!output->open) return "a batch was emitted without set_row_count";
    goes_on = output->emit(output->take_batch());
    return {};
  });
  return status != SLUICE_OK ? status : goes_on ? SLUICE_OK : SLUICE_ERROR_CANCELLED;
}

// ---- files

sluice_status open_file(const sluice_host* host, const char* path, sluice_file** file, sluice_error* error) {
  return guarded(error, [&] {
    if (path == nullptr) throw Failure(SLUICE_ERROR_INTERNAL, "a file without a name was opened");
    *file = host->run->files.open(path, host);
  });
}

sluice_host_api make_api() {
  sluice_host_api api{};
  api.struct_size = sizeof api;
  api.abi_major = SLUICE_ABI_MAJOR;
  api.abi_minor = SLUICE_ABI_MINOR;
  api.log = log;
  api.cancelled = cancelled;
  api.parallel_for = parallel_for;
  api.thread_count = [](const sluice_host* host) -> std::int32_t { return host->run->threads; };
  api.allocate = [](const sluice_host* host, std::size_t bytes) { return host->run->allocate(bytes); };
  api.free = [](const sluice_host* host, void* memory) { host->run->free(memory); };
  api.keeps = keeps;
  api.account = account;
  api.count = [](const sluice_host* host, const char* counter, double amount) {
    return named(counter, [&] { host->recorder->count(CallMark::current_sequence(), counter, amount); });
  };
  api.observe = [](const sluice_host* host, const char* quantity, double value) {
    return named(quantity, [&] { host->recorder->observe(quantity, value); });
  };
  api.outcome = [](const sluice_host* host, const char* name, std::uint64_t good, std::uint64_t total) {
    return named(name, [&] { host->recorder->outcome(CallMark::current_sequence(), name, good, total); });
  };
  api.progress = progress;
  api.set_row_count = set_row_count;
  api.add_column = add_column;
  api.set_attribute = set_attribute;
  api.fail_row = fail_row;
  api.set_work = set_work;
  api.set_deadline = set_deadline;
  api.emit = emit;
  api.output_problem = [](const sluice_output* output) { return output->problem(); };
  api.open_file = open_file;
  api.write_file = [](sluice_file* file, const void* data, std::size_t bytes, sluice_error* error) {
    return guarded(error, [&] { OutputFiles::write(*file, static_cast<const char*>(data), bytes); });
  };
  api.file_path = [](const sluice_file* file) { return file->temporary.c_str(); };
  api.close_file = [](sluice_file* file, sluice_error* error) { return guarded(error, [&] { OutputFiles::close(*file); }); };
  api.header_of_file = [](sluice_file* file, std::uint64_t bytes) -> sluice_status { return file->header_bytes = bytes, SLUICE_OK; };
  return api;
}

}  // namespace

const sluice_host_api& host_api() {
  static const sluice_host_api table = make_api();
  return table;
}

}  // namespace sluice
