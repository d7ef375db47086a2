// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Several batches in one call: a device is busy with some thousand rows where a batch, made for a core, has some dozen.

#include <cstdint>
#include <vector>

#include "sched/policy.hpp"

namespace sluice {

struct Gathering {
  std::vector<std::uint64_t> more;  // beside the first task
  bool hides_largest_row = false;   // which is less than a tenth of the call
};
// What a call should take along: as many tasks as make what is constant in a call a twentieth of it, but no more than the candidate's share of what
// waits, and than its device has room for.
Gathering tasks_to_gather(const View& view, const WaitingGroup& group, const Task& first, const Candidate& candidate);

// Would devices have finished all that is left of the group's stage before the CPU has finished what only it can do, and this task? Then the run
// is bound by the CPU, and what else it did would hold the run up.
bool devices_keep_up(const View& view, const WaitingGroup& group, const Task& task, const Candidate& on_cpu);

// Is it better to wait for more batches than to begin a small call beside those that keep the device busy?
bool waits_for_more(const View& view, const WaitingGroup& group, const Candidate& candidate);

}  // namespace sluice
