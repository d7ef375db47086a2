// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a sink says became of its rows.

#include <cstdint>
#include <map>
#include <sluice/testing.hpp>
#include <string>
#include <utility>

// Good ones and all, by name.
using Outcomes = std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>;

inline Outcomes outcomes_of(const sluice::testing::StageRun& run) { return run.run().outcomes; }
