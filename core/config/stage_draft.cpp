// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/stage_draft.hpp"

#include <string_view>
#include <utility>

#include "config/expansion.hpp"
#include "config/pipeline_parameters.hpp"

namespace sluice {

ResolvingScope::ResolvingScope(const WrittenPipeline& written, const Overrides& given, Diagnostics& problems)
    : pipeline(written), overrides(given), diagnostics(problems), parameters(final_parameters(written, given, problems)) {}

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

std::string sole_reference(const std::string& text) {
  const bool sole = text.size() > 3 && text.starts_with("${") && text.find('}') == text.size() - 1;
  return sole ? text.substr(2, text.size() - 3) : "";
}

}  // namespace sluice
