// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/stage_draft.hpp"

#include <string_view>
#include <utility>

#include "config/command_line.hpp"
#include "config/expansion.hpp"
#include "config/pipeline_parameters.hpp"

namespace sluice {
namespace {

std::map<std::string, std::string> referable_values(const WrittenPipeline& pipeline, const Overrides& overrides, Diagnostics& diagnostics) {
  std::map<std::string, std::string> values = final_parameters(pipeline, overrides, diagnostics);
  values[command_line_name] = command_line_text(pipeline, overrides);
  return values;
}

}  // namespace

ResolvingScope::ResolvingScope(const WrittenPipeline& written, const Overrides& given, Diagnostics& problems)
    : pipeline(written), overrides(given), diagnostics(problems), parameters(referable_values(written, given, problems)) {}

void ResolvingScope::error(const Draft& about, const Location& where, const std::string& message, const std::string& remedy) const {
  if (about.part == Part::stage)
    diagnostics.error(where, about.written->name, message, remedy);
  else
    diagnostics.error(where, "", "resource '" + about.written->name + "': " + message, remedy);
}

std::string ResolvingScope::expanded(const Draft& about, const std::string& what, const WrittenValue& value) const {
  Expansion expansion = expand(value.text, parameters);
  if (!expansion.message.empty()) {
    error(about, value.where, what + expansion.message, expansion.remedy);
    return "";
  }
  return std::move(expansion.text);
}

bool ResolvingScope::ask_for(const std::string& text) const {
  const std::string name = sole_reference(text);
  for (const PipelineParameter& parameter : pipeline.parameters)
    if (parameter.name == name && parameter.type != SLUICE_BOOL) return sluice::ask_for(parameter, diagnostics), true;
  return false;
}

std::string sole_reference(const std::string& text) {
  const bool sole = text.size() > 3 && text.starts_with("${") && text.find('}') == text.size() - 1;
  return sole ? text.substr(2, text.size() - 3) : "";
}

}  // namespace sluice
