// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One worker: a process that runs one function, and the memory that batches go through. See python/sluice/_worker.py for the other side.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "python_stages/shared_region.hpp"
#include "python_stages/worker_process.hpp"

namespace sluice::python {

struct ColumnKind {
  std::string name, type;
};

// What a worker says of its function when it has started.
struct Introduction {
  std::string description;  // JSON, see sluice_stage_maker
  std::size_t parameter_count = 0;
  std::vector<ColumnKind> gives;
};

// Regions that results come in, and go back to when the last column over them has gone. They may outlive the worker.
class ResultRegions {
 public:
  // One with so many bytes, the smallest of those that are free; else null.
  std::unique_ptr<SharedRegion> take(std::size_t bytes);
  void put_back(std::unique_ptr<SharedRegion> region);
  // Nobody takes any more.
  void close();
  // Numbers of regions that are no more, for the worker to forget.
  std::vector<std::int64_t> dropped();

 private:
  static constexpr std::size_t most_free = 4;
  std::mutex mutex_;  // guards what follows
  bool closed_ = false;
  std::vector<std::unique_ptr<SharedRegion>> free_;
  std::vector<std::int64_t> dropped_;
};

struct Raised {
  std::string traceback;
  bool ends_run = false;  // on_error="fail_run"
};

// What came of a call: columns over shared memory, rows that failed, or an exception.
struct Answer {
  std::vector<std::pair<std::string, ColumnData>> columns;
  std::vector<std::pair<std::int64_t, std::uint32_t>> failed;  // row, the stage's reason
  std::unique_ptr<Raised> raised;
};

struct CallHooks {
  std::function<void(int level, const std::string& line)> log;
  std::function<bool()> give_up;
};

class Worker {
 public:
  // Starts the process, which takes some tenths of a second to begin.
  Worker(const PythonPlace& place, const std::string& file, const std::string& function);
  ~Worker();

  // Has it something to say?
  bool has_said() const { return process_.has_said(); }
  // What it says first. Throws Failure with what is wrong with file or function.
  const Introduction& introduction(const std::function<bool()>& give_up);
  // `values` in the order of the description's parameters: "=TEXT", or "-" for one that is not set.
  void set_up(const std::vector<std::string>& values, const std::vector<ColumnKind>& wanted);
  // Throws WorkerDied, and Failure where a worker says what can't be.
  Answer call(const Batch& in, const CallHooks& hooks);
  // What its input goes through.
  std::uint64_t kept_bytes() const { return input_ ? input_->bytes() : 0; }
  void close_socket() { process_.close_socket(); }

 private:
  void give(const SharedRegion& region);
  void forget(std::int64_t number);
  void make_room(std::unique_ptr<SharedRegion>& region, std::size_t bytes);
  std::string request(const Batch& in);
  void take_results(const Batch& in, std::string_view packet, Answer& answer);

  const std::string name_, interpreter_;
  WorkerProcess process_;
  std::optional<Introduction> introduction_;
  std::vector<ColumnKind> wanted_;
  std::unique_ptr<SharedRegion> input_, result_;
  const std::shared_ptr<ResultRegions> results_ = std::make_shared<ResultRegions>();
  std::size_t input_used_ = 0;
  double result_per_input_ = 1;  // bytes
};

// A column of any type over two buffers: values; or offsets, and values or bytes.
ColumnData column_of(const std::string& type, std::int64_t rows, Buffer first, Buffer second);

}  // namespace sluice::python
