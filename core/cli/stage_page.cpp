// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cli/stage_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "cli/help_text.hpp"
#include "config/parameter_ties.hpp"
#include "config/parameter_value.hpp"

namespace sluice::cli {
namespace {

using Row = std::vector<std::string>;

std::string text(const char* chars) { return chars == nullptr ? "" : chars; }

// A Markdown table whose columns are padded, so that it can be read unrendered. Widths count code points.
std::string table(const std::vector<Row>& rows) {
  const auto columns = [](const std::string& cell) {
    return static_cast<std::size_t>(std::count_if(cell.begin(), cell.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  };
  std::vector<std::size_t> widths(rows.front().size(), 3);
  for (const Row& row : rows)
    for (std::size_t c = 0; c + 1 < row.size(); ++c) widths[c] = std::max(widths[c], columns(row[c]));
  std::string result;
  const auto add = [&](const Row& row) {
    result += "|";
    for (std::size_t c = 0; c < row.size(); ++c)
      result += " " + row[c] + (c + 1 < row.size() ? std::string(widths[c] - columns(row[c]), ' ') : "") + " |";
    result += "\n";
  };
  add(rows.front());
  Row rule;
  for (std::size_t c = 0; c < rows.front().size(); ++c) rule.push_back(std::string(c + 1 < rows.front().size() ? widths[c] : 3, '-'));
  add(rule);
  for (std::size_t r = 1; r < rows.size(); ++r) add(rows[r]);
  return result;
}

// A pipe would end the cell, a line break the table.
std::string cell(std::string content) {
  for (std::size_t at = 0; (at = content.find_first_of("|\n", at)) != std::string::npos; at += 2)
    content.replace(at, 1, content[at] == '|' ? "\\|" : "  ");
  return content;
}

std::string section(const std::string& title, const std::vector<Row>& rows) { return rows.size() < 2 ? "" : "\n## " + title + "\n\n" + table(rows); }

std::vector<Row> columns_of(const sluice_port& port, const char* optional) {
  std::vector<Row> rows = {{"column", "type", "", "meaning"}};
  for (std::size_t c = 0; c < port.column_count; ++c)
    rows.push_back(  // unquoted, Markdown takes the <f32> of a list<f32> for HTML
        {port.columns[c].name, "`" + cell(port.columns[c].type) + "`", port.columns[c].optional != 0 ? optional : "",
         cell(text(port.columns[c].doc))});
  return rows;
}

std::string allowed_text(const ValueRule& rule) {
  std::string allowed;
  for (const std::string& choice : rule.choices) allowed += (allowed.empty() ? "" : ", ") + choice;
  if (!allowed.empty()) return allowed;
  return range_text(rule).empty() ? rule.unit : range_text(rule);
}

std::vector<Row> parameters_of(const sluice_stage_descriptor& d) {
  std::vector<Row> rows = {{"parameter", "type", "default", "allowed", "meaning"}};
  for (std::size_t i = 0; i < d.parameter_count; ++i) {
    const sluice_parameter& p = d.parameters[i];
    rows.push_back(
        {p.name, type_name(p.type), p.required != 0 ? "(required)" : cell(default_text(p)), cell(allowed_text(rule_of(p))), cell(text(p.help))});
  }
  return rows;
}

std::string traits_text(std::uint32_t traits) {
  std::string result;
  if ((traits & SLUICE_TRAIT_SERIAL) != 0) result += "- One batch at a time per run.\n";
  if ((traits & SLUICE_TRAIT_BLOCKING) != 0)
    result += (traits & SLUICE_TRAIT_SIDE_BY_SIDE) != 0
                  ? "- Waits for a disk or a network: runs on threads of its own, on several where a run has many.\n"
                  : "- Waits for a disk or a network: runs on a thread of its own.\n";
  if ((traits & SLUICE_TRAIT_ORDERED) != 0) result += "- Keeps state: batches in order, one at a time, on one device (or the CPU) for a whole run.\n";
  if ((traits & SLUICE_TRAIT_RESTARTABLE) != 0) result += "- Begins afresh on the CPU when its device is lost.\n";
  if ((traits & SLUICE_TRAIT_INEXACT) != 0) result += "- Its implementations are not bit-identical: one of them is used for a whole run.\n";
  return result;
}

std::string example_of(const sluice_stage_descriptor& d) {
  const bool is_resource = d.kind == SLUICE_RESOURCE;
  std::string example = fmt::format("[{}.NAME]\nuse = \"{}\"\n", is_resource ? "resources" : "stages", d.id);
  for (std::size_t i = 0; i < d.resource_count; ++i)
    if (d.resources[i].optional == 0) example += fmt::format("resources.{} = \"RESOURCE\"\n", d.resources[i].name);
  for (std::size_t i = 0; i < d.parameter_count; ++i)
    if (d.parameters[i].required != 0) example += fmt::format("params.{} = ...\n", d.parameters[i].name);
  return "\n## In a pipeline\n\n```toml\n" + example + "```\n";
}

}  // namespace

std::string stage_page(const StageEntry& stage) {
  const sluice_stage_descriptor& d = *stage.descriptor;
  std::string page = fmt::format("# {}\n\n{}\n\n", d.id, text(d.summary));
  auto out = std::back_inserter(page);
  fmt::format_to(out, "- Kind: {}", kind_name(d.kind));
  if (d.input.row_type != nullptr) fmt::format_to(out, ", reads `{}` rows", d.input.row_type);
  if (d.output.row_type != nullptr) fmt::format_to(out, ", gives `{}` rows", d.output.row_type);
  fmt::format_to(out, "\n- Plugin: {} {} ({})\n- Work is counted in: {}\n{}", text(stage.plugin->name), text(stage.plugin->version),
                 text(stage.plugin->licence), d.work_unit == nullptr ? "row" : d.work_unit, traits_text(d.traits));
  if (!text(d.doc).empty()) page += "\n" + text(d.doc) + (text(d.doc).ends_with('\n') ? "" : "\n");
  page += section("Needs", columns_of(d.input, "optional"));
  if (const sluice_port feedback = d.feedback; feedback.row_type != nullptr)
    page += section(std::string("Takes back from sinks, in `") + feedback.row_type + "` rows", columns_of(feedback, "optional"));
  page += section("Gives", columns_of(d.output, "only when used"));
  page += section("Parameters", parameters_of(d));
  std::vector<Row> resources = {{"resource slot", "rows", "", "meaning"}}, reasons = {{"reason", "meaning"}}, implementations = {{"device", "how"}};
  for (std::size_t i = 0; i < d.resource_count; ++i)
    resources.push_back(
        {d.resources[i].name, d.resources[i].row_type, d.resources[i].optional != 0 ? "optional" : "", cell(text(d.resources[i].doc))});
  for (std::size_t i = 0; i < d.reason_count; ++i) reasons.push_back({d.reasons[i].code, cell(text(d.reasons[i].doc))});
  for (std::size_t i = 0; i < d.implementation_count; ++i)
    implementations.push_back({d.implementations[i].device, cell(text(d.implementations[i].doc))});
  page += section("Resources", resources);
  page += section("Why rows fail here, or inputs never become rows", reasons);
  page += section("Implementations", implementations);
  return page + example_of(d);
}

namespace {

std::string default_of(const PipelineParameter& p) {
  if (p.required) return "(required)";
  const std::string initial = cell(p.default_text.value_or(""));
  return p.by_ending ? "by the ending of `--" + kebab_case(p.by_ending->of) + "`, else " + initial : initial;
}

std::string example_of(const WrittenPipeline& pipeline) {
  if (!pipeline.example.empty()) return pipeline.example;
  std::string example = "sluice run " + pipeline.name;
  for (const PipelineParameter& p : pipeline.parameters)
    if (p.required) example += " --" + kebab_case(p.name) + (p.type == SLUICE_PATH ? " FILE" : " VALUE");
  return example;
}

}  // namespace

std::string pipeline_page(const WrittenPipeline& pipeline) {
  std::string page = fmt::format("# {}\n\n{}\n", pipeline.name, pipeline.summary);
  if (!pipeline.doc.empty()) page += "\n" + pipeline.doc + (pipeline.doc.ends_with('\n') ? "" : "\n");
  page += fmt::format("\n```\n{}\n```\n", example_of(pipeline));
  if (!pipeline.next_steps.empty()) page += "\nNext: " + pipeline.next_steps + ".\n";
  for (const char* group : {"input", "output", "common", "more"}) {
    std::vector<Row> parameters = {{"option", "type", "default", "allowed", "meaning"}};
    for (const PipelineParameter& p : pipeline.parameters)
      if (p.group == group)
        parameters.push_back({"`--" + kebab_case(p.name) + "`", type_name(p.type), default_of(p), cell(allowed_text(rule_of(p))),
                              cell(p.help + (p.needs.empty() ? "" : " (only " + needs_text(p) + ")"))});
    page += section(group_heading(group), parameters);
  }
  std::vector<Row> habits = {{"of other programs", "here"}}, stages = {{"stage", "type", "exists"}}, resources = {{"resource", "type"}};
  for (const auto& [option, here] : pipeline.habits) habits.push_back({"`" + option + "`", cell(here)});
  for (const WrittenStage& stage : pipeline.stages)
    stages.push_back(
        {stage.name, fmt::format("[{0}](../stages/{0}.md)", stage.use), stage.enabled ? "if `" + cell(stage.enabled->text) + "`" : "always"});
  for (const WrittenStage& resource : pipeline.resources) resources.push_back({resource.name, fmt::format("[{0}](../stages/{0}.md)", resource.use)});
  return page + section("Options of other programs", habits) + section("Resources", resources) + section("Stages", stages);
}

}  // namespace sluice::cli
