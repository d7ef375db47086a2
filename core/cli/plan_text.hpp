// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A plan for people, as text.

#include <string>
#include <vector>

#include "config/memory_rule.hpp"
#include "machine/machine_profile.hpp"
#include "plan/plan.hpp"

namespace sluice::cli {

// A device that a run might use.
struct PlanDevice {
  std::string name, kind, model;  // "cuda:0", "cuda", "NVIDIA H200"
};

// What a run would start from.
struct PlanSituation {
  std::string device = "auto";  // --device
  std::vector<PlanDevice> devices;
  const MachineProfile* profile = nullptr;  // null: none
  std::optional<MemoryNeed> memory;         // nullopt: nobody has measured it
};

// Stages in running order: columns that travel on, their types, where they live, who uses each one last; implementations, which one is
// tried first, and why.
std::string plan_text(const Plan& plan, const PlanSituation& situation);

}  // namespace sluice::cli
