// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "shard/merged_report.hpp"

#include <algorithm>

#include "observe/result_figures.hpp"

namespace sluice {
namespace {

using Tree = nlohmann::ordered_json;

// A report comes from a file: what is not there, or no number, is 0.
double number_in(const Tree& tree, const char* key) {
  const auto found = tree.is_object() ? tree.find(key) : tree.end();
  return found != tree.end() && found->is_number() ? found->get<double>() : 0;
}

std::string name_in(const Tree& tree, const char* key) {
  const auto found = tree.is_object() ? tree.find(key) : tree.end();
  return found != tree.end() && found->is_string() ? found->get<std::string>() : "";
}

const Tree& list_of(const Tree& tree, const char* key) {
  static const Tree none = Tree::array();
  const auto found = tree.is_object() ? tree.find(key) : tree.end();
  return found != tree.end() && found->is_array() ? *found : none;
}

void add_number(Tree& sum, const Tree& one) {
  if (sum.is_number_unsigned() && one.is_number_unsigned())
    sum = sum.get<std::uint64_t>() + one.get<std::uint64_t>();
  else if (sum.is_number() && one.is_number())
    sum = sum.get<double>() + one.get<double>();
}

// Numbers by name, and what is below them.
void add_counts(Tree& sum, const Tree& one) {
  if (!one.is_object()) return;
  for (const auto& [name, value] : one.items()) {
    if (!sum.contains(name))
      sum[name] = value;
    else if (value.is_object() && sum[name].is_object())
      add_counts(sum[name], value);
    else
      add_number(sum[name], value);
  }
}

// The entry of `list` with the same texts under the keys; made where there is none.
Tree& entry_like(Tree& list, const Tree& one, const std::vector<const char*>& keys) {
  for (Tree& entry : list)
    if (std::all_of(keys.begin(), keys.end(), [&](const char* key) { return name_in(entry, key) == name_in(one, key); })) return entry;
  Tree made = Tree::object();
  for (const char* key : keys) made[key] = name_in(one, key);
  list.push_back(std::move(made));
  return list.back();
}

void add_keys(Tree& sum, const Tree& one, const std::vector<const char*>& keys) {
  for (const char* key : keys) {
    const auto found = one.is_object() ? one.find(key) : one.end();
    if (found == one.end()) continue;
    if (!sum.contains(key))
      sum[key] = *found;
    else if (found->is_object())
      add_counts(sum[key], *found);
    else
      add_number(sum[key], *found);
  }
}

// left_out: stages at which paths end that others have told already.
void add_account(Tree& accounts, const Tree& report, const std::set<std::string>& left_out) {
  for (const Tree& path : list_of(report, "account")) {
    if (left_out.contains(name_in(path, "end"))) continue;
    Tree& sum = entry_like(accounts, path, {"source", "end", "row_type", "called"});
    add_keys(sum, path, {"read", "filtered", "failed", "written", "unfinished", "outcomes"});
    const bool adds_up = path.is_object() && path.value("adds_up", Tree()) == true;
    sum["adds_up"] = sum.value("adds_up", true) && adds_up;
    if (!sum.contains("losses")) sum["losses"] = Tree::array();
    for (const Tree& loss : list_of(path, "losses")) {
      Tree& lost = entry_like(sum["losses"], loss, {"stage", "reason", "meaning"});
      add_keys(lost, loss, {"rows"});
    }
  }
}

void add_stages(Tree& stages, const Tree& report) {
  for (const Tree& stage : list_of(report, "stages")) {
    Tree& sum = entry_like(stages, stage, {"name", "id", "role", "row_type", "work_unit"});
    add_keys(sum, stage,
             {"batches", "rows_in", "rows_out", "failed", "accounted", "busy_seconds", "wait_seconds", "output_bytes", "counters",
              "batches_with_deadline", "late_batches"});
    if (const Tree& results = list_of(stage, "results"); !results.empty()) add_figures(sum["results"], results);
  }
}

}  // namespace

Tree merged_report(const std::vector<ShardManifest>& shards, const std::set<std::string>& alike, const Tree& merging) {
  static const Tree nothing = Tree::object();
  const auto time_of = [](const Tree& report) -> const Tree& { return report.contains("time") ? report.at("time") : nothing; };
  Tree accounts = Tree::array(), stages = Tree::array(), list = Tree::array();
  double cpu_seconds = number_in(time_of(merging), "cpu_seconds"), elapsed = 0, longest = 0;
  for (const ShardManifest& shard : shards) {
    add_account(accounts, shard.report, &shard == &shards.front() ? std::set<std::string>() : alike);
    add_stages(stages, shard.report);
    const Tree& time = time_of(shard.report);
    cpu_seconds += number_in(time, "cpu_seconds");
    elapsed += number_in(time, "elapsed_seconds");
    longest = std::max(longest, number_in(time, "elapsed_seconds"));
    list.push_back({{"shard", shard.part + 1},
                    {"file", shard.file().string()},
                    {"bytes", shard.output.bytes},
                    {"xxh3", shard.output.xxh3},
                    {"rows", shard.rows},
                    {"time", time}});
  }
  add_account(accounts, merging, {});
  add_stages(stages, merging);
  for (Tree& path : accounts) {
    auto& losses = path["losses"].get_ref<Tree::array_t&>();
    std::stable_sort(losses.begin(), losses.end(), [](const Tree& a, const Tree& b) { return number_in(a, "rows") > number_in(b, "rows"); });
  }
  Tree report = Tree::object();
  for (const char* key : {"report_version", "state", "exit_code", "pipeline", "parameters", "command_line", "versions", "machine", "error"})
    if (merging.contains(key)) report[key] = merging.at(key);
  report["time"] = {{"elapsed_seconds", number_in(time_of(merging), "elapsed_seconds")},
                    {"cpu_seconds", cpu_seconds},
                    {"threads", time_of(merging).value("threads", Tree(0))},
                    {"elapsed_seconds_of_shards", elapsed},
                    {"elapsed_seconds_of_longest_shard", longest}};
  report["account"] = std::move(accounts);
  report["stages"] = std::move(stages);
  report["outputs"] = list_of(merging, "outputs");
  report["shards"] = std::move(list);
  return report;
}

}  // namespace sluice
