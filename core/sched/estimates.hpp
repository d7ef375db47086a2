// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// When calls are expected to end, by what a view knows. For policies, and for the book-keeping's own expectations.

#include "sched/policy.hpp"

namespace sluice {

// Seconds of the copies that a call on the lane needs, by where the columns lie.
double copy_seconds(const std::vector<LaneView>& lanes, const Task& task, std::size_t lane);

// Seconds of a call with the whole task, copies included, that has the lane to itself.
double call_seconds(const View& view, const Task& task, const Candidate& candidate);

// Calls on a device that make it faster together than one after the other: two hide each other's copies, and more are of use where they don't share
// its speed.
int calls_that_overlap(const View& view, const Candidate& candidate);

// Calls at once that the candidate's lane is given, of all stages, while the run lasts `horizon` seconds more and others could do what waits.
std::size_t most_calls(const View& view, const Candidate& candidate, double horizon);
// Calls at once that the candidate is given so far.
std::size_t calls_by_now(const View& view, const Candidate& candidate);
// Both, at the end of a run.
std::size_t useful_calls(const View& view, const Candidate& candidate);

// Calls' worth of work that the candidate's lane does at once when it has all calls that it is given.
double parallel_calls(const View& view, const Candidate& candidate);

// Seconds until the lane would have finished the task and what it has to do already.
double finish_seconds(const View& view, const Task& task, const Candidate& candidate);

// Seconds until lanes other than `lane` would have finished all that waits, none of it begun.
double waiting_seconds_without(const View& view, std::size_t lane);

}  // namespace sluice
