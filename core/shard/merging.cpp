// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "shard/merging.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <sluice/failure.hpp>
#include <sluice/staged_file.hpp>
#include <string_view>
#include <utility>

#include "machine/atomic_file.hpp"
#include "observe/account_writer.hpp"
#include "observe/report_tree.hpp"
#include "observe/report_writer.hpp"
#include "shard/merged_report.hpp"
#include "shard/shard_merge.hpp"
#include "shard/shard_set.hpp"

namespace sluice {
namespace {

constexpr const char* merge_example = "sluice merge --output calls.tsv calls.1.tsv calls.2.tsv calls.3.tsv";

// What can be seen of the names alone.
void check_names(const MergeRequest& merge) {
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
void check_no_shard_is_written(const MergeRequest& merge, const std::vector<ShardManifest>& shards) {
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

void throw_if(const std::string& problem) {
  if (!problem.empty()) throw Failure::output(problem);
}

void check_accounts(const std::vector<ShardManifest>& shards) {
  for (const ShardManifest& shard : shards)
    if (shard.account.name.empty())
      throw Failure::usage("--account: the run of " + shard.text() + " wrote no table of lost rows",
                           "run each shard with --account, or leave it out here");
}

// False: more resources are needed.
bool merge(const MergeRequest& request, const std::vector<ShardManifest>& shards, RunOptions options, const Registry& registry,
           const std::function<RunResult(Run& run)>& execute, MergeResources resources, Merged& merged) {
  ShardMerge work(shards, request.output, registry, resources);
  work.set(options);
  std::optional<AccountWriter> account;
  RunListeners listeners;
  if (!request.account.empty()) listeners.add(account.emplace(request.account));
  options.listener = &listeners;
  RunResult result;
  {
    Run run(work.plan(), registry, options);
    result = execute(run);
  }
  merged.interrupted = result.status == SLUICE_ERROR_CANCELLED || result.state == RunState::interrupted;
  if (merged.interrupted) return true;
  if (resources == MergeResources::required && result.status == SLUICE_ERROR_USAGE) return false;
  if (result.state == RunState::failed)
    throw Failure(result.status, (result.stage.empty() ? "" : "stage '" + result.stage + "': ") + result.message, result.remedy);
  if (account) throw_if(write_account(request.account, *account, result, work));
  const ReportContext context{SLUICE_VERSION, request.command_line, 0, {}};
  merged.report = merged_report(work.shards(), work.alike(), report_tree(result, work.plan(), registry, context));
  if (!request.report.empty())
    throw_if(write_atomically(request.report, merged.report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n"));
  return true;
}

}  // namespace

Merged merge_shards(const MergeRequest& request, RunOptions options, const Registry& registry, const std::function<RunResult(Run& run)>& execute) {
  check_names(request);
  std::vector<ShardManifest> shards = find_shards(request.shards, request.of);
  check_shards(shards, registry, SLUICE_VERSION);
  check_no_shard_is_written(request, shards);
  if (!request.account.empty()) check_accounts(shards);
  Merged merged;
  merged.shards = shards.size();
  for (const ShardManifest& shard : shards) merged.rows += shard.rows;
  // What shards read, a machine that merges them need not have: the signal, the reference. Few regroups want it all the same, and say so at once.
  if (!shards.front().state_of.empty() && merge(request, shards, options, registry, execute, MergeResources::required, merged)) return merged;
  merge(request, shards, options, registry, execute, MergeResources::all, merged);
  return merged;
}

}  // namespace sluice
