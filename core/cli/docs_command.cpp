// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <sluice/folder.hpp>
#include <utility>
#include <vector>

#include "cli/manual_page.hpp"
#include "cli/pipeline_arguments.hpp"
#include "cli/stage_page.hpp"
#include "machine/atomic_file.hpp"
#include "session/exit_code.hpp"

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;
using Pages = std::map<std::string, std::string>;  // path inside the folder -> content

constexpr const char* generated = "<!-- Written by `sluice docs` from the descriptors: change the plugin or the pipeline, not this file. -->\n\n";

// Where to begin: the stages in the order in which rows meet them, and the pipelines.
std::string index_page(const Registry& registry, const std::vector<WrittenPipeline>& pipelines) {
  constexpr std::pair<sluice_stage_kind, const char*> kinds[] = {{SLUICE_SOURCE, "Sources: where rows come from"},
                                                                 {SLUICE_MAP, "Maps: add columns to rows"},
                                                                 {SLUICE_REGROUP, "Regroups: make other rows of them"},
                                                                 {SLUICE_SINK, "Sinks: write rows"},
                                                                 {SLUICE_RESOURCE, "Resources: what all rows share"}};
  std::string page = "# Stages and pipelines\n\n";
  for (const auto& [kind, title] : kinds) {
    std::string lines;
    for (const StageEntry& stage : registry.stages())
      if (stage.descriptor->kind == kind)
        lines += std::string("- [") + stage.descriptor->id + "](stages/" + stage.descriptor->id + ".md): " + stage.descriptor->summary + "\n";
    if (!lines.empty()) page += std::string("## ") + title + "\n\n" + lines + "\n";
  }
  page += "## Pipelines\n\n";
  for (const WrittenPipeline& pipeline : pipelines) {
    const std::string name = pipeline.file.stem().string();
    page += "- [" + name + "](pipelines/" + name + ".md): " + pipeline.summary + "\n";
  }
  return page;
}

Pages all_pages(const Registry& registry, Diagnostics& diagnostics) {
  Pages pages;
  std::vector<WrittenPipeline> written;
  std::string stages = "# Stages\n\n", pipelines = "# Pipelines\n\n";
  for (const StageEntry& stage : registry.stages()) {
    const std::string id = stage.descriptor->id;
    pages["stages/" + id + ".md"] = generated + stage_page(stage);
    stages += "- [" + id + "](" + id + ".md) (" + kind_name(stage.descriptor->kind) + "): " + stage.descriptor->summary + "\n";
  }
  for (const fs::path& file : shipped_pipelines()) {
    const WrittenPipeline& pipeline = written.emplace_back(load_pipeline_file(file, diagnostics));
    const std::string name = file.stem().string();
    pages["pipelines/" + name + ".md"] = generated + pipeline_page(pipeline);
    pipelines += "- [" + name + "](" + name + ".md): " + pipeline.summary + "\n";
  }
  pages["index.md"] = generated + index_page(registry, written);
  pages["stages/README.md"] = generated + stages;
  pages["pipelines/README.md"] = generated + pipelines;
  return pages;
}

Pages manual_pages() {
  Pages pages = {{"sluice.1", manual_page(SLUICE_VERSION)}};
  Diagnostics ignored;  // of files of the user's own; `sluice check` tells
  for (const fs::path& file : shipped_pipelines())
    pages["sluice-" + file.stem().string() + ".1"] = manual_page(SLUICE_VERSION, load_pipeline_file(file, ignored));
  return pages;
}

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// Pages in the folder that no stage or pipeline has any more.
std::vector<fs::path> leftovers(const fs::path& folder, const Pages& pages) {
  std::vector<fs::path> result;
  for (const char* part : {"stages", "pipelines"})
    for_each_entry(folder / part, [&](const fs::path& file) {
      if (file.extension() == ".md" && !pages.contains(std::string(part) + "/" + file.filename().string())) result.push_back(file);
    });
  return result;
}

int compare(const fs::path& folder, const Pages& pages) {
  int code = exit_ok;
  const auto report = [&](const fs::path& file, const char* what) {
    std::fprintf(stderr, "%s: %s (run 'sluice docs %s')\n", file.c_str(), what, folder.c_str());
    code = exit_problems_found;
  };
  for (const auto& [path, content] : pages)
    if (content_of(folder / path) != content) report(folder / path, fs::exists(folder / path) ? "is out of date" : "is missing");
  for (const fs::path& file : leftovers(folder, pages)) report(file, "describes nothing that is there");
  return code;
}

int write(const CLI::App& app, const fs::path& folder, const Pages& pages) {
  for (const auto& [path, content] : pages) {
    std::error_code error;
    fs::create_directories((folder / path).parent_path(), error);
    const std::string problem =
        error ? "'" + (folder / path).parent_path().string() + "' cannot be made: " + error.message() : write_atomically(folder / path, content);
    if (!problem.empty()) return print_error(app, problem, "choose a folder that you may write to"), exit_failed;
  }
  for (const fs::path& file : leftovers(folder, pages)) std::fprintf(stderr, "%s: describes nothing that is there (remove it)\n", file.c_str());
  std::printf("%zu pages in %s\n", pages.size(), folder.c_str());
  return exit_ok;
}

}  // namespace

int docs_command(const Arguments& arguments) {
  CLI::App app("writes the pages of all stages and shipped pipelines as Markdown", "sluice docs");
  std::vector<std::string> plugin_dirs;
  std::string folder;
  bool check = false, manual = false;
  app.add_option("folder", folder, "index.md, stages/ and pipelines/ are written here, or the manual pages")->type_name("FOLDER");
  app.add_flag("--check", check, "write nothing; return 1 when a page is missing or out of date");
  app.add_flag("--manual", manual, "print the manual page sluice(1) instead; with a folder: write it, and sluice-PIPELINE(1) of every pipeline");
  add_plugin_dir(app, plugin_dirs);
  if (const auto ended = parse_options(app, arguments)) return *ended;
  if (manual && folder.empty()) return std::fputs(manual_page(SLUICE_VERSION).c_str(), stdout), exit_ok;
  if (manual) return write(app, folder, manual_pages());
  if (folder.empty()) return print_error(app, "no folder is named", "sluice docs FOLDER"), exit_usage;

  const Registry registry = load_plugins(plugin_dirs);
  Diagnostics diagnostics;
  const Pages pages = all_pages(registry, diagnostics);
  print(diagnostics);
  if (diagnostics.has_errors()) return exit_usage;
  return check ? compare(folder, pages) : write(app, folder, pages);
}

}  // namespace sluice::cli
