// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdio>

#include "cli/completion_scripts.hpp"
#include "cli/pipeline_arguments.hpp"
#include "config/parameter_value.hpp"
#include "session/exit_code.hpp"

namespace sluice::cli {
namespace {

void offer(const std::string& word, const std::string& meaning = {}) {
  std::printf(meaning.empty() ? "%s\n" : "%s\t%s\n", word.c_str(), meaning.substr(0, meaning.find('\n')).c_str());
}

void offer_pipelines() {
  Diagnostics ignored;  // half a command line is no occasion for messages
  for (const auto& file : shipped_pipelines()) offer(file.stem().string(), load_pipeline_file(file, ignored).summary);
}

void offer_stages() {
  const Registry registry = load_plugins({});
  for (const StageEntry& stage : registry.stages()) offer(stage.descriptor->id, stage.descriptor->summary);
}

void offer_devices() {
  offer("auto", "what is expected to be fastest");
  offer("cpu");
  const Registry registry = load_plugins({});
  for (const sluice_device_provider* provider : registry.device_providers()) {
    if (provider->count() > 0) offer(provider->kind, "all of them");
    for (int ordinal = 0; ordinal < provider->count(); ++ordinal) offer(std::string(provider->kind) + ":" + std::to_string(ordinal));
  }
}

// "stages.NAME.params.PARAMETER=" for --set.
void offer_entries(const WrittenPipeline& pipeline) {
  const Registry registry = load_plugins({});
  for (const auto& [table, stages] : {std::pair("stages.", &pipeline.stages), std::pair("resources.", &pipeline.resources)})
    for (const WrittenStage& stage : *stages)
      if (const StageEntry* entry = registry.find(stage.use))
        for (std::size_t i = 0; i < entry->descriptor->parameter_count; ++i)
          offer(table + stage.name + ".params." + entry->descriptor->parameters[i].name + "=", entry->descriptor->parameters[i].help);
}

// The values that the parameter behind an option may have.
void offer_choices(const WrittenPipeline& pipeline, const CLI::Option& option) {
  for (const PipelineParameter& parameter : pipeline.parameters)
    if (option.check_lname(kebab_case(parameter.name)))
      for (const std::string& choice : parameter.choices) offer(choice);
}

// What --help calls the value of an option or argument says what it stands for; a number or a text is nobody's guess.
void offer_values(const CLI::Option& option, const WrittenPipeline& pipeline) {
  const std::string type = option.get_type_name();
  if (type == "PIPELINE") offer_pipelines();
  if (type == "STAGE") offer_stages();
  if (type == "DEVICE") offer_devices();
  if (type == "ENTRY=VALUE") offer_entries(pipeline);
  if (type == "CHOICE") offer_choices(pipeline, option);
  if (type == "ACTION")
    for (const char* action : {"add", "list", "remove"}) offer(action);
  if (type == "LEVEL")
    for (const char* level : {"debug", "info", "warning", "error"}) offer(level);
  if (type == "SHELL")
    for (const std::string& shell : completion_shells()) offer(shell);
  if (type == "FILE" || type == "PATH" || type == "PIPELINE") std::printf(":files\n");
  if (type == "DIR" || type == "FOLDER") std::printf(":folders\n");
}

struct ArgumentsSoFar {
  const CLI::Option* open = nullptr;     // the option whose value comes next
  std::vector<std::string> positionals;  // the arguments that are neither options nor their values
};
ArgumentsSoFar read(const CLI::App& app, const Arguments& before) {
  ArgumentsSoFar result;
  for (const std::string& word : before) {
    if (result.open != nullptr) {
      result.open = nullptr;
    } else if (word.size() > 1 && word.front() == '-') {
      const CLI::Option* option = word.find('=') == std::string::npos ? app.get_option_no_throw(word) : nullptr;
      if (option != nullptr && option->get_items_expected_min() > 0) result.open = option;
    } else {
      result.positionals.push_back(word);
    }
  }
  return result;
}

void offer_arguments(const CLI::App& app, const Command& command, const Arguments& before) {
  const ArgumentsSoFar so_far = read(app, before);
  WrittenPipeline pipeline;
  Diagnostics ignored;
  std::string name = so_far.positionals.empty() ? "" : so_far.positionals.front();
  const auto named = std::find(before.begin(), before.end(), "--pipeline");  // bench STAGE --pipeline PIPELINE
  if (before.end() - named > 1) name = *(named + 1);
  if (const auto file = name.empty() ? std::filesystem::path() : find_pipeline(name, ignored); !file.empty())
    pipeline = load_pipeline_file(file, ignored);
  if (so_far.open != nullptr) return offer_values(*so_far.open, pipeline);
  std::size_t place = 0;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    if (so_far.positionals.size() == place || option->get_items_expected_max() > 1) offer_values(*option, pipeline);
    ++place;
  }
  if (place > 0 && so_far.positionals.size() >= place && !pipeline.positionals.empty()) std::printf(":files\n");
  if (std::string(command.name) == "bench" && so_far.positionals.empty()) offer_stages();
  for (const CLI::Option* option : shown_options(app))
    for (const std::string& name : option->get_lnames()) offer("--" + name, option->get_description());
}

// What may stand behind `before`: commands; then what the command takes, and its options; behind an option its values.
void offer_words(Arguments before) {
  std::erase(before, "=");
  if (before.empty()) {
    offer_pipelines();
    for (const Command& command : commands()) offer(command.name, command.summary);
    return;
  }
  auto command = std::find_if(commands().begin(), commands().end(), [&](const Command& c) { return before.front() == c.name; });
  if (command == commands().end())
    command = commands().begin();  // `run`, of a pipeline that is called by its name
  else
    before.erase(before.begin());
  bool has_options = false;
  const auto look = [&](const CLI::App& app) {
    has_options = true;
    offer_arguments(app, *command, before);
  };
  look_at_options(*command, before, look);
  if (!has_options) look_at_options(*command, {}, look);  // no such pipeline: the options that all have
}

}  // namespace

int completion_command(const Arguments& arguments) {
  if (!arguments.empty() && arguments.front() == "words") return offer_words({arguments.begin() + 1, arguments.end()}), exit_ok;
  CLI::App app("prints the completion script of a shell", "sluice completion");
  std::string shell;
  app.add_option("shell", shell, "bash: source <(sluice completion bash); zsh: the same; fish: sluice completion fish | source")->type_name("SHELL");
  if (const auto ended = parse_options(app, arguments)) return *ended;
  if (const char* script = completion_script(shell)) return std::fputs(script, stdout), exit_ok;
  print_error(app, shell.empty() ? "no shell is named" : "there is no completion for '" + shell + "'", "sluice completion bash, zsh or fish");
  return exit_usage;
}

}  // namespace sluice::cli
