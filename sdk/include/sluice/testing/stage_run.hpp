// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// run_stage: makes an instance, gives it batches and resources, and collects what comes out.

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <sluice/stage.hpp>
#include <sluice/testing/result.hpp>
#include <sluice/testing/saved_instance.hpp>
#include <sluice/testing/temporary_folder.hpp>
#include <sluice/testing/test_batch.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::testing {

namespace detail {
class MiniHost;
class TestDevice;
struct OutputState;
}  // namespace detail

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
StageUnderTest stage_of(const sluice_plugin_info& plugin, std::string_view id);

// Loads a plugin file, for good: its code may be referred to until the test ends.
const sluice_plugin_info* load_plugin(const std::string& path);

// A parameter's value as a user would type it.
struct Text : std::string {
  Text(const char* text) : std::string(text) {}
  Text(std::string text) : std::string(std::move(text)) {}
  Text(bool value) : std::string(value ? "true" : "false") {}
  Text(double value) : std::string(shortest(value)) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Text(T value) : std::string(std::to_string(value)) {}

 private:
  static std::string shortest(double value);
};
using ParameterTexts = std::map<std::string, Text>;

class StageRun {
 public:
  StageRun(StageUnderTest stage, std::vector<TestBatch> inputs);
  StageRun(const StageRun&);
  StageRun(StageRun&&) noexcept;
  ~StageRun();

  StageRun& with(const ParameterTexts& parameters);
  StageRun& resource(const std::string& slot, TestBatch batch);
  // Which optional output columns somebody uses. Left out: all.
  StageRun& wanted(std::set<std::string> columns);
  // Threads of parallel_for; from 2 on several batches of a map or sink are also processed at once (unless the stage is serial or blocking).
  StageRun& threads(int count);
  // cancelled() says yes from this check on.
  StageRun& cancel_after(std::int64_t checks);
  // allocate() gives nothing from this allocation on.
  StageRun& memory_for(std::int64_t allocations);
  // OutputFile::write fails beyond this many bytes a file, as on a full disk.
  StageRun& file_capacity(std::uint64_t bytes);
  // Runs the implementation for this provider's kind of device. Input columns are then on the device only. The provider must outlive the run.
  StageRun& device(const sluice_device_provider& provider, std::int32_t ordinal = 0);
  // The device's memory is full from this allocation of the stage on.
  StageRun& device_memory_for(std::int64_t allocations);
  // Where temporary output files are made, for tests on a small file system.
  StageRun& files_in(std::string folder);
  // Sources: size of a batch, and after how many calls to stop.
  StageRun& target_work(double work);
  StageRun& target_bytes(std::uint64_t bytes);
  StageRun& at_most_calls(std::size_t calls);
  // Regroups: a sink gives rows back. `answer` makes of each batch that is emitted the one that feedback() gets, before emit() returns.
  StageRun& feedback(std::function<TestBatch(const TestBatch& emitted)> answer);

  // Only inputs [first, last).
  StageRun& only_inputs(std::size_t first, std::size_t last);
  // save() is called in front of each input and behind the last one; nothing comes of an instance that can't save.
  StageRun& saves_to(std::vector<SavedInstance>* saved);
  // The instance is one of so many, each with a part of the input.
  StageRun& part(std::uint64_t part, std::uint64_t parts);
  // The instance goes on behind a saved one, with its files; behind several where they can be summed.
  StageRun& resumes(std::vector<SavedInstance> saved);

  Result run() const;
  Result expect_rows(std::int64_t rows) const;
  const sluice_stage_descriptor& descriptor() const { return *stage_.descriptor; }
  std::size_t input_count() const { return inputs_.size(); }
  // For the contract suite: where to put the host of the next run, to see what outlived the run.
  StageRun& observe(std::shared_ptr<detail::MiniHost>* host);

 private:
  // As a host does: type, range and choices are checked before the stage sees a value.
  bool parameter_values(std::vector<sluice_value>& values, Result& result) const;
  bool check_inputs(std::vector<std::uint8_t>& available, Result& result) const;
  std::unique_ptr<detail::OutputState> open_output(const std::shared_ptr<detail::MiniHost>& host, const std::vector<std::uint8_t>& wanted,
                                                   const TestBatch* input) const;
  void run_with(const std::shared_ptr<detail::MiniHost>& host, Result& result) const;
  void run_without_input(const std::shared_ptr<detail::MiniHost>& host, const sluice_stage& stage, const sluice_call& call,
                         const std::vector<std::uint8_t>& wanted, Result& result) const;
  bool save(const std::shared_ptr<detail::MiniHost>& host, const sluice_stage& stage, const sluice_call& call, Result& result) const;
  void run_over_inputs(const std::shared_ptr<detail::MiniHost>& host, const sluice_stage& stage, const sluice_call& call,
                       const std::shared_ptr<detail::TestDevice>& device, const std::vector<std::uint8_t>& wanted, Result& result) const;

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
  std::function<TestBatch(const TestBatch& emitted)> answer_;
  const sluice_device_provider* provider_ = nullptr;
  std::int32_t ordinal_ = 0;
  std::int64_t device_allocations_ = std::numeric_limits<std::int64_t>::max();
  std::size_t first_input_ = 0, last_input_ = std::numeric_limits<std::size_t>::max();
  std::vector<SavedInstance>* saved_ = nullptr;
  std::uint64_t part_ = 0, parts_ = 1;
  std::vector<SavedInstance> resumed_;
  std::shared_ptr<detail::MiniHost>* observer_ = nullptr;
};

StageRun run_stage(StageUnderTest stage, std::vector<TestBatch> batches = {});
StageRun run_stage(StageUnderTest stage, TestBatch batch);
template <class Stage>
StageRun run_stage(std::vector<TestBatch> batches = {}) {
  return run_stage(stage_of<Stage>(), std::move(batches));
}
template <class Stage>
StageRun run_stage(TestBatch batch) {
  return run_stage(stage_of<Stage>(), std::move(batch));
}

}  // namespace sluice::testing
