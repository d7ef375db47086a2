// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <sluice/failure.hpp>

#include "cli/pipeline_arguments.hpp"
#include "cli/run_options.hpp"
#include "cli/stage_bench.hpp"
#include "machine/machine_profile.hpp"
#include "observe/quantity.hpp"
#include "session/exit_code.hpp"

namespace sluice::cli {
namespace {

// What is kept of one stage on one device over all runs.
struct Rates {
  std::string work_unit;
  std::vector<double> work_per_second, seconds;
};

void add_rates(const RunStatistics& statistics, std::map<std::pair<std::size_t, std::string>, Rates>& rates) {
  for (std::size_t i = 0; i < statistics.stages.size(); ++i)
    for (const ImplementationStatistics& implementation : statistics.stages[i].implementations) {
      Rates& entry = rates[{i, implementation.device}];
      entry.work_unit = statistics.stages[i].work_unit;
      entry.seconds.push_back(implementation.seconds);
      if (implementation.seconds > 0 && implementation.work > 0) entry.work_per_second.push_back(implementation.work / implementation.seconds);
    }
}

// The form `bench STAGE --pipeline PIPELINE`: the stage's name, taken out of the arguments, in which the pipeline then comes first.
std::string take_stage(Arguments& arguments) {
  const std::string option = "--pipeline";
  const auto found =
      std::find_if(arguments.begin(), arguments.end(), [&](const std::string& a) { return a == option || a.starts_with(option + "="); });
  if (found == arguments.end() || arguments.front().starts_with("-")) return "";
  const std::string stage = arguments.front();
  std::string pipeline;
  if (*found != option) {
    pipeline = found->substr(option.size() + 1);
    arguments.erase(found);
  } else {
    if (found + 1 == arguments.end()) return "";  // the parser says that it has no value
    pipeline = *(found + 1);
    arguments.erase(found, found + 2);
  }
  arguments.front() = pipeline;
  return stage;
}

// The index of a map stage, or the reason why the name is none.
std::optional<std::size_t> find_stage(const Plan& plan, const std::string& name, std::string& problem) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    if (plan.stages[i].stage->entry.descriptor->kind != SLUICE_MAP) continue;
    const ResolvedStage& stage = *plan.stages[i].stage;
    const bool is_named = stage.name == name || name == stage.entry.descriptor->id;
    if ((stage.entry.descriptor->traits & SLUICE_TRAIT_ORDERED) != 0) {
      if (!is_named) continue;
      problem = "'" + name + "' keeps state between batches: it can't be measured by repeating some of them (bench the whole pipeline)";
      return std::nullopt;
    }
    names.push_back(stage.name);
    if (is_named) return i;
  }
  std::string list;
  for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
  problem = "'" + name + "' is no map stage of this pipeline (choose one of: " + list + ")";
  return std::nullopt;
}

int bench_pipeline(const Plan& plan, const Registry& registry, const RunOptions& run_options, int repeat) {
  std::map<std::pair<std::size_t, std::string>, Rates> rates;
  std::vector<double> elapsed, cpu;
  RunStatistics last;
  double cpu_before = 0;  // the kernel counts CPU time over the life of the process
  for (int i = 0; i < repeat; ++i) {
    const RunResult result = Run(plan, registry, run_options).execute();
    if (result.state != RunState::finished) {
      std::fprintf(stderr, "%s\n", Diagnostic{Severity::error, {"sluice bench", 0, 0}, result.stage, result.message, result.remedy}.text().c_str());
      return exit_code(result);
    }
    last = result.statistics;
    elapsed.push_back(last.elapsed_seconds);
    cpu.push_back(last.cpu_seconds - cpu_before);
    cpu_before = last.cpu_seconds;
    add_rates(last, rates);
  }
  std::printf("%s: median of %d runs with %d threads: %s wall, %s CPU (fastest %s, slowest %s), peak memory %s\n", plan.pipeline.name.c_str(), repeat,
              last.threads, duration_text(median(elapsed)).c_str(), duration_text(median(cpu)).c_str(),
              duration_text(*std::min_element(elapsed.begin(), elapsed.end())).c_str(),
              duration_text(*std::max_element(elapsed.begin(), elapsed.end())).c_str(), bytes_text(static_cast<double>(last.resident_peak)).c_str());
  std::printf("  %-24s %-24s %-8s %12s  %s\n", "stage", "type", "device", "seconds", "per thread");
  for (const auto& [key, entry] : rates) {
    const StageStatistics& stage = last.stages[key.first];
    std::printf("  %-24s %-24s %-8s %12s  %s\n", stage.name.c_str(), stage.id.c_str(), key.second.c_str(),
                duration_text(median(entry.seconds)).c_str(),
                entry.work_per_second.empty() ? "" : rate_text(median(entry.work_per_second), entry.work_unit).c_str());
  }
  return exit_ok;
}

}  // namespace

int bench_command(const Arguments& given) {
  CLI::App app("runs a pipeline several times and shows the median rates of its stages; or one stage of it alone: STAGE --pipeline PIPELINE",
               "sluice bench");
  Arguments arguments = given;
  const std::string stage_name = take_stage(arguments);
  RunArguments options;
  StageBenchOptions measurement;
  bool calibrating = false;
  std::string pipeline_option;
  PipelineArguments pipeline(app, arguments, [&](CLI::App& target) {
    target.add_option("--pipeline", pipeline_option, "replay the stage that is named first, on batches kept in memory")->type_name("PIPELINE");
    target.add_flag("--calibrate", calibrating, "measure each implementation alone and write the machine profile");
    target.add_option("--repeat", measurement.repeat, "how often")->type_name("N")->check(CLI::Range(1, 1000))->default_str("5");
    target.add_option("--rows", measurement.limits.rows, "stage and calibration: stop reading after so many rows")->type_name("N");
    target.add_option("--work", measurement.limits.work, "stage and calibration: stop reading after so much of the source's work")->type_name("N");
    target.add_option("--streams", measurement.streams, "stage: streams per device")->type_name("N")->check(CLI::Range(1, 64))->default_str("8");
    options.add_to(target);
  });
  if (const auto ended = pipeline.parse()) return *ended;
  if (!pipeline_option.empty()) {
    print_error(app, "no stage is named", "write: sluice bench STAGE --pipeline " + pipeline_option);
    return exit_usage;
  }
  Diagnostics diagnostics;
  const RunSettings settings = options.settings(diagnostics);
  RunOptions run_options = settings.options;
  print(diagnostics);
  const auto plan = pipeline.make_plan(Missing::error, DeviceSearch::present, settings.files(calibrating ? ProfileUse::writes : ProfileUse::reads));
  if (!plan || diagnostics.has_errors()) return exit_usage;
  run_options.device = pipeline.device();
  run_options.log = [](int level, const std::string& line) {
    if (level >= SLUICE_LOG_WARNING) std::fprintf(stderr, "%s\n", line.c_str());
  };
  if (stage_name.empty() && !calibrating) {
    std::string problem;
    run_options.profile = settings.profile(problem);
    return bench_pipeline(*plan, pipeline.registry(), run_options, measurement.repeat);
  }
  measurement.run = run_options;
  try {
    if (calibrating) {
      const std::filesystem::path file = settings.profile_file.empty() ? default_profile_file() : std::filesystem::path(settings.profile_file);
      if (file.empty() || file == "none") throw Failure::usage("there is no place for the machine profile", "name a file: --profile FILE");
      return calibrate(*plan, pipeline.registry(), measurement, file);
    }
    std::string problem;
    const auto stage = find_stage(*plan, stage_name, problem);
    if (!stage) throw Failure::usage(problem, "sluice plan shows the stages");
    return bench_stage(*plan, pipeline.registry(), *stage, measurement);
  } catch (const Failure& failure) {
    print_error(app, failure.what(), failure.remedy());
    return failure.status() == SLUICE_ERROR_USAGE ? exit_usage : exit_failed;
  }
}

}  // namespace sluice::cli
