// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Rows that have the types a stage asks for, and values that fit nothing.

#include <cstdint>
#include <sluice/testing/test_batch.hpp>
#include <vector>

namespace sluice::testing {

// samples: whose columns take the place of "*".
TestBatch made_up_rows(const sluice_port& port, std::int64_t rows, std::uint32_t seed, const std::vector<TestBatch>& samples);

}  // namespace sluice::testing
