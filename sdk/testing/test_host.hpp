// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The host API in one process: memory with guards, threads, files in a temporary folder, and checks of everything a stage hands over.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <sluice/stage.hpp>
#include <sluice/testing/result.hpp>
#include <sluice/testing/temporary_folder.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "testing/test_device.hpp"

namespace sluice::testing {

namespace detail {

class MiniHost;

struct OutputFileState {
  MiniHost* home = nullptr;
  std::string path, temporary;
  std::FILE* stream = nullptr;
  std::uint64_t written = 0;
};

struct OutputState {
  MiniHost* home = nullptr;
  std::shared_ptr<TestDevice> device;  // of the call
  const sluice_stage_descriptor* descriptor = nullptr;
  const std::vector<std::uint8_t>* wanted = nullptr;
  bool prepares_commit = false;  // a sink's process(): columns that begin with '_'
  bool opened = false;           // rows were set or columns added since the last emit
  TestBatch::Contents contents;
  std::vector<std::pair<std::int64_t, std::uint32_t>> failures;
  std::vector<TestBatch::Contents> emitted;
  std::vector<std::vector<std::pair<std::int64_t, std::uint32_t>>> emitted_failures;
  std::mutex mutex;  // guards failures
};

// Implements sluice_host_api. Memory is counted, filled with 0xA5 and followed by a guard that free() looks at.
class MiniHost : public std::enable_shared_from_this<MiniHost> {
 public:
  MiniHost(const sluice_stage_descriptor& descriptor, std::string folder) : descriptor_(&descriptor), folder_(folder) {
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
    api_.account = [](const sluice_host* host, std::uint32_t reason, std::uint64_t count, const char* name) {
      MiniHost& self = of(host);
      const std::lock_guard lock(self.mutex_);
      Account& account = self.accounts[self.reason_code(reason)];
      account.count += count;
      if (name != nullptr) account.names.emplace_back(name);
    };
    api_.count = [](const sluice_host* host, const char* counter, double amount) {
      MiniHost& self = of(host);
      const std::lock_guard lock(self.mutex_);
      self.counters[counter] += amount;
    };
    api_.observe = [](const sluice_host* host, const char* quantity, double value) {
      MiniHost& self = of(host);
      const std::lock_guard lock(self.mutex_);
      self.observed[quantity].push_back(value);
    };
    api_.set_deadline = [](sluice_output* output, double seconds) {
      const sluice_stage_kind kind = of(output).descriptor->kind;
      if (kind != SLUICE_SOURCE && kind != SLUICE_REGROUP) of(output).home->problem("a deadline set by a stage that makes no batches");
      if (!(seconds >= 0)) of(output).home->problem("a deadline that is not in the future");
    };
    api_.set_row_count = [](sluice_output* output, std::int64_t rows) {
      OutputState& out = of(output);
      if (!out.contents.columns.empty()) out.home->problem("set_row_count after a column was added");
      if (out.descriptor->kind == SLUICE_MAP || out.descriptor->kind == SLUICE_SINK) out.home->problem("a map or sink set the row count");
      if (rows < 0) out.home->problem("negative row count");
      out.opened = true;
      out.contents.rows = std::max<std::int64_t>(rows, 0);
      out.contents.status.assign(static_cast<std::size_t>(out.contents.rows), 0);
    };
    api_.add_column = add_column;
    // Brought to the host at once, where it is checked like any other column.
    api_.add_device_column = [](sluice_output* output, const char* name, ArrowSchema* schema, ArrowDeviceArray* array) -> sluice_status {
      OutputState& out = of(output);
      if (!out.device) {
        out.home->problem(std::string("column '") + name + "' was added on a device by a call on the CPU");
        return SLUICE_ERROR_INTERNAL;
      }
      ArrowArray host{};
      try {
        host = out.device->download(column_type(*schema), array->array);
      } catch (const std::exception& failure) {
        out.home->problem(std::string("column '") + name + "': " + failure.what());
        return SLUICE_ERROR_INTERNAL;
      }
      const sluice_status status = add_column(output, name, schema, &host);
      if (status == SLUICE_OK)
        array->array.release(&array->array);
      else
        host.release(&host);
      return status;
    };
    api_.set_attribute = [](sluice_output* output, const char* key, const char* value) {
      OutputState& out = of(output);
      out.opened = true;
      out.contents.attributes.emplace_back(key, value);
    };
    api_.fail_row = [](sluice_output* output, std::int64_t row, std::uint32_t reason) {
      OutputState& out = of(output);
      if (row < 0 || row >= out.contents.rows) return out.home->problem("fail_row of row " + std::to_string(row) + ", which does not exist");
      if (reason >= out.descriptor->reason_count) return out.home->problem("fail_row with undeclared reason " + std::to_string(reason));
      const std::lock_guard lock(out.mutex);
      out.failures.emplace_back(row, reason);
    };
    api_.set_work = [](sluice_output*, double) {};
    api_.emit = [](sluice_output* output) -> sluice_status {
      OutputState& out = of(output);
      if (out.descriptor->kind != SLUICE_REGROUP) {
        out.home->problem("emit by a stage that is not a regroup");
        return SLUICE_ERROR_UNSUPPORTED;
      }
      out.home->close_batch(out);
      return SLUICE_OK;
    };
    api_.outcome = [](const sluice_host* host, const char* name, std::uint64_t good, std::uint64_t total) {
      MiniHost& self = of(host);
      const std::lock_guard lock(self.mutex_);
      self.outcomes[name].first += good;
      self.outcomes[name].second += total;
    };
    api_.open_file = open_file;
    api_.write_file = write_file;
    api_.file_path = [](const sluice_file* file) -> const char* { return reinterpret_cast<const OutputFileState*>(file)->temporary.c_str(); };
    api_.close_file = close_file;
  }
  MiniHost(const MiniHost&) = delete;
  ~MiniHost() {
    for (const auto& file : files_)
      if (file->stream != nullptr) std::fclose(file->stream);
  }

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
    out.emitted.push_back(std::exchange(out.contents, TestBatch::Contents{}));
    out.contents.row_type = out.emitted.back().row_type;
    out.emitted_failures.push_back(std::exchange(out.failures, {}));
    out.opened = false;
  }
  void finish_files(bool succeeded, Result& result) {
    for (const auto& file : files_) {
      if (file->stream != nullptr && succeeded) problem("file '" + file->path + "' was never closed");
      if (file->stream == nullptr) result.files[file->path] = file_bytes(file->path == "-" ? folder_.path() + "/standard-output" : file->temporary);
    }
  }

  int threads = 1;
  std::atomic<std::int64_t> cancel_checks_left{std::numeric_limits<std::int64_t>::max()};
  std::atomic<std::int64_t> allocations_left{std::numeric_limits<std::int64_t>::max()};
  std::uint64_t file_capacity = std::numeric_limits<std::uint64_t>::max();
  bool wrote_beyond_capacity = false;
  std::atomic<std::int64_t> blocks_in_use{0};
  std::vector<LogLine> log_lines;
  std::map<std::string, Account> accounts;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> outcomes;  // good and total by name
  std::map<std::string, double> counters;
  std::map<std::string, std::vector<double>> observed;
  std::vector<std::string> problems;

 private:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kGuard = 64;
  static constexpr unsigned char kGuardByte = 0x5A;

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
    auto* block = static_cast<unsigned char*>(::operator new (kAlignment + bytes + kGuard, std::align_val_t{kAlignment}, std::nothrow));
    if (block == nullptr) return nullptr;
    std::memcpy(block, &bytes, sizeof bytes);
    std::memset(block + kAlignment, 0xA5, bytes);
    std::memset(block + kAlignment + bytes, kGuardByte, kGuard);
    ++self.blocks_in_use;
    return block + kAlignment;
  }
  static void release(const sluice_host* host, void* memory) {
    if (memory == nullptr) return;
    MiniHost& self = of(host);
    auto* block = static_cast<unsigned char*>(memory) - kAlignment;
    std::size_t bytes = 0;
    std::memcpy(&bytes, block, sizeof bytes);
    const unsigned char* guard = block + kAlignment + bytes;
    if (std::any_of(guard, guard + kGuard, [](unsigned char byte) { return byte != kGuardByte; }))
      self.problem("memory behind a block of " + std::to_string(bytes) + " bytes was overwritten");
    ::operator delete (block, std::align_val_t{kAlignment});
    --self.blocks_in_use;
  }

  static std::string misfit(const ArrowArray& array, const std::string& type, std::int64_t rows) {
    if (array.length != rows) return "has " + std::to_string(array.length) + " rows instead of " + std::to_string(rows);
    if (type == "utf8" || type == "binary" || type.starts_with("list<")) {
      const auto* offsets = static_cast<const std::int64_t*>(array.buffers[1]);
      if (offsets == nullptr) return "has no offsets";
      if (offsets[array.offset] < 0) return "has a negative offset";
      for (std::int64_t row = array.offset; row < array.offset + rows; ++row)
        if (offsets[row + 1] < offsets[row]) return "has offsets that go down at row " + std::to_string(row);
      if (type.starts_with("list<") && (array.n_children != 1 || offsets[array.offset + rows] > array.children[0]->length))
        return "has offsets beyond its values";
    } else if (rows > 0 && array.buffers[1] == nullptr) {
      return "has no values";
    }
    return {};
  }

  static sluice_status add_column(sluice_output* output, const char* name, ArrowSchema* schema, ArrowArray* array) {
    OutputState& out = of(output);
    const std::string type = column_type(*schema);
    const auto refuse = [&](const std::string& why) {
      out.home->problem(std::string("column '") + name + "' " + why);
      return SLUICE_ERROR_INTERNAL;
    };
    for (const auto& column : out.contents.columns)
      if (column.name == name) return refuse("was added twice");
    if (out.prepares_commit) {
      if (name[0] != '_') return refuse("of a sink does not begin with '_'");
    } else {
      const sluice_port& port = out.descriptor->output;
      const auto* spec =
          std::find_if(port.columns, port.columns + port.column_count, [&](const auto& s) { return std::string_view(s.name) == name; });
      if (spec == port.columns + port.column_count) return refuse("is not declared in gives");
      if (type != spec->type) return refuse("is " + type + ", declared " + spec->type);
    }
    const std::string why = misfit(*array, type, out.contents.rows);
    if (!why.empty()) return refuse(why);
    out.opened = true;
    TestBatch::Column column;
    column.name = name;
    column.type = type;
    column.host = out.home->shared_from_this();
    column.data = std::make_shared<ColumnData>(*schema, *array);
    schema->release = nullptr;
    array->release = nullptr;
    column.array = column.data->array();
    column.array.release = nullptr;
    out.contents.columns.push_back(std::move(column));
    return SLUICE_OK;
  }

  static sluice_status open_file(const sluice_host* host, const char* path, sluice_file** file, sluice_error* error) {
    MiniHost& self = of(host);
    const std::lock_guard lock(self.mutex_);
    auto state = std::make_unique<OutputFileState>();
    state->home = &self;
    state->path = path;
    const bool standard_output = state->path == "-";
    // The suffix stays, because libraries choose the format by it.
    const std::string name = std::to_string(self.files_.size()) + "-" + std::filesystem::path(state->path).filename().string();
    state->temporary = standard_output ? "-" : self.folder_.path() + "/" + name;
    const std::string real = standard_output ? self.folder_.path() + "/standard-output" : state->temporary;
    state->stream = std::fopen(real.c_str(), "wb");
    if (state->stream == nullptr) return output_error(error, *state, "cannot be opened");
    *file = reinterpret_cast<sluice_file*>(state.get());
    self.files_.push_back(std::move(state));
    return SLUICE_OK;
  }
  static sluice_status write_file(sluice_file* file, const void* data, std::size_t bytes, sluice_error* error) {
    auto& state = *reinterpret_cast<OutputFileState*>(file);
    if (state.stream == nullptr) {
      state.home->problem("write to file '" + state.path + "' after it was closed");
      return output_error(error, state, "is closed");
    }
    state.written += bytes;
    if (state.written > state.home->file_capacity) {
      state.home->wrote_beyond_capacity = true;
      return output_error(error, state, "cannot be written: No space left on device");
    }
    if (std::fwrite(data, 1, bytes, state.stream) != bytes)
      return output_error(error, state, std::string("cannot be written: ") + std::strerror(errno));
    return SLUICE_OK;
  }
  static sluice_status close_file(sluice_file* file, sluice_error* error) {
    auto& state = *reinterpret_cast<OutputFileState*>(file);
    if (state.stream == nullptr) {
      state.home->problem("file '" + state.path + "' was closed twice");
      return SLUICE_OK;
    }
    // A library may have replaced the file under its name: closing our own empty handle does no harm.
    if (std::fclose(std::exchange(state.stream, nullptr)) != 0)
      return output_error(error, state, std::string("cannot be written: ") + std::strerror(errno));
    return SLUICE_OK;
  }
  static sluice_status output_error(sluice_error* error, const OutputFileState& state, const std::string& what) {
    sluice::detail::fill(error, SLUICE_ERROR_OUTPUT, ("file '" + state.path + "' " + what).c_str(), "");
    return SLUICE_ERROR_OUTPUT;
  }

  sluice_host_api api_{};
  const sluice_stage_descriptor* descriptor_;
  TemporaryFolder folder_;
  std::vector<std::unique_ptr<OutputFileState>> files_;
  std::mutex mutex_;  // guards log_lines, accounts, outcomes, counters, problems, files_
};

}  // namespace detail

}  // namespace sluice::testing
