// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "session/run_settings.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "config/parameter_value.hpp"
#include "config/pipeline.hpp"
#include "config/sample_table.hpp"
#include "machine/machine_profile.hpp"
#include "observe/report_writer.hpp"
#include "sched/policy_table.hpp"

namespace sluice {
namespace {

struct Setting {
  ValueRule rule;
  std::function<void(const sluice_value& value, const std::string& text)> take;
};

int log_level_named(const std::string& name) {
  return name == "debug" ? SLUICE_LOG_DEBUG : name == "warning" ? SLUICE_LOG_WARNING : name == "error" ? SLUICE_LOG_ERROR : SLUICE_LOG_INFO;
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

std::map<std::string, Setting> known_settings(RunSettings& s, Diagnostics& diagnostics) {
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
      {"profile", {text, texts(s.profile_file)}},
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
      {"inject_device_fault",
       {text,
        [&](const sluice_value&, const std::string& fault) {
          if (const auto rule = parse_device_fault(fault))
            o.device_faults.push_back(*rule);
          else
            diagnostics.error(s.place(), "", s.spelled("inject_device_fault") + ": '" + fault + "' is no fault",
                              "give memory@N, kernel@N or lost@N, perhaps with ,every=M");
        }}},
  };
}

}  // namespace

Location place_of(Spelling spelling) { return {spelling == Spelling::options ? "command line" : "options of the run", 0, 0}; }

std::string spelled(const std::string& name, Spelling spelling) { return spelling == Spelling::options ? "--" + kebab_case(name) : name; }

std::vector<PlannedFile> RunSettings::files(ProfileUse use) const {
  std::vector<PlannedFile> files;
  const auto writes = [&](const std::string& file, const char* name) {
    if (!file.empty()) files.push_back({file, FileUse::writes, false, false, spelled(name)});
  };
  for (const std::string& report : reports)
    for (const std::string& file : files_of_report(report)) writes(file, "report");
  writes(trace_file, "trace");
  writes(account_file, "account");
  const std::filesystem::path profile = profile_file.empty() ? default_profile_file() : std::filesystem::path(profile_file);
  if (use == ProfileUse::writes) writes(profile_file, "profile");
  if (use == ProfileUse::reads && !profile.empty() && profile != "none")
    files.push_back({profile.string(), FileUse::reads, false, true, profile_file.empty() ? "the machine profile" : spelled("profile")});
  return files;
}

std::shared_ptr<const MachineProfile> RunSettings::profile(std::string& problem) const {
  if (profile_file == "none") return nullptr;
  LoadedProfile loaded = load_profile(profile_file.empty() ? default_profile_file() : std::filesystem::path(profile_file));
  problem = loaded.problem;
  if (problem.empty() && !profile_file.empty() && !std::filesystem::exists(profile_file))
    problem = "there is no machine profile " + profile_file + ": the run learns the speeds itself";
  if (loaded.profile.costs().empty()) return nullptr;
  return std::make_shared<const MachineProfile>(std::move(loaded.profile));
}

RunSettings RunSettings::of_sample(const std::string& sample) const {
  RunSettings own = *this;
  for (std::string* file : {&own.trace_file, &own.account_file}) *file = with_sample(*file, sample);
  for (std::string& report : own.reports) report = with_sample(report, sample);
  return own;
}

RunSettings read_settings(const std::vector<std::pair<std::string, std::string>>& settings, Spelling spelling, Diagnostics& diagnostics) {
  RunSettings result;
  result.spelling = spelling;
  result.options.checkpoints = {30, 0.01};
  const std::map<std::string, Setting> known = known_settings(result, diagnostics);
  for (const auto& [name, text] : settings) {
    const auto setting = known.find(name);
    if (setting == known.end()) {
      std::vector<std::string> names;
      for (const auto& entry : known) names.push_back(entry.first);
      const std::string near = nearest_name(name, names);
      diagnostics.error(result.place(), "", "there is no option '" + name + "'",
                        near.empty() ? "see docs/python.md" : "did you mean '" + near + "'?");
      continue;
    }
    sluice_value value{};
    const ValueProblem problem = text.empty() ? ValueProblem{"the text is empty", "leave it out"} : convert_value(text, setting->second.rule, value);
    if (problem.message.empty())
      setting->second.take(value, text);
    else
      diagnostics.error(result.place(), "", result.spelled(name) + ": " + problem.message, problem.remedy);
  }
  return result;
}

void check_device(const std::string& device, Spelling spelling, const Registry& registry, Diagnostics& diagnostics) {
  if (device == "auto" || device == "cpu") return;
  const std::vector<std::string> names = devices_of(registry);
  if (std::find(names.begin(), names.end(), device) != names.end()) return;
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  diagnostics.error(place_of(spelling), "", spelled("device", spelling) + ": there is no device '" + device + "' on this machine",
                    "choose one of: " + all + "; sluice doctor says why");
}

}  // namespace sluice
