// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/set_override.hpp"

#include <algorithm>

namespace sluice {
namespace {

std::vector<std::string> split_at_dots(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

}  // namespace

void apply_set(const std::string& set, WrittenPipeline& pipeline, Diagnostics& diagnostics) {
  const Location where{"command line", 0, 0};
  const std::size_t equals = set.find('=');
  const std::string left = set.substr(0, equals);
  const auto error = [&](const std::string& message, const std::string& remedy) {
    diagnostics.error(where, "", "--set " + left + ": " + message, remedy);
  };
  if (equals == std::string::npos) return error("there is no '='", "write --set stages.NAME.params.PARAMETER=VALUE");
  const WrittenValue value{set.substr(equals + 1), where, where};
  const std::vector<std::string> parts = split_at_dots(left);
  if (parts.size() < 3 || (parts[0] != "stages" && parts[0] != "resources"))
    return error("this is no place in a pipeline",
                 "write stages.NAME.params.PARAMETER, stages.NAME.device, stages.NAME.enabled or resources.NAME.params.PARAMETER");

  const bool is_stage = parts[0] == "stages";
  auto& entries = is_stage ? pipeline.stages : pipeline.resources;
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const WrittenStage& s) { return s.name == parts[1]; });
  if (entry == entries.end()) {
    std::vector<std::string> names;
    for (const WrittenStage& s : entries) names.push_back(s.name);
    const std::string near = nearest_name(parts[1], names);
    return error(std::string("unknown ") + (is_stage ? "stage" : "resource") + " '" + parts[1] + "'",
                 near.empty() ? "'sluice plan' shows the names" : "did you mean '" + near + "'?");
  }
  if (parts.size() == 4 && parts[2] == "params")
    entry->params[parts[3]] = value;
  else if (parts.size() == 4 && parts[2] == "resources")
    entry->resources[parts[3]] = value;
  else if (parts.size() == 3 && is_stage && parts[2] == "device")
    entry->device = value;
  else if (parts.size() == 3 && is_stage && parts[2] == "device_max_row_work")
    entry->device_max_row_work = value;
  else if (parts.size() == 3 && parts[2] == "enabled")
    entry->enabled = value;
  else {
    const std::string near = nearest_name(parts[2], {"params", "resources", "device", "device_max_row_work", "enabled"});
    error("'" + parts[2] + "' can't be set" + (parts.size() == 4 ? "" : " so"),
          near.empty() ? "params.NAME, resources.NAME, device and enabled can" : "did you mean '" + near + "'?");
  }
}

}  // namespace sluice
