// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "plugin/registry.hpp"

#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "plugin/elf_extent.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// Descriptors, code and static data of a plugin are used until the last moment of the process (batches release their columns through it), and no
// order of unloading would be safe.
void keep_for_ever(std::unique_ptr<boost::dll::shared_library> library) {
  static std::mutex guards_libraries;
  static auto& libraries = *new std::vector<std::unique_ptr<boost::dll::shared_library>>;  // never destroyed
  const std::lock_guard lock(guards_libraries);
  libraries.push_back(std::move(library));
}

// What is wrong with a plugin's own description of itself; "" if nothing. The host trusts descriptors after this.
std::string check_info(const sluice_plugin_info& info) {
  if (info.abi_major != SLUICE_ABI_MAJOR || info.abi_minor > SLUICE_ABI_MINOR)
    return "was built for ABI " + std::to_string(info.abi_major) + "." + std::to_string(info.abi_minor) + ", this sluice has " +
           std::to_string(SLUICE_ABI_MAJOR) + "." + std::to_string(SLUICE_ABI_MINOR) + " (rebuild it with this sluice's SDK)";
  if (info.struct_size < sizeof(sluice_plugin_info))
    return "has a sluice_plugin_info of " + std::to_string(info.struct_size) + " bytes, at least " + std::to_string(sizeof(sluice_plugin_info)) +
           " are needed";
  if (info.name == nullptr || info.version == nullptr || info.create == nullptr || (info.stage_count > 0 && info.stages == nullptr))
    return "has an incomplete sluice_plugin_info";
  for (std::size_t i = 0; i < info.stage_count; ++i) {
    const sluice_stage_descriptor* d = info.stages[i];
    if (d == nullptr || d->struct_size < offsetof(sluice_stage_descriptor, feedback) || d->id == nullptr || d->summary == nullptr)
      return "has an incomplete descriptor for stage " + std::to_string(i);
    const std::string who = std::string("stage '") + d->id + "': ";
    if (d->kind < SLUICE_SOURCE || d->kind > SLUICE_RESOURCE) return who + "unknown kind " + std::to_string(d->kind);
    if (d->implementation_count == 0 && d->kind != SLUICE_SINK) return who + "offers no implementation";
    const bool reads = d->kind == SLUICE_MAP || d->kind == SLUICE_REGROUP || d->kind == SLUICE_SINK;
    if (reads && d->input.row_type == nullptr) return who + "no input row type";
    if (d->kind != SLUICE_SINK && d->output.row_type == nullptr) return who + "no output row type";
    if ((d->traits & SLUICE_TRAIT_ORDERED) != 0 && (d->kind != SLUICE_MAP || (d->traits & SLUICE_TRAIT_BLOCKING) != 0))
      return who + "only a map that does not block can be ordered";
    if (feedback_port(*d).row_type != nullptr && d->kind != SLUICE_SOURCE && d->kind != SLUICE_REGROUP)
      return who + "only sources and regroups take feedback";
    for (const sluice_parameter_role& role : roles_of(*d))
      if (role.parameter >= d->parameter_count) return who + "a role of a parameter that it does not have";
    for (std::size_t p = 0; p < d->parameter_count; ++p)
      if (d->parameters[p].name == nullptr || d->parameters[p].help == nullptr) return who + "a parameter without name or help";
  }
  return {};
}

fs::path program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : program.parent_path();
}

}  // namespace

const char* kind_name(sluice_stage_kind kind) {
  switch (kind) {
    case SLUICE_SOURCE:
      return "source";
    case SLUICE_MAP:
      return "map";
    case SLUICE_REGROUP:
      return "regroup";
    case SLUICE_SINK:
      return "sink";
    case SLUICE_RESOURCE:
      return "resource";
    default:
      return "unknown";
  }
}

sluice_port feedback_port(const sluice_stage_descriptor& descriptor) {
  return SLUICE_HAS(&descriptor, sluice_stage_descriptor, feedback) ? descriptor.feedback : sluice_port{};
}

std::vector<fs::path> Registry::search_path(const std::vector<fs::path>& plugin_dirs) {
  std::vector<fs::path> result = plugin_dirs;
  if (const char* list = std::getenv("SLUICE_PLUGIN_PATH")) {
    const std::string paths = list;
    for (std::size_t begin = 0; begin <= paths.size();) {
      const std::size_t end = std::min(paths.find(':', begin), paths.size());
      // An empty entry would mean the working directory, which is never searched.
      if (end > begin) result.emplace_back(paths.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && *data == '/')
    result.push_back(fs::path(data) / "sluice/plugins");
  else if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    result.push_back(fs::path(home) / ".local/share/sluice/plugins");
  if (const fs::path program = program_folder(); !program.empty()) {
    result.push_back(program / "plugins");
#ifdef SLUICE_INSTALLED_PLUGINS
    result.push_back(program / SLUICE_INSTALLED_PLUGINS);
#endif
  }
  return result;
}

std::span<const sluice_parameter_role> roles_of(const sluice_stage_descriptor& descriptor) {
  if (!SLUICE_HAS(&descriptor, sluice_stage_descriptor, roles)) return {};
  return {descriptor.roles, descriptor.role_count};
}

void Registry::load_folder(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".so") files.push_back(it->path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) load_file(file);
}

void Registry::load_file(const fs::path& file) {
  std::error_code error;
  const fs::path exact = fs::canonical(file, error);
  if (error) {
    problems_.push_back({file, "cannot be read: " + error.message()});
    return;
  }
  if (std::any_of(plugins_.begin(), plugins_.end(), [&](const LoadedPlugin& plugin) { return plugin.file == exact; })) return;
  if (std::string problem = elf_problem(exact); !problem.empty()) {
    problems_.push_back({exact, problem});
    return;
  }
  auto library = std::make_unique<boost::dll::shared_library>();
  boost::dll::fs::error_code load_error;
  library->load(boost::dll::fs::path(exact.string()), boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local, load_error);
  if (load_error) {
    // Boost keeps only a generic code; the loader's own words name the missing symbol or library.
    std::string reason = load_error.message();
    try {
      boost::dll::shared_library again(boost::dll::fs::path(exact.string()), boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
    } catch (const std::exception& exception) {
      reason = exception.what();
    }
    problems_.push_back({exact, "cannot be loaded: " + reason});
    return;
  }
  if (!library->has(SLUICE_PLUGIN_SYMBOL)) {
    problems_.push_back({exact, "is not a sluice plugin: it exports no '" SLUICE_PLUGIN_SYMBOL "'"});
    return;
  }
  const auto& info = library->get<const sluice_plugin_info>(SLUICE_PLUGIN_SYMBOL);
  keep_for_ever(std::move(library));
  add(info, exact);
}

void Registry::add(const sluice_plugin_info& info, const fs::path& origin) {
  if (std::string problem = check_info(info); !problem.empty()) {
    problems_.push_back({origin, problem});
    return;
  }
  for (std::size_t i = 0; i < info.stage_count; ++i)
    for (const fs::path& other : definitions_of(info.stages[i]->id))
      problems_.push_back({origin, std::string("defines stage '") + info.stages[i]->id + "', as " + other.string() +
                                       " does: no pipeline can use it before one of them is removed"});
  plugins_.push_back({origin, &info});
  for (std::size_t i = 0; i < info.stage_count; ++i) stages_.push_back({info.stages[i], &info, i});
  std::sort(stages_.begin(), stages_.end(),
            [](const StageEntry& a, const StageEntry& b) { return std::string_view(a.descriptor->id) < b.descriptor->id; });
}

const StageEntry* Registry::find(std::string_view id) const {
  for (const StageEntry& stage : stages_)
    if (id == stage.descriptor->id) return &stage;
  return nullptr;
}

std::vector<fs::path> Registry::definitions_of(std::string_view id) const {
  std::vector<fs::path> files;
  for (const StageEntry& stage : stages_)
    if (id == stage.descriptor->id)
      for (const LoadedPlugin& plugin : plugins_)
        if (plugin.info == stage.plugin) files.push_back(plugin.file);
  return files;
}

std::vector<const sluice_device_provider*> Registry::device_providers() const {
  std::vector<const sluice_device_provider*> result;
  for (const LoadedPlugin& plugin : plugins_)
    if (plugin.info->get_extension != nullptr)
      if (const void* extension = plugin.info->get_extension(SLUICE_EXTENSION_DEVICE))
        result.push_back(static_cast<const sluice_device_provider*>(extension));
  return result;
}

}  // namespace sluice
