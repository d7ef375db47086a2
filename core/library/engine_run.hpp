// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One run for a program: planned, executed, looked at, its rows handed out. See sluice.h for what the functions do.

#include <sluice.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "library/arrow_export.hpp"
#include "library/batch_channel.hpp"
#include "library/engine.hpp"
#include "library/stream_pipeline.hpp"
#include "session/session.hpp"

namespace sluice {

// What is asked for, in words of the host's own.
struct RunRequest {
  std::string pipeline, pipeline_text;
  bool has_text = false;
  std::vector<std::pair<std::string, std::string>> parameters, options;
  std::vector<std::string> changes;
  std::optional<StreamWish> stream;
  bool keep_failed_rows = false;
  std::size_t stream_depth = 4;
};

struct RunProblem {
  sluice_status status = SLUICE_OK;
  bool is_warning = false;
  std::string place, stage, message, remedy, text;
};

class EngineRun;

// Ends the run when the last one that wanted it goes, its thread too. Batches may keep the run itself for longer.
class RunOwner {
 public:
  explicit RunOwner(std::shared_ptr<EngineRun> run) : run_(std::move(run)) {}
  RunOwner(const RunOwner&) = delete;
  ~RunOwner();
  EngineRun& operator*() const { return *run_; }
  EngineRun* operator->() const { return run_.get(); }

 private:
  const std::shared_ptr<EngineRun> run_;
};

class EngineRun : public std::enable_shared_from_this<EngineRun> {
 public:
  EngineRun(Engine& engine, const RunRequest& request);
  ~EngineRun();
  // Behind the constructor, which can't hand out this object: stages of the host's own keep their input with it.
  void make_known();

  // False in a process that was forked off: neither threads nor outputs of the run are its own.
  bool is_of_this_process() const { return ::getpid() == made_in_; }
  sluice_status status() const { return is_of_this_process() ? status_ : SLUICE_ERROR_USAGE; }
  const std::deque<RunProblem>& problems() const { return problems_; }
  sluice_status execute();
  sluice_status start();
  bool wait(double seconds);
  bool interrupt();  // false: it is over
  // Everything stops, and the run's thread has ended. [thread-safe]
  void stop();
  std::string snapshot() const;
  bool next_line(std::string& line, int& level);
  // "" before the end.
  std::string report() const;

  bool streams() const { return channel_ != nullptr; }
  const std::vector<StreamColumn>& stream_columns() const { return columns_; }
  // Throws Failure where a column can't be had.
  sluice_status next_batch(double seconds, ArrowArray& batch);
  void close_stream();

 private:
  void plan(const RunRequest& request, Diagnostics& diagnostics);
  WrittenPipeline written(const RunRequest& request, Diagnostics& diagnostics) const;
  Overrides overrides(const RunRequest& request, const WrittenPipeline& pipeline, Diagnostics& diagnostics) const;
  void plan_stream(const RunRequest& request, Diagnostics& diagnostics);
  void take(const Diagnostics& diagnostics);
  void add_problem(sluice_status status, const std::string& place, const std::string& stage, const std::string& message, const std::string& remedy);
  void log(int level, const std::string& line);
  void conclude(const SessionEnd& end);
  std::vector<std::string> failures_of(const BatchData& batch) const;

  void refuse_elsewhere() const;

  const pid_t made_in_ = ::getpid();
  const std::shared_ptr<const Registry> registry_;
  sluice_status status_ = SLUICE_OK;
  std::deque<RunProblem> problems_;
  RunSettings settings_;
  std::optional<Plan> plan_;
  std::shared_ptr<BatchChannel> channel_;  // null: no stream
  std::vector<StreamColumn> columns_;      // of the stream
  bool keep_failed_rows_ = false;
  std::mutex stopping_;  // guards the end of thread_
  std::thread thread_;
  bool executed_ = false;
  std::atomic<bool> closed_{false};
  std::string report_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable over_;
  bool has_ended_ = false;
  std::deque<std::pair<int, std::string>> lines_;

  std::optional<Session> session_;  // of plan_; nothing: it can't be executed. Goes first, as it says lines until then
};

}  // namespace sluice
