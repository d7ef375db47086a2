// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/enabled_rule.hpp"

#include <string_view>

namespace sluice {
namespace {

// Signs that a reader would take for an expression, outside of ${...}.
bool has_operator(const std::string& text) {
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "${") == 0) inside = true;
    if (!inside && std::string_view("<>=!&|()").find(text[i]) != std::string_view::npos) return true;
    if (text[i] == '}') inside = false;
  }
  return false;
}

}  // namespace

bool is_enabled(const ResolvingScope& scope, const Draft& about, const WrittenValue& value) {
  for (const std::string sign : {" == ", " != "}) {
    const std::size_t at = value.text.find(sign);
    if (at == std::string::npos) continue;
    WrittenValue left = value, right = value;
    left.text.resize(at);
    right.text.erase(0, at + sign.size());
    if (has_operator(left.text) || has_operator(right.text)) break;
    return (scope.expanded(about, "enabled: ", left) == scope.expanded(about, "enabled: ", right)) == (sign == " == ");
  }
  if (value.text.empty() || value.text == "false") return false;
  if (value.text == "true") return true;
  if (!sole_reference(value.text).empty()) {
    const std::string text = scope.expanded(about, "enabled: ", value);
    return !text.empty() && text != "false";
  }
  scope.error(about, value.where, "enabled: '" + value.text + "' is not understood", "write true, false, ${x}, ${x} == value or ${x} != value");
  return false;
}

}  // namespace sluice
