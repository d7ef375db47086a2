// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "plan/plan_edges.hpp"

namespace sluice {

PlanEdges edges_of(const Plan& plan) {
  PlanEdges result;
  for (const ResolvedStage& resource : plan.pipeline.resources) result.nodes.push_back({&resource, true});
  for (const PlannedStage& stage : plan.stages) result.nodes.push_back({stage.stage, false});
  const std::size_t first_stage = plan.pipeline.resources.size();
  for (std::size_t i = 0; i < result.nodes.size(); ++i) {
    for (const int used : result.nodes[i].stage->resources)
      if (used >= 0) result.edges.push_back({static_cast<std::size_t>(used), i, PlanEdge::Kind::resource, {}});
    if (i < first_stage) continue;
    const PlannedStage& stage = plan.stages[i - first_stage];
    for (const std::size_t sink : stage.stage->feedback) result.edges.push_back({first_stage + sink, i, PlanEdge::Kind::feedback, {}});
    for (std::size_t c = 0; c < stage.consumers.size(); ++c)
      result.edges.push_back(
          {i, first_stage + stage.consumers[c], PlanEdge::Kind::rows, c < stage.kept.size() ? stage.kept[c] : std::vector<std::string>()});
  }
  return result;
}

}  // namespace sluice
