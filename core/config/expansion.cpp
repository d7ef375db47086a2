// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/expansion.hpp"

namespace sluice {

Expansion expand(const std::string& text, const std::map<std::string, std::string>& parameters) {
  // Defaults may refer to earlier parameters, so texts could double with every line of a hostile file.
  constexpr std::size_t longest = 64 * 1024;
  Expansion result;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t dollar = text.find("${", at);
    if (dollar == std::string::npos) {
      result.text.append(text, at);
      break;
    }
    if (dollar > at && text[dollar - 1] == '$') {
      result.text.append(text, at, dollar - 1 - at).append("${");
      at = dollar + 2;
      continue;
    }
    const std::size_t brace = text.find('}', dollar);
    if (brace == std::string::npos) {
      result.message = "'${' is not closed";
      result.remedy = "write ${name}, or $${ for the two characters themselves";
      return result;
    }
    const std::string name = text.substr(dollar + 2, brace - dollar - 2);
    const auto parameter = parameters.find(name);
    if (parameter == parameters.end()) {
      std::vector<std::string> names;
      for (const auto& [known, value] : parameters) names.push_back(known);
      const std::string near = nearest_name(name, names);
      result.message = "unknown parameter '${" + name + "}'";
      result.remedy = near.empty() ? "add a [parameters." + name + "] table" : "did you mean '${" + near + "}'?";
      return result;
    }
    result.text.append(text, at, dollar - at).append(parameter->second);
    at = brace + 1;
    if (result.text.size() > longest) break;
  }
  if (result.text.size() > longest) {
    result.text.clear();
    result.message = "the text is longer than 64 KiB after its ${...} are replaced";
    result.remedy = "shorten it";
  }
  return result;
}

}  // namespace sluice
