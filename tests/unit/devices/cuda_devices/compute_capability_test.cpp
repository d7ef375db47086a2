// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cuda_devices/compute_capability.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using sluice::cuda_devices::runs_on;
using sluice::cuda_devices::why_not_used;

namespace {
const std::string usual = "80-real,90";
}

TEST_CASE("devices before compute capability 8.0 are not used, and the reason says what is needed") {
  for (const auto& [major, minor] : {std::pair(3, 5), {6, 1}, {7, 0}, {7, 5}}) {
    const std::string reason = why_not_used(major, minor, usual);
    CHECK(reason.find("compute capability " + std::to_string(major) + "." + std::to_string(minor)) != std::string::npos);
    CHECK(reason.find("8.0 or newer is needed") != std::string::npos);
  }
  for (const auto& [major, minor] : {std::pair(8, 0), {8, 6}, {8, 9}, {9, 0}, {10, 0}, {12, 0}}) CHECK(why_not_used(major, minor, usual).empty());
}

TEST_CASE("a device for which a build has no code is not used, and the reason says how to build for it") {
  const std::string reason = why_not_used(8, 7, usual);
  CHECK(reason.find("no code for compute capability 8.7, only for 80-real,90") != std::string::npos);
  CHECK(reason.find("-DCMAKE_CUDA_ARCHITECTURES=87;") != std::string::npos);
  CHECK(why_not_used(8, 7, "80-real,87-real,90").empty());
  CHECK(why_not_used(8, 7, "native").empty());
}

TEST_CASE("machine code runs on later devices of its major number, not between Jetson and others, and PTX on all later ones") {
  CHECK(runs_on(8, 0, "80-real"));
  CHECK(runs_on(8, 9, "80-real"));
  CHECK(runs_on(8, 9, "75-real,86-real"));
  CHECK_FALSE(runs_on(8, 0, "86"));
  CHECK_FALSE(runs_on(9, 0, "80-real,86-real"));
  CHECK_FALSE(runs_on(8, 7, "80-real"));
  CHECK_FALSE(runs_on(8, 9, "87-real"));
  CHECK(runs_on(8, 7, "87-real"));
  CHECK(runs_on(8, 7, "80"));
  CHECK(runs_on(8, 9, "87"));
  CHECK(runs_on(12, 0, "80-real,90-virtual"));
  CHECK_FALSE(runs_on(8, 9, "90-virtual"));
  CHECK(runs_on(9, 0, "90a"));
  CHECK(runs_on(9, 0, "90a-real"));
  CHECK_FALSE(runs_on(10, 0, "90a"));
  CHECK(runs_on(10, 3, "100f"));
  CHECK_FALSE(runs_on(12, 0, "100f"));
  CHECK_FALSE(runs_on(8, 0, ""));
}
