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

// How devices get on with what waits for them, so that the CPU helps only where that does not hold up what nobody else can do, such as reading and
// decoding. The view and what lies in it must outlive this.
class DeviceOutlook {
 public:
  DeviceOutlook(const View& view, const WaitingGroup& group, const Task& task);
  // Would they have finished all that is left of the stage before the CPU has finished what only it can do, and this task? Then the run is bound by
  // the CPU, and what else it did would make it longer.
  bool done_before_cpu(const Candidate& on_cpu) const;
  // Is what the threads could do, in the time that they have left beside what only they can do, so little against what the devices do that it is not
  // worth the calls that would hold the others up? Not where the devices have nothing else to do.
  bool cpu_adds_little(const Candidate& on_cpu) const;
  // If a thread did the task, would they have nothing left to do before it has ended? What waits is for their next calls, and for what they take
  // beyond that which the other threads bring in the meantime.
  bool would_run_dry(const Candidate& on_cpu) const;

 private:
  const View& view_;
  const WaitingGroup& group_;
  const Task& task_;
  double rate_ = 0;           // work a second of all devices
  double rate_with_row_ = 0;  // the same if all batches had such a largest row, which no other hides
  double under_way_ = 0;      // seconds until they have done what they have begun
  double next_calls_ = 0;     // work that they take next
  double to_come_ = 0;        // work that has not come to the stage yet, relative to what has
};

// Is it better to wait for more batches than to begin a small call beside those that keep the device busy?
bool waits_for_more(const View& view, const WaitingGroup& group, const Candidate& candidate);

}  // namespace sluice
