// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What implementations for a device have to keep, checked with the batches that a pipeline really gives them: the same values as the CPU's for whole
// batches, single rows, empty batches and rows that have all failed; and a device that is full is said to be full.
//   device_contract PLUGIN_FOLDER KIND PIPELINE [NAME=VALUE...]
// Prints a line for each stage that has an implementation for devices of that kind, and returns 1 if one of them breaks the contract, 77 where there
// is no such device, or no such stage.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>
#include <sluice/failure.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "batch/row_range.hpp"
#include "config/pipeline.hpp"
#include "plan/plan.hpp"
#include "run/replay.hpp"

namespace {

using namespace sluice;

int problems = 0;

void fail(const std::string& stage, const std::string& what) {
  std::printf("FAILED: %s: %s\n", stage.c_str(), what.c_str());
  ++problems;
}

BatchHandle all_failed(const BatchHandle& batch) {
  auto failed = std::make_shared<BatchData>(*batch);
  failed->status = std::make_shared<std::vector<std::uint16_t>>(static_cast<std::size_t>(batch->rows), std::uint16_t{1});
  return failed;
}

std::vector<BatchHandle> single_rows(const std::vector<BatchHandle>& batches, std::size_t most) {
  std::vector<BatchHandle> rows;
  for (const BatchHandle& batch : batches)
    for (std::int64_t row = 0; row < batch->rows && rows.size() < most; ++row) rows.push_back(slice_rows(batch, row, row + 1));
  return rows;
}

class DeviceContract {
 public:
  DeviceContract(const Plan& plan, const Registry& registry, std::string kind) : plan_(plan), registry_(registry), kind_(std::move(kind)) {}

  // How many stages were looked at.
  std::size_t check() {
    for (std::size_t i = 0; i < plan_.stages.size(); ++i)
      if (has_implementation(i)) stages_.push_back(i);
    if (stages_.empty()) return 0;
    Replay replay(plan_, registry_, options(0), 1);
    replay.gather(stages_, {});
    for (const std::size_t stage : stages_) check_stage(replay, stage);
    if (compared_ == 0) return 0;
    for (const std::uint64_t bytes :
         {std::uint64_t{1}, std::uint64_t{1} << 12, std::uint64_t{1} << 16, std::uint64_t{1} << 20, std::uint64_t{1} << 23})
      check_full(bytes);
    return compared_;
  }

 private:
  static RunOptions options(std::uint64_t device_memory) {
    RunOptions options;
    options.threads = 2;
    options.device_memory_bytes = device_memory;
    return options;
  }
  const std::string& name(std::size_t stage) const { return plan_.stages[stage].stage->name; }
  bool has_implementation(std::size_t stage) const {
    const sluice_stage_descriptor& d = *plan_.stages[stage].stage->entry.descriptor;
    if (d.kind != SLUICE_MAP || (d.traits & SLUICE_TRAIT_ORDERED) != 0) return false;  // state can't be replayed
    return std::any_of(d.implementations, d.implementations + d.implementation_count,
                       [&](const sluice_implementation& implementation) { return kind_ == implementation.device; });
  }
  // The first target on the CPU, or on the kind.
  static const ReplayTarget* target(const std::vector<ReplayTarget>& targets, bool on_cpu) {
    for (const ReplayTarget& target : targets)
      if (target.lanes.front()->is_cpu() == on_cpu) return &target;
    return nullptr;
  }

  void check_stage(Replay& replay, std::size_t stage) {
    const std::vector<ReplayTarget> targets = replay.targets(stage);
    const ReplayTarget *cpu = target(targets, true), *device = target(targets, false);
    if (cpu == nullptr) return fail(name(stage), "there are no two implementations to compare");
    if (device == nullptr) {
      std::printf("%s: its parameters leave it to the CPU\n", name(stage).c_str());
      return;
    }
    const std::vector<BatchHandle>& whole = replay.batches(stage);
    if (whole.empty()) return fail(name(stage), "no batch came to it");
    std::int64_t rows = 0;
    for (const BatchHandle& batch : whole) rows += batch->rows;
    std::vector<BatchHandle> empty = {slice_rows(whole.front(), 0, 0)}, failed = {all_failed(whole.front())};
    const std::vector<std::pair<const char*, std::vector<BatchHandle>>> cases = {
        {"whole batches", whole}, {"single rows", single_rows(whole, 200)}, {"an empty batch", empty}, {"rows that have all failed", failed}};
    for (const auto& [what, batches] : cases) try {
        const ReplayPass expected = replay.pass(stage, *cpu, batches, Pace::one_by_one, Outputs::fingerprinted);
        const ReplayPass actual = replay.pass(stage, *device, batches, Pace::one_by_one, Outputs::fingerprinted);
        if (expected.fingerprints != actual.fingerprints) fail(name(stage), std::string(what) + ": other values than on the CPU");
      } catch (const Failure& failure) {
        fail(name(stage), std::string(what) + ": " + failure.what());
      }
    ++compared_;
    std::printf("%s on %s: %zu batches, %lld rows, compared\n", name(stage).c_str(), device->name.c_str(), whole.size(),
                static_cast<long long>(rows));
  }

  // With so little memory a call may fail for that reason, in halves down to single rows, and for no other.
  void check_full(std::uint64_t bytes) {
    Replay replay(plan_, registry_, options(bytes), 1);
    replay.gather(stages_, {});
    for (const std::size_t stage : stages_) {
      const std::vector<ReplayTarget> targets = replay.targets(stage);
      const ReplayTarget* device = target(targets, false);
      if (device == nullptr || replay.batches(stage).empty()) continue;
      try {
        replay.pass(stage, *device, {replay.batches(stage).front()}, Pace::one_by_one, Outputs::fingerprinted);
      } catch (const Failure& failure) {
        ++full_;
        if (failure.status() != SLUICE_ERROR_DEVICE_MEMORY)
          fail(name(stage), "a device of " + std::to_string(bytes) + " bytes: status " + std::to_string(failure.status()) + ": " + failure.what());
      }
    }
    if (bytes == 1 && full_ == 0) fail("every stage", "a device of one byte is large enough");
  }

  const Plan& plan_;
  const Registry& registry_;
  const std::string kind_;
  std::vector<std::size_t> stages_;
  std::size_t compared_ = 0;  // stages
  std::size_t full_ = 0;      // calls for which there was no room
};

}  // namespace

int main(int count, char** words) {
  if (count < 4) {
    std::fprintf(stderr, "device_contract PLUGIN_FOLDER KIND PIPELINE [NAME=VALUE...]\n");
    return 2;
  }
  const std::string kind = words[2];
  Registry registry;
  registry.load_folder(words[1]);
  const std::vector<std::string> kinds = device_kinds(registry);
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    std::printf("SKIPPED: there is no device of the kind '%s'\n", kind.c_str());
    return 77;
  }
  Diagnostics diagnostics;
  Overrides overrides;
  for (int i = 4; i < count; ++i) {
    const std::string_view word = words[i];
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos) overrides.parameters[std::string(word.substr(0, equals))] = std::string(word.substr(equals + 1));
  }
  const WrittenPipeline written = load_pipeline_file(words[3], diagnostics);
  ResolvedPipeline resolved = resolve_pipeline(written, overrides, registry, diagnostics);
  std::optional<Plan> plan;
  if (!diagnostics.has_errors()) plan.emplace(make_plan(std::move(resolved), "auto", kinds, diagnostics));
  for (const Diagnostic& diagnostic : diagnostics.list()) std::fprintf(stderr, "%s\n", diagnostic.text().c_str());
  if (diagnostics.has_errors()) return 2;
  try {
    if (DeviceContract(*plan, registry, kind).check() == 0 && problems == 0) {
      std::printf("SKIPPED: no stage of this pipeline has an implementation for '%s'\n", kind.c_str());
      return 77;
    }
  } catch (const Failure& failure) {
    fail("the pipeline", failure.what());
  }
  std::printf("%d problems\n", problems);
  return problems == 0 ? 0 : 1;
}
