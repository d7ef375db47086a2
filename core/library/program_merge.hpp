// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// sluice_merge() of sluice.h.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shard/merging.hpp"

namespace sluice {

// Returns the report. Throws Failure, of SLUICE_ERROR_CANCELLED once *stop (may be null) is not 0.
std::string merge_for_program(const Registry& registry, const MergeRequest& request, const std::vector<std::pair<std::string, std::string>>& options,
                              const volatile std::int32_t* stop);

}  // namespace sluice
