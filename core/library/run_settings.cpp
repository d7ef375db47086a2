// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "library/run_settings.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "config/parameter_value.hpp"
#include "machine/machine_profile.hpp"
#include "observe/report_writer.hpp"
#include "sched/policy_table.hpp"

namespace sluice {
namespace {

const Location place{"options of the run", 0, 0};

struct Setting {
  ValueRule rule;
  std::function<void(const sluice_value& value, const std::string& text)> take;
};

int log_level_named(const std::string& name) {
  return name == "debug" ? SLUICE_LOG_DEBUG : name == "warning" ? SLUICE_LOG_WARNING : name == "error" ? SLUICE_LOG_ERROR : SLUICE_LOG_INFO;
}

void take_profile(RunOptions& options, const std::string& file) {
  if (file == "none") return;
  LoadedProfile loaded = load_profile(file.empty() ? default_profile_file() : std::filesystem::path(file));
  if (!loaded.profile.costs().empty()) options.profile = std::make_shared<const MachineProfile>(std::move(loaded.profile));
}

std::vector<std::string> devices_of(const Registry& registry) {
  std::vector<std::string> names = {"auto", "cpu"};
  for (const sluice_device_provider* provider : registry.device_providers()) {
    const int count = provider->count();
    if (count > 0) names.emplace_back(provider->kind);
    for (int ordinal = 0; ordinal < count; ++ordinal) names.push_back(std::string(provider->kind) + ":" + std::to_string(ordinal));
  }
  return names;
}

// The option's value is looked at; with "auto" and "cpu" no driver is woken.
void check_device(const std::string& device, const Registry& registry, Diagnostics& diagnostics) {
  if (device == "auto" || device == "cpu") return;
  const std::vector<std::string> names = devices_of(registry);
  if (std::find(names.begin(), names.end(), device) != names.end()) return;
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  diagnostics.error(place, "", "device: there is no device '" + device + "' on this machine", "choose one of: " + all + "; sluice doctor says why");
}

std::map<std::string, Setting> known_settings(RunSettings& s, std::string& profile) {
  RunOptions& o = s.options;
  const ValueRule text{SLUICE_STRING, {}, {}, {}, ""}, bytes{SLUICE_SIZE, 16 << 20, {}, {}, "bytes"};
  const auto texts = [&](std::string& to) { return [&to](const sluice_value&, const std::string& value) { to = value; }; };
  const auto size = [](std::uint64_t& to) {
    return [&to](const sluice_value& value, const std::string&) { to = static_cast<std::uint64_t>(value.integer); };
  };
  return {
      {"device", {text, texts(o.device)}},
      {"threads", {{SLUICE_INT, 1, 4096, {}, ""}, [&o](const sluice_value& v, const std::string&) { o.threads = static_cast<int>(v.integer); }}},
      {"memory", {bytes, size(o.memory_bytes)}},
      {"gpu_memory", {bytes, size(o.device_memory_bytes)}},
      {"batch_work", {{SLUICE_FLOAT, 1, {}, {}, ""}, [&o](const sluice_value& v, const std::string&) { o.batch_work = v.real; }}},
      {"policy", {{SLUICE_CHOICE, {}, {}, policy_names(), ""}, texts(o.policy)}},
      {"profile", {text, texts(profile)}},
      {"watchdog", {{SLUICE_FLOAT, 0, {}, {}, "seconds"}, [&o](const sluice_value& v, const std::string&) { o.watchdog_seconds = v.real; }}},
      {"executor",
       {{SLUICE_CHOICE, {}, {}, {"flow_graph", "serial"}, ""},
        [&o](const sluice_value&, const std::string& name) { o.executor = name == "serial" ? Executor::serial : Executor::flow_graph; }}},
      {"log_level",
       {{SLUICE_CHOICE, {}, {}, {"debug", "info", "warning", "error"}, ""},
        [&o](const sluice_value&, const std::string& name) { o.log_level = log_level_named(name); }}},
      {"max_bad_reads", {{SLUICE_FLOAT, 0, 1, {}, ""}, [&s](const sluice_value& v, const std::string&) { s.allowed_bad_reads = v.real; }}},
      {"allow_empty", {{SLUICE_BOOL, {}, {}, {}, ""}, [&s](const sluice_value& v, const std::string&) { s.allow_empty = v.integer != 0; }}},
      {"resume", {{SLUICE_BOOL, {}, {}, {}, ""}, [&s](const sluice_value& v, const std::string&) { s.resume = v.integer != 0; }}},
      {"checkpoint",
       {{SLUICE_FLOAT, 0, {}, {}, "seconds"},
        [&o](const sluice_value& v, const std::string&) {
          o.checkpoints = {v.real, 0};
        }}},
      {"shard", {text, texts(s.shard)}},
      {"report", {text, [&s](const sluice_value&, const std::string& file) { s.reports.push_back(file); }}},
      {"account", {text, texts(s.account_file)}},
      {"trace", {text, texts(s.trace_file)}},
  };
}

}  // namespace

std::vector<PlannedFile> RunSettings::files() const {
  std::vector<PlannedFile> files;
  for (const std::string& report : reports)
    for (const std::string& file : files_of_report(report)) files.push_back({file, FileUse::writes, true, false, "report"});
  if (!trace_file.empty()) files.push_back({trace_file, FileUse::writes, true, false, "trace"});
  if (!account_file.empty()) files.push_back({account_file, FileUse::writes, true, false, "account"});
  return files;
}

RunSettings read_settings(const std::vector<std::pair<std::string, std::string>>& settings, const Registry& registry, Diagnostics& diagnostics) {
  RunSettings result;
  result.options.checkpoints = {30, 0.01};
  std::string profile;
  const std::map<std::string, Setting> known = known_settings(result, profile);
  for (const auto& [name, text] : settings) {
    const auto setting = known.find(name);
    if (setting == known.end()) {
      std::vector<std::string> names;
      for (const auto& entry : known) names.push_back(entry.first);
      const std::string near = nearest_name(name, names);
      diagnostics.error(place, "", "there is no option '" + name + "'", near.empty() ? "see docs/python.md" : "did you mean '" + near + "'?");
      continue;
    }
    sluice_value value{};
    const ValueProblem problem = text.empty() ? ValueProblem{"the text is empty", "leave it out"} : convert_value(text, setting->second.rule, value);
    if (problem.message.empty())
      setting->second.take(value, text);
    else
      diagnostics.error(place, "", name + ": " + problem.message, problem.remedy);
  }
  check_device(result.options.device, registry, diagnostics);
  if (result.options.device != "cpu") take_profile(result.options, profile);
  return result;
}

}  // namespace sluice
