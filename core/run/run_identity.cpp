// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/run_identity.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string_view>

#include "config/parameter_value.hpp"
#include "machine/checksum.hpp"
#include "plugin/registry.hpp"

namespace sluice {
namespace {

// "a/b.bam\nc.bam": each by its last name.
std::string last_names(const std::string& text) {
  std::string names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string one = text.substr(begin, end - begin), last = std::filesystem::path(one).filename().string();
    names += (begin == 0 ? "" : "\n") + (last.empty() ? one : last);
    begin = end + 1;
  }
  return names;
}

std::string names_of(const std::vector<std::size_t>& places, const std::vector<ResolvedStage>& stages) {
  std::string names;
  for (const std::size_t place : places) names += (names.empty() ? "" : ", ") + stages[place].name;
  return names;
}

// name: what an entry of the stage is called, by "use", "inputs" and so on.
void add_connections(const ResolvedStage& stage, const ResolvedPipeline& pipeline, const std::function<std::string(const std::string&)>& name,
                     RunIdentity& identity) {
  identity[name("inputs")] = names_of(stage.inputs, pipeline.stages);
  identity[name("feedback")] = names_of(stage.feedback, pipeline.stages);
  for (std::size_t slot = 0; slot < stage.resources.size(); ++slot)
    if (stage.resources[slot] >= 0)
      identity[name(std::string("resources.") + stage.entry.descriptor->resources[slot].name)] =
          pipeline.resources[static_cast<std::size_t>(stage.resources[slot])].name;
}

std::string text_of(const ResolvedStage& stage, std::size_t parameter) {
  return stage.values[parameter].is_set == 0 ? "" : value_text(stage.entry.descriptor->parameters[parameter], stage.values[parameter]);
}

void add_stage(const ResolvedStage& stage, const char* kind, RunIdentity& identity) {
  const std::string what = std::string(kind) + " '" + stage.name + "'";
  const sluice_stage_descriptor& d = *stage.entry.descriptor;
  identity["the " + what] = d.id;
  identity["the plugin of " + what] = std::string(stage.entry.plugin->name) + " " + stage.entry.plugin->build_id;
  for (std::size_t i = 0; i < d.parameter_count && i < stage.values.size(); ++i) {
    const std::string option = i < stage.given_by.size() ? stage.given_by[i] : "";
    identity[option.empty() ? std::string("parameter '") + d.parameters[i].name + "' of " + what : option] = text_of(stage, i);
  }
}

template <class Words>
std::string first_difference(const RunIdentity& a, const RunIdentity& b, const char* only_a, const char* only_b, Words&& words) {
  for (const auto& [what, value] : a) {
    const auto found = b.find(what);
    if (found == b.end()) return what + only_a;
    if (found->second != value) return what + words(value, found->second);
  }
  for (const auto& [what, value] : b)
    if (!a.contains(what)) return what + only_b;
  return {};
}

}  // namespace

void add_resource(const ResolvedStage& resource, RunIdentity& identity) { add_stage(resource, "", identity); }

bool add_input(const PlannedFile& file, RunIdentity& identity) {
  struct stat info {};
  if (::stat(file.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  std::string beginning(std::size_t{1} << 20, '\0');
  std::ifstream stream(file.path, std::ios::binary);
  stream.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  const std::string checksum = Checksum::text_of(std::string_view(beginning).substr(0, static_cast<std::size_t>(stream.gcount())));
  identity["the input '" + file.path + "'"] =
      fmt::format("{} bytes, changed at {}.{:09}, beginning with {}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec, checksum);
  return true;
}

RunIdentity identity_of(const Plan& plan, const Registry& registry) {
  RunIdentity identity;
  identity["the pipeline"] = plan.pipeline.name;
  const auto add = [&](const ResolvedStage& stage, const char* kind) {
    add_stage(stage, kind, identity);
    add_connections(
        stage, plan.pipeline, [&](const std::string& entry) { return entry + " of " + kind + " '" + stage.name + "'"; }, identity);
  };
  for (const ResolvedStage& resource : plan.pipeline.resources) add(resource, "resource");
  for (const ResolvedStage& stage : plan.pipeline.stages) add(stage, "stage");
  // What is followed grows: it is the source that knows whether it is still the same.
  const bool grows = std::any_of(plan.pipeline.stages.begin(), plan.pipeline.stages.end(), [](const ResolvedStage& stage) { return follows(stage); });
  if (grows) return identity;
  for (const PlannedFile& file : files_of(plan, registry))
    if (file.use == FileUse::reads && !file.side) add_input(file, identity);
  return identity;
}

RunIdentity identity_of_parts(const ResolvedPipeline& pipeline) {
  RunIdentity identity;
  const auto add = [&](const ResolvedStage& stage, const char* kind) {
    const sluice_stage_descriptor& d = *stage.entry.descriptor;
    const auto name = [&](const std::string& entry) { return std::string(kind) + "." + stage.name + "." + entry; };
    identity[name("use")] = stage.entry.made_of != nullptr ? stage.entry.made_of : d.id;
    for (std::size_t i = 0; i < d.parameter_count; ++i) {
      const std::optional<FileUse> use = file_use(stage, i);
      if (stage.values[i].is_set == 0 || use == FileUse::writes) continue;
      identity[name(std::string("params.") + d.parameters[i].name)] = use ? last_names(text_of(stage, i)) : text_of(stage, i);
    }
    add_connections(stage, pipeline, name, identity);
  };
  for (const ResolvedStage& resource : pipeline.resources) add(resource, "resources");
  for (const ResolvedStage& stage : pipeline.stages) add(stage, "stages");
  return identity;
}

std::string checksum_of(const RunIdentity& identity) {
  Checksum checksum;
  for (const auto& [what, value] : identity) checksum.add(what + '\0' + value + '\0');
  return checksum.text();
}

std::string difference(const RunIdentity& before, const RunIdentity& now) {
  return first_difference(before, now, " is no longer there", " is new",
                          [](const std::string& was, const std::string& is) { return " was '" + was + "' and is '" + is + "'"; });
}

std::string difference_of_two(const RunIdentity& a, const RunIdentity& b) {
  return first_difference(a, b, " is there and is not", " is not there and is",
                          [](const std::string& one, const std::string& other) { return " is \"" + one + "\" and \"" + other + "\""; });
}

}  // namespace sluice
