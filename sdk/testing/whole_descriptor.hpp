// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a descriptor lacks: more than a host asks for (sluice/descriptor_check.hpp), as people read descriptors, too.

#include <sluice/abi.h>

#include <string>
#include <vector>

namespace sluice::testing::detail {

std::vector<std::string> whole_descriptor_problems(const sluice_stage_descriptor& stage);

}  // namespace sluice::testing::detail
