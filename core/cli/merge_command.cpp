// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The outputs of all shards of a run become the output of one run.
#include <memory>
#include <sluice/failure.hpp>

#include "cli/help_text.hpp"
#include "cli/option_parser.hpp"
#include "cli/pipeline_arguments.hpp"
#include "cli/run_ending.hpp"
#include "observe/progress.hpp"
#include "session/exit_code.hpp"
#include "session/run_settings.hpp"
#include "shard/merging.hpp"

namespace sluice::cli {
namespace {

constexpr const char* merge_example = "sluice merge --output calls.tsv calls.1.tsv calls.2.tsv calls.3.tsv";

struct MergeArguments : MergeRequest {
  std::string threads, memory;
  std::vector<std::string> plugin_dirs;
  bool quiet = false;

  void add_to(CLI::App& app) {
    app.add_option("shards", shards, "outputs of `sluice run ... --shard I/N` in any order, or folders with them")->type_name("SHARD");
    app.add_option("-o,--output", output, "what to write: the bytes of one run over all rows")->type_name("FILE");
    app.add_option("--of", of, "which output, where the folders have shards of several: its option, or its stage")->type_name("NAME");
    app.add_option("--report", report, "add up the reports of all shards, as JSON")->type_name("FILE");
    app.add_option("--account", account, "put together the tables of lost rows that the shards' --account has made")->type_name("FILE");
    app.add_option("-t,--threads", threads, "threads (default: what affinity and cgroup allow)")->type_name("N");
    app.add_option("--memory", memory, "memory budget, as 512MiB or 4GB")->type_name("SIZE");
    app.add_flag("--quiet", quiet, "no summary; warnings and errors remain");
    add_plugin_dir(app, plugin_dirs);
  }
};

int merge(const MergeArguments& merging, RunOptions options) {
  const Registry registry = load_plugins(merging.plugin_dirs);
  Console console;
  options.log = [&](int level, const std::string& line) {
    if (!merging.quiet || level >= SLUICE_LOG_WARNING) console.line((level >= SLUICE_LOG_WARNING ? "warning: " : "") + line);
  };
  const RunEnding ending;
  const Merged merged = merge_shards(merging, options, registry, [](Run& run) {
    const RunEnding::Of of(run);
    return run.execute();
  });
  if (merged.interrupted) {
    console.line("sluice merge: interrupted: nothing was written");
    return exit_interrupted;
  }
  if (!merging.quiet)
    console.line("sluice merge: '" + merging.output + "' of " + std::to_string(merged.shards) + " shards, " + std::to_string(merged.rows) +
                 " rows read");
  if (!ending.interrupted()) return exit_ok;
  console.line("sluice merge: interrupted when all was written");
  return exit_interrupted;
}

}  // namespace

int merge_command(const Arguments& arguments) {
  CLI::App app("puts the outputs of all shards of a run together, to the bytes of one run", "sluice merge");
  app.formatter(std::make_shared<HelpText>("", merge_example));
  MergeArguments merging;
  merging.add_to(app);
  if (const auto ended = parse_options(app, arguments)) return *ended;
  merging.command_line = {"sluice", "merge"};
  merging.command_line.insert(merging.command_line.end(), arguments.begin(), arguments.end());
  Diagnostics diagnostics;
  std::vector<std::pair<std::string, std::string>> given;
  if (!merging.threads.empty()) given.emplace_back("threads", merging.threads);
  if (!merging.memory.empty()) given.emplace_back("memory", merging.memory);
  const RunOptions options = read_settings(given, Spelling::options, diagnostics).options;
  print(diagnostics);
  if (diagnostics.has_errors()) return exit_usage;
  try {
    return merge(merging, options);
  } catch (const Failure& failure) {
    print_error(app, failure.what(), failure.remedy());
    return failure.status() == SLUICE_ERROR_USAGE ? exit_usage : exit_failed;
  }
}

}  // namespace sluice::cli
