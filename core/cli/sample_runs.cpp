// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cli/sample_runs.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "config/sample_table.hpp"
#include "observe/progress.hpp"
#include "observe/quantity.hpp"
#include "session/exit_code.hpp"
#include "session/output_room.hpp"
#include "session/run_records.hpp"

namespace sluice::cli {
namespace {

std::string of_sample(const std::string& name) { return "sample '" + name + "': "; }

void check_columns(const SampleTable& table, const std::string& file, const PipelineArguments& pipeline, Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const PipelineParameter& parameter : pipeline.written().parameters) names.push_back(parameter.name);
  for (const std::string& written : table.columns) {
    const std::string& column = pipeline.written().present_name(written);
    if (std::find(names.begin(), names.end(), column) == names.end()) {
      const std::string near = nearest_name(column, names);
      diagnostics.error({file, 0, 0}, "", "the pipeline '" + pipeline.written().name + "' has no parameter '" + column + "'",
                        near.empty() ? "the columns are 'sample' and parameters, written as in the pipeline's file" : "did you mean '" + near + "'?");
    } else if (pipeline.is_on_command_line(column)) {
      diagnostics.error({"command line", 0, 0}, "", "--" + kebab_case(column) + " is also a column of " + file, "say it in one of the two");
    }
  }
}

Overrides overrides_of(const Sample& sample, const PipelineArguments& pipeline) {
  Overrides overrides = pipeline.overrides(Missing::error);
  for (const auto& [name, value] : sample.parameters) {
    overrides.parameters[pipeline.written().present_name(name)] = value;
    overrides.places[pipeline.written().present_name(name)] = sample.where;
  }
  for (auto& [name, value] : overrides.parameters) value = with_sample(value, sample.name);
  for (std::string& set : overrides.set) set = with_sample(set, sample.name);
  return overrides;
}

// What is wrong with all samples alike is said once.
class Problems {
 public:
  void add(const std::string& sample, const Diagnostics& found) {
    ++samples_;
    for (const Diagnostic& diagnostic : found.list()) {
      const auto known = std::find_if(list_.begin(), list_.end(), [&](const Entry& entry) { return entry.diagnostic.text() == diagnostic.text(); });
      if (known == list_.end())
        list_.push_back({diagnostic, {sample}});
      else if (known->samples.back() != sample)
        known->samples.push_back(sample);
    }
  }
  void print() const {
    for (Entry entry : list_) {
      if (entry.samples.size() < samples_ || samples_ == 1) {
        std::string names;
        for (const std::string& name : entry.samples) names += (names.empty() ? "" : ", ") + name;
        entry.diagnostic.message = (entry.samples.size() == 1 ? of_sample(names) : "samples " + names + ": ") + entry.diagnostic.message;
      }
      std::fprintf(stderr, "%s\n", entry.diagnostic.text().c_str());
    }
  }
  bool has_errors() const {
    return std::any_of(list_.begin(), list_.end(), [](const Entry& entry) { return entry.diagnostic.severity == Severity::error; });
  }

 private:
  struct Entry {
    Diagnostic diagnostic;
    std::vector<std::string> samples;
  };
  std::vector<Entry> list_;
  std::size_t samples_ = 0;
};

// Inputs that samples share are compared once.
class FilesOfAll {
 public:
  void add(const std::string& sample, std::vector<PlannedFile> files) {
    for (PlannedFile& file : files) {
      if (file.use == FileUse::reads && !inputs_.insert(file.path).second) continue;
      if (!sample.empty()) file.what = of_sample(sample) + file.what;
      files_.push_back(std::move(file));
    }
  }
  const std::vector<PlannedFile>& files() const { return files_; }

 private:
  std::vector<PlannedFile> files_;
  std::set<std::string> inputs_;
};

const char* ending(int code) {
  switch (code) {
    case exit_ok:
      return "finished";
    case exit_bad_reads:
      return "finished, with nothing or too little in it";
    case exit_interrupted:
      return "interrupted";
    case exit_closed_pipe:
      return "the reader of an output has gone";
    default:
      return "failed";
  }
}

int severity(int code) {
  constexpr int order[] = {exit_ok, exit_bad_reads, exit_usage, exit_failed, exit_closed_pipe, exit_interrupted};
  return static_cast<int>(std::find(std::begin(order), std::end(order), code) - std::begin(order));
}

}  // namespace

std::vector<SampleRun> plan_samples(PipelineArguments& pipeline, const std::string& samples_file, const RunSettings& settings) {
  Diagnostics of_table;
  const SampleTable table = load_samples(samples_file, of_table);
  if (!of_table.has_errors()) check_columns(table, samples_file, pipeline, of_table);
  pipeline.load();
  print(pipeline.diagnostics());
  print(of_table);
  if (of_table.has_errors() || pipeline.diagnostics().has_errors()) return {};

  std::vector<SampleRun> runs;
  Problems problems;
  FilesOfAll files;
  bool is_connected = true;
  for (const Sample& sample : table.samples) {
    Diagnostics found;
    RunSettings own = settings.of_sample(sample.name);
    const Overrides given = overrides_of(sample, pipeline);
    std::optional<Plan> plan = pipeline.plan_with(given, DeviceSearch::possible, found);
    check_records(own, found);
    if (plan) check_room(pipeline.written(), plan->pipeline.parameters, given, own, found);
    problems.add(sample.name, found);
    is_connected = is_connected && plan.has_value();
    if (!plan) continue;
    files.add(sample.name, files_of(*plan, pipeline.registry()));
    files.add(sample.name, own.files());
    runs.push_back({sample.name, std::move(own), std::move(*plan)});
  }
  std::vector<PlannedFile> tables = {{samples_file, FileUse::reads, true, false, "--samples"}};
  if (!pipeline.params_file().empty()) tables.push_back(pipeline.params());
  files.add("", std::move(tables));
  Diagnostics of_files;
  check_files(files.files(), Missing::error, of_files, "put {sample} into its name, which becomes each sample's");
  problems.print();
  print(of_files);
  if (!is_connected) pipeline.print_plugin_problems();
  if (problems.has_errors() || of_files.has_errors()) runs.clear();
  return runs;
}

int run_samples(const std::vector<SampleRun>& runs, bool quiet, const std::function<bool()>& interrupted, const RunOne& run_one) {
  using Clock = std::chrono::steady_clock;
  struct Row {
    std::string name, ending, time;
  };
  Console console;
  std::vector<Row> rows;
  std::map<std::string, std::size_t> endings;
  int worst = exit_ok;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Row row{runs[i].name, "not run", ""};
    if (!interrupted()) {
      if (!quiet) console.line("sluice run: sample '" + row.name + "' (" + std::to_string(i + 1) + " of " + std::to_string(runs.size()) + ")");
      const auto start = Clock::now();
      const int code = run_one(runs[i], i + 1 < runs.size() ? &runs[i + 1] : nullptr);
      row.ending = ending(code);
      row.time = duration_text(std::chrono::duration<double>(Clock::now() - start).count());
      if (severity(code) > severity(worst)) worst = code;
    }
    ++endings[row.ending];
    rows.push_back(std::move(row));
  }
  if (interrupted()) worst = exit_interrupted;
  if (quiet && worst == exit_ok) return worst;
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.name.size());
  std::string counts;
  for (const auto& [ending, count] : endings) counts += (counts.empty() ? "" : "; ") + std::to_string(count) + " " + ending;
  console.line("sluice run: " + std::to_string(rows.size()) + (rows.size() == 1 ? " sample: " : " samples: ") + counts);
  for (const Row& row : rows)
    console.line("  " + row.name + std::string(width - row.name.size() + 2, ' ') + row.ending + (row.time.empty() ? "" : ", " + row.time));
  return worst;
}

}  // namespace sluice::cli
