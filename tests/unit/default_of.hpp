// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What options of a stage are where nothing is given: constants that a program or a paper has set, which nothing else in a test may notice.

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sluice/testing.hpp>
#include <string>
#include <string_view>

namespace sluice::testing {

// An option may be of single precision.
inline double seven_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return std::strtod(text, nullptr);
}

// As a user would type it; "(none)": there is no such option, or it has no default.
inline std::string default_of(const sluice_stage_descriptor& stage, std::string_view option) {
  for (std::size_t i = 0; i < stage.parameter_count; ++i) {
    const auto& parameter = *reinterpret_cast<const sluice_parameter*>(reinterpret_cast<const char*>(stage.parameters) + i * stage.parameter_stride);
    const sluice_value& value = parameter.default_value;
    if (parameter.name != option || value.is_set == 0) continue;
    if (parameter.type == SLUICE_BOOL) return Text(value.integer != 0);
    if (parameter.type == SLUICE_INT || parameter.type == SLUICE_SIZE) return Text(value.integer);
    if (parameter.type == SLUICE_FLOAT) return Text(seven_digits(value.real));
    return value.text;
  }
  return "(none)";
}

// "OPTION VALUE " of each option that has another default than the one that is expected.
inline std::string other_defaults(const StageUnderTest& stage, const std::map<std::string, std::string>& expected) {
  std::string others;
  for (const auto& [option, value] : expected)
    if (const std::string given = default_of(*stage.descriptor, option); given != value) others += option + " " + given + " ";
  return others;
}

}  // namespace sluice::testing
