// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Runs a pipeline written in a test, on the toy stages.

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "config/pipeline.hpp"
#include "plan/plan.hpp"
#include "plugins/simulated_accelerator/simulated_accelerator.hpp"
#include "run/run.hpp"
#include "unit/fresh_file.hpp"

namespace sluice::testing_core {

inline const Registry& toy_registry() {
  static const Registry* const registry = [] {
    auto* r = new Registry;
    r->load_folder(SLUICE_TEST_PLUGIN_DIR);
    return r;
  }();
  return *registry;
}

inline simulated_accelerator::Settings& accelerator() {
  for (const LoadedPlugin& plugin : toy_registry().plugins())
    if (std::string_view(plugin.info->name) == "simulated_accelerator")
      return *static_cast<simulated_accelerator::Settings*>(const_cast<void*>(plugin.info->get_extension(simulated_accelerator::extension_id)));
  throw std::logic_error("the simulated accelerator is not there");
}

// The accelerator with its usual speed and no faults; what a test makes of it ends with this.
class FreshAccelerator {
 public:
  FreshAccelerator() { reset(); }
  ~FreshAccelerator() { reset(); }
  FreshAccelerator(const FreshAccelerator&) = delete;

 private:
  // All but bytes_allocated, which a run leaves at 0.
  static void reset() {
    auto& a = accelerator();
    a.devices = 1;
    a.speed = 5.0;
    a.seconds_per_work = a.seconds_per_copy = 1e-5;
    a.bytes_per_second = 1e9;
    a.memory_bytes = std::uint64_t{1} << 30;
    a.fail_kernel_every = a.fail_memory_every = 0;
    a.lost_after = -1;
    a.fetch_status = SLUICE_OK;
    a.fail_behind_kernel = false;
    a.calls = a.peer_copies = a.wrong_devices = a.read_after_free = 0;
  }
};

// Keeps what a run tells.
class Events : public RunListener {
 public:
  bool traces() const override { return true; }
  void happened(const TraceEvent& event) noexcept override {
    const std::lock_guard lock(mutex_);
    trace.push_back(event);
  }
  void lost(const std::string& stage, const FailedRow& row) noexcept override {
    const std::lock_guard lock(mutex_);
    rows.push_back(row.row + " " + stage + " " + row.reason);
  }
  std::vector<TraceEvent> trace;
  std::vector<std::string> rows;

 private:
  std::mutex mutex_;  // guards both
};

struct ToyResult {
  RunResult run;
  std::vector<std::string> diagnostics;
  std::map<std::string, std::string> files;  // by name, in the test's folder
  std::vector<std::string> log;
  const StageStatistics& stage(const std::string& name) const {
    for (const StageStatistics& stage : run.statistics.stages)
      if (stage.name == name) return stage;
    throw std::logic_error("no stage " + name);
  }
};

// A folder of its own for every run; removed with the object.
class ToyRun {
 public:
  ToyRun()
      : folder_(std::filesystem::path(written_files::folder_in_memory()) /
                ("sluice-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count()))) {
    std::filesystem::create_directories(folder_);
    options.threads = 2;
    options.device = "cpu";
    options.log_level = SLUICE_LOG_DEBUG;
    options.log = [this](int, const std::string& line) { log_.push_back(line); };
  }
  ~ToyRun() { std::filesystem::remove_all(folder_); }

  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  // ${folder} stands for the folder in the text.
  ToyResult operator()(std::string toml) {
    for (std::size_t at; (at = toml.find("${folder}")) != std::string::npos;) toml.replace(at, 9, folder_.string());
    ToyResult result;
    Diagnostics diagnostics;
    const WrittenPipeline written = parse_pipeline("[pipeline]\nname = \"toy\"\n" + toml, "toy.toml", diagnostics);
    ResolvedPipeline resolved = resolve_pipeline(written, {}, toy_registry(), diagnostics);
    if (!diagnostics.has_errors()) {
      plan_ = std::make_unique<Plan>(make_plan(std::move(resolved), options.device, device_kinds(toy_registry()), diagnostics));
    }
    for (const Diagnostic& d : diagnostics.list())
      if (d.severity == Severity::error) result.diagnostics.push_back(d.text());
    if (!result.diagnostics.empty()) {
      result.run.state = RunState::failed;
      result.run.message = result.diagnostics.front();
      return result;
    }
    run_ = std::make_unique<Run>(*plan_, toy_registry(), options);
    if (on_start) on_start(*run_);
    result.run = run_->execute();
    if (on_end) on_end();
    result.log = log_;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      std::ostringstream content;
      content << std::ifstream(entry.path()).rdbuf();
      result.files[entry.path().filename().string()] = content.str();
    }
    return result;
  }

  RunOptions options;
  std::function<void(Run&)> on_start;
  std::function<void()> on_end;  // before its files are read

 private:
  static int& count() {
    static int n = 0;
    return n;
  }
  std::filesystem::path folder_;
  std::unique_ptr<Plan> plan_;
  std::unique_ptr<Run> run_;
  std::vector<std::string> log_;
};

// Runs the pipeline on each of these numbers of threads, in a flow graph and serially; `check` gets what comes of each run, which has to finish.
template <class Check>
void in_each_form(std::initializer_list<int> threads, const std::string& toml, Check&& check) {
  for (const int thread_count : threads)
    for (const Executor executor : {Executor::flow_graph, Executor::serial}) {
      CAPTURE(thread_count);
      ToyRun run;
      run.options.threads = thread_count;
      run.options.executor = executor;
      const ToyResult result = run(toml);
      CAPTURE(result.run.message);
      REQUIRE(result.run.state == RunState::finished);
      check(result);
    }
}

// "first\nfirst+1\n..." of `count` numbers.
inline std::string numbers(long first, long count) {
  std::string text;
  for (long i = 0; i < count; ++i) text += std::to_string(first + i) + "\n";
  return text;
}

}  // namespace sluice::testing_core
