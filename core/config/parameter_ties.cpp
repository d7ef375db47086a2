// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/parameter_ties.hpp"

#include <algorithm>
#include <vector>

#include "config/output_endings.hpp"
#include "config/parameter_value.hpp"
#include "config/text_fields.hpp"

namespace sluice {
namespace {

constexpr std::string_view group_names[] = {"input", "output", "common", "more"};

std::string option(std::string_view name) { return "--" + kebab_case(name); }

// "a, b or c"
std::string either_of(const std::vector<std::string>& list) {
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i) text += (i == 0 ? "" : i + 1 == list.size() ? " or " : ", ") + list[i];
  return text;
}

// One entry of `needs`: NAME, which has to be on, !NAME, which must not, or NAME=VALUE|VALUE.
struct Need {
  std::string name;
  std::vector<std::string> values;
  bool is_absence = false;
};
Need need_of(const std::string& text) {
  if (text.starts_with("!")) return {text.substr(1), {}, true};
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return {text, {}, false};
  return {text.substr(0, equals), text_fields(std::string_view(text).substr(equals + 1), '|'), false};
}

bool is_met(const Need& need, const std::map<std::string, std::string>& values) {
  const auto value = values.find(need.name);
  if (value == values.end()) return true;  // check_ties() has said so
  if (need.values.empty()) return (!value->second.empty() && value->second != "false") != need.is_absence;
  return std::find(need.values.begin(), need.values.end(), value->second) != need.values.end();
}

std::vector<std::string> strings_of(const TableReader& reader, const TomlNode& value, const std::string& what) {
  if (value.kind == TomlKind::string) return {value.text};
  std::vector<std::string> texts;
  if (value.kind != TomlKind::array) reader.error(value.where, what + " must be a string or a list of strings, not " + kind_name(value.kind));
  for (const TomlNode& item : value.items) {
    if (item.kind == TomlKind::string && !item.text.empty())
      texts.push_back(item.text);
    else
      reader.error(item.where, what + ": each item must be a string that is not empty");
  }
  return texts;
}

// A string or a list of strings: one list of which one has to hold; a list of such: each of them.
std::vector<std::vector<std::string>> needs_of(const TableReader& reader, const TomlNode& value) {
  const auto is_list = [](const TomlNode& item) { return item.kind == TomlKind::array; };
  if (value.kind != TomlKind::array || std::none_of(value.items.begin(), value.items.end(), is_list)) return {strings_of(reader, value, "needs")};
  std::vector<std::vector<std::string>> lists;
  for (const TomlNode& item : value.items) lists.push_back(strings_of(reader, item, "needs"));
  return lists;
}

void read_by_ending(TableReader& reader, PipelineParameter& parameter) {
  const TomlMember* rule = reader.take("by_ending", {TomlKind::table}, "a table { of = \"output\", bam = \"bam\" }");
  if (rule == nullptr) return;
  if (parameter.type != SLUICE_CHOICE) return reader.error(rule->where, "only type \"choice\" goes by an ending", "remove 'by_ending'");
  EndingRule read;
  for (const TomlMember& member : rule->value.members) {
    const std::vector<std::string> texts = strings_of(reader, member.value, "by_ending." + member.key);
    if (member.key == "of") {
      read.of = texts.empty() ? "" : texts.front();
      continue;
    }
    for (const std::string& text : texts)
      if (std::find(parameter.choices.begin(), parameter.choices.end(), text) == parameter.choices.end())
        reader.error(member.value.where, "by_ending." + member.key + ": '" + text + "' is none of the choices");
    if (!texts.empty()) read.values[member.key] = texts;
  }
  if (read.of.empty()) return reader.error(rule->where, "by_ending does not say whose ending", "add of = \"output\"");
  parameter.by_ending = std::move(read);
}

void read_takes(TableReader& reader, PipelineParameter& parameter) {
  const TomlMember* rule = reader.take("takes", {TomlKind::table}, "a table { of = \"length\", least = 1 }");
  if (rule == nullptr) return;
  if (parameter.type != SLUICE_PATH) return reader.error(rule->where, "only type \"path\" takes room", "remove 'takes'");
  RoomRule read;
  for (const TomlMember& member : rule->value.members) {
    if (member.key == "of") {
      read.of = strings_of(reader, member.value, "takes.of");
      continue;
    }
    double* const bytes = member.key == "least" ? &read.least : member.key == "usual" ? &read.usual : nullptr;
    const std::optional<double> given = bytes_of(member.value);
    if (bytes == nullptr)
      reader.error(member.where, "takes: unknown key '" + member.key + "'", "of, least and usual");
    else if (given)
      *bytes = *given;
    else
      reader.error(member.value.where, "takes." + member.key + " must be a number of bytes that is not negative");
  }
  if (read.of.empty()) return reader.error(rule->where, "takes does not say what the output's size goes by", "add of = \"length\"");
  parameter.takes = std::move(read);
}

struct EndingOfOutput {
  std::string path;
  const std::vector<std::string>* values = nullptr;  // those that fit, the one that it asks for first; null: it says nothing
};
EndingOfOutput ending_of_output(const PipelineParameter& parameter, const std::map<std::string, std::string>& given) {
  if (!parameter.by_ending) return {};
  const auto path = given.find(parameter.by_ending->of);
  if (path == given.end()) return {};
  const auto values = parameter.by_ending->values.find(ending_of_name(path->second));
  return {path->second, values == parameter.by_ending->values.end() ? nullptr : &values->second};
}

}  // namespace

void read_ties(TableReader& reader, PipelineParameter& parameter) {
  read_by_ending(reader, parameter);
  read_takes(reader, parameter);
  if (const TomlMember* endings = reader.take("endings", {TomlKind::string, TomlKind::array}, "an ending, or a list of them"))
    parameter.endings = strings_of(reader, endings->value, "endings");
  if (const TomlMember* needs = reader.take("needs", {TomlKind::string, TomlKind::array}, "the name of a parameter, or a list of them"))
    parameter.needs = needs_of(reader, needs->value);
  const TomlMember* group = reader.take("group", {TomlKind::string}, "a string");
  if (group == nullptr) return;
  parameter.group = group->value.text;
  if (std::find(std::begin(group_names), std::end(group_names), group->value.text) == std::end(group_names))
    reader.error(group->value.where, "there is no group '" + group->value.text + "'", "input, output, common or more");
}

void settle_groups(WrittenPipeline& pipeline) {
  const bool says_what_is_common =
      std::any_of(pipeline.parameters.begin(), pipeline.parameters.end(), [](const PipelineParameter& p) { return p.group == "common"; });
  for (PipelineParameter& p : pipeline.parameters)
    if (p.group.empty())
      p.group = p.name == "output" || p.name.starts_with("output_") ? "output" : p.required ? "input" : says_what_is_common ? "more" : "common";
}

void check_ties(const WrittenPipeline& pipeline, Diagnostics& diagnostics) {
  const auto check = [&](const PipelineParameter& parameter, const char* key, const std::string& name) {
    const auto is_it = [&](const PipelineParameter& other) { return other.name == name; };
    if (std::none_of(pipeline.parameters.begin(), pipeline.parameters.end(), is_it))
      diagnostics.warning(parameter.where, "", "parameter '" + parameter.name + "': " + key + ": there is no parameter '" + name + "'",
                          "name one, or remove '" + std::string(key) + "'");
  };
  for (const auto& rule : pipeline.memory.per_byte)
    if (std::none_of(pipeline.parameters.begin(), pipeline.parameters.end(), [&](const PipelineParameter& p) { return p.name == rule.first; }))
      diagnostics.warning({pipeline.file.string(), 0, 0}, "", "memory: there is no parameter '" + rule.first + "'", "name one");
  for (const PipelineParameter& parameter : pipeline.parameters) {
    if (parameter.by_ending) check(parameter, "by_ending", parameter.by_ending->of);
    if (parameter.takes)
      for (const std::string& name : parameter.takes->of) check(parameter, "takes", name);
    for (const std::vector<std::string>& one_of : parameter.needs)
      for (const std::string& text : one_of) check(parameter, "needs", need_of(text).name);
  }
}

std::optional<std::string> value_by_ending(const PipelineParameter& parameter, const std::map<std::string, std::string>& given) {
  const EndingOfOutput ending = ending_of_output(parameter, given);
  return ending.values == nullptr ? std::nullopt : std::optional(ending.values->front());
}

void check_ending(const PipelineParameter& parameter, const Overrides& given, Diagnostics& diagnostics) {
  const EndingOfOutput ending = ending_of_output(parameter, given.parameters);
  const auto value = given.parameters.find(parameter.name);
  if (ending.values == nullptr || value == given.parameters.end() || value->second.empty() ||
      std::find(ending.values->begin(), ending.values->end(), canonical_text(value->second, rule_of(parameter))) != ending.values->end())
    return;
  const std::string name = given.name_at_place(parameter.name);
  diagnostics.error(given.place_of(parameter.name), "",
                    name + " " + value->second + " contradicts " + given.name_at_place(parameter.by_ending->of) + " '" + ending.path +
                        "', whose ending asks for " + either_of(*ending.values),
                    "leave out " + name + ", or give the file another ending");
}

std::string needs_text(const PipelineParameter& parameter) {
  std::string all;
  for (const std::vector<std::string>& one_of : parameter.needs) {
    std::vector<std::string> present, absent;
    for (const std::string& text : one_of) {
      const Need need = need_of(text);
      (need.is_absence ? absent : present).push_back(option(need.name) + (need.values.empty() ? "" : " " + either_of(need.values)));
    }
    const std::string with = present.empty() ? "" : "with " + either_of(present), without = absent.empty() ? "" : "without " + either_of(absent);
    all += (all.empty() ? "" : ", and ") + with + (with.empty() || without.empty() ? "" : ", or ") + without;
  }
  return all;
}

void warn_of_idle_options(const WrittenPipeline& pipeline, const Overrides& given, const std::map<std::string, std::string>& values,
                          Diagnostics& diagnostics) {
  for (const PipelineParameter& parameter : pipeline.parameters) {
    const auto value = values.find(parameter.name);
    if (parameter.needs.empty() || !given.parameters.contains(parameter.name) || value == values.end() || value->second.empty()) continue;
    const bool is_flag = parameter.type == SLUICE_BOOL;
    if (is_flag && value->second == parameter.default_text.value_or("false")) continue;  // what it would be anyway
    const auto holds = [&](const std::string& text) { return is_met(need_of(text), values); };
    const auto has_one = [&](const std::vector<std::string>& one_of) { return std::any_of(one_of.begin(), one_of.end(), holds); };
    if (std::all_of(parameter.needs.begin(), parameter.needs.end(), has_one)) continue;
    const bool is_typed_no = is_flag && value->second == "false" && !given.places.contains(parameter.name);
    const std::string name = is_typed_no ? "--no-" + kebab_case(parameter.name) : given.name_at_place(parameter.name);
    diagnostics.warning(given.place_of(parameter.name), "", name + " does nothing here: it works only " + needs_text(parameter),
                        "leave it out, or change that");
  }
}

}  // namespace sluice
