// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A plan for people: as text, and as a graph for Graphviz.

#include <string>

#include "plan/plan.hpp"

namespace sluice::cli {

// Stages in running order: columns that travel on, their types, where they live, who uses each one last; implementations and why.
std::string plan_text(const Plan& plan, const std::string& device);
// `dot -Tsvg` draws it.
std::string plan_dot(const Plan& plan);

}  // namespace sluice::cli
