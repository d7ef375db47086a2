// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What TraceWriter writes of some events.

#include <fstream>
#include <iterator>
#include <sluice/testing/temporary_folder.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "observe/trace.hpp"

inline std::string trace_text(const std::string& pipeline, const std::vector<sluice::TraceEvent>& events) {
  const sluice::testing::TemporaryFolder folder;
  sluice::TraceWriter writer(folder.path() + "/trace.json", pipeline);
  for (const sluice::TraceEvent& event : events) writer.happened(event);
  if (const std::string problem = writer.finish(); !problem.empty()) throw std::runtime_error(problem);
  std::ifstream stream(folder.path() + "/trace.json", std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}
