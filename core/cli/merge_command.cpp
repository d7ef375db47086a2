// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The outputs of all shards of a run become the output of one run.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <sluice/failure.hpp>
#include <sluice/staged_file.hpp>

#include "cli/exit_code.hpp"
#include "cli/help_text.hpp"
#include "cli/option_parser.hpp"
#include "cli/pipeline_arguments.hpp"
#include "cli/run_ending.hpp"
#include "cli/run_options.hpp"
#include "cli/stage_json.hpp"
#include "machine/atomic_file.hpp"
#include "observe/account_writer.hpp"
#include "observe/progress.hpp"
#include "observe/report_tree.hpp"
#include "observe/report_writer.hpp"
#include "shard/merged_report.hpp"
#include "shard/shard_merge.hpp"
#include "shard/shard_set.hpp"

namespace sluice::cli {
namespace {

constexpr const char* merge_example = "sluice merge --output calls.tsv calls.1.tsv calls.2.tsv calls.3.tsv";

struct MergeArguments {
  std::string output, of, report, account, threads, memory;
  std::vector<std::string> shards, plugin_dirs;
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

// What can be seen of the names alone.
void check_names(const MergeArguments& merge) {
  if (merge.output.empty()) throw Failure::usage("no --output is named", merge_example);
  if (merge.shards.empty()) throw Failure::usage("no shards are named", merge_example);
  if (merge.output == "-" || is_special_file(merge.output)) throw Failure::usage("--output: '" + merge.output + "' is no file", "name a file");
  if (!merge.report.empty() && report_kind(merge.report) != ReportKind::json)
    throw Failure::usage("--report: the reports of shards are added up as JSON", "name a file that ends in .json");
  for (const std::string* file : {&merge.output, &merge.report, &merge.account})
    if (const std::string problem = file->empty() ? "" : why_not_writable(*file); !problem.empty())
      throw Failure::usage(problem, "give another name");
  if (!merge.account.empty() && (merge.account == "-" || is_special_file(merge.account)))
    throw Failure::usage("--account: '" + merge.account + "' is no file", "name a file");
}

// Nothing that is written may take the place of a shard.
void check_no_shard_is_written(const MergeArguments& merge, const std::vector<ShardManifest>& shards) {
  const auto is_same = [](const std::filesystem::path& a, const std::filesystem::path& b) {
    std::error_code error;
    return std::filesystem::equivalent(a, b, error) && !error;
  };
  const std::pair<const char*, const std::string*> written[] = {
      {"--output", &merge.output}, {"--report", &merge.report}, {"--account", &merge.account}};
  for (const auto& [option, file] : written) {
    for (const ShardManifest& shard : shards)
      for (const std::filesystem::path& read : {shard.file(), shard.place, shard.place.parent_path() / shard.account.name})
        if (!file->empty() && is_same(*file, read))
          throw Failure::usage(std::string(option) + ": '" + *file + "' is of " + shard.text(), "give it another name");
    for (const auto& [other, name] : written)
      if (std::string_view(option) != other && !file->empty() && (*file == *name || is_same(*file, *name)))
        throw Failure::usage(std::string(option) + " and " + other + " are the same file", "give each a name of its own");
  }
}

// The rows that were lost behind the states lie in `own`, which gives its place to the whole table.
std::string write_account(const std::string& file, AccountWriter& own, const RunResult& result, const ShardMerge& work) {
  if (std::string problem = own.finish(result.statistics); !problem.empty()) return problem;
  return write_merged_account(work.shards(), work.alike(), {file}, file);
}

int write_side_files(Console& console, const MergeArguments& merge, const ShardMerge& work, const RunResult& result, const Registry& registry,
                     AccountWriter* account, const Arguments& arguments) {
  const auto failed = [&](const std::string& problem) {
    if (!problem.empty()) console.line("sluice merge: " + problem);
    return !problem.empty();
  };
  if (account != nullptr && failed(write_account(merge.account, *account, result, work))) return exit_failed;
  if (merge.report.empty()) return exit_ok;
  ReportContext context{SLUICE_VERSION, {"sluice", "merge"}, exit_ok, {}};
  context.command_line.insert(context.command_line.end(), arguments.begin(), arguments.end());
  const Json report = merged_report(work.shards(), work.alike(), report_tree(result, work.plan(), registry, context));
  return failed(write_atomically(merge.report, report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n")) ? exit_failed : exit_ok;
}

int merge(const MergeArguments& merge, RunOptions options, const Arguments& arguments) {
  check_names(merge);
  const Registry registry = load_plugins(merge.plugin_dirs);
  std::vector<ShardManifest> shards = find_shards(merge.shards, merge.of);
  check_shards(shards, registry, SLUICE_VERSION);
  check_no_shard_is_written(merge, shards);
  if (!merge.account.empty())
    for (const ShardManifest& shard : shards)
      if (shard.account.name.empty())
        throw Failure::usage("--account: the run of " + shard.text() + " wrote no table of lost rows",
                             "run each shard with --account, or leave it out here");
  ShardMerge work(std::move(shards), merge.output, registry);
  work.set(options);

  Console console;
  options.log = [&](int level, const std::string& line) {
    if (!merge.quiet || level >= SLUICE_LOG_WARNING) console.line((level >= SLUICE_LOG_WARNING ? "warning: " : "") + line);
  };
  std::optional<AccountWriter> account;
  RunListeners listeners;
  if (!merge.account.empty()) listeners.add(account.emplace(merge.account));
  options.listener = &listeners;
  RunResult result;
  {
    Run run(work.plan(), registry, options);
    const RunEnding ending(run);
    result = run.execute();
  }
  if (result.status == SLUICE_ERROR_CANCELLED) result.state = RunState::interrupted;
  if (result.state == RunState::failed)
    throw Failure(result.status, (result.stage.empty() ? "" : "stage '" + result.stage + "': ") + result.message, result.remedy);
  if (result.state == RunState::interrupted) {
    console.line("sluice merge: interrupted: nothing was written");
    return exit_interrupted;
  }
  std::uint64_t rows = 0;
  for (const ShardManifest& shard : work.shards()) rows += shard.rows;
  if (!merge.quiet)
    console.line("sluice merge: '" + merge.output + "' of " + std::to_string(work.shards().size()) + " shards, " + std::to_string(rows) +
                 " rows read");
  return write_side_files(console, merge, work, result, registry, account ? &*account : nullptr, arguments);
}

}  // namespace

int merge_command(const Arguments& arguments) {
  CLI::App app("puts the outputs of all shards of a run together, to the bytes of one run", "sluice merge");
  app.footer(std::string("\nExample:\n  ") + merge_example);
  MergeArguments merging;
  merging.add_to(app);
  if (const auto ended = parse_options(app, arguments)) return *ended;
  RunArguments run_arguments;
  run_arguments.threads = merging.threads;
  run_arguments.memory = merging.memory;
  Diagnostics diagnostics;
  const RunOptions options = run_arguments.run_options(diagnostics);
  print(diagnostics);
  if (diagnostics.has_errors()) return exit_usage;
  try {
    return merge(merging, options, arguments);
  } catch (const Failure& failure) {
    print_error(app, failure.what(), failure.remedy());
    return failure.status() == SLUICE_ERROR_USAGE ? exit_usage : exit_failed;
  }
}

}  // namespace sluice::cli
