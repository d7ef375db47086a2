// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the steps of resolve_pipeline() share: the stages while a pipeline is put together, and how problems of one are told.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "config/pipeline.hpp"

namespace sluice {

inline constexpr std::size_t absent = static_cast<std::size_t>(-1);

enum class Part { resource, stage };

// What is known about a written stage or resource while the pipeline is put together.
struct Draft {
  const WrittenStage* written = nullptr;
  Part part = Part::stage;
  StageEntry entry;  // descriptor NULL: unknown type, reported
  bool enabled = true;
  std::vector<std::size_t> slots;  // per descriptor slot: index of the resource as written, or absent
};

class ResolvingScope {
 public:
  ResolvingScope(const WrittenPipeline& pipeline, const Overrides& overrides, Diagnostics& diagnostics);

  void error(const Draft& about, const Location& where, const std::string& message, const std::string& remedy) const;
  // The text with ${...} replaced; "" after a problem, which is reported once.
  std::string expanded(const Draft& about, const std::string& what, const WrittenValue& value) const;

  // Asks for the parameter that the text is, as "${reference}", on the command line. False where it is something else.
  bool ask_for(const std::string& text) const;

  const WrittenPipeline& pipeline;
  const Overrides& overrides;
  Diagnostics& diagnostics;
  const std::map<std::string, std::string> parameters;  // final values, and command_line
};

// "x" for "${x}"; "" for any other text.
std::string sole_reference(const std::string& text);

}  // namespace sluice
