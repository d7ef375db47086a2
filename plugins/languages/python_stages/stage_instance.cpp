// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "python_stages/stage_instance.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sluice/column_check.hpp>

namespace sluice::python {
namespace {

constexpr int most_deaths = 3;                // in a row: more batches would go the same way
constexpr std::uint64_t told_exceptions = 8;  // with their tracebacks

std::string exact_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

std::string value_text(const sluice_value& value) {
  if (value.is_set == 0) return "-";
  switch (value.type) {
    case SLUICE_BOOL:
      return value.integer != 0 ? "=true" : "=false";
    case SLUICE_INT:
    case SLUICE_SIZE:
      return "=" + std::to_string(value.integer);
    case SLUICE_FLOAT:
      return "=" + exact_text(value.real);
    default:
      return std::string("=") + value.text;
  }
}

std::vector<std::string> value_texts(const sluice_create_args& args, std::size_t count) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) texts.push_back(value_text(*SLUICE_AT(sluice_value, args.parameters, args.parameter_stride, i)));
  return texts;
}

std::vector<ColumnKind> wanted_of(const std::vector<ColumnKind>& gives, const std::uint8_t* wanted) {
  std::vector<ColumnKind> columns;
  for (std::size_t i = 0; i < gives.size(); ++i)
    if (wanted[i] != 0) columns.push_back(gives[i]);
  return columns;
}

// The last parameter of every such stage; 0: as many as the run has threads.
std::size_t most_workers(const sluice_create_args& args, std::size_t parameter_count) {
  const std::int64_t workers = SLUICE_AT(sluice_value, args.parameters, args.parameter_stride, parameter_count - 1)->integer;
  return static_cast<std::size_t>(workers > 0 ? workers : std::max(1, args.api->thread_count(args.host)));
}

Buffer zeros(const Output& out, std::size_t bytes) {
  Buffer buffer = Buffer::allocate(out.host().memory(), bytes);
  if (bytes > 0) std::memset(buffer.data(), 0, bytes);
  return buffer;
}

}  // namespace

StageInstance::StageInstance(const PythonFunction& function, const PythonPlace& place, std::unique_ptr<Worker> first, const sluice_create_args& args)
    : function_(function),
      place_(place),
      values_(value_texts(args, function.said.parameter_count)),
      wanted_(wanted_of(function.said.gives, args.wanted)),
      pool_({[this] {
               auto worker = std::make_unique<Worker>(place_, function_.file, function_.function);
               worker->set_up(values_, wanted_);
               return worker;
             },
             [this](Worker& worker, const WorkerPool::GiveUp& give_up) {
               if (worker.introduction(give_up).description != function_.said.description)
                 throw Failure::usage(function_.file + " has changed since the run was planned", "run again");
             }},
            most_workers(args, function.said.parameter_count)) {
  if (!first) return;
  first->set_up(values_, wanted_);
  pool_.add(std::move(first));
}

void StageInstance::process(const Call& call, const Batch& in, Output& out) {
  const std::function<bool()> give_up = [&] { return call.cancelled(); };
  const CallHooks hooks{[&](int level, const std::string& line) { call.api()->log(call.raw().host, level, line.c_str()); }, give_up};
  std::unique_ptr<Worker> worker = pool_.take(give_up);
  Answer answer;
  try {
    answer = worker->call(in, hooks);
  } catch (const WorkerDied& death) {
    worker.reset();
    pool_.put_back(nullptr);
    return mourn(call, in, out, death);
  } catch (...) {
    worker.reset();
    pool_.put_back(nullptr);
    throw;
  }
  pool_.put_back(std::move(worker));
  call.keeps(pool_.kept_bytes());
  deaths_in_a_row_ = 0;
  if (answer.raised) return report_exception(call, in, out, *answer.raised);
  take(answer, in, out);
}

void StageInstance::take(Answer& answer, const Batch& in, Output& out) {
  for (auto& [name, column] : answer.columns) out.add(name.c_str(), std::move(column));
  for (const auto& [row, reason] : answer.failed)
    if (row >= 0 && row < in.rows() && in.ok(row)) out.fail(row, reason);
}

// Its rows are bad from here on, and have cells that nobody reads.
void StageInstance::fail_batch(const Batch& in, Output& out, OwnReason reason) {
  const auto rows = static_cast<std::size_t>(in.rows());
  for (const ColumnKind& column : wanted_) {
    const bool has_offsets = is_text(column.type) || is_list(column.type);
    Buffer first = zeros(out, has_offsets ? (rows + 1) * sizeof(std::int64_t) : rows * item_bytes(column.type));
    out.add(column.name.c_str(), column_of(column.type, in.rows(), std::move(first), has_offsets ? zeros(out, 0) : Buffer()));
  }
  for (std::int64_t row = 0; row < in.rows(); ++row)
    if (in.ok(row)) out.fail(row, reason);
}

void StageInstance::mourn(const Call& call, const Batch& in, Output& out, const WorkerDied& death) {
  const std::string name = function_.file + ":" + function_.function;
  call.warn("the worker of " + name + " has died with a batch of " + std::to_string(in.rows()) + " rows, which fail: " + death.how);
  if (++deaths_in_a_row_ >= most_deaths)
    throw Failure(SLUICE_ERROR_INTERNAL,
                  std::to_string(most_deaths) + " batches, one after the other, have ended the worker of " + name + ": " +
                      death.how.substr(0, death.how.find('\n')),
                  "call the function in Python with such a batch (sluice.stream), to see where it ends");
  fail_batch(in, out, OwnReason::worker_died);
}

void StageInstance::report_exception(const Call& call, const Batch& in, Output& out, const Raised& raised) {
  const std::string name = function_.file + ":" + function_.function;
  if (++exceptions_ <= told_exceptions || raised.ends_run)
    call.warn(name + " raised an exception with a batch of " + std::to_string(in.rows()) + " rows, which fail: " + raised.traceback);
  if (raised.ends_run) throw Failure(SLUICE_ERROR_INTERNAL, name + " raised " + raised.traceback.substr(raised.traceback.rfind('\n') + 1));
  fail_batch(in, out, OwnReason::exception);
}

void StageInstance::finish(const Call& call) {
  if (exceptions_ > told_exceptions)
    call.warn(function_.file + ":" + function_.function + " raised exceptions with " + std::to_string(exceptions_ - told_exceptions) +
              " more batches, too");
}

// The copy that the worker sees counts as working memory; what is given is about as much.
Estimate StageInstance::estimate(const Batch& in) const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < in.raw().column_count; ++i) {
    const sluice_column& column = *SLUICE_AT(sluice_column, in.raw().columns, in.raw().column_stride, i);
    bytes += column_bytes(column.type, *column.array);
  }
  return {static_cast<double>(in.rows()), in.rows() > 0 ? 1.0 : 0.0, bytes, bytes, {}};
}

}  // namespace sluice::python
