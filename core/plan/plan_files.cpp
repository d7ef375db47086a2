// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "plan/plan_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <sluice/failure.hpp>
#include <sluice/input_files.hpp>
#include <sluice/staged_file.hpp>
#include <span>
#include <tuple>

namespace sluice {
namespace {

namespace fs = std::filesystem;

// What two spellings of one file have in common: device and inode, or those of the folder and the name in it for what does not exist yet.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;  // "" if the file exists
  mode_t mode = 0;   // 0 if it does not
  auto key() const { return std::tie(device, inode, name); }
};

std::optional<Identity> identity_of(const std::string& path, FileUse use) {
  struct stat info {};
  if (path == "-") {
    if (::fstat(use == FileUse::reads ? STDIN_FILENO : STDOUT_FILENO, &info) != 0) return std::nullopt;
    return Identity{info.st_dev, info.st_ino, "", info.st_mode};
  }
  if (::stat(path.c_str(), &info) == 0) return Identity{info.st_dev, info.st_ino, "", info.st_mode};
  const fs::path target = followed(path), folder = target.parent_path().empty() ? "." : target.parent_path();
  if (::stat(folder.c_str(), &info) != 0) return std::nullopt;  // an output there cannot be made, which is said when it is tried
  return Identity{info.st_dev, info.st_ino, target.filename().string(), 0};
}

// May two uses share it? Terminals and /dev/null take everything, and both ends of a connection are one socket.
bool may_be_shared(const Identity& identity) { return S_ISCHR(identity.mode) || S_ISSOCK(identity.mode); }

bool is_remote(const std::string& path) { return path.find("://") != std::string::npos; }

// What is named must be there, also where files are followed that may come later.
std::vector<std::string> missing_files(const std::string& text) {
  std::vector<std::string> missing;
  for (const std::string& name : input_files_detail::words(text, "\n"))
    if (name.front() != '@' && name.find_first_of("*?[") == std::string::npos && !input_files_detail::exists(name)) missing.push_back(name);
  return missing;
}

// The files that a parameter names: one, or those of several inputs. `problem`: why these can't be found.
std::vector<std::string> named_files(const ResolvedStage& stage, std::size_t parameter, const char* text, FileProblem& problem) {
  const sluice_stage_descriptor& d = *stage.entry.descriptor;
  for (const sluice_parameter_role& role : std::span(d.roles, d.role_count)) {
    if (role.parameter != parameter || role.role != SLUICE_ROLE_SEVERAL) continue;
    try {
      return input_files(text, role.suffix == nullptr ? "" : role.suffix);
    } catch (const Failure& failure) {
      std::vector<std::string> missing = missing_files(text);
      if (follows(stage) || !missing.empty()) return missing;  // each of them is said
      problem = {failure.what(), failure.remedy()};
    }
  }
  return {text};
}

// Why a file can't be written where it is to be. Nothing is created.
FileProblem problem_of_output(const PlannedFile& file) {
  struct stat info {};
  if (file.use != FileUse::writes || !file.declared || file.side || file.path == "-" || is_remote(file.path) || file.path.ends_with('/')) return {};
  const fs::path target = followed(file.path), folder = target.parent_path().empty() ? "." : target.parent_path();
  if (::stat(file.path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return {"'" + file.path + "' is a folder", "name a file in it: " + file.path + "/NAME"};
  if (::stat(folder.c_str(), &info) != 0) return {"there is no folder '" + folder.string() + "' for it", "mkdir -p " + folder.string()};
  if (!S_ISDIR(info.st_mode)) return {"'" + folder.string() + "' is no folder", "check the path"};
  if (is_special_file(file.path) || ::access(folder.c_str(), W_OK) == 0) return {};
  return {"cannot write into the folder '" + folder.string() + "': " + std::strerror(errno), "name a file in a folder that you may write to"};
}

// What lies beside an input is looked for without being named: a pipe there would be waited for.
FileProblem problem_of_side_input(const PlannedFile& file) {
  struct stat info {};
  if (file.use != FileUse::reads || !file.side || !file.declared) return {};
  if (::stat(file.path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return {};
  return {"'" + file.path + "' is not a regular file", "remove it"};
}

void check_presence(const std::vector<PlannedFile>& files, Diagnostics& diagnostics) {
  std::set<std::string> said;
  for (const PlannedFile& file : files) {
    struct stat info {};
    if (!file.problem.message.empty()) {
      if (said.insert(file.path).second) diagnostics.error(file.where, "", file.what + ": " + file.problem.message, file.problem.remedy);
      continue;
    }
    for (const FileProblem& problem : {problem_of_output(file), problem_of_side_input(file)})
      if (!problem.message.empty() && said.insert(problem.message).second)
        diagnostics.error(file.where, "", file.what + ": " + problem.message, problem.remedy);
    if (file.use != FileUse::reads || !file.declared || file.side || file.path == "-" || is_remote(file.path) ||
        ::stat(file.path.c_str(), &info) == 0)
      continue;
    const int reason = errno;
    if (said.insert(file.path).second)
      diagnostics.error(file.where, "", file.what + ": cannot open '" + file.path + "': " + std::strerror(reason), "check the path");
  }
}

}  // namespace

std::optional<FileUse> file_use(const ResolvedStage& stage, std::size_t parameter) {
  const sluice_stage_descriptor& d = *stage.entry.descriptor;
  if (d.parameters[parameter].type != SLUICE_PATH) return std::nullopt;
  FileUse use = d.kind == SLUICE_SINK ? FileUse::writes : FileUse::reads;  // what a path of such a stage usually is
  for (const sluice_parameter_role& role : std::span(d.roles, d.role_count))
    if (role.parameter == parameter && role.suffix == nullptr && (role.role == SLUICE_ROLE_READS || role.role == SLUICE_ROLE_WRITES))
      use = role.role == SLUICE_ROLE_WRITES ? FileUse::writes : FileUse::reads;
  return use;
}

std::vector<std::size_t> files_written_by(const ResolvedStage& stage) {
  std::vector<std::size_t> files;
  for (std::size_t i = 0; i < stage.entry.descriptor->parameter_count; ++i)
    if (file_use(stage, i) == FileUse::writes && stage.values[i].is_set != 0 && *stage.values[i].text != '\0') files.push_back(i);
  return files;
}

std::vector<PlannedFile> files_of(const ResolvedStage& stage, const char* kind) {
  std::vector<PlannedFile> files;
  const sluice_stage_descriptor& d = *stage.entry.descriptor;
  for (std::size_t i = 0; i < d.parameter_count && i < stage.values.size(); ++i) {
    if (d.parameters[i].type != SLUICE_PATH || stage.values[i].is_set == 0 || *stage.values[i].text == '\0') continue;
    FileProblem problem;
    for (const std::string& path : named_files(stage, i, stage.values[i].text, problem)) {
      PlannedFile file;
      file.problem = problem;
      file.path = path;
      file.what = !stage.given_by[i].empty() ? stage.given_by[i]
                                             : "parameter '" + std::string(d.parameters[i].name) + "' of " + kind + " '" + stage.name + "'";
      if (!stage.given_by[i].empty()) file.where = stage.given_at[i];
      file.use = d.kind == SLUICE_SINK ? FileUse::writes : FileUse::reads;
      std::vector<PlannedFile> side_files;
      for (const sluice_parameter_role& role : std::span(d.roles, d.role_count)) {
        if (role.parameter != i || (role.role != SLUICE_ROLE_READS && role.role != SLUICE_ROLE_WRITES)) continue;
        const FileUse use = role.role == SLUICE_ROLE_WRITES ? FileUse::writes : FileUse::reads;
        if (role.suffix == nullptr)
          file.use = use, file.declared = true;
        else if (file.path != "-")
          side_files.push_back(
              {file.path + role.suffix, use, true, true, "the " + std::string(role.suffix) + " file beside " + file.what, {}, file.where});
      }
      if (file.use == FileUse::writes && file.path != "-" && !is_special_file(file.path))
        side_files.push_back({file.path + ".partial", FileUse::writes, true, true, "what an interrupted run keeps of " + file.what, {}, file.where});
      files.push_back(std::move(file));
      files.insert(files.end(), side_files.begin(), side_files.end());
    }
  }
  return files;
}

std::vector<PlannedFile> files_of(const Plan& plan, const Registry& registry) {
  std::vector<PlannedFile> files;
  const auto add = [&files](std::vector<PlannedFile> more) { std::move(more.begin(), more.end(), std::back_inserter(files)); };
  for (const ResolvedStage& resource : plan.pipeline.resources) add(files_of(resource, "resource"));
  for (const ResolvedStage& stage : plan.pipeline.stages) add(files_of(stage, "stage"));
  files.push_back({plan.pipeline.file, FileUse::reads, false, true, "the pipeline"});
  for (const std::string& part : plan.pipeline.parts) files.push_back({part, FileUse::reads, false, true, "a part of the pipeline"});
  for (const LoadedPlugin& plugin : registry.plugins()) files.push_back({plugin.file.string(), FileUse::reads, false, true, "a plugin"});
  return files;
}

void check_files(const std::vector<PlannedFile>& files, Missing missing, Diagnostics& diagnostics, const char* remedy) {
  if (missing == Missing::error) check_presence(files, diagnostics);
  struct Seen {
    Identity identity;
    const PlannedFile* file;
  };
  std::vector<Seen> inputs, outputs;
  for (const PlannedFile& file : files)
    if (!is_remote(file.path))
      if (auto identity = identity_of(file.path, file.use); identity && !may_be_shared(*identity))
        (file.use == FileUse::writes ? outputs : inputs).push_back({std::move(*identity), &file});
  std::set<std::pair<std::string, std::string>> said;
  const auto refuse = [&](const Seen& output, const Seen& other, const char* what, std::ptrdiff_t more = 0) {
    if (!said.insert({output.file->what, other.file->what}).second) return;
    const std::string shown = output.file->path == other.file->path ? "" : " (there written '" + other.file->path + "')";
    diagnostics.error(output.file->where, "",
                      output.file->what + ": '" + output.file->path + "' is " + what + ", " + other.file->what + shown +
                          (more > 0 ? ", and of " + std::to_string(more) + " others" : ""),
                      remedy);
  };
  std::vector<std::string> named_twice;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (const Seen& input : inputs)
      if (StagedFile::is_left_behind(input.file->path, outputs[i].file->path) && said.insert({input.file->what, outputs[i].file->what}).second)
        diagnostics.error(input.file->where, "",
                          input.file->what + ": '" + input.file->path + "' is what a run that was ended has left of " + outputs[i].file->what +
                              ", and this one would remove it",
                          "rename it first");
    for (const Seen& input : inputs)
      if (outputs[i].identity.key() == input.identity.key()) refuse(outputs[i], input, "also an input");
    // One line for all of a name.
    const auto is_same = [&](const Seen& other) { return outputs[i].identity.key() == other.identity.key(); };
    const auto behind = outputs.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    if (std::any_of(outputs.begin(), behind - 1, is_same)) continue;
    // What goes with two outputs of one name needs no line of its own.
    const auto goes_with = [&](const std::string& name) { return outputs[i].file->side && outputs[i].file->path.starts_with(name); };
    if (std::any_of(named_twice.begin(), named_twice.end(), goes_with)) continue;
    const auto others = std::count_if(behind, outputs.end(), is_same);
    if (others > 0) named_twice.push_back(outputs[i].file->path);
    if (others > 0) refuse(*std::find_if(behind, outputs.end(), is_same), outputs[i], "also another output", others - 1);
  }
}

}  // namespace sluice
