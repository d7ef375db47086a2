// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/sink_runner.hpp"

#include <algorithm>
#include <cmath>

namespace sluice {

// Sinks together may keep what batches leave of the budget at least.
std::uint64_t SinkRunner::share_of_memory() const {
  const auto sinks = std::count_if(run_.plan.stages.begin(), run_.plan.stages.end(),
                                   [](const PlannedStage& stage) { return stage.stage->entry.descriptor->kind == SLUICE_SINK; });
  return (run_.options.memory_bytes > 0 ? run_.options.memory_bytes : default_memory_budget(run_.threads)) / 2 /
         static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(sinks, 1));
}

sluice_call SinkRunner::make_host_call() const {
  sluice_call made = make_call();
  made.target_bytes = share_of_memory_;
  return made;
}

bool SinkRunner::commit(const BatchHandle& prepared) {
  if (run_.cancelled() || prepared->rows == 0) return false;
  const double start = run_.seconds();
  const CallResult result = call(prepared->sequence, prepared->rows, [&] {
    sluice_error error{};
    const sluice_call made = make_host_call();
    const BatchView view(*prepared);
    throw_unless_ok((*instance_)->commit(instance_->self(), &made, &view.get(), &error), error);
  });
  if (!result.ok()) {
    fail(result);
    return false;
  }
  host_.recorder->call(prepared->sequence, "writer", result.seconds, 0, 0, 0, 0);
  if (std::isfinite(prepared->deadline)) host_.recorder->committed_by(prepared->deadline - run_.seconds());
  trace("writer", start, result.seconds, prepared->sequence, prepared->rows);
  return true;
}

}  // namespace sluice
