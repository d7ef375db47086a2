// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Can a policy's choice be carried out?

#include <string>

#include "sched/waiting_tasks.hpp"

namespace sluice {

// Why not; "": it can.
std::string problem_with(const Choice& choice, const View& view, const WaitingTasks& waiting);

}  // namespace sluice
