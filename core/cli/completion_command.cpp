// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdio>

#include "cli/exit_code.hpp"
#include "cli/pipeline_arguments.hpp"
#include "cli/run_options.hpp"

namespace sluice::cli {
namespace {

// The script asks the program for words, so that it knows new pipelines and plugins without being written again.
constexpr const char* bash_script = R"bash(# bash completion of sluice: source <(sluice completion bash)
_sluice() {
  local current="${COMP_WORDS[COMP_CWORD]}"
  local words
  words="$(sluice completion words "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ "$current" != -* ]]; then COMPREPLY+=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _sluice sluice
)bash";

void print_options(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) std::printf("--%s\n", name.c_str());
}

// What may stand behind `before`: commands, then pipelines or stages, then options.
void print_words(const Arguments& before) {
  if (before.empty()) {
    for (const Command& command : commands()) std::printf("%s\n", command.name);
    return;
  }
  const std::string& command = before.front();
  if (command == "inspect") {
    const Registry registry = load_plugins({});
    for (const StageEntry& stage : registry.stages()) std::printf("%s\n", stage.descriptor->id);
  }
  if (command != "run" && command != "check" && command != "plan" && command != "bench") return;
  CLI::App app;
  RunArguments options;
  if (command == "run" || command == "bench") options.add_to(app);
  print_options(app);
  std::printf("--set\n--device\n--plugin-dir\n");
  if (before.size() == 1) {
    for (const auto& file : shipped_pipelines()) std::printf("%s\n", file.stem().c_str());
    return;
  }
  Diagnostics diagnostics;  // half a command line is no occasion for messages
  const auto file = find_pipeline(before[1], diagnostics);
  if (file.empty()) return;
  const WrittenPipeline pipeline = load_pipeline_file(file, diagnostics);
  for (const PipelineParameter& parameter : pipeline.parameters) std::printf("--%s\n", kebab_case(parameter.name).c_str());
}

}  // namespace

int completion_command(const Arguments& arguments) {
  if (!arguments.empty() && arguments.front() == "words") return print_words({arguments.begin() + 1, arguments.end()}), exit_ok;
  CLI::App app("prints the completion script of a shell", "sluice completion");
  std::string shell;
  app.add_option("shell", shell, "bash: source <(sluice completion bash)")->type_name("SHELL");
  if (const auto ended = parse_options(app, arguments)) return *ended;
  if (shell != "bash")
    return print_error(app, shell.empty() ? "no shell is named" : "there is no completion for '" + shell + "'", "sluice completion bash"), exit_usage;
  std::fputs(bash_script, stdout);
  return exit_ok;
}

}  // namespace sluice::cli
