// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdio>
#include <vector>

#include "cli/pipeline_arguments.hpp"
#include "cli/stage_json.hpp"
#include "config/memory_rule.hpp"
#include "machine/host_limits.hpp"
#include "machine/machine.hpp"
#include "machine/machine_profile.hpp"
#include "observe/quantity.hpp"
#include "run/run.hpp"
#include "session/exit_code.hpp"

namespace sluice::cli {
namespace {

// One line per thing looked at; a problem names its remedy.
class Findings {
 public:
  void fine(const std::string& what, const std::string& found) { findings_.push_back({what, found, ""}); }
  void note(const std::string& what, const std::string& found) { findings_.push_back({what, found, "", "note"}); }
  void problem(const std::string& what, const std::string& found, const std::string& remedy) { findings_.push_back({what, found, remedy}); }
  int code() const {
    return std::all_of(findings_.begin(), findings_.end(), [](const Finding& f) { return f.remedy.empty(); }) ? exit_ok : exit_problems_found;
  }
  void print_lines() const {
    for (const Finding& f : findings_)
      std::printf("%-8s %-12s %s%s\n", f.word, f.what.c_str(), f.found.c_str(), f.remedy.empty() ? "" : (" (" + f.remedy + ")").c_str());
  }
  void print_json() const {
    Json list = Json::array();
    for (const Finding& f : findings_) list.push_back({{"what", f.what}, {"ok", f.remedy.empty()}, {"found", f.found}, {"remedy", f.remedy}});
    const Json all = {{"version", SLUICE_VERSION}, {"ok", code() == exit_ok}, {"findings", list}};
    print(all);
  }

 private:
  struct Finding {
    std::string what, found, remedy;  // no remedy: all is well
    const char* word = remedy.empty() ? "ok" : "PROBLEM";
  };
  std::vector<Finding> findings_;
};

void look_at_processors(Findings& findings) {
  const Machine machine = describe_machine();
  std::string features;
  for (const std::string& feature : machine.features) features += (features.empty() ? "" : ", ") + feature;
  findings.fine("system", machine.operating_system);
  findings.fine("processor",
                machine.processor + (features.empty() ? ": no instruction set that the kernels know, portable code is used" : ": " + features));
  const HostLimits limits = host_limits();
  std::string cpus = std::to_string(limits.usable_cpus()) + " usable (" + std::to_string(limits.cpus_online) + " online, affinity " +
                     std::to_string(limits.cpus_affinity);
  cpus += limits.cpus_cgroup > 0 ? ", cgroup " + std::to_string(limits.cpus_cgroup).substr(0, 5) + ")" : ", no cgroup limit)";
  findings.fine("threads", cpus);
  const std::string memory = bytes_text(static_cast<double>(limits.usable_memory())) + " usable (" +
                             bytes_text(static_cast<double>(limits.memory_total)) + " in the machine, " +
                             (limits.memory_cgroup > 0 ? "cgroup " + bytes_text(static_cast<double>(limits.memory_cgroup)) : "no cgroup limit") +
                             "); default budget " + bytes_text(static_cast<double>(default_memory_budget(limits.usable_cpus())));
  // Below this the smallest budget and a reference genome do not fit together.
  constexpr std::uint64_t least_memory = std::uint64_t{256} << 20;
  if (limits.usable_memory() < least_memory)
    findings.problem("memory", memory, "raise the limit to 256 MiB or more");
  else
    findings.fine("memory", memory);
}

void look_at_devices(const Registry& registry, Findings& findings) {
  const auto providers = registry.device_providers();
  if (providers.empty()) findings.fine("gpu", "none: no plugin is there that knows devices (this sluice was built without CUDA)");
  for (const sluice_device_provider* provider : providers) {
    const int count = provider->count();
    std::size_t lines = 0;
    if (provider->finding != nullptr)
      while (const char* line = provider->finding(lines)) {
        findings.fine(provider->kind, line);
        ++lines;
      }
    if (count <= 0 && lines == 0) findings.fine(provider->kind, "no device found");
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      sluice_device_info info{};
      info.struct_size = sizeof info;
      sluice_error error{};
      const std::string name = std::string(provider->kind) + ":" + std::to_string(ordinal);
      if (provider->describe(ordinal, &info, &error) == SLUICE_OK)
        findings.fine(name, std::string(info.name) + ", " + bytes_text(static_cast<double>(info.memory_bytes)) + ", " +
                                bytes_text(info.bytes_per_second) + "/s to the device");
      else
        findings.problem(name, error.message, error.remedy[0] != '\0' ? error.remedy : "check the driver");
    }
  }
}

void look_at_profile(Findings& findings) {
  const auto file = default_profile_file();
  const LoadedProfile loaded = load_profile(file);
  if (!loaded.problem.empty())
    findings.fine("profile", loaded.problem);
  else if (loaded.profile.costs().empty())
    findings.fine("profile", "none: runs learn what stages cost (`sluice bench PIPELINE --calibrate` writes one)");
  else
    findings.fine("profile", file.string() + ", " + count_text(loaded.profile.costs().size(), "cost") + " of " + loaded.profile.date);
}

void look_at_plugins(const Registry& registry, const std::vector<std::string>& plugin_dirs, Findings& findings) {
  if (registry.plugins().empty()) {
    std::string searched;
    for (const auto& folder : Registry::search_path({plugin_dirs.begin(), plugin_dirs.end()}))
      searched += (searched.empty() ? "" : ", ") + folder.string();
    findings.problem("plugins", "none found in " + searched, "install the plugins, or name their folder with --plugin-dir");
  } else {
    findings.fine("plugins", count_text(registry.plugins().size(), "plugin") + ", " + count_text(registry.stages().size(), "stage"));
  }
  for (const PluginProblem& problem : registry.problems())
    findings.problem("plugin", problem.file.string() + ": " + problem.reason, "rebuild or remove it");
  findings.fine("pipelines", count_text(shipped_pipelines().size(), "pipeline"));
}

// Which shipped pipelines this machine has the memory for beside a large genome.
void look_at_genomes(Findings& findings) {
  constexpr double human_bases = 3.1e9;
  const auto usable = static_cast<double>(host_limits().usable_memory());
  std::string fitting;
  for (const auto& file : shipped_pipelines()) {
    Diagnostics unheard;
    const WrittenPipeline pipeline = load_pipeline_file(file, unheard);
    const std::optional<double> bytes = memory_beside(pipeline.memory, human_bases);
    if (!bytes) continue;
    const std::string needs = pipeline.name + " needs " + bytes_text(*bytes);
    if (*bytes <= usable)
      fitting += (fitting.empty() ? "" : ", ") + needs;
    else
      findings.note("too large",
                    needs + " beside a genome of human size, and this machine has " + bytes_text(usable) + ": " + pipeline.memory.advice);
  }
  findings.fine("fits", "beside a genome of human size, with one thread: " + (fitting.empty() ? "none" : fitting));
}

void look_at_temporary_folder(Findings& findings) {
  std::error_code error;
  const auto folder = std::filesystem::temp_directory_path(error);
  if (error)
    return findings.problem("temporary", "there is no folder for temporary files: " + error.message(),
                            "set TMPDIR to a folder that you may write to");
  const auto space = std::filesystem::space(folder, error);
  const std::string found = folder.string() + ", " + bytes_text(static_cast<double>(space.available)) + " free";
  // A gzip'ed FASTQ is unpacked there once; a small run's has some hundred megabytes.
  constexpr std::uintmax_t least_space = std::uintmax_t{512} << 20;
  if (error)
    findings.problem("temporary", folder.string() + ": " + error.message(), "set TMPDIR to a folder that you may write to");
  else if (space.available < least_space)
    findings.problem("temporary", found, "free space, or set TMPDIR to a larger disk");
  else
    findings.fine("temporary", found);
}

}  // namespace

int doctor_command(const Arguments& arguments) {
  CLI::App app("looks at this machine: processors, memory, devices, plugins; returns 1 when something is wrong", "sluice doctor");
  std::vector<std::string> plugin_dirs;
  bool as_json = false;
  add_plugin_dir(app, plugin_dirs);
  app.add_flag("--json", as_json, "a JSON object instead");
  if (const auto ended = parse_options(app, arguments)) return *ended;
  const Registry registry = load_plugins(plugin_dirs);
  Findings findings;
  look_at_processors(findings);
  look_at_devices(registry, findings);
  look_at_profile(findings);
  look_at_plugins(registry, plugin_dirs, findings);
  look_at_temporary_folder(findings);
  look_at_genomes(findings);
  if (as_json)
    findings.print_json();
  else
    findings.print_lines();
  return findings.code();
}

}  // namespace sluice::cli
