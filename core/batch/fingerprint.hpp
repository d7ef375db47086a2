// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One number for the content of a batch: equal for equal bytes, however they lie in memory.

#include <cstdint>
#include <string>
#include <vector>

#include "batch/batch.hpp"

namespace sluice {

// FNV-1a (64 bits) over the rows' status and the named columns: names, list sizes, values. Rows that failed count by their status only:
// their cells hold nothing. Fetches columns that lie on a device.
std::uint64_t fingerprint(const BatchData& batch, const std::vector<std::string>& columns);

}  // namespace sluice
