// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How two runs of a stage differ.

#include <sluice/abi.h>

#include <sluice/testing/result.hpp>
#include <string>
#include <vector>

namespace sluice::testing::detail {

// One line per row: what the stage said about it.
std::vector<std::string> rows_of(const sluice_stage_descriptor& stage, const Result& result);
// What is other in the rows and files of the second, one line each.
std::vector<std::string> differences(const sluice_stage_descriptor& stage, const Result& expected, const Result& actual);

}  // namespace sluice::testing::detail
