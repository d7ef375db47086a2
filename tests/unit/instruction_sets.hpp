// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once

#include <doctest/doctest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::testing {

// check() once for each instruction set that this machine and this build have; then Highway chooses again.
template <class Check>
void for_each_instruction_set(const Check& check) {
  const auto choose = [](std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  };
  choose(0);
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  for (const std::int64_t target : targets) {
    choose(target);
    CAPTURE(std::string(hwy::TargetName(target)));
    check();
  }
  choose(0);
}

}  // namespace sluice::testing
