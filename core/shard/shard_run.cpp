// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "shard/shard_run.hpp"

#include <charconv>
#include <filesystem>
#include <limits>

#include "machine/atomic_file.hpp"
#include "observe/file_digest.hpp"
#include "run/output_files.hpp"
#include "run/run_identity.hpp"
#include "shard/pipeline_tree.hpp"
#include "shard/state_file.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t whole_file = std::numeric_limits<std::uint64_t>::max();
// Of further inputs only names and sizes are compared: a run may have thousands, which other shards read, too.
constexpr std::size_t most_digests = 100;

// What a plugin has made of other files has builds of its own.
std::string plugin_name(const StageEntry& entry) {
  return entry.made_of == nullptr ? entry.plugin->name : std::string(entry.plugin->name) + " of " + entry.made_of;
}
std::string plugin_text(const StageEntry& entry) { return std::string(entry.plugin->version) + ", " + entry.plugin->build_id; }

nlohmann::ordered_json input_digests(const Plan& plan, const Registry& registry) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (const PlannedFile& file : files_of(plan, registry)) {
    if (file.use != FileUse::reads || file.side) continue;
    const bool is_digested = inputs.size() < most_digests;
    std::error_code error;
    const auto bytes = std::filesystem::file_size(file.path, error);
    nlohmann::ordered_json entry = {{"what", file.what}, {"name", std::filesystem::path(file.path).filename().string()}};
    entry["bytes"] = error ? 0 : static_cast<std::uint64_t>(bytes);
    entry["xxh3"] = is_digested ? digest_of(file.path, FileUse::reads, file.what, 0).xxh3 : "";
    inputs.push_back(std::move(entry));
  }
  return inputs;
}

ManifestFile manifest_file(const std::string& path) {
  if (path.empty()) return {};
  const FileDigest digest = digest_of(path, FileUse::writes, "", whole_file);
  return {std::filesystem::path(path).filename().string(), digest.bytes, digest.xxh3};
}

}  // namespace

bool parse_shard(const std::string& text, ShardNumber& number) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return false;
  const auto whole = [](std::string_view digits, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  std::uint64_t from_one = 0;
  constexpr std::uint64_t most_parts = 1'000'000;
  if (!whole(std::string_view(text).substr(0, slash), from_one) || !whole(std::string_view(text).substr(slash + 1), number.parts)) return false;
  number.part = from_one - 1;
  return from_one >= 1 && from_one <= number.parts && number.parts <= most_parts;
}

nlohmann::ordered_json used_plugins(const ResolvedPipeline& pipeline) {
  nlohmann::ordered_json plugins = nlohmann::ordered_json::object();
  for (const std::vector<ResolvedStage>* stages : {&pipeline.resources, &pipeline.stages})
    for (const ResolvedStage& stage : *stages) plugins[plugin_name(stage.entry)] = plugin_text(stage.entry);
  return plugins;
}

ShardRun::ShardRun(const Plan& plan, const ShardPlan& shards, ShardNumber number, std::string version)
    : plan_(plan), shards_(shards), number_(number), version_(std::move(version)), hash_(checksum_of(identity_of_parts(plan.pipeline))) {}

void ShardRun::set(RunOptions& options) const {
  options.part = number_.part;
  options.parts = number_.parts;
  options.made.assign(plan_.stages.size(), 1);
  for (std::size_t i = 0; i < plan_.stages.size(); ++i)
    if (shards_.behind[i]) options.made[i] = 0;
  options.whole = shards_.whole;
  for (const ShardOutput& output : shards_.outputs) {
    if (!output.state_of || options.takes_state.contains(*output.state_of)) continue;
    const std::size_t regroup = *output.state_of;
    const ResolvedStage& stage = *plan_.stages[regroup].stage;
    options.takes_state[regroup] = [this, regroup, head = StateHead{stage.name, plugin_text(stage.entry), hash_}](OutputFiles& outputs,
                                                                                                                  const SaveState& save) {
      std::vector<sluice_file*> files;
      for (const ShardOutput& one : shards_.outputs)
        if (one.state_of == regroup) files.push_back(outputs.open(one.path));
      write_state_file(head, save, [&](std::string_view bytes) {
        for (sluice_file* file : files) OutputFiles::write(*file, bytes.data(), bytes.size());
      });
      for (sluice_file* file : files) OutputFiles::close(*file);
    };
  }
}

std::string ShardRun::write_manifests(const RunResult& result, const Registry& registry, const std::string& account,
                                      const nlohmann::ordered_json& report) const {
  ShardManifest manifest;
  manifest.part = number_.part;
  manifest.parts = number_.parts;
  manifest.version = version_;
  manifest.pipeline_hash = hash_;
  manifest.pipeline = pipeline_tree(plan_.pipeline);
  manifest.inputs = input_digests(plan_, registry);
  manifest.plugins = used_plugins(plan_.pipeline);
  manifest.account = manifest_file(account);
  manifest.report = report;
  const std::set<std::string> alike = shards_.alike(plan_);
  for (const StageStatistics& stage : result.statistics.stages)
    if (stage.role == "source" && (number_.part == 0 || !alike.contains(stage.name))) manifest.rows += stage.rows_out;
  for (const ShardOutput& output : shards_.outputs) {
    const ResolvedStage& sink = *plan_.stages[output.sink].stage;
    manifest.stage = sink.name;
    manifest.parameter = sink.entry.descriptor->parameters[output.parameter].name;
    manifest.option = sink.given_by[output.parameter];
    manifest.path = output.path;
    manifest.output = manifest_file(output.path);
    const auto header = result.header_bytes.find(output.path);
    manifest.header_bytes = header == result.header_bytes.end() || output.state_of ? 0 : header->second;
    manifest.form = output.form;
    manifest.state_of = output.state_of ? plan_.stages[*output.state_of].stage->name : "";
    if (manifest.output.xxh3.empty()) return "'" + output.path + "' cannot be read again, so that its manifest could say what is in it";
    if (std::string problem = write_atomically(output.path + manifest_ending, manifest_text(manifest)); !problem.empty()) return problem;
  }
  return "";
}

}  // namespace sluice
