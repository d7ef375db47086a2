// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cuda_devices/compute_capability.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using sluice::cuda_devices::why_not_used;

TEST_CASE("devices before compute capability 8.0 are not used, and the reason says what is needed") {
  for (const auto& [major, minor] : {std::pair(3, 5), {6, 1}, {7, 0}, {7, 5}}) {
    const std::string reason = why_not_used(major, minor);
    CHECK(reason.find("compute capability " + std::to_string(major) + "." + std::to_string(minor)) != std::string::npos);
    CHECK(reason.find("8.0 or newer is needed") != std::string::npos);
  }
  for (const auto& [major, minor] : {std::pair(8, 0), {8, 6}, {8, 7}, {8, 9}, {9, 0}, {10, 0}, {12, 0}}) CHECK(why_not_used(major, minor).empty());
}
