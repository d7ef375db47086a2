// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once

#include <sluice/abi.h>

#include <sluice/testing/result.hpp>
#include <string>

namespace sluice::testing::detail {

// The first failure is what the run ends with. False.
bool fail(Result& result, sluice_status status, const std::string& message, const std::string& remedy = {});

}  // namespace sluice::testing::detail
