// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The default of an option as a user would type it; "(none)": there is no such option, or it has no default.

#include <sluice/testing.hpp>
#include <string>
#include <string_view>

namespace sluice::testing {

inline std::string default_of(const sluice_stage_descriptor& stage, std::string_view option) {
  for (std::size_t i = 0; i < stage.parameter_count; ++i) {
    const auto& parameter = *reinterpret_cast<const sluice_parameter*>(reinterpret_cast<const char*>(stage.parameters) + i * stage.parameter_stride);
    const sluice_value& value = parameter.default_value;
    if (parameter.name != option || value.is_set == 0) continue;
    if (parameter.type == SLUICE_BOOL) return Text(value.integer != 0);
    if (parameter.type == SLUICE_INT || parameter.type == SLUICE_SIZE) return Text(value.integer);
    if (parameter.type == SLUICE_FLOAT) return Text(value.real);
    return value.text;
  }
  return "(none)";
}

}  // namespace sluice::testing
