// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Runs stages in a test without the sluice program: a host in a few hundred lines that checks what a stage does with it.
//
//   auto reads = sluice::testing::BatchBuilder("read", 2).text("read_id", {"a", "b"}).list<float>("event_mean", {{1, 2}, {3}}).failed(1).build();
//   auto result = sluice::testing::run_stage<Smooth>(reads).with({{"window", 3}}).resource("model", model).run();
//   CHECK(result.ok());
//   CHECK(result.batch().view().list<float>("smoothed")[0].size() == 2);
//
//   CHECK(sluice::testing::contract_problems<Smooth>({.batches = {reads}}) == std::vector<std::string>{});
//
// A stage whose class is inside a plugin is found with stage_of(*load_plugin(path), "id"). Nothing here depends on a test framework.

#include <sluice/stage.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#endif

namespace sluice::testing {

// ---- Batches ---------------------------------------------------------------------------------------------------------------------

// A batch that owns its columns. Copies share them.
class TestBatch {
 public:
  struct Column {
    std::string name, type;
    std::shared_ptr<void> host;        // counts the memory, so it has to outlive it
    std::shared_ptr<ColumnData> data;  // keeps the memory
    ArrowArray array{};                // a window on data's array: other offset and length, never released
  };
  struct Contents {
    std::string row_type;
    std::uint64_t sequence = 0;
    std::int64_t rows = 0;
    std::vector<std::uint16_t> status;  // one per row, 0: fine
    std::vector<Column> columns;
    std::vector<std::pair<std::string, std::string>> attributes;
  };

  explicit TestBatch(Contents contents) : state_(std::make_shared<State>(std::move(contents))) {}
  TestBatch() : TestBatch(Contents{}) {}

  const sluice_batch& raw() const { return state_->raw; }
  Batch view() const { return Batch(state_->raw); }
  const Contents& contents() const { return state_->contents; }
  std::int64_t rows() const { return state_->contents.rows; }
  bool ok(std::int64_t row) const { return state_->contents.status[static_cast<std::size_t>(row)] == 0; }

  // Rows [begin, end) as a window on the same memory: columns with an Arrow offset, as a host makes when it splits a batch.
  TestBatch rows(std::int64_t begin, std::int64_t end) const {
    Contents part = state_->contents;
    part.rows = end - begin;
    part.status.assign(state_->contents.status.begin() + begin, state_->contents.status.begin() + end);
    for (Column& column : part.columns) {
      column.array.offset += begin;
      column.array.length = end - begin;
    }
    return TestBatch(std::move(part));
  }
  TestBatch with_sequence(std::uint64_t sequence) const {
    Contents copy = state_->contents;
    copy.sequence = sequence;
    return TestBatch(std::move(copy));
  }
  TestBatch all_failed() const {
    Contents copy = state_->contents;
    std::fill(copy.status.begin(), copy.status.end(), std::uint16_t{1});
    return TestBatch(std::move(copy));
  }
  // The bytes of one cell: of the value, of the text, or of all values of the list.
  std::string_view cell(const Column& column, std::int64_t row) const {
    const ArrowArray& array = column.array;
    const std::int64_t at = array.offset + row;
    if (array.n_buffers == 3) {
      const auto* offsets = static_cast<const std::int64_t*>(array.buffers[1]);
      return {static_cast<const char*>(array.buffers[2]) + offsets[at], static_cast<std::size_t>(offsets[at + 1] - offsets[at])};
    }
    if (array.n_children == 1) {
      const auto* offsets = static_cast<const std::int64_t*>(array.buffers[1]);
      const ArrowArray& items = *array.children[0];
      const auto width = static_cast<std::int64_t>(item_bytes(column.type));
      return {static_cast<const char*>(items.buffers[1]) + (items.offset + offsets[at]) * width,
              static_cast<std::size_t>((offsets[at + 1] - offsets[at]) * width)};
    }
    const auto width = static_cast<std::int64_t>(item_bytes(column.type));
    return {static_cast<const char*>(array.buffers[1]) + at * width, static_cast<std::size_t>(width)};
  }

 private:
  static std::size_t item_bytes(std::string_view type) {
    if (type.starts_with("list<")) type = type.substr(5, type.size() - 6);
    for (const ElementType& element : element_types)
      if (type == element.name) return element.bytes;
    return 0;
  }
  struct State {
    explicit State(Contents given) : contents(std::move(given)) {
      for (const Column& column : contents.columns)
        columns.push_back({column.name.c_str(), column.type.c_str(), &column.data->schema(), &column.array, nullptr});
      for (const auto& [key, value] : contents.attributes) {
        keys.push_back(key.c_str());
        values.push_back(value.c_str());
      }
      raw.struct_size = sizeof raw;
      raw.row_type = contents.row_type.c_str();
      raw.sequence = contents.sequence;
      raw.row_count = contents.rows;
      const bool all_fine = std::all_of(contents.status.begin(), contents.status.end(), [](std::uint16_t status) { return status == 0; });
      raw.row_status = all_fine ? nullptr : contents.status.data();
      raw.column_count = columns.size();
      raw.columns = columns.data();
      raw.attribute_count = keys.size();
      raw.attribute_keys = keys.data();
      raw.attribute_values = values.data();
    }
    State(const State&) = delete;
    const Contents contents;
    std::vector<sluice_column> columns;
    std::vector<const char*> keys, values;
    sluice_batch raw{};
  };
  std::shared_ptr<const State> state_;
};

// Makes a batch cell by cell. Every column has one entry per row; those of failed rows are ignored by stages.
class BatchBuilder {
 public:
  BatchBuilder(std::string row_type, std::int64_t rows) {
    contents_.row_type = std::move(row_type);
    contents_.rows = rows;
    contents_.status.resize(static_cast<std::size_t>(rows));
  }
  template <Element T>
  BatchBuilder& column(const std::string& name, const std::vector<T>& values) {
    expect_rows(name, values.size());
    Buffer buffer = Buffer::allocate({}, values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(buffer.data(), values.data(), values.size() * sizeof(T));
    return add(name, fixed_column<T>(contents_.rows, std::move(buffer)));
  }
  template <Element T>
  BatchBuilder& list(const std::string& name, const std::vector<std::vector<T>>& rows) {
    expect_rows(name, rows.size());
    std::vector<T> values;
    for (const std::vector<T>& row : rows) values.insert(values.end(), row.begin(), row.end());
    Buffer buffer = Buffer::allocate({}, values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(buffer.data(), values.data(), values.size() * sizeof(T));
    return add(name, list_column<T>(contents_.rows, offsets_of(rows), std::move(buffer)));
  }
  BatchBuilder& text(const std::string& name, const std::vector<std::string>& rows, const char* type = "utf8") {
    expect_rows(name, rows.size());
    std::string bytes;
    for (const std::string& row : rows) bytes += row;
    Buffer buffer = Buffer::allocate({}, bytes.size());
    std::memcpy(buffer.data(), bytes.data(), bytes.size());
    return add(name, text_column(contents_.rows, offsets_of(rows), std::move(buffer), type));
  }
  BatchBuilder& binary(const std::string& name, const std::vector<std::string>& rows) { return text(name, rows, "binary"); }
  BatchBuilder& failed(std::int64_t row) { return contents_.status.at(static_cast<std::size_t>(row)) = 1, *this; }
  BatchBuilder& attribute(const std::string& key, const std::string& value) { return contents_.attributes.emplace_back(key, value), *this; }
  BatchBuilder& sequence(std::uint64_t sequence) { return contents_.sequence = sequence, *this; }
  BatchBuilder& add(const std::string& name, ColumnData data) {
    TestBatch::Column column;
    column.name = name;
    column.type = column_type(data.schema());
    column.data = std::make_shared<ColumnData>(std::move(data));
    column.array = column.data->array();
    column.array.release = nullptr;
    contents_.columns.push_back(std::move(column));
    return *this;
  }
  TestBatch build() const { return TestBatch(contents_); }

 private:
  void expect_rows(const std::string& name, std::size_t entries) const {
    if (entries != static_cast<std::size_t>(contents_.rows))
      throw std::logic_error("column '" + name + "' has " + std::to_string(entries) + " entries for " + std::to_string(contents_.rows) + " rows");
  }
  template <class Rows>
  static Buffer offsets_of(const Rows& rows) {
    Buffer buffer = Buffer::allocate({}, (rows.size() + 1) * sizeof(std::int64_t));
    const auto offsets = buffer.as<std::int64_t>();
    std::int64_t total = 0;
    std::size_t i = 0;
    for (const auto& row : rows) {
      offsets[i++] = total;
      total += static_cast<std::int64_t>(row.size());
    }
    offsets[i] = total;
    return buffer;
  }
  TestBatch::Contents contents_;
};

// ---- What came out ------------------------------------------------------------------------------------------------------------------

struct FailedRow {
  std::size_t batch;  // index into Result::batches
  std::int64_t row;
  std::string reason;  // its code
  bool operator==(const FailedRow&) const = default;
};
struct LogLine {
  sluice_log_level level;
  std::string message;
};
struct Account {
  std::uint64_t count = 0;
  std::vector<std::string> names;
};

struct Result {
  sluice_status status = SLUICE_OK;  // the first that was not SLUICE_OK; of making the instance or of a call
  std::string message, remedy;       // of that status
  std::vector<TestBatch> batches;    // maps and sinks: one per input with its columns and the new ones; else what was emitted
  std::vector<FailedRow> failed;     // by this stage
  std::map<std::string, Account> accounts;  // by reason code: inputs that never became rows
  std::map<std::string, double> counters;
  std::vector<LogLine> log;
  std::map<std::string, std::string> files;  // path as the stage gave it -> bytes, of every file that was closed
  std::vector<std::string> problems;         // what the stage did that a host would refuse or regret

  bool ok() const { return status == SLUICE_OK; }
  // The only batch; an error when there are several or none.
  const TestBatch& batch() const {
    if (batches.size() != 1) throw std::runtime_error("expected one batch, got " + std::to_string(batches.size()) + (ok() ? "" : ": " + message));
    return batches.front();
  }
  std::int64_t rows() const {
    std::int64_t total = 0;
    for (const TestBatch& batch : batches) total += batch.rows();
    return total;
  }
  // Throws unless the run succeeded without problems and gave this many rows that did not fail.
  const Result& expect_rows(std::int64_t expected) const {
    if (!ok()) throw std::runtime_error("the stage failed: " + message);
    if (!problems.empty()) throw std::runtime_error("the stage broke its contract: " + problems.front());
    std::int64_t fine = 0;
    for (const TestBatch& batch : batches)
      for (std::int64_t row = 0; row < batch.rows(); ++row) fine += batch.ok(row) ? 1 : 0;
    if (fine != expected) throw std::runtime_error("expected " + std::to_string(expected) + " rows, got " + std::to_string(fine));
    return *this;
  }
  bool logged(std::string_view part) const {
    return std::any_of(log.begin(), log.end(), [&](const LogLine& line) { return line.message.find(part) != std::string::npos; });
  }
};

// ---- Devices -----------------------------------------------------------------------------------------------------------------------

namespace detail {

// One open device of a provider, and columns' ways to it and back. Frees whatever is still allocated when it closes.
class TestDevice : public std::enable_shared_from_this<TestDevice> {
 public:
  TestDevice(const sluice_device_provider& provider, std::int32_t ordinal) : provider_(&provider) {
    sluice_error error{};
    expect(provider.open(ordinal, &device_, &error), "open", error);
    handle_.struct_size = sizeof handle_;
    handle_.kind = provider.kind;
    handle_.ordinal = ordinal;
    handle_.stream = provider.stream != nullptr ? provider.stream(device_) : nullptr;
    handle_.context = this;
    handle_.allocate = [](const sluice_device* d, std::size_t bytes, void** memory) { return static_cast<TestDevice*>(d->context)->allocate(bytes, memory); };
    handle_.free = [](const sluice_device* d, void* memory) { static_cast<TestDevice*>(d->context)->free(memory); };
  }
  TestDevice(const TestDevice&) = delete;
  ~TestDevice() {
    for (void* block : blocks_) provider_->free(device_, block);
    provider_->close(device_);
  }
  const sluice_device& handle() const { return handle_; }
  std::size_t blocks_in_use() const { return blocks_.size(); }
  std::int64_t allocations_left = std::numeric_limits<std::int64_t>::max();

  ArrowDeviceArray upload(std::string_view type, const ArrowArray& host) {
    auto* owner = new Owner;
    owner->device = shared_from_this();
    ArrowDeviceArray result{};
    result.device_id = handle_.ordinal;
    result.device_type = std::string_view(handle_.kind) == "cuda" ? ARROW_DEVICE_CUDA : ARROW_DEVICE_EXT_DEV;
    result.array.length = host.length;
    result.array.n_buffers = host.n_buffers;
    result.array.buffers = owner->buffers;
    result.array.private_data = owner;
    result.array.release = release;
    const auto rows = static_cast<std::size_t>(host.length);
    if (host.n_buffers == 2 && host.n_children == 0) {
      const std::size_t width = width_of(type);
      owner->buffers[1] = send(static_cast<const char*>(host.buffers[1]) + static_cast<std::size_t>(host.offset) * width, rows * width);
      return result;
    }
    const auto* offsets = static_cast<const std::int64_t*>(host.buffers[1]) + host.offset;
    owner->buffers[1] = send(offsets, (rows + 1) * sizeof(std::int64_t));
    if (host.n_children == 0) {
      owner->buffers[2] = send(host.buffers[2], static_cast<std::size_t>(offsets[rows]));
    } else {
      owner->child = upload(type.substr(5, type.size() - 6), *host.children[0]).array;
      owner->children[0] = &owner->child;
      result.array.n_children = 1;
      result.array.children = owner->children;
    }
    return result;
  }
  ArrowArray download(std::string_view type, const ArrowArray& from) {
    const auto rows = static_cast<std::size_t>(from.length);
    if (from.n_buffers == 2 && from.n_children == 0) return sluice::detail::make_array(from.length, fetch(from.buffers[1], rows * width_of(type)), {}, 2);
    Buffer offsets = fetch(from.buffers[1], (rows + 1) * sizeof(std::int64_t));
    const auto bytes = static_cast<std::size_t>(offsets.as<std::int64_t>()[rows]);
    if (from.n_children == 0) return sluice::detail::make_array(from.length, std::move(offsets), fetch(from.buffers[2], bytes), 3);
    ArrowArray array = sluice::detail::make_array(from.length, std::move(offsets), {}, 2);
    auto* owner = static_cast<sluice::detail::ArrayOwner*>(array.private_data);
    owner->child = download(type.substr(5, type.size() - 6), *from.children[0]);
    owner->children[0] = &owner->child;
    array.n_children = 1;
    array.children = owner->children;
    return array;
  }

 private:
  struct Owner {
    std::shared_ptr<TestDevice> device;
    const void* buffers[3] = {nullptr, nullptr, nullptr};
    ArrowArray child{};
    ArrowArray* children[1] = {nullptr};
  };
  static void release(ArrowArray* array) {
    auto* owner = static_cast<Owner*>(array->private_data);
    for (const void* buffer : owner->buffers)
      if (buffer != nullptr) owner->device->free(const_cast<void*>(buffer));
    if (owner->child.release != nullptr) owner->child.release(&owner->child);
    delete owner;
    array->release = nullptr;
  }
  static std::size_t width_of(std::string_view type) {
    for (const ElementType& element : element_types)
      if (type == element.name) return element.bytes;
    return 1;
  }
  static void expect(sluice_status status, const char* what, const sluice_error& error) {
    if (status != SLUICE_OK) throw std::runtime_error(std::string("device: cannot ") + what + ": " + error.message);
  }
  sluice_status allocate(std::size_t bytes, void** memory) {
    const std::lock_guard lock(mutex_);
    if (allocations_left-- <= 0) return SLUICE_ERROR_DEVICE_MEMORY;
    const sluice_status status = provider_->allocate(device_, std::max<std::size_t>(bytes, 1), memory);
    if (status == SLUICE_OK) blocks_.insert(*memory);
    return status;
  }
  void free(void* memory) {
    if (memory == nullptr) return;
    const std::lock_guard lock(mutex_);
    blocks_.erase(memory);
    provider_->free(device_, memory);
  }
  void* send(const void* source, std::size_t bytes) {
    void* memory = nullptr;
    sluice_error error{};
    expect(provider_->allocate(device_, std::max<std::size_t>(bytes, 1), &memory), "allocate a column", error);
    {
      const std::lock_guard lock(mutex_);
      blocks_.insert(memory);
    }
    if (bytes != 0) expect(provider_->copy_to_device(device_, memory, source, bytes, &error), "copy to it", error);
    return memory;
  }
  Buffer fetch(const void* source, std::size_t bytes) {
    Buffer buffer = Buffer::allocate({}, std::max<std::size_t>(bytes, 1));
    sluice_error error{};
    if (bytes != 0) expect(provider_->copy_to_host(device_, buffer.data(), source, bytes, &error), "copy from it", error);
    return buffer;
  }

  const sluice_device_provider* provider_;
  void* device_ = nullptr;
  sluice_device handle_{};
  std::mutex mutex_;  // guards blocks_ and allocations_left
  std::set<void*> blocks_;
};

}  // namespace detail

// ---- The host ------------------------------------------------------------------------------------------------------------------------

namespace detail {

// A folder that disappears with its owner.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& parent) {
    std::string name = (parent.empty() ? std::filesystem::temp_directory_path().string() : parent) + "/sluice-test-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder in " + parent);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;  // a left-over temporary file is not worth a failed test
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

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
      if (status == SLUICE_OK) array->array.release(&array->array);
      else host.release(&host);
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
  std::map<std::string, double> counters;
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
    auto* block = static_cast<unsigned char*>(::operator new(kAlignment + bytes + kGuard, std::align_val_t{kAlignment}, std::nothrow));
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
    ::operator delete(block, std::align_val_t{kAlignment});
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
      const auto* spec = std::find_if(port.columns, port.columns + port.column_count, [&](const auto& s) { return std::string_view(s.name) == name; });
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
    if (std::fwrite(data, 1, bytes, state.stream) != bytes) return output_error(error, state, std::string("cannot be written: ") + std::strerror(errno));
    return SLUICE_OK;
  }
  static sluice_status close_file(sluice_file* file, sluice_error* error) {
    auto& state = *reinterpret_cast<OutputFileState*>(file);
    if (state.stream == nullptr) {
      state.home->problem("file '" + state.path + "' was closed twice");
      return SLUICE_OK;
    }
    // A library may have replaced the file under its name: closing our own empty handle does no harm.
    if (std::fclose(std::exchange(state.stream, nullptr)) != 0) return output_error(error, state, std::string("cannot be written: ") + std::strerror(errno));
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
  std::mutex mutex_;  // guards log_lines, accounts, counters, problems, files_
};

}  // namespace detail

// ---- Stages ------------------------------------------------------------------------------------------------------------------------

// What run_stage needs of a stage, whether its class is at hand or only the plugin that holds it.
struct StageUnderTest {
  const sluice_stage_descriptor* descriptor = nullptr;
  std::function<sluice_status(const sluice_create_args*, sluice_stage*, sluice_error*)> create;
};

template <class Stage>
StageUnderTest stage_of() {
  using Adapter = sluice::detail::Adapter<Stage>;
  return {&Adapter::description().descriptor(), Adapter::create};
}
inline StageUnderTest stage_of(const sluice_plugin_info& plugin, std::string_view id) {
  for (std::size_t i = 0; i < plugin.stage_count; ++i)
    if (id == plugin.stages[i]->id)
      return {plugin.stages[i], [&plugin, i](const sluice_create_args* args, sluice_stage* stage, sluice_error* error) { return plugin.create(i, args, stage, error); }};
  throw std::runtime_error("plugin '" + std::string(plugin.name) + "' has no stage '" + std::string(id) + "'");
}

#if defined(__unix__) || defined(__APPLE__)
// Loads a plugin file, for good: its code may be referred to until the test ends.
inline const sluice_plugin_info* load_plugin(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(::dlerror());
  const void* symbol = ::dlsym(library, SLUICE_PLUGIN_SYMBOL);
  if (symbol == nullptr) throw std::runtime_error(path + " exports no " SLUICE_PLUGIN_SYMBOL);
  return static_cast<const sluice_plugin_info*>(symbol);
}
#endif

// A parameter's value as a user would type it.
struct Text : std::string {
  Text(const char* text) : std::string(text) {}
  Text(std::string text) : std::string(std::move(text)) {}
  Text(bool value) : std::string(value ? "true" : "false") {}
  Text(double value) : std::string(shortest(value)) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Text(T value) : std::string(std::to_string(value)) {}

 private:
  static std::string shortest(double value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return {digits.data(), end};
  }
};
using ParameterTexts = std::map<std::string, Text>;

class StageRun {
 public:
  StageRun(StageUnderTest stage, std::vector<TestBatch> inputs) : stage_(std::move(stage)), inputs_(std::move(inputs)) {}

  StageRun& with(const ParameterTexts& parameters) {
    for (const auto& [name, value] : parameters) parameters_.insert_or_assign(name, value);
    return *this;
  }
  StageRun& resource(const std::string& slot, TestBatch batch) { return resources_.insert_or_assign(slot, std::move(batch)), *this; }
  // Which optional output columns somebody uses. Left out: all.
  StageRun& wanted(std::set<std::string> columns) { return wanted_ = std::move(columns), wants_all_ = false, *this; }
  // Threads of parallel_for; from 2 on several batches of a map or sink are also processed at once (unless the stage is serial or blocking).
  StageRun& threads(int count) { return threads_ = count, *this; }
  // cancelled() says yes from this check on.
  StageRun& cancel_after(std::int64_t checks) { return cancel_after_ = checks, *this; }
  // allocate() gives nothing from this allocation on.
  StageRun& memory_for(std::int64_t allocations) { return allocations_ = allocations, *this; }
  // OutputFile::write fails beyond this many bytes a file, as on a full disk.
  StageRun& file_capacity(std::uint64_t bytes) { return file_capacity_ = bytes, *this; }
  // Runs the implementation for this provider's kind of device. Input columns are then on the device only. The provider must outlive the run.
  StageRun& device(const sluice_device_provider& provider, std::int32_t ordinal = 0) { return provider_ = &provider, ordinal_ = ordinal, *this; }
  // The device's memory is full from this allocation of the stage on.
  StageRun& device_memory_for(std::int64_t allocations) { return device_allocations_ = allocations, *this; }
  // Where temporary output files are made, for tests on a small file system.
  StageRun& files_in(std::string folder) { return folder_ = std::move(folder), *this; }
  // Sources: size of a batch, and after how many calls to stop.
  StageRun& target_work(double work) { return target_work_ = work, *this; }
  StageRun& target_bytes(std::uint64_t bytes) { return target_bytes_ = bytes, *this; }
  StageRun& at_most_calls(std::size_t calls) { return most_calls_ = calls, *this; }

  Result run() const {
    Result result;
    const sluice_stage_descriptor& descriptor = *stage_.descriptor;
    auto host = std::make_shared<detail::MiniHost>(descriptor, folder_);
    host->threads = threads_;
    host->allocations_left = allocations_;
    host->file_capacity = file_capacity_;
    run_with(host, result);
    if (observer_) *observer_ = host;
    host->finish_files(result.ok(), result);
    result.log = host->log_lines;
    result.accounts = host->accounts;
    result.counters = host->counters;
    result.problems.insert(result.problems.end(), host->problems.begin(), host->problems.end());
    return result;
  }
  Result expect_rows(std::int64_t rows) const { return run().expect_rows(rows); }
  // For the contract suite: where to put the host of the next run, to see what outlived the run.
  StageRun& observe(std::shared_ptr<detail::MiniHost>* host) { return observer_ = host, *this; }

 private:
  static bool fail(Result& result, sluice_status status, const std::string& message, const std::string& remedy = {}) {
    if (result.ok()) {
      result.status = status;
      result.message = message;
      result.remedy = remedy;
    }
    return false;
  }
  static bool checked(Result& result, sluice_status status, const sluice_error& error) {
    if (status == SLUICE_OK) return true;
    if (error.message[0] == '\0') result.problems.push_back("status " + std::to_string(status) + " without a message");
    return fail(result, status, error.message, error.remedy);
  }

  static bool parse_number(std::string_view text, double& value) {
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  }
  static bool parse_integer(std::string_view text, std::int64_t& value) {
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  }
  // As a host does: type, range and choices are checked before the stage sees a value.
  bool parameter_values(std::vector<sluice_value>& values, Result& result) const {
    const sluice_stage_descriptor& d = *stage_.descriptor;
    for (std::size_t i = 0; i < d.parameter_count; ++i) {
      const sluice_parameter& p = d.parameters[i];
      sluice_value value = p.default_value;
      value.type = p.type;
      if (value.text == nullptr) value.text = "";
      const auto given = parameters_.find(p.name);
      if (given == parameters_.end()) {
        if (p.required != 0) return fail(result, SLUICE_ERROR_USAGE, std::string("parameter '") + p.name + "' is required");
        values.push_back(value);
        continue;
      }
      const std::string& text = given->second;
      const std::string wrong = std::string("parameter '") + p.name + "' can't be '" + text + "'";
      value.is_set = 1;
      value.text = text.c_str();
      bool fits = true;
      double number = 0;
      switch (p.type) {
        case SLUICE_BOOL:
          fits = text == "true" || text == "false";
          value.integer = text == "true" ? 1 : 0;
          break;
        case SLUICE_INT:
        case SLUICE_SIZE:
          fits = parse_integer(text, value.integer);
          number = static_cast<double>(value.integer);
          break;
        case SLUICE_FLOAT:
          fits = parse_number(text, value.real);
          number = value.real;
          break;
        case SLUICE_CHOICE:
          fits = false;
          for (const char* const* choice = p.choices; *choice != nullptr; ++choice) fits = fits || text == *choice;
          break;
        default: break;
      }
      if (fits && (p.minimum != 0 || p.maximum != 0) && (p.type == SLUICE_INT || p.type == SLUICE_SIZE || p.type == SLUICE_FLOAT))
        fits = number >= p.minimum && number <= p.maximum;
      if (!fits) return fail(result, SLUICE_ERROR_USAGE, wrong);
      values.push_back(value);
    }
    for (const auto& [name, value] : parameters_) {
      const bool known = std::any_of(d.parameters, d.parameters + d.parameter_count, [&](const sluice_parameter& p) { return name == p.name; });
      if (!known) return fail(result, SLUICE_ERROR_USAGE, "unknown parameter '" + name + "'");
    }
    return true;
  }

  bool check_inputs(std::vector<std::uint8_t>& available, Result& result) const {
    const sluice_port& needs = stage_.descriptor->input;
    available.assign(needs.column_count, inputs_.empty() ? 0 : 1);
    for (const TestBatch& batch : inputs_)
      for (std::size_t i = 0; i < needs.column_count; ++i) {
        const sluice_column* column = batch.view().find(needs.columns[i].name);
        if (column == nullptr && needs.columns[i].optional == 0)
          return fail(result, SLUICE_ERROR_USAGE, std::string("the test's batch lacks column '") + needs.columns[i].name + "'");
        if (column == nullptr) available[i] = 0;
        if (column != nullptr && std::string_view(column->type) != needs.columns[i].type)
          return fail(result, SLUICE_ERROR_USAGE, std::string("the test's column '") + needs.columns[i].name + "' is " + column->type + " instead of " + needs.columns[i].type);
      }
    return true;
  }

  struct Processed {
    sluice_status status = SLUICE_OK;
    sluice_error error{};
    std::unique_ptr<detail::OutputState> output;
  };

  std::unique_ptr<detail::OutputState> open_output(const std::shared_ptr<detail::MiniHost>& host, const std::vector<std::uint8_t>& wanted, const TestBatch* input) const {
    auto out = std::make_unique<detail::OutputState>();
    out->home = host.get();
    out->descriptor = stage_.descriptor;
    out->wanted = &wanted;
    out->prepares_commit = stage_.descriptor->kind == SLUICE_SINK;
    const char* row_type = stage_.descriptor->output.row_type;
    if (stage_.descriptor->kind == SLUICE_MAP || stage_.descriptor->kind == SLUICE_SINK) {
      out->contents.row_type = input != nullptr ? input->contents().row_type : "";
      out->contents.rows = input != nullptr ? input->rows() : 0;
      if (input != nullptr) out->contents.status = input->contents().status;
    } else {
      out->contents.row_type = row_type != nullptr ? row_type : "";
    }
    return out;
  }

  static void take_batches(const std::shared_ptr<detail::MiniHost>& host, detail::OutputState& out, Result& result) {
    for (std::size_t i = 0; i < out.emitted.size(); ++i) {
      TestBatch::Contents& contents = out.emitted[i];
      contents.sequence = result.batches.size();
      auto& failures = out.emitted_failures[i];
      std::sort(failures.begin(), failures.end());
      for (const auto& [row, reason] : failures) {
        auto& status = contents.status[static_cast<std::size_t>(row)];
        if (status != 0) result.problems.push_back("row " + std::to_string(row) + " failed twice, or had failed before");
        status = static_cast<std::uint16_t>(reason + 1);
        result.failed.push_back({result.batches.size(), row, host->reason_code(reason)});
      }
      result.batches.emplace_back(std::move(contents));
    }
    out.emitted.clear();
    out.emitted_failures.clear();
  }

  void run_with(const std::shared_ptr<detail::MiniHost>& host, Result& result) const {
    const sluice_stage_descriptor& d = *stage_.descriptor;
    std::vector<sluice_value> values;
    std::vector<std::uint8_t> available;
    if (!parameter_values(values, result) || !check_inputs(available, result)) return;
    std::vector<const sluice_batch*> resources;
    for (std::size_t i = 0; i < d.resource_count; ++i) {
      const auto found = resources_.find(d.resources[i].name);
      if (found == resources_.end() && d.resources[i].optional == 0)
        return static_cast<void>(fail(result, SLUICE_ERROR_USAGE, std::string("resource '") + d.resources[i].name + "' is required"));
      resources.push_back(found == resources_.end() ? nullptr : &found->second.raw());
    }
    std::vector<std::uint8_t> wanted;
    for (std::size_t i = 0; i < d.output.column_count; ++i)
      wanted.push_back(d.output.columns[i].optional == 0 || wants_all_ || wanted_.contains(d.output.columns[i].name) ? 1 : 0);

    sluice_create_args args{};
    args.struct_size = sizeof args;
    args.api = &host->api();
    args.host = host->raw();
    args.instance = "under_test";
    args.parameters = values.data();
    args.resources = resources.data();
    args.wanted = wanted.data();
    args.available = available.data();
    sluice_stage made{};
    sluice_error error{};
    if (!checked(result, stage_.create(&args, &made, &error), error)) return;
    const std::unique_ptr<sluice_stage, void (*)(sluice_stage*)> stage(&made, [](sluice_stage* s) { s->destroy(s->self); });
    host->cancel_checks_left = cancel_after_;

    sluice_call call{};
    call.struct_size = sizeof call;
    call.api = &host->api();
    call.host = host->raw();
    call.target_work = target_work_;
    call.target_bytes = target_bytes_;
    std::shared_ptr<detail::TestDevice> device;
    if (provider_ != nullptr) {
      while (call.implementation < d.implementation_count && std::string_view(d.implementations[call.implementation].device) != provider_->kind) ++call.implementation;
      if (call.implementation == d.implementation_count)
        return static_cast<void>(fail(result, SLUICE_ERROR_UNSUPPORTED, std::string("the stage has no implementation for '") + provider_->kind + "'"));
      device = std::make_shared<detail::TestDevice>(*provider_, ordinal_);
      device->allocations_left = device_allocations_;
      call.device = &device->handle();
    }

    if (d.kind == SLUICE_SOURCE || d.kind == SLUICE_RESOURCE) run_without_input(host, made, call, wanted, result);
    else run_over_inputs(host, made, call, device, wanted, result);
    if (device && device->blocks_in_use() != 0) result.problems.push_back(std::to_string(device->blocks_in_use()) + " blocks of device memory were never freed");
    if (!result.ok() || made.finish == nullptr) return;
    auto out = open_output(host, wanted, nullptr);
    sluice_error finish_error{};
    const sluice_status status = made.finish(made.self, &call, reinterpret_cast<sluice_output*>(out.get()), &finish_error);
    if (!checked(result, status, finish_error)) return;
    if (out->opened && out->contents.rows > 0) host->close_batch(*out);
    take_batches(host, *out, result);
  }

  void run_without_input(const std::shared_ptr<detail::MiniHost>& host, const sluice_stage& stage, const sluice_call& call, const std::vector<std::uint8_t>& wanted, Result& result) const {
    const std::size_t calls = stage_.descriptor->kind == SLUICE_RESOURCE ? 1 : most_calls_;
    for (std::size_t i = 0; i < calls; ++i) {
      auto out = open_output(host, wanted, nullptr);
      sluice_error error{};
      const sluice_status status = stage.process(stage.self, &call, nullptr, reinterpret_cast<sluice_output*>(out.get()), &error);
      if (status != SLUICE_END && !checked(result, status, error)) return;
      if (out->opened && (out->contents.rows > 0 || stage_.descriptor->kind == SLUICE_RESOURCE)) host->close_batch(*out);
      take_batches(host, *out, result);
      if (status == SLUICE_END) return;
    }
  }

  // An input whose columns lie on the device.
  struct DeviceInput {
    DeviceInput(const TestBatch& batch, detail::TestDevice& device) : raw(batch.raw()) {
      arrays.reserve(batch.contents().columns.size());
      for (const TestBatch::Column& column : batch.contents().columns) {
        arrays.push_back(device.upload(column.type, column.array));
        columns.push_back({column.name.c_str(), column.type.c_str(), &column.data->schema(), nullptr, &arrays.back()});
      }
      raw.columns = columns.data();
    }
    DeviceInput(const DeviceInput&) = delete;
    ~DeviceInput() {
      for (ArrowDeviceArray& array : arrays) array.array.release(&array.array);
    }
    std::vector<ArrowDeviceArray> arrays;
    std::vector<sluice_column> columns;
    sluice_batch raw;
  };

  void run_over_inputs(const std::shared_ptr<detail::MiniHost>& host, const sluice_stage& stage, const sluice_call& call,
                       const std::shared_ptr<detail::TestDevice>& device, const std::vector<std::uint8_t>& wanted, Result& result) const {
    const sluice_stage_descriptor& d = *stage_.descriptor;
    std::vector<Processed> processed(inputs_.size());
    const auto process = [&](std::size_t i) {
      Processed& p = processed[i];
      p.output = open_output(host, wanted, &inputs_[i]);
      p.output->device = device;
      std::unique_ptr<DeviceInput> on_device;
      if (device) on_device = std::make_unique<DeviceInput>(inputs_[i], *device);
      const sluice_batch* input = on_device ? &on_device->raw : &inputs_[i].raw();
      if (stage.process != nullptr) p.status = stage.process(stage.self, &call, input, reinterpret_cast<sluice_output*>(p.output.get()), &p.error);
    };
    const bool together = threads_ > 1 && (d.kind == SLUICE_MAP || d.kind == SLUICE_SINK) && (d.traits & (SLUICE_TRAIT_SERIAL | SLUICE_TRAIT_BLOCKING)) == 0;
    if (together) {
      std::atomic<std::size_t> next{0};
      std::vector<std::thread> workers;
      for (int t = 0; t < threads_; ++t)
        workers.emplace_back([&] {
          for (std::size_t i = next++; i < inputs_.size(); i = next++) process(i);
        });
      for (std::thread& worker : workers) worker.join();
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!together) process(i);
      Processed& p = processed[i];
      if (!checked(result, p.status, p.error)) return;
      if (d.kind != SLUICE_REGROUP || (p.output->opened && p.output->contents.rows > 0)) host->close_batch(*p.output);
      const std::size_t first = result.batches.size();
      if (d.kind == SLUICE_MAP || d.kind == SLUICE_SINK) {
        TestBatch::Contents& contents = p.output->emitted.front();
        const TestBatch::Contents& input = inputs_[i].contents();
        contents.columns.insert(contents.columns.begin(), input.columns.begin(), input.columns.end());
        contents.attributes.insert(contents.attributes.begin(), input.attributes.begin(), input.attributes.end());
      }
      take_batches(host, *p.output, result);
      if (stage.commit == nullptr) continue;
      sluice_error error{};
      if (!checked(result, stage.commit(stage.self, &call, &result.batches[first].raw(), &error), error)) return;
    }
  }

  StageUnderTest stage_;
  std::vector<TestBatch> inputs_;
  ParameterTexts parameters_;
  std::map<std::string, TestBatch> resources_;
  std::set<std::string> wanted_;
  bool wants_all_ = true;
  int threads_ = 1;
  std::int64_t cancel_after_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t allocations_ = std::numeric_limits<std::int64_t>::max();
  std::uint64_t file_capacity_ = std::numeric_limits<std::uint64_t>::max();
  std::string folder_;
  double target_work_ = 1e6;
  std::uint64_t target_bytes_ = std::uint64_t{64} << 20;
  std::size_t most_calls_ = 1'000'000;
  const sluice_device_provider* provider_ = nullptr;
  std::int32_t ordinal_ = 0;
  std::int64_t device_allocations_ = std::numeric_limits<std::int64_t>::max();
  std::shared_ptr<detail::MiniHost>* observer_ = nullptr;
};

inline StageRun run_stage(StageUnderTest stage, std::vector<TestBatch> batches = {}) { return {std::move(stage), std::move(batches)}; }
inline StageRun run_stage(StageUnderTest stage, TestBatch batch) { return {std::move(stage), std::vector{std::move(batch)}}; }
template <class Stage>
StageRun run_stage(std::vector<TestBatch> batches = {}) {
  return {stage_of<Stage>(), std::move(batches)};
}
template <class Stage>
StageRun run_stage(TestBatch batch) {
  return {stage_of<Stage>(), std::vector{std::move(batch)}};
}

// ---- The contract of every stage --------------------------------------------------------------------------------------------------

// What a stage needs to do real work: the more it says, the more the suite can check. Without batches a stage that needs input
// only sees rows made from its column types.
struct ContractSample {
  ParameterTexts parameters;
  std::map<std::string, TestBatch> resources;
  std::vector<TestBatch> batches;
  std::vector<const sluice_device_provider*> devices;  // whose implementations are compared with the CPU's
};

namespace detail {

class ContractSuite {
 public:
  ContractSuite(StageUnderTest stage, ContractSample sample) : stage_(std::move(stage)), sample_(std::move(sample)) {}

  std::vector<std::string> problems() {
    check_descriptor();
    if (!problems_.empty() || !can_run()) return problems_;
    const bool has_input = stage_.descriptor->kind == SLUICE_MAP || stage_.descriptor->kind == SLUICE_REGROUP || stage_.descriptor->kind == SLUICE_SINK;
    if (has_input) check_made_up_rows();
    if (has_input && sample_.batches.empty()) return problems_;
    const Result whole = observed("sample", run());
    if (!whole.ok()) return problem("sample: " + whole.message), problems_;
    expect_same("second run", whole, observed("second run", run()));
    expect_same("four threads", whole, observed("four threads", run().threads(4)));
    check_unwanted(whole);
    if (has_input) check_cuts_and_failures(whole);
    else expect_same("other batch size", whole, observed("other batch size", run().target_work(1).target_bytes(1)));
    check_interruptions(whole);
    check_parameter_limits();
    for (const sluice_device_provider* provider : sample_.devices) check_device(*provider, whole);
    return problems_;
  }

 private:
  void problem(const std::string& text) { problems_.push_back(std::string(stage_.descriptor->id) + ": " + text); }

  // ---- descriptor
  static bool is_snake_case(const char* text) {
    if (text == nullptr || *text == '\0') return false;
    for (const char* c = text; *c != '\0'; ++c)
      if (!((*c >= 'a' && *c <= 'z') || *c == '_' || (c != text && *c >= '0' && *c <= '9'))) return false;
    return true;
  }
  static bool is_column_type(std::string_view type) {
    bool in_list = false;
    if (type.starts_with("list<") && type.ends_with(">")) {
      type = type.substr(5, type.size() - 6);
      in_list = true;
    }
    return std::any_of(std::begin(element_types), std::end(element_types), [&](const ElementType& e) { return type == e.name && !(in_list && type == "binary"); });
  }
  static bool is_empty(const char* text) { return text == nullptr || *text == '\0'; }
  void check_name(std::set<std::string>& seen, const char* what, const char* name, const char* doc) {
    if (!is_snake_case(name)) return problem(std::string(what) + " '" + (name == nullptr ? "" : name) + "' is not snake_case");
    if (!seen.insert(name).second) problem(std::string(what) + " '" + name + "' is declared twice");
    if (is_empty(doc)) problem(std::string(what) + " '" + name + "' has no doc");
  }
  void check_port(const char* what, const sluice_port& port) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < port.column_count; ++i) {
      check_name(seen, what, port.columns[i].name, port.columns[i].doc);
      if (port.columns[i].type == nullptr || !is_column_type(port.columns[i].type)) problem(std::string(what) + " '" + port.columns[i].name + "' has no known type");
    }
  }
  void check_parameter(const sluice_parameter& p) {
    const std::string name = std::string("parameter '") + p.name + "'";
    if (p.type < SLUICE_BOOL || p.type > SLUICE_CHOICE) problem(name + " has no known type");
    if (p.minimum > p.maximum) problem(name + " has its minimum above its maximum");
    if (p.required != 0 && p.default_value.is_set != 0) problem(name + " is required and has a default");
    if (p.default_value.is_set == 0) return;
    if (p.default_value.type != p.type) problem(name + " has a default of another type");
    const double number = p.type == SLUICE_FLOAT ? p.default_value.real : static_cast<double>(p.default_value.integer);
    const bool numeric = p.type == SLUICE_INT || p.type == SLUICE_FLOAT || p.type == SLUICE_SIZE;
    if (numeric && (p.minimum != 0 || p.maximum != 0) && !(number >= p.minimum && number <= p.maximum)) problem(name + " has its default outside its range");
    if (p.type != SLUICE_CHOICE) return;
    bool found = false;
    for (const char* const* choice = p.choices; choice != nullptr && *choice != nullptr; ++choice) found = found || std::string_view(*choice) == p.default_value.text;
    if (!found) problem(name + " has a default that is no choice");
  }
  void check_descriptor() {
    const sluice_stage_descriptor& d = *stage_.descriptor;
    if (!is_snake_case(d.id)) return problems_.push_back("a stage's id is not snake_case");
    if (d.struct_size < sizeof(sluice_stage_descriptor)) problem("struct_size is too small");
    if (is_empty(d.summary)) problem("no summary");
    if (is_empty(d.doc)) problem("no doc");
    if (d.kind < SLUICE_SOURCE || d.kind > SLUICE_RESOURCE) return problem("unknown kind");
    const bool wants_input = d.kind == SLUICE_MAP || d.kind == SLUICE_REGROUP || d.kind == SLUICE_SINK;
    if (wants_input == is_empty(d.input.row_type)) problem("input row type does not fit the kind");
    if ((d.kind == SLUICE_SINK) != is_empty(d.output.row_type)) problem("output row type does not fit the kind");
    if (d.kind == SLUICE_MAP && !is_empty(d.input.row_type) && std::string_view(d.input.row_type) != d.output.row_type) problem("a map changes the row type");
    if (d.kind == SLUICE_SINK && d.output.column_count != 0) problem("a sink gives columns");
    check_port("input column", d.input);
    check_port("output column", d.output);
    if (d.kind == SLUICE_MAP)
      for (std::size_t i = 0; i < d.output.column_count; ++i)
        for (std::size_t j = 0; j < d.input.column_count; ++j)
          if (std::string_view(d.output.columns[i].name) == d.input.columns[j].name) problem(std::string("column '") + d.input.columns[j].name + "' is both needed and given");
    std::set<std::string> parameters, slots, reasons;
    for (std::size_t i = 0; i < d.parameter_count; ++i) {
      check_name(parameters, "parameter", d.parameters[i].name, d.parameters[i].help);
      check_parameter(d.parameters[i]);
    }
    for (std::size_t i = 0; i < d.resource_count; ++i) check_name(slots, "resource slot", d.resources[i].name, d.resources[i].doc);
    for (std::size_t i = 0; i < d.reason_count; ++i) check_name(reasons, "reason", d.reasons[i].code, d.reasons[i].doc);
    if (d.implementation_count == 0 && d.kind != SLUICE_SINK) problem("no implementation");
    for (std::size_t i = 0; i < d.implementation_count; ++i)
      if (is_empty(d.implementations[i].device) || is_empty(d.implementations[i].doc)) problem("an implementation without device or doc");
    if (is_empty(d.work_unit)) problem("no work unit");
  }

  // ---- runs
  bool can_run() const {
    const sluice_stage_descriptor& d = *stage_.descriptor;
    for (std::size_t i = 0; i < d.parameter_count; ++i)
      if (d.parameters[i].required != 0 && !sample_.parameters.contains(d.parameters[i].name)) return false;
    for (std::size_t i = 0; i < d.resource_count; ++i)
      if (d.resources[i].optional == 0 && !sample_.resources.contains(d.resources[i].name)) return false;
    return d.implementation_count == 0 || std::string_view(d.implementations[0].device) == "cpu";
  }
  StageRun run() const { return run(sample_.batches); }
  StageRun run(std::vector<TestBatch> batches) const {
    StageRun prepared(stage_, std::move(batches));
    prepared.with(sample_.parameters);
    for (const auto& [slot, batch] : sample_.resources) prepared.resource(slot, batch);
    return prepared;
  }
  // Runs and reports what the host noticed, and memory that outlives everything the run gave.
  Result observed(const std::string& what, StageRun prepared) {
    std::shared_ptr<MiniHost> host;
    Result result = prepared.observe(&host).run();
    for (const std::string& text : result.problems) problem(what + ": " + text);
    std::int64_t held = 0;
    for (const TestBatch& batch : result.batches) held += static_cast<std::int64_t>(batch.contents().columns.size());
    if (held == 0 && host->blocks_in_use != 0) problem(what + ": " + std::to_string(host->blocks_in_use) + " blocks of memory were never freed");
    if (result.status == SLUICE_ERROR_INTERNAL) problem(what + ": " + result.message);
    return result;
  }

  // One line per row: what the stage said about it.
  std::vector<std::string> rows_of(const Result& result) const {
    std::vector<std::string> rows;
    std::map<std::pair<std::size_t, std::int64_t>, std::string> failed;
    for (const FailedRow& row : result.failed) failed[{row.batch, row.row}] = row.reason;
    std::set<std::string> inputs;
    for (std::size_t i = 0; i < stage_.descriptor->input.column_count; ++i) inputs.insert(stage_.descriptor->input.columns[i].name);
    for (std::size_t b = 0; b < result.batches.size(); ++b) {
      const TestBatch& batch = result.batches[b];
      for (std::int64_t row = 0; row < batch.rows(); ++row) {
        std::string line;
        if (!batch.ok(row)) {
          const auto reason = failed.find({b, row});
          line = reason == failed.end() ? "failed before" : "failed: " + reason->second;
        } else {
          for (const TestBatch::Column& column : batch.contents().columns) {
            if (stage_.descriptor->kind == SLUICE_MAP && inputs.contains(column.name)) continue;
            const std::string_view cell = batch.cell(column, row);
            line += column.name + '=' + std::to_string(cell.size()) + ':';
            line += cell;
          }
        }
        rows.push_back(std::move(line));
      }
    }
    return rows;
  }
  void expect_same(const std::string& what, const Result& expected, const Result& actual) {
    if (!actual.ok()) return problem(what + ": " + actual.message);
    const std::vector<std::string> a = rows_of(expected), b = rows_of(actual);
    if (a.size() != b.size()) return problem(what + ": " + std::to_string(b.size()) + " rows instead of " + std::to_string(a.size()));
    for (std::size_t row = 0; row < a.size(); ++row)
      if (a[row] != b[row]) return problem(what + ": row " + std::to_string(row) + " differs");
    for (const auto& [path, bytes] : expected.files)
      if (!actual.files.contains(path) || actual.files.at(path) != bytes) problem(what + ": file '" + path + "' differs");
    if (expected.files.size() != actual.files.size()) problem(what + ": other files");
  }

  void check_unwanted(const Result& whole) {
    const Result without = observed("no optional column wanted", run().wanted({}));
    if (!without.ok()) return problem("no optional column wanted: " + without.message);
    if (without.rows() != whole.rows()) problem("no optional column wanted: other rows");
  }

  void check_cuts_and_failures(const Result& whole) {
    const TestBatch& first = sample_.batches.front();
    const Result empty = observed("empty batch", run({first.rows(0, 0)}));
    if (!empty.ok()) problem("empty batch: " + empty.message);
    if (empty.rows() != 0) problem("empty batch: rows came out");

    std::vector<TestBatch> single;
    for (const TestBatch& batch : sample_.batches)
      for (std::int64_t row = 0; row < batch.rows(); ++row) single.push_back(batch.rows(row, row + 1).with_sequence(single.size()));
    expect_same("one row a batch", whole, observed("one row a batch", run(single)));
    expect_same("one row a batch, four at once", whole, observed("one row a batch, four at once", run(single).threads(4)));

    std::vector<TestBatch> failed;
    for (const TestBatch& batch : sample_.batches) failed.push_back(batch.all_failed());
    const Result all_failed = observed("all rows failed", run(failed));
    if (!all_failed.ok()) problem("all rows failed: " + all_failed.message);
    if (!all_failed.failed.empty()) problem("all rows failed: the stage failed them again");

    if (stage_.descriptor->kind == SLUICE_REGROUP || single.empty()) return;
    for (std::size_t row = 0; row < single.size(); row += 2) single[row] = single[row].all_failed();
    const Result half = observed("every other row failed", run(single));
    if (!half.ok()) return problem("every other row failed: " + half.message);
    const std::vector<std::string> expected = rows_of(whole), actual = rows_of(half);
    for (std::size_t row = 1; row < std::min(expected.size(), actual.size()); row += 2)
      if (expected[row] != actual[row]) return problem("every other row failed: row " + std::to_string(row) + " differs");
  }

  void check_interruptions(const Result& whole) {
    for (const std::int64_t checks : {0, 1, 3}) {
      const Result result = observed("cancelled", run().cancel_after(checks));
      if (!result.ok() && result.status != SLUICE_ERROR_CANCELLED) problem("cancelled: status " + std::to_string(result.status) + ": " + result.message);
    }
    for (const std::int64_t allocations : {0, 1, 2, 3, 5, 8, 13}) {
      const Result result = observed("no memory", run().memory_for(allocations));
      if (!result.ok() && result.status != SLUICE_ERROR_MEMORY) problem("no memory: status " + std::to_string(result.status) + ": " + result.message);
    }
    std::uint64_t largest = 0;
    for (const auto& [path, bytes] : whole.files) largest = std::max<std::uint64_t>(largest, bytes.size());
    if (largest == 0) return;
    std::shared_ptr<MiniHost> host;
    const Result full = run().file_capacity(largest / 2).observe(&host).run();
    if (host->wrote_beyond_capacity && full.status != SLUICE_ERROR_OUTPUT) problem("disk full: status " + std::to_string(full.status) + ": " + full.message);
  }

  // The same bytes as on the CPU; and when the device is full, the status that makes the host try again elsewhere.
  void check_device(const sluice_device_provider& provider, const Result& whole) {
    const std::string what = std::string("on ") + provider.kind;
    expect_same(what, whole, observed(what, run().device(provider)));
    const TestBatch& first = sample_.batches.front();
    const Result empty = observed(what + ", empty batch", run({first.rows(0, 0)}).device(provider));
    if (!empty.ok()) problem(what + ", empty batch: " + empty.message);
    const Result failed = observed(what + ", all rows failed", run({first.all_failed()}).device(provider));
    if (!failed.ok()) problem(what + ", all rows failed: " + failed.message);
    std::vector<TestBatch> single;
    for (const TestBatch& batch : sample_.batches)
      for (std::int64_t row = 0; row < batch.rows(); ++row) single.push_back(batch.rows(row, row + 1).with_sequence(single.size()));
    expect_same(what + ", one row a batch", whole, observed(what + ", one row a batch", run(single).device(provider)));
    for (const std::int64_t allocations : {0, 1, 2, 3, 5, 8}) {
      const Result full = observed(what + ", device full", run().device(provider).device_memory_for(allocations));
      if (!full.ok() && full.status != SLUICE_ERROR_DEVICE_MEMORY) problem(what + ", device full: status " + std::to_string(full.status) + ": " + full.message);
    }
  }

  // The ends of each parameter's range, or absurd values where it has none: any refusal will do, but not a bug.
  void check_parameter_limits() {
    const sluice_stage_descriptor& d = *stage_.descriptor;
    for (std::size_t i = 0; i < d.parameter_count; ++i) {
      const sluice_parameter& p = d.parameters[i];
      const bool bounded = p.minimum != 0 || p.maximum != 0;
      std::vector<Text> values;
      if (p.type == SLUICE_BOOL) values = {true, false};
      if (p.type == SLUICE_INT || p.type == SLUICE_SIZE) {
        if (bounded) values = {static_cast<std::int64_t>(p.minimum), static_cast<std::int64_t>(std::min(p.maximum, 9e18))};
        else values = {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(), 0};
      }
      if (p.type == SLUICE_FLOAT) values = bounded ? std::vector<Text>{p.minimum, p.maximum} : std::vector<Text>{0.0, -1e300, 1e300};
      if (p.type == SLUICE_CHOICE)
        for (const char* const* choice = p.choices; *choice != nullptr; ++choice) values.emplace_back(*choice);
      if (p.type == SLUICE_STRING) values = {"", "\xff\n\t%s"};
      for (const Text& value : values) {
        const std::string what = std::string("parameter '") + p.name + "' = '" + value + "'";
        const Result result = run().with({{p.name, value}}).at_most_calls(4).run();
        if (result.status == SLUICE_ERROR_INTERNAL) problem(what + ": " + result.message);
        for (const std::string& text : result.problems) problem(what + ": " + text);
      }
    }
  }

  // Rows of the declared types whose values fit nothing: they may fail, and so may the call, but not as a bug.
  void check_made_up_rows() {
    for (std::uint32_t seed = 1; seed <= 8; ++seed) {
      const std::string what = "made-up rows " + std::to_string(seed);
      const Result result = observed(what, run({made_up_rows(stage_.descriptor->input, 5, seed)}));
      if (result.status == SLUICE_ERROR_CANCELLED) problem(what + ": cancelled without being asked");
    }
  }
  static TestBatch made_up_rows(const sluice_port& port, std::int64_t rows, std::uint32_t seed) {
    std::uint32_t state = seed * 2654435761U;
    const auto random = [&state](std::uint32_t below) {
      state = state * 1664525U + 1013904223U;
      return (state >> 8) % below;
    };
    BatchBuilder builder(std::string_view(port.row_type) == "*" ? "row" : port.row_type, rows);
    const auto value = [&]<class T>(T) -> T {
      const std::uint32_t kind = random(8);
      if (kind == 0) return std::numeric_limits<T>::max();
      if (kind == 1) return std::numeric_limits<T>::lowest();
      if constexpr (std::is_floating_point_v<T>) {
        if (kind == 2) return std::numeric_limits<T>::quiet_NaN();
        if (kind == 3) return std::numeric_limits<T>::infinity();
      }
      return static_cast<T>(random(100));
    };
    const auto fill = [&]<class T>(T zero, const char* name, bool is_list) {
      if (!is_list) {
        std::vector<T> values;
        for (std::int64_t row = 0; row < rows; ++row) values.push_back(value(zero));
        builder.column<T>(name, values);
      } else {
        std::vector<std::vector<T>> values(static_cast<std::size_t>(rows));
        for (auto& row : values)
          for (std::uint32_t i = random(20); i > 0; --i) row.push_back(value(zero));
        builder.list<T>(name, values);
      }
    };
    for (std::size_t i = 0; i < port.column_count; ++i) {
      const char* name = port.columns[i].name;
      std::string_view type = port.columns[i].type;
      const bool is_list = type.starts_with("list<");
      if (is_list) type = type.substr(5, type.size() - 6);
      if (type == "i8") fill(std::int8_t{}, name, is_list);
      if (type == "u8") fill(std::uint8_t{}, name, is_list);
      if (type == "i16") fill(std::int16_t{}, name, is_list);
      if (type == "u16") fill(std::uint16_t{}, name, is_list);
      if (type == "i32") fill(std::int32_t{}, name, is_list);
      if (type == "u32") fill(std::uint32_t{}, name, is_list);
      if (type == "i64") fill(std::int64_t{}, name, is_list);
      if (type == "u64") fill(std::uint64_t{}, name, is_list);
      if (type == "f32") fill(float{}, name, is_list);
      if (type == "f64") fill(double{}, name, is_list);
      if (type == "utf8" || type == "binary") {
        std::vector<std::string> values(static_cast<std::size_t>(rows));
        for (auto& row : values)
          for (std::uint32_t c = random(40); c > 0; --c) row += "ACGTNacgt\0\xff"[random(11)];
        builder.text(name, values, type == "utf8" ? "utf8" : "binary");
      }
    }
    return builder.build();
  }

  StageUnderTest stage_;
  ContractSample sample_;
  std::vector<std::string> problems_;
};

}  // namespace detail

// Everything that a host relies on and that can be seen from outside: the descriptor; empty, single, failed and made-up rows; cancelling;
// lack of memory; a full disk; the ends of every parameter's range; and the same bytes for every cut of the rows and every thread count.
// Returns what is wrong, one line each.
inline std::vector<std::string> contract_problems(StageUnderTest stage, ContractSample sample = {}) {
  return detail::ContractSuite(std::move(stage), std::move(sample)).problems();
}
template <class Stage>
std::vector<std::string> contract_problems(ContractSample sample = {}) {
  return contract_problems(stage_of<Stage>(), std::move(sample));
}
// All stages of a plugin; samples by stage id.
inline std::vector<std::string> contract_problems(const sluice_plugin_info& plugin, const std::map<std::string, ContractSample>& samples = {}) {
  std::vector<std::string> problems;
  if (plugin.struct_size < sizeof(sluice_plugin_info)) problems.emplace_back("plugin: struct_size is too small");
  if (plugin.abi_major != SLUICE_ABI_MAJOR || plugin.abi_minor > SLUICE_ABI_MINOR) problems.emplace_back("plugin: made for another ABI version");
  for (const char* text : {plugin.name, plugin.version, plugin.licence})
    if (text == nullptr || *text == '\0') problems.emplace_back("plugin: name, version or licence is missing");
  std::set<std::string> ids;
  for (std::size_t i = 0; i < plugin.stage_count; ++i) {
    const std::string id = plugin.stages[i]->id;
    if (!ids.insert(id).second) problems.push_back("plugin: two stages are called '" + id + "'");
    const auto sample = samples.find(id);
    const auto found = contract_problems(stage_of(plugin, id), sample == samples.end() ? ContractSample{} : sample->second);
    problems.insert(problems.end(), found.begin(), found.end());
  }
  return problems;
}

}  // namespace sluice::testing
