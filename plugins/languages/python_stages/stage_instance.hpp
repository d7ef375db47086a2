// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One stage of a run whose function is in Python.

#include <sluice/abi.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "python_stages/worker_pool.hpp"

namespace sluice::python {

// What a pipeline file names, and what Python says of it.
struct PythonFunction {
  std::string file, function;  // the file's whole path
  Introduction said;
};

// Reasons that every such stage has before its own (python/sluice/_worker.py).
enum class OwnReason : std::uint32_t { worker_died, exception };

class StageInstance {
 public:
  // first: a worker that has introduced itself, or null.
  StageInstance(const PythonFunction& function, const PythonPlace& place, std::unique_ptr<Worker> first, const sluice_create_args& args);
  void process(const Call& call, const Batch& in, Output& out);
  void finish(const Call& call);
  Estimate estimate(const Batch& in) const;

 private:
  void take(Answer& answer, const Batch& in, Output& out);
  void fail_batch(const Batch& in, Output& out, OwnReason reason);
  void mourn(const Call& call, const Batch& in, Output& out, const WorkerDied& death);
  void report_exception(const Call& call, const Batch& in, Output& out, const Raised& raised);

  const PythonFunction& function_;
  const PythonPlace place_;
  std::vector<std::string> values_;  // see Worker::set_up
  std::vector<ColumnKind> wanted_;
  WorkerPool pool_;
  std::atomic<int> deaths_in_a_row_{0};
  std::atomic<std::uint64_t> exceptions_{0};
};

}  // namespace sluice::python
