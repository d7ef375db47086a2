// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Rows that have the types a stage asks for, and values that fit nothing.

#include <cstdint>
#include <sluice/testing/test_batch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sluice::testing {

using ColumnTypes = std::vector<std::pair<std::string, std::string>>;  // by name

TestBatch made_up_rows(const char* row_type, const ColumnTypes& columns, std::int64_t rows, std::uint32_t seed);

}  // namespace sluice::testing
