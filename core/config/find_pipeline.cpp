// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdlib>
#include <set>
#include <sluice/failure.hpp>
#include <sluice/folder.hpp>

#include "config/pipeline.hpp"
#include "config/pipeline_file.hpp"
#include "machine/own_folder.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> pipeline_folders() {
  std::vector<fs::path> folders;
  // The standard says that a relative path in XDG_CONFIG_HOME is to be ignored: nothing is found in whatever folder a run is begun in.
  if (const char* home = std::getenv("XDG_CONFIG_HOME"); home != nullptr && *home == '/')
    folders.push_back(fs::path(home) / "sluice/pipelines");
  else if (const char* user = std::getenv("HOME"); user != nullptr && *user == '/')
    folders.push_back(fs::path(user) / ".config/sluice/pipelines");
  if (const char* list = std::getenv("SLUICE_PIPELINE_PATH")) {
    std::string_view rest = list;
    while (!rest.empty()) {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      if (colon > 0) folders.emplace_back(rest.substr(0, colon));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  }
  if (const fs::path own = own_folder(); !own.empty()) {                            // without /proc only the other folders are searched
    folders.push_back(own / "pipelines");                                           // build tree
    folders.push_back(own.parent_path() / "share/sluice/pipelines");                // installed: in bin/ or lib/
    folders.push_back(own.parent_path().parent_path() / "share/sluice/pipelines");  // in lib/x86_64-linux-gnu/
  }
  return folders;
}

bool is_readable_file(const fs::path& path) {
  std::error_code ignored;  // what cannot be asked about is not there
  const auto status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_directory(status);
}

// What is found in a folder, not named by the user: nothing that reading could wait for.
bool is_found_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// Files *.toml of a folder, by name.
std::vector<fs::path> pipeline_files_in(const fs::path& folder) {
  std::vector<fs::path> here;
  const std::error_code error = for_each_entry(folder, [&here](const fs::path& file) {
    if (file.extension() == ".toml" && is_found_file(file)) here.push_back(file);
  });
  // A pipeline that is there is not to be called unknown because the process may open no more files.
  if (error == std::errc::too_many_files_open || error == std::errc::too_many_files_open_in_system || error == std::errc::not_enough_memory)
    throw Failure::input("cannot read the folder of pipelines '" + folder.string() + "': " + error.message());
  std::sort(here.begin(), here.end());
  return here;
}

// The pipeline of a later folder that is not found because of this one; "": there is none.
fs::path hidden_by(const fs::path& file) {
  std::error_code error;
  for (const fs::path& folder : pipeline_folders())
    if (const fs::path other = folder / file.filename(); is_found_file(other) && !fs::equivalent(other, file, error)) return other;
  return {};
}

// Fragments of pipelines lie apart from the pipelines, so that they are not taken for some.
constexpr const char* fragment_folder = "parts";

}  // namespace

std::vector<fs::path> shipped_pipelines() {
  std::vector<fs::path> found;
  std::set<std::string> names;  // an earlier folder hides a later one's pipeline of the same name
  for (const fs::path& folder : pipeline_folders())
    for (const fs::path& file : pipeline_files_in(folder))
      if (names.insert(file.stem().string()).second) found.push_back(file);
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) { return a.stem() < b.stem(); });
  return found;
}

fs::path find_pipeline(const std::string& name_or_file, Diagnostics& diagnostics, const Location& where) {
  // Never by what happens to lie in the working directory: a file of reads called "map" must not hide the pipeline.
  if (is_pipeline_path(name_or_file)) {
    if (is_readable_file(name_or_file)) return name_or_file;
    diagnostics.error(where, "", "there is no pipeline file '" + name_or_file + "'", "check the path");
    return {};
  }
  std::vector<std::string> names;
  for (const fs::path& file : shipped_pipelines()) {
    if (file.stem() == name_or_file) {
      if (const fs::path other = hidden_by(file); !other.empty())
        diagnostics.warning(where, "", "'" + name_or_file + "' is '" + file.string() + "', which hides '" + other.string() + "'",
                            "name the file that is meant, or rename the first");
      return file;
    }
    names.push_back(file.stem().string());
  }
  const std::string near = nearest_name(name_or_file, names);
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  diagnostics.error(where, "", "there is no pipeline '" + name_or_file + "'",
                    is_readable_file(name_or_file) ? "a file is named by a path: write './" + name_or_file + "'"
                    : !near.empty()                ? "did you mean '" + near + "'?"
                    : all.empty()                  ? "give the path of a .toml file"
                                                   : "give a .toml file or one of: " + all);
  return {};
}

std::optional<PeerCommand> peer_command(const std::vector<std::string>& words) {
  std::string typed;
  for (const std::string& word : words) typed += word + " ";
  std::string name = words.front();
  std::replace(name.begin(), name.end(), '-', '_');
  std::optional<PeerCommand> best;
  Diagnostics ignored;  // of files of the user's own; `sluice check` tells
  for (const fs::path& file : shipped_pipelines()) {
    const std::string own = file.stem().string();
    if (own == name) return PeerCommand{own, "", 1};
    for (const auto& [command, answer] : load_pipeline_file(file, ignored).peers) {
      const auto count = static_cast<std::size_t>(std::count(command.begin(), command.end(), ' ')) + 1;
      if (typed.starts_with(command + " ") && (!best || count > best->words)) best = PeerCommand{own, answer, count};
    }
  }
  return best;
}

fs::path find_fragment(const std::string& name_or_file, const fs::path& from, Diagnostics& diagnostics, const Location& where) {
  const fs::path name = name_or_file.ends_with(".toml") ? name_or_file : name_or_file + ".toml";
  std::vector<fs::path> folders = {from.parent_path(), from.parent_path() / fragment_folder};
  if (name.is_absolute())
    folders = {"/"};
  else
    for (const fs::path& folder : pipeline_folders()) folders.push_back(folder / fragment_folder);
  std::vector<std::string> names;
  for (const fs::path& folder : folders) {
    if (is_found_file(folder / name)) return folder / name;
    if (!name.is_absolute())
      for (const fs::path& file : pipeline_files_in(folder.empty() ? "." : folder)) names.push_back(file.filename().string());
  }
  const std::string near = nearest_name(name.string(), names);
  diagnostics.error(where, "", "there is no file '" + name_or_file + "' to include",
                    near.empty() ? "give its path, seen from this file, or the name of a file in a folder parts/ where pipelines are looked for"
                                 : "did you mean '" + near + "'?");
  return {};
}

}  // namespace sluice
