// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a stage sees of the host during a call: logging, threads, memory, and the output it fills.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <sluice/batch.hpp>
#include <sluice/column.hpp>
#include <sluice/failure.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice {

// The host, for as long as the stage instance lives.
class Host {
 public:
  Host(const sluice_host_api* api, const sluice_host* host) : api_(api), host_(host) {}

  void debug(const std::string& message) const { api_->log(host_, SLUICE_LOG_DEBUG, message.c_str()); }
  void info(const std::string& message) const { api_->log(host_, SLUICE_LOG_INFO, message.c_str()); }
  void warn(const std::string& message) const { api_->log(host_, SLUICE_LOG_WARNING, message.c_str()); }
  // Whatever this call makes from here on is thrown away: sources return what they have, others throw Failure(SLUICE_ERROR_CANCELLED, ...).
  bool cancelled() const { return api_->cancelled(host_) != 0; }
  int threads() const { return api_->thread_count(host_); }
  MemorySource memory() const { return {api_, host_}; }
  // Adds `amount` to a counter of this stage in the run report.
  void count(const char* counter, double amount) const { api_->count(host_, counter, amount); }
  // One value of a quantity whose distribution the report shows, say a latency in seconds.
  void observe(const char* quantity, double value) const { api_->observe(host_, quantity, value); }
  // What became of rows: of `total` rows `good` were "mapped". A sink that ends with 0 of more than 0 has produced nothing, and the run says so.
  void outcome(const char* name, std::uint64_t good, std::uint64_t total) const { api_->outcome(host_, name, good, total); }
  // Sources: how much of the input has been read, 0 to 1.
  void progress(double share) const { api_->progress(host_, share); }
  // What this instance keeps beside columns, in bytes, now and in all: an index, a table that grows.
  void keeps(std::uint64_t bytes) const { api_->keeps(host_, bytes); }
  // An input that never became a row: counted under this stage's reason, and named in the account when `name` is given.
  template <class Reason>
  void account(Reason reason, std::uint64_t count, const std::string& name = {}) const {
    api_->account(host_, static_cast<std::uint32_t>(reason), count, name.empty() ? nullptr : name.c_str());
  }

  // body(begin, end) over disjoint parts of [0, count), each at least `grain` long but the last; on the run's threads.
  template <class Body>
  void parallel_for(std::size_t count, std::size_t grain, Body&& body) const {
    struct Context {
      std::remove_reference_t<Body>* body;
      std::mutex mutex;  // guards failure
      std::exception_ptr failure;
    } context{&body, {}, nullptr};
    const auto call = [](void* argument, std::size_t begin, std::size_t end) -> sluice_status {
      auto& c = *static_cast<Context*>(argument);
      try {
        (*c.body)(begin, end);
        return SLUICE_OK;
      } catch (...) {
        const std::lock_guard lock(c.mutex);
        if (!c.failure) c.failure = std::current_exception();
        return SLUICE_ERROR_INTERNAL;
      }
    };
    const sluice_status status = api_->parallel_for(host_, count, grain, call, &context);
    if (context.failure) std::rethrow_exception(context.failure);
    if (status == SLUICE_ERROR_MEMORY) throw std::bad_alloc();
    if (status != SLUICE_OK) throw Failure(status, "a parallel loop was stopped");
  }

  const sluice_host_api* api() const { return api_; }
  const sluice_host* raw() const { return host_; }

 private:
  const sluice_host_api* api_;
  const sluice_host* host_;
};

class Call : public Host {
 public:
  explicit Call(const sluice_call& call) : Host(call.api, call.host), call_(&call) {}
  // Sources: cut the batch at about this much work and this many bytes.
  double target_work() const { return call_->target_work; }
  std::uint64_t target_bytes() const { return call_->target_bytes; }
  const sluice_device* device() const { return call_->device; }
  const sluice_call& raw() const { return *call_; }

 private:
  const sluice_call* call_;
};

// Reusable working memory: one object per concurrent caller, handed out and taken back, so that steady state allocates nothing.
//   auto scratch = workspaces_.take();  scratch->events.clear(); ...
template <class T>
class Workspaces {
 public:
  class Lease {
   public:
    Lease(Workspaces* home, std::unique_ptr<T> object) : home_(home), object_(std::move(object)) {}
    Lease(Lease&&) noexcept = default;
    // What an exception passed through may be half filled: it is freed, too.
    ~Lease() {
      if (object_) home_->end_lease(std::uncaught_exceptions() == exceptions_ ? std::move(object_) : nullptr);
    }
    T* operator->() const { return object_.get(); }
    T& operator*() const { return *object_; }
    // Frees this object instead of keeping it for the next caller (after an outsized row).
    void discard() {
      if (!object_) return;
      object_.reset();
      home_->end_lease(nullptr);
    }

   private:
    Workspaces* home_;
    std::unique_ptr<T> object_;
    int exceptions_ = std::uncaught_exceptions();
  };
  Lease take() {
    const std::lock_guard lock(mutex_);
    idle_.reserve(idle_.size() + leases_ + 1);  // so that all of them can come back without an allocation
    std::unique_ptr<T> object;
    if (idle_.empty()) {
      object = std::make_unique<T>();
    } else {
      object = std::move(idle_.back());
      idle_.pop_back();
    }
    ++leases_;
    return {this, std::move(object)};
  }

 private:
  // Null: the object was freed.
  void end_lease(std::unique_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    --leases_;
    if (object) idle_.push_back(std::move(object));
  }
  std::mutex mutex_;  // guards the members below
  std::vector<std::unique_ptr<T>> idle_;
  std::size_t leases_ = 0;
};

// What a call produces. For maps the rows are the input's; sources, regroups and resources say set_rows() first.
class Output {
 public:
  Output(const Host& host, sluice_output* output, std::int64_t rows) : host_(host), output_(output), rows_(rows) {}

  std::int64_t rows() const { return rows_; }
  void set_rows(std::int64_t rows) {
    rows_ = rows;
    check(host_.api()->set_row_count(output_, rows), "set_rows");
  }
  // The row is bad from here on; later stages skip it and the account names it. Thread-safe for distinct rows.
  template <class Reason>
  void fail(std::int64_t row, Reason reason) {
    host_.api()->fail_row(output_, row, static_cast<std::uint32_t>(reason));
  }
  // Maps: later stages skip the row, as a failed one, but by choice: it is counted as filtered, and is not bad. Thread-safe for distinct rows.
  template <class Reason>
  void filter(std::int64_t row, Reason reason) {
    fail(row, reason);
    host_.account(reason, 1);
  }
  void set_attribute(const std::string& key, const std::string& value) {
    check(host_.api()->set_attribute(output_, key.c_str(), value.c_str()), key.c_str());
  }
  void set_work(double work) { host_.api()->set_work(output_, work); }
  // Sources, regroups: what depends on this batch is wanted within so many seconds from now.
  void set_deadline(double seconds) { host_.api()->set_deadline(output_, seconds); }
  // Regroups: closes this batch and opens the next.
  void emit() {
    check(host_.api()->emit(output_), "emit");
    rows_ = 0;
  }

  // One T a row, zeroed, to be filled before the call returns. The column is already part of the output.
  template <Element T>
  std::span<T> column(const char* name) {
    Buffer values = Buffer::allocate(host_.memory(), static_cast<std::size_t>(rows_) * sizeof(T));
    std::memset(values.data(), 0, values.bytes());
    const std::span<T> view = values.as<T>();
    add(name, fixed_column<T>(rows_, std::move(values)));
    return view;
  }
  // Lists of known sizes: returns the values, to be filled. `offsets` (rows + 1) may be shared by several columns.
  template <Element T>
  std::span<T> list(const char* name, const Buffer& offsets) {
    const std::int64_t count = offsets.as<std::int64_t>()[static_cast<std::size_t>(rows_)];
    Buffer values = Buffer::allocate(host_.memory(), static_cast<std::size_t>(count) * sizeof(T));
    const std::span<T> view = values.as<T>();
    add(name, list_column<T>(rows_, offsets, std::move(values)));
    return view;
  }
  // rows + 1 offsets from the rows' sizes, for list() and text().
  template <class SizeOfRow>
  Buffer offsets(SizeOfRow&& size_of_row) {
    return offsets_from_sizes(rows_, host_.memory(), size_of_row);
  }
  // Concatenates one container of T a row.
  template <Element T, class Rows>
  void gather(const char* name, const Buffer& offsets, const Rows& rows) {
    const std::span<T> values = list<T>(name, offsets);
    std::size_t at = 0;
    for (const auto& row : rows) {
      if (row.size() != 0) std::memcpy(values.data() + at, row.data(), row.size() * sizeof(T));
      at += row.size();
    }
  }
  // Text or bytes of known sizes: returns the characters, to be filled.
  std::span<char> text(const char* name, const Buffer& offsets, const char* type = "utf8") {
    const std::int64_t count = offsets.as<std::int64_t>()[static_cast<std::size_t>(rows_)];
    Buffer bytes = Buffer::allocate(host_.memory(), static_cast<std::size_t>(count));
    const std::span<char> view(static_cast<char*>(bytes.data()), static_cast<std::size_t>(count));
    add(name, text_column(rows_, offsets, std::move(bytes), type));
    return view;
  }
  // One string a row.
  template <class Rows>
  void text_rows(const char* name, const Rows& rows, const char* type = "utf8") {
    auto next = rows.begin();
    const Buffer ends = offsets([&](std::int64_t) { return (next++)->size(); });
    const std::span<char> bytes = text(name, ends, type);
    std::size_t at = 0;
    for (const auto& row : rows) {
      if (row.size() != 0) std::memcpy(bytes.data() + at, row.data(), row.size());
      at += row.size();
    }
  }
  void add(const char* name, ColumnData column) {
    sluice_new_column made{};
    made.struct_size = sizeof made;
    made.name = name;
    made.schema = &column.schema();
    made.array = &column.array();
    made.buffer_count = column.buffer_bytes().size();
    made.buffer_bytes = column.buffer_bytes().data();
    add(made);
  }
  // A column of other making; what the host takes is moved from.
  void add(const sluice_new_column& column) { check(host_.api()->add_column(output_, &column), column.name); }
  const Host& host() const { return host_; }
  sluice_output* raw() const { return output_; }

 private:
  void check(sluice_status status, const char* what) const {
    if (status == SLUICE_OK) return;
    const std::string why = host_.api()->output_problem(output_);
    if (status == SLUICE_ERROR_CANCELLED) throw Failure(status, "the run ends");
    if (status == SLUICE_ERROR_MEMORY && why.empty()) throw Failure(status, "out of memory", "lower --memory or --threads");
    throw Failure(status, why.empty() ? std::string("the host refused '") + what + "'" : why, "this is a bug in the plugin: please report it");
  }
  Host host_;
  sluice_output* output_;
  std::int64_t rows_;
};

// An output file that appears under its final name only when the whole run has succeeded. "-" is standard output.
class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const Host& host, const std::string& path) : api_(host.api()) {
    sluice_error error{};
    if (api_->open_file(host.raw(), path.c_str(), &file_, &error) != SLUICE_OK) raise(error);
  }
  void write(std::string_view bytes) {
    if (bytes.empty()) return;
    sluice_error error{};
    if (api_->write_file(file_, bytes.data(), bytes.size(), &error) != SLUICE_OK) raise(error);
  }
  // The first so many bytes (of the text in it, if it is compressed) are a header, see header_of_file in abi.h.
  void header(std::uint64_t bytes) {
    if (api_->header_of_file(file_, bytes) != SLUICE_OK) throw Failure(SLUICE_ERROR_INTERNAL, "a header of a file that is not open");
  }
  // The temporary path, for libraries that write files themselves ("-" for standard output).
  std::string path() const { return api_->file_path(file_); }
  void close() {
    if (file_ == nullptr) return;
    sluice_error error{};
    sluice_file* file = std::exchange(file_, nullptr);
    if (api_->close_file(file, &error) != SLUICE_OK) raise(error);
  }

 private:
  [[noreturn]] static void raise(const sluice_error& error) { throw Failure(error.code, error.message, error.remedy); }
  const sluice_host_api* api_ = nullptr;
  sluice_file* file_ = nullptr;  // owned by the host
};

}  // namespace sluice
