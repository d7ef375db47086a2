// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The form of a pipeline file: which keys there are and of what kind. What they mean is checked by resolve_pipeline().
#include <algorithm>
#include <charconv>

#include "config/command_line.hpp"
#include "config/extend_pipeline.hpp"
#include "config/memory_rule.hpp"
#include "config/parameter_ties.hpp"
#include "config/parameter_value.hpp"
#include "config/pipeline.hpp"
#include "config/pipeline_file.hpp"
#include "config/table_reader.hpp"
#include "config/usual_share.hpp"

namespace sluice {
namespace {

// Far more than anybody writes by hand; keeps the quadratic parts (nearest names, cycles) fast for hostile files.
constexpr std::size_t most_entries = 1000;
constexpr std::size_t longest_name = 64;
constexpr const char* preset_parameter = "preset";

bool is_name(std::string_view text, std::string_view first, std::string_view others) {
  return !text.empty() && text.size() <= longest_name && first.find(text.front()) != std::string_view::npos &&
         text.find_first_not_of(others) == std::string_view::npos;
}
bool is_parameter_name(std::string_view text) { return is_name(text, "abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz0123456789_"); }
bool is_stage_name(std::string_view text) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return is_name(text, letters, letters);
}

constexpr std::initializer_list<TomlKind> scalars = {TomlKind::string, TomlKind::integer, TomlKind::floating, TomlKind::boolean};

WrittenValue written(const TomlMember& member) { return {member.value.text, member.value.where, member.where}; }

class PipelineReader {
 public:
  PipelineReader(WrittenPipeline& pipeline, Diagnostics& diagnostics) : pipeline_(pipeline), diagnostics_(diagnostics) {}

  void read(const TomlNode& document) {
    TableReader root(document, "", "", diagnostics_);
    const Location whole_file{pipeline_.file.string(), 0, 0};
    if (const TomlMember* head = root.take("pipeline", {TomlKind::table}, "a table"))
      read_head(head->value);
    else if (!diagnostics_.has_errors())
      root.error(whole_file, "there is no [pipeline] table", "begin with [pipeline] and name = \"...\"");
    read_advice(root);
    for_each_entry(root, "parameters", "parameter", [&](const TomlMember& entry) { read_parameter(entry); });
    for_each_entry(root, "presets", "preset", [&](const TomlMember& entry) { read_preset(entry); });
    settle_groups(pipeline_);
    if (!pipeline_.presets.empty()) add_preset_parameter();
    settle_positionals(root);
    check_ties(pipeline_, diagnostics_);
    for_each_entry(root, "resources", "resource", [&](const TomlMember& entry) { read_stage(entry, Part::resource); });
    for_each_entry(root, "stages", "stage", [&](const TomlMember& entry) { read_stage(entry, Part::stage); });
    root.finish();
    if (pipeline_.stages.empty() && !diagnostics_.has_errors())
      root.error(whole_file, "there are no stages", "add a [stages.NAME] table with use = \"...\"");
  }

 private:
  enum class Part { resource, stage };

  template <class Read>
  void for_each_entry(TableReader& root, const char* key, const std::string& what, Read&& read_entry) {
    const TomlMember* tables = root.take(key, {TomlKind::table}, "a table");
    if (tables == nullptr) return;
    if (tables->value.members.size() > most_entries) {
      root.error(tables->where, "there are " + std::to_string(tables->value.members.size()) + " " + what + "s, at most " +
                                    std::to_string(most_entries) + " are read");
      return;
    }
    for (const TomlMember& entry : tables->value.members) {
      if (entry.value.kind != TomlKind::table) {
        root.error(entry.where, what + " '" + entry.key + "' must be a table, not " + kind_name(entry.value.kind),
                   "write [" + std::string(key) + "." + entry.key + "]");
      } else {
        read_entry(entry);
      }
    }
  }

  void read_head(const TomlNode& table) {
    TableReader reader(table, "[pipeline]: ", "", diagnostics_);
    pipeline_.name = reader.take_string("name");
    pipeline_.summary = reader.take_string("summary");
    pipeline_.doc = reader.take_string("doc");
    pipeline_.example = reader.take_string("example");
    pipeline_.next_steps = reader.take_string("next_steps");
    pipeline_.group = reader.take_string("group");
    read_memory(reader, pipeline_.memory);
    read_habits(reader);
    std::map<std::string, WrittenValue> peers;
    read_values(reader, "peers", {TomlKind::string}, "\"\", or what to do instead, as a string", peers);
    for (const auto& [command, here] : peers) pipeline_.peers[command] = here.text;
    if (const TomlMember* names = reader.take("positionals", {TomlKind::array}, "a list of parameters"))
      for (const WrittenValue& name : read_names(reader, *names, "a parameter")) positionals_.push_back(name);
    reader.finish();
    if (pipeline_.name.empty())
      reader.error(table.where, "it has no name", "add name = \"...\"");
    else if (!is_stage_name(pipeline_.name))
      reader.error(table.where, "the name may hold letters, digits, '_' and '-', at most 64 of them");
  }

  void settle_positionals(const TableReader& root) {
    for (const WrittenValue& name : positionals_) {
      const auto it = std::find_if(pipeline_.parameters.begin(), pipeline_.parameters.end(),
                                   [&](const PipelineParameter& p) { return p.name == name.text && p.type != SLUICE_BOOL; });
      if (it == pipeline_.parameters.end())
        root.error(name.where, "positionals: there is no parameter '" + name.text + "' that has a value");
      else
        pipeline_.positionals.push_back(name.text);
    }
  }

  void read_habits(TableReader& reader) {
    std::map<std::string, WrittenValue> habits;
    read_values(reader, "habits", {TomlKind::string}, "the options that are the same here, as a string", habits);
    for (const auto& [option, here] : habits) {
      if (!option.starts_with("-")) reader.error(here.key_where, "habits." + option + ": an option of another program begins with '-'");
      pipeline_.habits[option] = here.text;
    }
  }

  // What an entry says of its own reason goes before what one says of several.
  void read_advice(TableReader& root) {
    const TomlMember* advice = root.take("advice", {TomlKind::table}, "a table");
    if (advice == nullptr) return;
    std::map<std::string, std::string> of_one;
    for (const TomlMember& entry : advice->value.members) {
      if (entry.value.kind == TomlKind::table)
        read_advice_of_several(entry);
      else if (entry.value.kind == TomlKind::string)
        of_one[entry.key] = entry.value.text;
      else
        root.error(entry.value.where, "advice." + entry.key + " must be what to check, as a string, or a table, not " + kind_name(entry.value.kind));
    }
    for (auto& [reason, text] : of_one) pipeline_.advice[reason] = std::move(text);
  }
  void read_advice_of_several(const TomlMember& entry) {
    TableReader reader(entry.value, "advice '" + entry.key + "': ", "", diagnostics_);
    const std::string text = reader.take_string("say");
    const TomlMember* reasons = reader.take("when", {TomlKind::array}, "a list of reasons");
    if (text.empty() || reasons == nullptr)
      reader.error(entry.where, "it lacks what to say or when", "say = \"a sentence\" and when = [\"a_reason\"]");
    for (const TomlNode& reason : reasons == nullptr ? std::vector<TomlNode>{} : reasons->value.items) {
      if (reason.kind == TomlKind::string)
        pipeline_.advice[reason.text] = text;
      else
        reader.error(reason.where, std::string("when: a reason must be a string, not ") + kind_name(reason.kind));
    }
    reader.finish();
  }

  void read_parameter(const TomlMember& entry) {
    PipelineParameter parameter;
    parameter.name = entry.key;
    parameter.where = entry.where;
    TableReader reader(entry.value, "parameter '" + entry.key + "': ", "", diagnostics_);
    if (!is_parameter_name(entry.key))
      reader.error(entry.where, "a parameter's name is lower case letters, digits and '_', and begins with a letter");
    const auto& reserved = reserved_parameter_names();
    if (std::find(reserved.begin(), reserved.end(), entry.key) != reserved.end())
      reader.error(entry.where, "the name is taken: 'sluice run' has an option --" + kebab_case(entry.key), "choose another name");

    if (entry.key == command_line_name)
      reader.error(entry.where, "the name is taken: ${command_line} is the run's own command", "choose another name");

    const TomlMember* type = reader.take("type", {TomlKind::string}, "a string");
    if (type == nullptr) {
      reader.error(entry.where, "it has no type", "add type = \"path\" or another of " + type_names());
    } else if (const auto known = type_named(type->value.text)) {
      parameter.type = *known;
    } else {
      reader.error(type->value.where, "unknown type '" + type->value.text + "'", "one of " + type_names());
    }
    parameter.required = reader.take_boolean("required").value_or(false);
    if (const TomlMember* several = reader.take("several", {TomlKind::boolean}, "true or false")) {
      parameter.several = several->value.text == "true";
      if (parameter.several && parameter.type != SLUICE_PATH)
        reader.error(several->where, "only type \"path\" may be given several times", "remove 'several', or change the type");
    }
    const TomlMember* initial = reader.take("default", scalars, "a string, a number or a boolean");
    if (initial != nullptr) parameter.default_text = initial->value.text;
    if (initial != nullptr && parameter.required) reader.error(initial->where, "a required parameter can't have a default", "remove one of the two");
    if (const TomlMember* choices = reader.take("choices", {TomlKind::array}, "a list of strings"))
      read_choices(reader, *choices, parameter);
    else if (parameter.type == SLUICE_CHOICE)
      reader.error(entry.where, "type \"choice\" needs choices", "add choices = [\"...\", \"...\"]");
    parameter.minimum = read_bound(reader, "minimum", parameter);
    parameter.maximum = read_bound(reader, "maximum", parameter);
    if (parameter.minimum && parameter.maximum && *parameter.minimum > *parameter.maximum)
      reader.error(entry.where, "the minimum is above the maximum", "exchange them");
    parameter.unit = reader.take_string("unit");
    parameter.help = reader.take_string("help");
    parameter.formerly = reader.take_string("formerly");
    read_ties(reader, parameter);
    reader.finish();
    pipeline_.parameters.push_back(std::move(parameter));
  }

  static void read_choices(const TableReader& reader, const TomlMember& choices, PipelineParameter& parameter) {
    for (const TomlNode& choice : choices.value.items) {
      if (choice.kind == TomlKind::string && !choice.text.empty())
        parameter.choices.push_back(choice.text);
      else
        reader.error(choice.where, "a choice must be a string that is not empty");
    }
    if (parameter.type != SLUICE_CHOICE)
      reader.error(choices.where, "only type \"choice\" has choices", "write type = \"choice\"");
    else if (choices.value.items.empty())
      reader.error(choices.where, "the list of choices is empty", "name at least one");
  }

  static std::optional<double> read_bound(TableReader& reader, const char* key, const PipelineParameter& parameter) {
    const TomlMember* bound = reader.take(key, {TomlKind::integer, TomlKind::floating, TomlKind::string}, "a number");
    if (bound == nullptr) return std::nullopt;
    if (parameter.type != SLUICE_INT && parameter.type != SLUICE_FLOAT && parameter.type != SLUICE_SIZE) {
      reader.error(bound->where, std::string("only numbers and sizes have a ") + key, "remove it, or change the type");
      return std::nullopt;
    }
    const std::string& text = bound->value.text;
    if (parameter.type == SLUICE_SIZE) {
      if (const auto bytes = parse_size(text)) return static_cast<double>(*bytes);
    } else if (bound->value.kind != TomlKind::string) {
      double value = 0;
      if (std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc() && value - value == 0) return value;
    }
    reader.error(bound->value.where,
                 std::string("'") + key + "' must be a number" + (parameter.type == SLUICE_SIZE ? " of bytes, as 512 or \"64 KiB\"" : ""));
    return std::nullopt;
  }

  void read_preset(const TomlMember& entry) {
    WrittenPreset preset;
    preset.name = entry.key;
    preset.where = entry.where;
    const std::string subject = "preset '" + entry.key + "': ";
    const auto error = [&](const Location& where, const std::string& message, const std::string& remedy) {
      diagnostics_.error(where, "", subject + message, remedy);
    };
    if (!is_stage_name(entry.key)) error(entry.where, "a name may hold letters, digits, '_' and '-', at most 64 of them", "");
    std::vector<std::string> names;
    for (const PipelineParameter& parameter : pipeline_.parameters) names.push_back(parameter.name);
    for (const TomlMember& member : entry.value.members) {
      if (std::find(scalars.begin(), scalars.end(), member.value.kind) == scalars.end()) {
        error(member.value.where, "'" + member.key + "' must be a string, a number or a boolean, not " + kind_name(member.value.kind), "");
      } else if (member.key == "help") {  // no parameter has this name
        preset.help = member.value.text;
      } else if (std::find(names.begin(), names.end(), member.key) != names.end()) {
        preset.defaults[member.key] = written(member);
      } else {
        const std::string near = nearest_name(member.key, names);
        error(member.where, "there is no parameter '" + member.key + "'",
              near.empty() ? "add a [parameters." + member.key + "] table" : "did you mean '" + near + "'?");
      }
    }
    pipeline_.presets.push_back(std::move(preset));
  }

  // --preset NAME; the first preset of the file is the one that holds when none is named.
  void add_preset_parameter() {
    PipelineParameter parameter;
    parameter.name = preset_parameter;
    parameter.where = pipeline_.presets.front().where;
    parameter.type = SLUICE_CHOICE;
    parameter.default_text = pipeline_.presets.front().name;
    parameter.help = "defaults of the other parameters that belong together";
    parameter.group = "common";
    for (const WrittenPreset& preset : pipeline_.presets) {
      parameter.choices.push_back(preset.name);
      if (!preset.help.empty()) parameter.help += "\n  " + preset.name + ": " + preset.help;
    }
    for (const PipelineParameter& other : pipeline_.parameters)
      if (other.name == preset_parameter)
        diagnostics_.error(other.where, "", "parameter 'preset': the name is taken, because the file has [presets]", "remove one of the two");
    pipeline_.parameters.insert(pipeline_.parameters.begin(), std::move(parameter));
  }

  void read_stage(const TomlMember& entry, Part part) {
    WrittenStage stage;
    stage.name = entry.key;
    stage.where = entry.where;
    const bool is_stage = part == Part::stage;
    TableReader reader(entry.value, is_stage ? "" : "resource '" + entry.key + "': ", is_stage ? entry.key : "", diagnostics_);
    if (!is_stage_name(entry.key)) reader.error(entry.where, "a name may hold letters, digits, '_' and '-', at most 64 of them");
    const TomlMember* use = reader.take("use", {TomlKind::string}, "the id of a stage type, as a string");
    if (use != nullptr) {
      stage.use = use->value.text;
      stage.use_where = use->value.where;
    } else if (std::none_of(entry.value.members.begin(), entry.value.members.end(), [](const TomlMember& m) { return m.key == "use"; })) {
      reader.error(entry.where, "it does not say which stage type it is", "add use = \"...\"; 'sluice plugins' lists them");
    }
    if (is_stage)
      if (const TomlMember* inputs = reader.take("inputs", {TomlKind::array, TomlKind::string}, "a list of stage names"))
        stage.inputs = read_names(reader, *inputs, "an input");
    if (is_stage)
      if (const TomlMember* feedback = reader.take("feedback", {TomlKind::array, TomlKind::string}, "a list of stage names"))
        stage.feedback = read_names(reader, *feedback, "feedback");
    read_values(reader, "params", scalars, "a string, a number or a boolean", stage.params);
    read_values(reader, "resources", {TomlKind::string}, "the name of a resource, as a string", stage.resources);
    if (const TomlMember* enabled = reader.take("enabled", scalars, "a boolean or a string with ${...}")) stage.enabled = written(*enabled);
    if (is_stage) {
      if (const TomlMember* device = reader.take("device", {TomlKind::string}, "a string")) stage.device = written(*device);
      if (const TomlMember* limit = reader.take("device_max_row_work", scalars, "a number")) stage.device_max_row_work = written(*limit);
      stage.when_most_fail = reader.take_string("when_most_fail");
      stage.usual_share = {read_share(reader, "usual_share"), read_share(reader, "usual_share_at_end")};
    }
    reader.finish();
    (is_stage ? pipeline_.stages : pipeline_.resources).push_back(std::move(stage));
  }

  static double read_share(TableReader& reader, const char* key) {
    const TomlMember* member = reader.take(key, {TomlKind::integer, TomlKind::floating}, "a number from 0 to 0.95");
    if (member == nullptr) return 0;
    sluice_value value{};
    const ValueProblem problem = convert_value(member->value.text, {SLUICE_FLOAT, 0, {}, {}, ""}, value);
    if (problem.message.empty() && value.real >= 0 && value.real <= most_usual_share) return value.real;
    reader.error(member->value.where, std::string(key) + " must be a number from 0 to 0.95");
    return 0;
  }

  static std::vector<WrittenValue> read_names(const TableReader& reader, const TomlMember& names, const std::string& what) {
    if (names.value.kind == TomlKind::string) return {{names.value.text, names.value.where, {}}};
    std::vector<WrittenValue> result;
    for (const TomlNode& name : names.value.items) {
      if (name.kind == TomlKind::string)
        result.push_back({name.text, name.where, {}});
      else
        reader.error(name.where, what + " must be the name of a stage, not " + kind_name(name.kind));
    }
    return result;
  }

  static void read_values(TableReader& reader, const char* key, std::initializer_list<TomlKind> kinds, const char* expected,
                          std::map<std::string, WrittenValue>& values) {
    const TomlMember* table = reader.take(key, {TomlKind::table}, "a table");
    if (table == nullptr) return;
    for (const TomlMember& member : table->value.members) {
      if (std::find(kinds.begin(), kinds.end(), member.value.kind) != kinds.end())
        values[member.key] = written(member);
      else
        reader.error(member.value.where, std::string(key) + "." + member.key + " must be " + expected + ", not " + kind_name(member.value.kind));
    }
  }

  WrittenPipeline& pipeline_;
  Diagnostics& diagnostics_;
  std::vector<WrittenValue> positionals_;
};

}  // namespace

const std::vector<std::string>& reserved_parameter_names() {
  static const std::vector<std::string> names = {
      "help",     "threads",   "device",      "memory",   "gpu_memory",          "report",        "trace",     "quiet",
      "account",  "set",       "plugin_dir",  "executor", "batch_work",          "max_bad_reads", "log_level", "repeat",
      "dot",      "resume",    "version",     "profile",  "inject_device_fault", "rows",          "work",      "streams",
      "pipeline", "calibrate", "allow_empty", "watchdog", "checkpoint",          "policy",        "params",    "sample_table",
      "graph",    "json",      "help_all",    "shard"};
  return names;
}

std::string kebab_case(std::string_view snake_case) {
  std::string result(snake_case);
  std::replace(result.begin(), result.end(), '_', '-');
  return result;
}

WrittenPipeline parse_pipeline(std::string_view text, const std::filesystem::path& file, Diagnostics& diagnostics) {
  WrittenPipeline pipeline;
  pipeline.file = file;
  auto document = parse_toml(text, file.string(), diagnostics);
  if (document && extend_pipeline(*document, file, pipeline.parts, diagnostics)) PipelineReader(pipeline, diagnostics).read(*document);
  return pipeline;
}

WrittenPipeline load_pipeline_file(const std::filesystem::path& file, Diagnostics& diagnostics) {
  if (const auto text = read_pipeline_text(file, diagnostics)) return parse_pipeline(*text, file, diagnostics);
  WrittenPipeline nothing;
  nothing.file = file;
  return nothing;
}

}  // namespace sluice
