// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The descriptor of a map or a source from its JSON form: see sluice_stage_register() in sluice.h.

#include <sluice/abi.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

// With everything that the descriptor points to. Lives as long as the process: descriptors do.
struct DescribedStage {
  sluice_stage_descriptor descriptor{};
  std::deque<std::string> texts;
  std::deque<std::vector<const char*>> choices;
  std::vector<sluice_column_spec> needs, gives;
  std::vector<sluice_parameter> parameters;
  std::vector<sluice_reason> reasons;
  sluice_implementation implementation{};
};

// Throws Failure where something is missing or of the wrong kind.
std::unique_ptr<DescribedStage> described_stage(const std::string& json);
// The values as a JSON object, those that are not set left out.
std::string parameters_json(const sluice_stage_descriptor& descriptor, const sluice_value* values, std::size_t stride);

}  // namespace sluice
