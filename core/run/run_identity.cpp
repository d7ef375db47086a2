// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/run_identity.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "machine/checksum.hpp"
#include "plugin/registry.hpp"

namespace sluice {
namespace {

std::string text_of(const sluice_value& value) {
  if (value.is_set == 0) return "";
  switch (value.type) {
    case SLUICE_BOOL:
    case SLUICE_INT:
    case SLUICE_SIZE:
      return std::to_string(value.integer);
    case SLUICE_FLOAT:
      return fmt::format("{}", value.real);
    default:
      return value.text;
  }
}

}  // namespace

void add_stage(const ResolvedStage& stage, const char* kind, RunIdentity& identity) {
  const std::string what = std::string(kind) + " '" + stage.name + "'";
  const sluice_stage_descriptor& d = *stage.entry.descriptor;
  identity["the " + what] = d.id;
  identity["the plugin of " + what] = std::string(stage.entry.plugin->name) + " " + stage.entry.plugin->build_id;
  for (std::size_t i = 0; i < d.parameter_count && i < stage.values.size(); ++i) {
    const std::string option = i < stage.given_by.size() ? stage.given_by[i] : "";
    identity[option.empty() ? std::string("parameter '") + d.parameters[i].name + "' of " + what : option] = text_of(stage.values[i]);
  }
}

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
  for (const ResolvedStage& resource : plan.pipeline.resources) add_stage(resource, "resource", identity);
  for (const ResolvedStage& stage : plan.pipeline.stages) add_stage(stage, "stage", identity);
  // What is followed grows: it is the source that knows whether it is still the same.
  const bool grows = std::any_of(plan.pipeline.stages.begin(), plan.pipeline.stages.end(), [](const ResolvedStage& stage) { return follows(stage); });
  if (grows) return identity;
  for (const PlannedFile& file : files_of(plan, registry))
    if (file.use == FileUse::reads && !file.side) add_input(file, identity);
  return identity;
}

std::string difference(const RunIdentity& before, const RunIdentity& now) {
  for (const auto& [what, value] : before) {
    const auto found = now.find(what);
    if (found == now.end()) return what + " is no longer there";
    if (found->second != value) return what + " was '" + value + "' and is '" + found->second + "'";
  }
  for (const auto& [what, value] : now)
    if (!before.contains(what)) return what + " is new";
  return {};
}

}  // namespace sluice
