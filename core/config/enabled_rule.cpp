// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/enabled_rule.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "config/text_fields.hpp"

namespace sluice {
namespace {

// Signs that a reader would take for an expression, outside of ${...}.
bool has_operator(const std::string& text, std::string_view signs) {
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "${") == 0) inside = true;
    if (!inside && signs.find(text[i]) != std::string_view::npos) return true;
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
    if (has_operator(left.text, "<>=!&|()") || has_operator(right.text, "<>=!&()")) break;
    const std::vector<std::string> values = text_fields(right.text, '|');  // any of "sam|bam"
    const auto is_no_value = [](const std::string& text) { return text.empty() || text.front() == ' ' || text.back() == ' '; };
    if (values.size() > 1 && std::any_of(values.begin(), values.end(), is_no_value)) break;
    const std::string found = scope.expanded(about, "enabled: ", left);
    bool is_one = false;
    for (const std::string& text : values) {
      WrittenValue one = right;
      one.text = text;
      is_one = scope.expanded(about, "enabled: ", one) == found || is_one;
    }
    return is_one == (sign == " == ");
  }
  if (value.text.empty() || value.text == "false") return false;
  if (value.text == "true") return true;
  if (!sole_reference(value.text).empty()) {
    const std::string text = scope.expanded(about, "enabled: ", value);
    return !text.empty() && text != "false";
  }
  scope.error(about, value.where, "enabled: '" + value.text + "' is not understood",
              "write true, false, ${x}, ${x} == value, ${x} == value|value or ${x} != value");
  return false;
}

}  // namespace sluice
