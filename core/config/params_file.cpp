// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/params_file.hpp"

#include <algorithm>
#include <optional>

#include "config/pipeline_file.hpp"

namespace sluice {
namespace {

constexpr const char* run_table = "run";

void read_values(const TomlNode& table, const std::string& prefix, std::map<std::string, GivenValue>& values, Diagnostics& diagnostics) {
  const auto is_value = [](const TomlNode& node) { return node.is_scalar() && node.kind != TomlKind::date; };
  for (const TomlMember& member : table.members) {
    const bool is_list = member.value.kind == TomlKind::array;
    const std::vector<TomlNode> items = is_list ? member.value.items : std::vector<TomlNode>{member.value};
    const auto wrong = std::find_if_not(items.begin(), items.end(), is_value);
    if (wrong != items.end()) {
      diagnostics.error(
          wrong->where, "", "'" + prefix + member.key + "' must be a string, a number, a boolean or a list of them, not " + kind_name(wrong->kind),
          wrong->kind == TomlKind::table ? "options of the run stand in [run], parameters of the pipeline in no table" : "write it as a string");
      continue;
    }
    GivenValue value{{}, is_list, member.where};
    for (const TomlNode& item : items) value.texts.push_back(item.text);
    values[member.key] = std::move(value);
  }
}

}  // namespace

ParamsFile parse_params(std::string_view text, const std::filesystem::path& file, Diagnostics& diagnostics) {
  ParamsFile params;
  std::optional<TomlNode> document = parse_toml(text, file.string(), diagnostics);
  if (!document) return params;
  const auto run = std::find_if(document->members.begin(), document->members.end(),
                                [](const TomlMember& m) { return m.key == run_table && m.value.kind == TomlKind::table; });
  if (run != document->members.end()) {
    read_values(run->value, std::string(run_table) + ".", params.run, diagnostics);
    document->members.erase(run);
  }
  read_values(*document, "", params.parameters, diagnostics);
  return params;
}

ParamsFile load_params_file(const std::filesystem::path& file, Diagnostics& diagnostics) {
  const std::optional<std::string> text = read_pipeline_text(file, diagnostics, "the file of parameters");
  return text ? parse_params(*text, file, diagnostics) : ParamsFile{};
}

}  // namespace sluice
