// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdio>
#include <map>

#include "cli/exit_code.hpp"
#include "cli/pipeline_arguments.hpp"
#include "cli/run_options.hpp"
#include "observe/quantity.hpp"

namespace sluice::cli {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

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

}  // namespace

int bench_command(const Arguments& arguments) {
  CLI::App app("runs a pipeline several times and shows the median rates of its stages", "sluice bench");
  RunArguments options;
  int repeat = 5;
  PipelineArguments pipeline(app, arguments, [&](CLI::App& target) {
    target.add_option("--repeat", repeat, "how often")->type_name("N")->check(CLI::Range(1, 1000))->default_str("5");
    options.add_to(target);
  });
  if (const auto ended = pipeline.parse()) return *ended;
  Diagnostics diagnostics;
  RunOptions run_options = options.run_options(diagnostics);
  print(diagnostics);
  const auto plan = pipeline.make_plan(Missing::error);
  if (!plan || diagnostics.has_errors()) return exit_usage;
  run_options.device = pipeline.device();
  run_options.log = [](int level, const std::string& line) {
    if (level >= SLUICE_LOG_WARNING) std::fprintf(stderr, "%s\n", line.c_str());
  };

  std::map<std::pair<std::size_t, std::string>, Rates> rates;
  std::vector<double> elapsed, cpu;
  RunStatistics last;
  double cpu_before = 0;  // the kernel counts CPU time over the life of the process
  for (int i = 0; i < repeat; ++i) {
    const RunResult result = Run(*plan, pipeline.registry(), run_options).execute();
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
  std::printf("%s: median of %d runs with %d threads: %s wall, %s CPU (fastest %s, slowest %s), peak memory %s\n", plan->pipeline.name.c_str(),
              repeat, last.threads, duration_text(median(elapsed)).c_str(), duration_text(median(cpu)).c_str(),
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

}  // namespace sluice::cli
