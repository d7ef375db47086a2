// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// NAME_OR_FILE and the options that run, check, plan and bench share; the pipeline's own parameters become options too.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/option_parser.hpp"
#include "config/pipeline.hpp"
#include "plan/plan.hpp"
#include "plan/plan_files.hpp"
#include "plugin/registry.hpp"
#include "run/run.hpp"

namespace sluice {
struct GivenValue;
}

namespace sluice::cli {

// Loads every plugin of the search path.
Registry load_plugins(const std::vector<std::string>& plugin_dirs);
CLI::Option* add_plugin_dir(CLI::App& app, std::vector<std::string>& plugin_dirs);

// "[options] REFERENCE [READS...]"
std::string usage_of(const WrittenPipeline& pipeline);

class PipelineArguments {
 public:
  // add_own_options: the command's own ones, bound to variables that outlive this. It is called twice: finding the pipeline's name needs
  // to know which options have values, and the pipeline's parameters are to be listed before them.
  PipelineArguments(CLI::App& app, const Arguments& arguments, std::function<void(CLI::App&)> add_own_options);

  // Parses everything. Returns the exit code if the command ends here.
  std::optional<int> parse();

  // Loads the plugins, resolves and plans, and compares all files that would be read or written, the command's own included. Every diagnostic is
  // printed; nullopt if there is an error.
  std::optional<Plan> make_plan(Missing missing, DeviceSearch search = DeviceSearch::present, const std::vector<PlannedFile>& own_files = {});

  // The parts of make_plan(), for commands that plan more than once.
  void load();                                 // plugins, and the device that is asked for
  Overrides overrides(Missing missing) const;  // what the command line and --params say
  // nullopt: the graph can't be connected. The files are not looked at.
  std::optional<Plan> plan_with(const Overrides& overrides, DeviceSearch search, Diagnostics& diagnostics) const;
  void print_plugin_problems() const;
  const std::string& params_file() const { return params_file_; }
  PlannedFile params() const;  // that file, which the run reads

  const WrittenPipeline& written() const { return written_; }
  bool has_parameter(const std::string& name) const;
  bool is_on_command_line(const std::string& parameter) const;
  const Registry& registry() const { return registry_; }
  const std::string& device() const { return device_; }
  const Diagnostics& diagnostics() const { return diagnostics_; }
  const std::string& next_steps() const { return written_.next_steps; }

 private:
  void read_pipeline(const std::string& name);
  void add_parameters();
  void add_options(CLI::App& app);
  Arguments own_arguments(const CLI::App& known, std::optional<std::size_t> name_place) const;
  void apply_params();
  void give_parameter(const std::string& name, const GivenValue& given);
  void give_run_option(const std::string& name, const GivenValue& given);

  CLI::App& app_;
  const Arguments& arguments_;
  std::function<void(CLI::App&)> add_own_options_;
  std::string name_;
  std::vector<std::string> plugin_dirs_, set_;
  std::string device_ = "auto", params_file_;
  WrittenPipeline written_;
  std::deque<std::string> values_;  // stable addresses: CLI11 writes into them
  std::vector<std::pair<std::string, const CLI::Option*>> parameters_;
  std::map<std::string, Location> places_;  // of the parameters that --params gives
  Registry registry_;
  Diagnostics diagnostics_;
};

}  // namespace sluice::cli
