// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The host API in one process: memory with guards, threads, files in a temporary folder, and checks of everything a stage hands over.

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <sluice/column_check.hpp>
#include <sluice/stage.hpp>
#include <sluice/testing/result.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "testing/guarded_memory.hpp"
#include "testing/test_device.hpp"
#include "testing/test_files.hpp"

namespace sluice::testing {

namespace detail {

class MiniHost;

struct OutputState {
  MiniHost* home = nullptr;
  std::shared_ptr<TestDevice> device;  // of the call
  const sluice_stage_descriptor* descriptor = nullptr;
  const std::vector<std::uint8_t>* wanted = nullptr;
  bool prepares_commit = false;  // a sink's process(): columns that begin with '_'
  bool opened = false;           // rows were set or columns added since the last emit
  bool work_is_set = false;      // of the batch
  TestBatch::Contents contents;
  std::vector<std::pair<std::int64_t, std::uint32_t>> failures;
  std::vector<TestBatch::Contents> emitted;
  std::vector<std::vector<std::pair<std::int64_t, std::uint32_t>>> emitted_failures;
  std::string problem;  // what was refused first
  std::mutex mutex;     // guards failures and problem

  sluice_status refuse(const std::string& what);
};

// Implements sluice_host_api.
class MiniHost : public std::enable_shared_from_this<MiniHost> {
 public:
  MiniHost(const sluice_stage_descriptor& descriptor, std::string folder)
      : files(folder, [this](const std::string& text) { problem(text); }), descriptor_(&descriptor) {
    api_.struct_size = sizeof api_;
    api_.abi_major = SLUICE_ABI_MAJOR;
    api_.abi_minor = SLUICE_ABI_MINOR;
    api_.log = [](const sluice_host* host, sluice_log_level level, const char* message) {
      MiniHost& self = of(host);
      const std::lock_guard lock(self.mutex_);
      self.log_lines.push_back({level, message});
    };
    api_.cancelled = [](const sluice_host* host) -> std::int32_t { return of(host).cancel_checks_left.fetch_sub(1) <= 0 ? 1 : 0; };
    api_.parallel_for = parallel_for;
    api_.thread_count = [](const sluice_host* host) -> std::int32_t { return of(host).threads; };
    api_.allocate = allocate;
    api_.free = release;
    api_.keeps = [](const sluice_host*, std::uint64_t) {};
    api_.progress = [](const sluice_host* host, double share) {
      if (!(share >= 0 && share <= 1)) of(host).problem("a progress of " + std::to_string(share));
    };
    api_.account = [](const sluice_host* host, std::uint32_t reason, std::uint64_t count, const char* name) -> sluice_status {
      MiniHost& self = of(host);
      const std::lock_guard lock(self.mutex_);
      Account& account = self.accounts[self.reason_code(reason)];
      account.count += count;
      if (name != nullptr) account.names.emplace_back(name);
      return SLUICE_OK;
    };
    api_.count = [](const sluice_host* host, const char* counter, double amount) -> sluice_status {
      MiniHost& self = of(host);
      const std::lock_guard lock(self.mutex_);
      self.counters[counter] += amount;
      return SLUICE_OK;
    };
    api_.observe = [](const sluice_host* host, const char* quantity, double value) -> sluice_status {
      MiniHost& self = of(host);
      const std::lock_guard lock(self.mutex_);
      self.observed[quantity].push_back(value);
      return SLUICE_OK;
    };
    api_.set_deadline = [](sluice_output* output, double seconds) -> sluice_status {
      const sluice_stage_kind kind = of(output).descriptor->kind;
      if (kind != SLUICE_SOURCE && kind != SLUICE_REGROUP) return of(output).refuse("a deadline set by a stage that makes no batches");
      if (!(seconds >= 0)) return of(output).refuse("a deadline that is not in the future");
      return SLUICE_OK;
    };
    api_.set_row_count = [](sluice_output* output, std::int64_t rows) -> sluice_status {
      OutputState& out = of(output);
      if (!out.contents.columns.empty()) return out.refuse("set_row_count after a column was added");
      if (out.descriptor->kind == SLUICE_MAP || out.descriptor->kind == SLUICE_SINK) return out.refuse("a map or sink set the row count");
      if (rows < 0) return out.refuse("negative row count");
      out.opened = true;
      out.contents.rows = rows;
      out.contents.status.assign(static_cast<std::size_t>(rows), 0);
      return SLUICE_OK;
    };
    api_.add_column = add_column;
    api_.set_attribute = [](sluice_output* output, const char* key, const char* value) -> sluice_status {
      OutputState& out = of(output);
      out.opened = true;
      out.contents.attributes.emplace_back(key, value);
      return SLUICE_OK;
    };
    api_.fail_row = [](sluice_output* output, std::int64_t row, std::uint32_t reason) -> sluice_status {
      OutputState& out = of(output);
      if (row < 0 || row >= out.contents.rows) return out.refuse("fail_row of row " + std::to_string(row) + ", which does not exist");
      if (reason >= out.descriptor->reason_count) return out.refuse("fail_row with undeclared reason " + std::to_string(reason));
      const std::lock_guard lock(out.mutex);
      out.failures.emplace_back(row, reason);
      return SLUICE_OK;
    };
    api_.set_work = [](sluice_output* output, double work) -> sluice_status {
      of(output).work_is_set = true;
      return work >= 0 ? sluice_status{SLUICE_OK} : of(output).refuse("a negative work");
    };
    api_.output_problem = [](const sluice_output* output) -> const char* { return reinterpret_cast<const OutputState*>(output)->problem.c_str(); };
    api_.emit = [](sluice_output* output) -> sluice_status {
      OutputState& out = of(output);
      if (out.descriptor->kind != SLUICE_REGROUP) {
        out.home->problem("emit by a stage that is not a regroup");
        return SLUICE_ERROR_UNSUPPORTED;
      }
      out.home->close_batch(out);
      if (out.home->when_emitted) out.home->when_emitted(out.emitted.back());
      return SLUICE_OK;
    };
    api_.outcome = [](const sluice_host* host, const char* name, std::uint64_t good, std::uint64_t total) -> sluice_status {
      MiniHost& self = of(host);
      const std::lock_guard lock(self.mutex_);
      self.outcomes[name].first += good;
      self.outcomes[name].second += total;
      return SLUICE_OK;
    };
    api_.open_file = open_file;
    api_.write_file = TestFiles::write;
    api_.file_path = [](const sluice_file* file) { return TestFiles::path(file); };
    api_.close_file = TestFiles::close;
    api_.header_of_file = TestFiles::set_header;
  }
  MiniHost(const MiniHost&) = delete;

  const sluice_host_api& api() const { return api_; }
  const sluice_host* raw() const { return reinterpret_cast<const sluice_host*>(this); }
  void problem(const std::string& text) {
    const std::lock_guard lock(mutex_);
    problems.push_back(text);
  }
  std::string reason_code(std::uint32_t reason) {
    if (reason < descriptor_->reason_count) return descriptor_->reasons[reason].code;
    problems.push_back("undeclared reason " + std::to_string(reason));
    return "undeclared";
  }
  // Turns what was added since the last batch into one more batch.
  void close_batch(OutputState& out) {
    if (!out.prepares_commit)
      for (std::size_t i = 0; i < out.descriptor->output.column_count; ++i) {
        const sluice_column_spec& spec = out.descriptor->output.columns[i];
        const bool there = std::any_of(out.contents.columns.begin(), out.contents.columns.end(), [&](const auto& c) { return c.name == spec.name; });
        const bool due = spec.optional == 0 || (*out.wanted)[i] != 0;
        if (due && !there) problem(std::string("column '") + spec.name + "' was not made");
        if (!due && there) problem(std::string("optional column '") + spec.name + "' was made although nobody wants it");
      }
    // The host counts rows where it is not told, and calls them what the source says that it counts.
    const bool counts_rows = out.descriptor->work_unit == nullptr || std::string_view(out.descriptor->work_unit) == "row";
    if (out.descriptor->kind == SLUICE_SOURCE && !counts_rows && out.contents.rows > 0 && !out.work_is_set)
      problem(std::string("a batch without set_work(), of a source that counts ") + out.descriptor->work_unit + "s");
    out.work_is_set = false;
    out.emitted.push_back(std::exchange(out.contents, TestBatch::Contents{}));
    out.contents.row_type = out.emitted.back().row_type;
    out.emitted_failures.push_back(std::exchange(out.failures, {}));
    out.opened = false;
  }

  int threads = 1;
  std::atomic<std::int64_t> cancel_checks_left{std::numeric_limits<std::int64_t>::max()};
  std::atomic<std::int64_t> allocations_left{std::numeric_limits<std::int64_t>::max()};
  GuardedMemory memory;
  std::vector<LogLine> log_lines;
  std::map<std::string, Account> accounts;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> outcomes;  // good and total by name
  std::map<std::string, double> counters;
  std::map<std::string, std::vector<double>> observed;
  std::vector<std::string> problems;
  std::function<void(const TestBatch::Contents&)> when_emitted;
  TestFiles files;

 private:
  static MiniHost& of(const sluice_host* host) { return *const_cast<MiniHost*>(reinterpret_cast<const MiniHost*>(host)); }
  static OutputState& of(sluice_output* output) { return *reinterpret_cast<OutputState*>(output); }

  static sluice_status parallel_for(const sluice_host* host, std::size_t count, std::size_t grain,
                                    sluice_status (*body)(void*, std::size_t, std::size_t), void* argument) {
    if (count == 0) return SLUICE_OK;
    grain = std::max<std::size_t>(grain, 1);
    const auto threads = static_cast<std::size_t>(std::max(of(host).threads, 1));
    const std::size_t parts = std::min(std::max<std::size_t>(count / grain, 1), threads * 4);
    std::atomic<std::size_t> next{0};
    std::atomic<sluice_status> first{SLUICE_OK};
    const auto work = [&] {
      for (std::size_t part = next++; part < parts; part = next++) {
        const std::size_t begin = count / parts * part + std::min(part, count % parts);
        const std::size_t end = begin + count / parts + (part < count % parts ? 1 : 0);
        const sluice_status status = body(argument, begin, end);
        sluice_status fine = SLUICE_OK;
        if (status != SLUICE_OK) first.compare_exchange_strong(fine, status);
      }
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < std::min(threads, parts); ++i) others.emplace_back(work);
    work();
    for (std::thread& thread : others) thread.join();
    return first;
  }

  static void* allocate(const sluice_host* host, std::size_t bytes) {
    MiniHost& self = of(host);
    if (self.allocations_left.fetch_sub(1) <= 0) return nullptr;
    return self.memory.allocate(bytes);
  }
  static void release(const sluice_host* host, void* memory) {
    if (memory == nullptr) return;
    if (const std::string damage = of(host).memory.free(memory); !damage.empty()) of(host).problem(damage);
  }

  // What is wrong with the column, "" if nothing.
  static std::string misfit(const OutputState& out, const sluice_new_column& made) {
    const std::string_view name = made.name;
    for (const auto& column : out.contents.columns)
      if (column.name == name) return "was added twice";
    std::string type = column_type(*made.schema);
    if (out.prepares_commit) {
      if (name.empty() || name[0] != '_') return "of a sink does not begin with '_'";
    } else {
      const sluice_port& port = out.descriptor->output;
      const auto* spec =
          std::find_if(port.columns, port.columns + port.column_count, [&](const auto& s) { return std::string_view(s.name) == name; });
      if (spec == port.columns + port.column_count) return "is not declared in gives";
      type = spec->type;
    }
    const ArrowArray& array = made.array != nullptr ? *made.array : made.device->array;
    return column_problem(type, out.contents.rows, *made.schema, array, {made.buffer_bytes, made.buffer_count},
                          made.array != nullptr ? Place::host : Place::device);
  }

  static sluice_status add_column(sluice_output* output, const sluice_new_column* made) {
    OutputState& out = of(output);
    const std::string name = "column '" + std::string(made->name) + "' ";
    if (made->device != nullptr && !out.device) return out.refuse(name + "was added on a device by a call on the CPU");
    if (const std::string why = misfit(out, *made); !why.empty()) return out.refuse(name + why);
    const std::string type = column_type(*made->schema);
    ArrowArray array{};
    if (made->array != nullptr) {
      array = std::exchange(*made->array, ArrowArray{});
    } else {
      // Brought to the host at once, where it is checked like any other column.
      try {
        array = out.device->download(type, made->device->array);
      } catch (const std::exception& failure) {
        return out.refuse(name + failure.what());
      }
      made->device->array.release(&made->device->array);
      made->device->array.release = nullptr;
    }
    const std::vector<std::uint64_t> sizes =
        made->array != nullptr ? std::vector(made->buffer_bytes, made->buffer_bytes + made->buffer_count) : buffer_bytes_of(type, array);
    out.opened = true;
    TestBatch::Column column;
    column.name = made->name;
    column.type = type;
    column.host = out.home->shared_from_this();
    column.data = std::make_shared<ColumnData>(std::exchange(*made->schema, ArrowSchema{}), array, sizes);
    column.array = array;
    column.array.release = nullptr;
    out.contents.columns.push_back(std::move(column));
    return SLUICE_OK;
  }

  static sluice_status open_file(const sluice_host* host, const char* path, sluice_file** file, sluice_error* error) {
    return of(host).files.open(path, file, error);
  }

  sluice_host_api api_{};
  const sluice_stage_descriptor* descriptor_;
  std::mutex mutex_;  // guards log_lines, accounts, outcomes, counters, problems
};

inline sluice_status OutputState::refuse(const std::string& what) {
  home->problem(what);
  const std::lock_guard lock(mutex);
  if (problem.empty()) problem = what;
  return SLUICE_ERROR_INTERNAL;
}

}  // namespace detail

}  // namespace sluice::testing
