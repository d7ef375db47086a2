// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::window_merging {

// Appends VCF records of the changes from a target's bases, of which the first has the 1-based place `first`, to those of its window's consensus.
// Both are written with one base more where one of them would have none: the one before, or in front of the window the one behind.
void append_records(std::string_view target, std::int64_t first, std::string_view from, std::string_view to, std::string& records);

}  // namespace sluice::window_merging
