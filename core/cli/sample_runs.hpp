// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// `sluice run --samples TABLE`: the pipeline once for each line of a table, one run after the other.

#include <functional>
#include <string>
#include <vector>

#include "cli/pipeline_arguments.hpp"
#include "plan/plan.hpp"
#include "session/run_settings.hpp"

namespace sluice::cli {

struct SampleRun {
  std::string name;
  RunSettings settings;  // with this sample's report, trace and account
  Plan plan;
};

// Plans the runs of all samples, and compares the files of all of them, before the first begins. Everything that is wrong is printed; then the result
// is empty.
std::vector<SampleRun> plan_samples(PipelineArguments& pipeline, const std::string& samples_file, const RunSettings& settings);

// Runs them; one that fails does not keep the others from being run, an interrupt does, whenever it comes. Ends with a table of what became of each,
// and returns the worst of the exit codes.
using RunOne = std::function<int(const SampleRun& run, const SampleRun* next)>;  // next: null behind the last
int run_samples(const std::vector<SampleRun>& runs, bool quiet, const std::function<bool()>& interrupted, const RunOne& run_one);

}  // namespace sluice::cli
