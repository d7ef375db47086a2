// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cstdio>
#include <utility>

#include "cli/pipeline_arguments.hpp"
#include "cli/stage_json.hpp"
#include "config/made_stage.hpp"
#include "config/parameter_value.hpp"
#include "config/usual_share.hpp"
#include "session/exit_code.hpp"

namespace sluice::cli {
namespace {

// Every value may also be a text with ${...}.
Json value_schema(const sluice_parameter& p) {
  const ValueRule rule = rule_of(p);
  Json typed;
  switch (p.type) {
    case SLUICE_BOOL:
      typed["type"] = "boolean";
      break;
    case SLUICE_INT:
      typed["type"] = "integer";
      break;
    case SLUICE_FLOAT:
      typed["type"] = "number";
      break;
    case SLUICE_SIZE:
      typed["type"] = "integer";
      break;
    case SLUICE_CHOICE:
      typed["enum"] = rule.choices;
      break;
    default:
      typed["type"] = "string";
      break;
  }
  if (rule.minimum) typed["minimum"] = *rule.minimum;
  if (rule.maximum) typed["maximum"] = *rule.maximum;
  Json schema = {{"description", p.help}};
  if (p.type == SLUICE_STRING || p.type == SLUICE_PATH)
    schema.update(typed);
  else if (p.type == SLUICE_SIZE)
    schema["anyOf"] = {typed, {{"type", "string"}}};
  else
    schema["anyOf"] = {typed, {{"type", "string"}, {"pattern", "\\$\\{"}}};
  if (const std::string initial = default_text(p); !initial.empty())
    schema["description"] = schema["description"].get<std::string>() + " (default: " + initial + ")";
  return schema;
}

// A table of a stage: what may be in it, and what must.
struct Table {
  Json properties = Json::object(), required = Json::array();

  void add(const char* name, Json value, bool is_required) {
    properties[name] = std::move(value);
    if (is_required) required.push_back(name);
  }
  Json schema() const {
    Json result = {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
    if (!required.empty()) result["required"] = required;
    return result;
  }
};

Json remove_schema() { return {{"const", true}, {"description", "takes away the entry that was extended or included"}}; }
Json replace_schema() { return {{"const", true}, {"description", "takes the place of the entry that was extended or included"}}; }

// One name, or a list.
Json names_schema() { return {{"anyOf", {{{"type", "array"}, {"items", {{"type", "string"}}}}, {{"type", "string"}}}}}; }

// A pattern that finds just this text.
std::string quoted(const std::string& text) {
  std::string pattern;
  for (const char c : text) pattern += c == '.' ? "[.]" : std::string(1, c);
  return pattern;
}

Json stage_schema(const Registry& registry, bool resources) {
  Json ids = Json::array(), rules = Json::array();
  for (const StageEntry& stage : registry.stages()) {
    const sluice_stage_descriptor& d = *stage.descriptor;
    if ((d.kind == SLUICE_RESOURCE) != resources) continue;
    ids.push_back(d.id);
    Table parameters, slots;
    for (std::size_t i = 0; i < d.parameter_count; ++i)
      parameters.add(d.parameters[i].name, value_schema(d.parameters[i]), d.parameters[i].required != 0);
    for (std::size_t i = 0; i < d.resource_count; ++i)
      slots.add(d.resources[i].name, {{"type", "string"}, {"description", d.resources[i].doc == nullptr ? "" : d.resources[i].doc}},
                d.resources[i].optional == 0);
    Json then = {{"description", d.summary}, {"properties", {{"params", parameters.schema()}, {"resources", slots.schema()}}}};
    Json required = Json::array();
    if (!parameters.required.empty()) required.push_back("params");
    if (!slots.required.empty()) required.push_back("resources");
    if (!required.empty()) then["required"] = required;
    rules.push_back({{"if", {{"properties", {{"use", {{"const", d.id}}}}}, {"required", {"use"}}}}, {"then", then}});
  }
  Json use = {{"enum", ids}};
  if (!resources) {
    Json forms = Json::array({use});
    for (const std::string& sign : signs_of_made_stages(registry)) forms.push_back({{"type", "string"}, {"pattern", quoted(sign)}});
    use = {{"anyOf", forms}};
  }
  Json properties = {{"use", use},
                     {"remove", remove_schema()},
                     {"replace", replace_schema()},
                     {"params", {{"type", "object"}}},
                     {"resources", {{"type", "object"}}},
                     {"enabled", {{"type", {"boolean", "string"}}}}};
  if (!resources) {
    properties["inputs"] = names_schema();
    properties["feedback"] = names_schema();
    properties["feedback"]["description"] = "sources and regroups: sinks whose rows come back to it";
    properties["device"] = {{"type", "string"}};
    properties["device_max_row_work"] = {{"type", {"number", "string"}}, {"description", "rows with more work than this are done on the CPU"}};
    properties["when_most_fail"] = {{"type", "string"}};
    for (const char* key : {"usual_share", "usual_share_at_end"})
      properties[key] = {{"type", "number"}, {"minimum", 0}, {"maximum", most_usual_share}};
  }
  Json schema = {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
  if (!rules.empty()) schema["allOf"] = rules;
  return schema;
}

// Entries of a pipeline that takes over nothing are whole, and there is nothing to remove. (A file without [pipeline] is a fragment.)
Json whole_entries(const char* key) {
  return {{"additionalProperties", {{"required", {key}}, {"properties", {{"remove", false}, {"replace", false}}}}}};
}

Json parameter_schema() {
  Json scalar = {{"type", {"string", "number", "boolean"}}};
  const Json text = {{"type", "string"}};
  Json types = Json::array();
  for (const sluice_value_type type : {SLUICE_BOOL, SLUICE_INT, SLUICE_FLOAT, SLUICE_STRING, SLUICE_PATH, SLUICE_SIZE, SLUICE_CHOICE})
    types.push_back(type_name(type));
  return {{"type", "object"},
          {"additionalProperties", false},
          {"properties",
           {{"type", {{"enum", types}}},
            {"remove", remove_schema()},
            {"replace", replace_schema()},
            {"default", scalar},
            {"required", {{"type", "boolean"}}},
            {"several", {{"type", "boolean"}}},
            {"choices", {{"type", "array"}, {"items", {{"type", "string"}}}}},
            {"minimum", {{"type", {"number", "string"}}}},
            {"maximum", {{"type", {"number", "string"}}}},
            {"unit", {{"type", "string"}}},
            {"help", {{"type", "string"}}},
            {"endings", {{"anyOf", {text, {{"type", "array"}, {"items", text}}}}, {"description", "of an output: those that its name may have"}}},
            {"takes",
             {{"type", "object"},
              {"required", {"of"}},
              {"properties",
               {{"of", {{"anyOf", {text, {{"type", "array"}, {"items", text}}}}}}, {"least", {{"type", "number"}}}, {"usual", {{"type", "number"}}}}},
              {"additionalProperties", false},
              {"description", "bytes of an output, for each of what those parameters come to"}}},
            {"formerly", {{"type", "string"}, {"description", "an older name that is still taken"}}},
            {"group", {{"enum", {"input", "output", "common", "more"}}, {"description", "where --help shows it"}}},
            {"needs",
             {{"anyOf", {text, {{"type", "array"}, {"items", {{"anyOf", {text, {{"type", "array"}, {"items", text}}}}}}}}},
              {"description", "NAME, !NAME or NAME=VALUE|VALUE: it does nothing without one of these; of a list of lists, without one of each"}}},
            {"by_ending",
             {{"type", "object"},
              {"required", {"of"}},
              {"properties", {{"of", text}}},
              {"additionalProperties", {{"anyOf", {text, {{"type", "array"}, {"items", text}}}}}},
              {"description", "the ending of the file that 'of' names says the value; of a list the first, and all fit"}}}}}};
}

Json advice_schema() {
  const Json text = {{"type", "string"}};
  const Json of_several = {{"type", "object"}, {"properties", {{"say", text}, {"when", {{"type", "array"}, {"items", text}}}}}};
  return {{"anyOf", {text, of_several}}};
}

}  // namespace

int schema_command(const Arguments& arguments) {
  CLI::App app("prints the JSON Schema of pipeline files, with the stages of all plugins", "sluice schema");
  std::vector<std::string> plugin_dirs;
  add_plugin_dir(app, plugin_dirs);
  if (const auto ended = parse_options(app, arguments)) return *ended;
  const Registry registry = load_plugins(plugin_dirs);
  const Json text = {{"type", "string"}};
  const Json schema = {
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"title", "sluice pipeline"},
      {"type", "object"},
      {"additionalProperties", false},
      {"properties",
       {{"pipeline",
         {{"type", "object"},
          {"required", {"name"}},
          {"additionalProperties", false},
          {"properties",
           {{"name", text},
            {"extends", text},
            {"include", names_schema()},
            {"summary", text},
            {"doc", text},
            {"example", text},
            {"next_steps", text},
            {"group", text},
            {"positionals", names_schema()},
            {"memory",
             {{"type", "object"},
              {"properties", {{"advice", text}}},
              {"additionalProperties", {{"type", "number"}}},
              {"description", "bytes that a small run takes at least, and for each byte of a parameter's files"}}},
            {"habits", {{"type", "object"}, {"additionalProperties", text}}},
            {"peers", {{"type", "object"}, {"additionalProperties", text}}}}}}},
        {"advice", {{"type", "object"}, {"additionalProperties", advice_schema()}}},
        {"parameters", {{"type", "object"}, {"additionalProperties", parameter_schema()}}},
        {"presets",
         {{"type", "object"}, {"additionalProperties", {{"type", "object"}, {"additionalProperties", {{"type", {"string", "number", "boolean"}}}}}}}},
        {"resources", {{"type", "object"}, {"additionalProperties", stage_schema(registry, true)}}},
        {"stages", {{"type", "object"}, {"additionalProperties", stage_schema(registry, false)}}}}},
      {"if", {{"properties", {{"pipeline", {{"anyOf", {{{"required", {"extends"}}}, {{"required", {"include"}}}}}}}}}}},
      {"then", Json::object()},
      {"else",
       {{"required", {"stages"}},
        {"properties", {{"parameters", whole_entries("type")}, {"resources", whole_entries("use")}, {"stages", whole_entries("use")}}}}}};
  print(schema);
  return exit_ok;
}

}  // namespace sluice::cli
