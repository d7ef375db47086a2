// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A sink that is ended and gone on with, for each form of its file.

#include <sluice/testing.hpp>
#include <string>
#include <vector>

namespace sluice::testing {

inline std::vector<std::string> resume_problems(StageRun run, const std::vector<std::string>& outputs) {
  std::vector<std::string> problems;
  for (const std::string& output : outputs)
    for (const std::string& problem : resume_problems(run.with({{"output", output}}))) problems.push_back(output + ": " + problem);
  return problems;
}

}  // namespace sluice::testing
