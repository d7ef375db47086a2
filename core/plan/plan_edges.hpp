// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the pictures of a plan show: its resources and stages, and what goes from one to another.

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace sluice {

struct PlanNode {
  const ResolvedStage* stage = nullptr;
  bool is_resource = false;
  std::string id() const { return (is_resource ? "resources." : "") + stage->name; }
};

struct PlanEdge {
  enum class Kind { rows, resource, feedback };
  std::size_t from = 0, to = 0;  // nodes
  Kind kind = Kind::rows;
  std::vector<std::string> columns;  // of rows
};

struct PlanEdges {
  std::vector<PlanNode> nodes;  // resources, then stages, each in the plan's order
  std::vector<PlanEdge> edges;
};

PlanEdges edges_of(const Plan& plan);

}  // namespace sluice
