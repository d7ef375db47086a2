// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The two measurements of `sluice bench` that look at single stages. Both print to standard output and throw Failure when a stage fails.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "run/replay.hpp"

namespace sluice::cli {

struct StageBenchOptions {
  RunOptions run;
  ReplayLimits limits;
  int repeat = 5;
  int streams = 8;  // per device
};

// Replays the batches that arrive at the stage on every implementation: rate of each and of each lane, and whether all give the same
// bytes. Returns the exit code: exit_problems_found when they do not.
int bench_stage(const Plan& plan, const Registry& registry, std::size_t stage, const StageBenchOptions& options);

// Fits the cost of each implementation of every stage that offers a choice on this machine, and puts it into the profile in `file`.
int calibrate(const Plan& plan, const Registry& registry, const StageBenchOptions& options, const std::filesystem::path& file);

// Of an empty list 0; of an even number of values the mean of the two in the middle.
double median(std::vector<double> values);

}  // namespace sluice::cli
