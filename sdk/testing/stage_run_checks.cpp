// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What a host checks before it makes an instance: parameters as a user types them, and the columns that a stage needs.
#include "testing/stage_run_checks.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <sluice/testing/stage_run.hpp>

namespace sluice::testing {

namespace detail {

bool fail(Result& result, sluice_status status, const std::string& message, const std::string& remedy) {
  if (result.ok()) {
    result.status = status;
    result.message = message;
    result.remedy = remedy;
  }
  return false;
}

}  // namespace detail

using detail::fail;

namespace {

bool parse_number(std::string_view text, double& value) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}
bool parse_integer(std::string_view text, std::int64_t& value) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

}  // namespace

std::string Text::shortest(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

bool StageRun::parameter_values(std::vector<sluice_value>& values, Result& result) const {
  const sluice_stage_descriptor& d = *stage_.descriptor;
  for (std::size_t i = 0; i < d.parameter_count; ++i) {
    const sluice_parameter& p = d.parameters[i];
    sluice_value value = p.default_value;
    value.type = p.type;
    if (value.text == nullptr) value.text = "";
    const auto given = parameters_.find(p.name);
    if (given == parameters_.end()) {
      if (p.required != 0) return fail(result, SLUICE_ERROR_USAGE, std::string("parameter '") + p.name + "' is required");
      values.push_back(value);
      continue;
    }
    const std::string& text = given->second;
    const std::string wrong = std::string("parameter '") + p.name + "' can't be '" + text + "'";
    value.is_set = 1;
    value.text = text.c_str();
    bool fits = true;
    double number = 0;
    switch (p.type) {
      case SLUICE_BOOL:
        fits = text == "true" || text == "false";
        value.integer = text == "true" ? 1 : 0;
        break;
      case SLUICE_INT:
      case SLUICE_SIZE:
        fits = parse_integer(text, value.integer);
        number = static_cast<double>(value.integer);
        break;
      case SLUICE_FLOAT:
        fits = parse_number(text, value.real);
        number = value.real;
        break;
      case SLUICE_CHOICE:
        fits = false;
        for (const char* const* choice = p.choices; *choice != nullptr; ++choice) fits = fits || text == *choice;
        break;
      default:
        break;
    }
    if (fits && (p.minimum != 0 || p.maximum != 0) && (p.type == SLUICE_INT || p.type == SLUICE_SIZE || p.type == SLUICE_FLOAT))
      fits = number >= p.minimum && number <= p.maximum;
    if (!fits) return fail(result, SLUICE_ERROR_USAGE, wrong);
    values.push_back(value);
  }
  for (const auto& [name, value] : parameters_) {
    const bool known =
        std::any_of(d.parameters, d.parameters + d.parameter_count, [&given = name](const sluice_parameter& p) { return given == p.name; });
    if (!known) return fail(result, SLUICE_ERROR_USAGE, "unknown parameter '" + name + "'");
  }
  return true;
}

bool StageRun::check_inputs(std::vector<std::uint8_t>& available, Result& result) const {
  const sluice_port& needs = stage_.descriptor->input;
  available.assign(needs.column_count, inputs_.empty() ? 0 : 1);
  for (const TestBatch& batch : inputs_)
    for (std::size_t i = 0; i < needs.column_count; ++i) {
      if (std::string_view(needs.columns[i].name) == "*") continue;  // every column there is
      const sluice_column* column = batch.view().find(needs.columns[i].name);
      if (column == nullptr && needs.columns[i].optional == 0)
        return fail(result, SLUICE_ERROR_USAGE, std::string("the test's batch lacks column '") + needs.columns[i].name + "'");
      if (column == nullptr) available[i] = 0;
      if (column != nullptr && std::string_view(column->type) != needs.columns[i].type)
        return fail(result, SLUICE_ERROR_USAGE,
                    std::string("the test's column '") + needs.columns[i].name + "' is " + column->type + " instead of " + needs.columns[i].type);
    }
  return true;
}

}  // namespace sluice::testing
