// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which names belong to a share of all: decided by each name alone, so that order, batches and threads do not matter.

#include <cstdint>
#include <string_view>

namespace sluice::row_selection {

// A number that looks evenly distributed over 64 bits, the same for ever: FNV-1a of the name, begun with the seed, mixed as splitmix64 does.
std::uint64_t hash_of_name(std::string_view name, std::uint64_t seed);

// Is the name among the share of 0 to 1? A smaller share of the same seed is a part of a larger one.
bool is_in_share(std::string_view name, std::uint64_t seed, double share);

}  // namespace sluice::row_selection
