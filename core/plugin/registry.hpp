// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Finds and loads plugins, and says exactly why one could not be loaded.

#include <sluice/abi.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/descriptor.hpp"

namespace sluice {

struct LoadedPlugin {
  std::filesystem::path file;
  const sluice_plugin_info* info = nullptr;
};

// A stage type and where it comes from. Valid for the life of the process: plugins are never unloaded.
struct StageEntry {
  const sluice_stage_descriptor* descriptor = nullptr;  // the host's copy
  const sluice_plugin_info* plugin = nullptr;
  std::size_t index = 0;  // the plugin's number for it
  // Of stages that a plugin has made of what a pipeline names (config/made_stage.hpp): that, the folder of the file that says so, and how it
  // describes itself. Else null.
  const char *made_of = nullptr, *made_in = nullptr, *made_as = nullptr;
};

struct PluginProblem {
  std::filesystem::path file;
  std::string reason;
};

class Registry {
 public:
  // --plugin-dir (in order), SLUICE_PLUGIN_PATH, the user's folder, the folder beside the program or the installed one; never the
  // working directory. A folder named twice is read once.
  static std::vector<std::filesystem::path> search_path(const std::vector<std::filesystem::path>& plugin_dirs);

  // Throws std::system_error where memory is short; every other trouble with a file is one of problems().
  void load_folder(const std::filesystem::path& folder);
  void load_file(const std::filesystem::path& file);
  // [async-signal-safe] What this thread is loading; null: nothing.
  static const char* file_being_loaded();
  // A plugin whose code is there already: just loaded, or (in tests) part of the program.
  void add(sluice_plugin_init_function init, const std::filesystem::path& origin);

  const StageEntry* find(std::string_view id) const;
  // The files that define a stage of this name. More than one: nobody can say which is meant, so no pipeline may use it.
  std::vector<std::filesystem::path> definitions_of(std::string_view id) const;
  const std::vector<StageEntry>& stages() const { return stages_; }  // sorted by id
  const std::vector<LoadedPlugin>& plugins() const { return plugins_; }
  const std::vector<PluginProblem>& problems() const { return problems_; }
  std::vector<const sluice_device_provider*> device_providers() const;

 private:
  void add_problem(const std::filesystem::path& file, const std::string& reason) { problems_.push_back({file, reason}); }
  std::vector<LoadedPlugin> plugins_;
  std::vector<StageEntry> stages_;
  std::vector<PluginProblem> problems_;
};

}  // namespace sluice
