// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/resources.hpp"

#include <algorithm>

#include "run/call_mark.hpp"
#include "run/run_context.hpp"
#include "run/shared_resources.hpp"
#include "run/stage_call.hpp"
#include "run/stage_instance.hpp"

namespace sluice {
namespace {

BatchHandle make_resource(const sluice_host& host, const std::vector<BatchHandle>& others) {
  const std::vector<std::uint8_t> wanted(std::max<std::size_t>(host.descriptor().output.column_count, 1), 1);
  const StageInstance instance(host, others, {wanted.data(), wanted.data()});
  sluice_output output(host);
  sluice_call call{};
  call.struct_size = sizeof call;
  call.api = &host_api();
  call.host = &host;
  sluice_error error{};
  const CallMark mark(host);
  const sluice_status status = instance->process(instance.self(), &call, nullptr, &output, &error);
  output.throw_if_refused();
  if (status != SLUICE_END) throw_unless_ok(status, error);
  std::shared_ptr<BatchData> batch = output.take_batch();
  if (!batch) throw Failure(SLUICE_ERROR_INTERNAL, "the plugin made no resource", "this is a bug in the plugin: please report it");
  batch->row_type = host.descriptor().output.row_type;
  return batch;
}

// By the stages that are made, and by the resources that these need.
std::vector<std::uint8_t> needed_resources(const RunContext& run) {
  const ResolvedPipeline& pipeline = run.plan.pipeline;
  std::vector<std::uint8_t> needed(pipeline.resources.size(), 0);
  const auto need = [&](const ResolvedStage& stage) {
    for (const int resource : stage.resources)
      if (resource >= 0) needed[static_cast<std::size_t>(resource)] = 1;
  };
  for (std::size_t i = 0; i < pipeline.stages.size(); ++i)
    if (run.options.makes(i)) need(pipeline.stages[i]);
  for (std::size_t i = needed.size(); i-- > 0;)
    if (needed[i] != 0) need(pipeline.resources[i]);
  return needed;
}

// One that an earlier run has made.
BatchHandle take_over(RunContext& run, const sluice_host& host, const SharedResources::Resource& known) {
  run.log(SLUICE_LOG_INFO, host.stage->name, "is the one of the run before, which was made from the same");
  host.recorder->go_on_from(known.counts);
  host.recorder->count(StageRecorder::no_batch, "taken_over", 1);
  host.recorder->call(StageRecorder::no_batch, "cpu", 0, 0, known.batch->rows, 0, known.batch->bytes());
  run.keeps(0, known.batch->bytes());
  return known.batch;
}

}  // namespace

std::vector<BatchHandle> make_resources(RunContext& run) {
  std::vector<BatchHandle> resources;
  const std::vector<std::uint8_t> needed = needed_resources(run);
  SharedResources* const shared = run.options.shared;
  const std::vector<std::string> keys = shared != nullptr ? resource_keys(run.plan) : std::vector<std::string>(needed.size());
  for (std::size_t i = 0; i < run.plan.pipeline.resources.size(); ++i) {
    if (!run.options.made.empty() && needed[i] == 0) {
      resources.push_back(nullptr);
      continue;
    }
    const sluice_host& host = run.host_of_resource(i);
    if (const SharedResources::Resource* known = shared != nullptr ? shared->find(keys[i]) : nullptr; known != nullptr) {
      resources.push_back(take_over(run, host, *known));
      continue;
    }
    CallResult result;
    BatchHandle made;
    const std::uint64_t before = run.memory_now();
    run_call(result, [&] { made = make_resource(host, resources); });
    if (run.stopping()) return {};  // whatever it says: nothing is kept
    if (!result.ok()) {
      run.fail(host.stage->name, result.status, result.message, result.remedy);
      return {};
    }
    if (shared != nullptr) shared->made(keys[i], {made, host.recorder->statistics()});
    host.recorder->call(StageRecorder::no_batch, "cpu", result.seconds, 0, made->rows, 0, made->bytes());
    // Memory of its own making (a mapped file, a vector) has not been counted when it was allocated.
    const std::uint64_t counted = std::max(run.memory_now(), before) - before;
    run.keeps(0, std::max(made->bytes(), counted) - counted);
    resources.push_back(std::move(made));
  }
  return resources;
}

}  // namespace sluice
