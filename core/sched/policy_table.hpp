// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The policies by name: one for each file in sched/policies, from which the build makes the table.

#include <memory>
#include <string>
#include <vector>

namespace sluice {

class Policy;  // sched/policy.hpp

inline constexpr const char* default_policy = "adaptive";

// In alphabetical order.
const std::vector<std::string>& policy_names();

// Throws std::invalid_argument when there is none of that name.
std::unique_ptr<const Policy> make_policy(const std::string& name);

}  // namespace sluice
