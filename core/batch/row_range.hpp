// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Parts of a batch by rows, and the way back: for a batch that does not fit a device in one piece.

#include <cstdint>
#include <vector>

#include "batch/batch.hpp"

namespace sluice {

// Rows [begin, end): the columns share the batch's memory (columns that lie only on a device are fetched first).
BatchHandle slice_rows(const BatchHandle& batch, std::int64_t begin, std::int64_t end);

// The rows of all parts one after the other. Columns that `whole` has are taken from it; the others are copied together.
BatchHandle join_rows(const BatchHandle& whole, const std::vector<BatchHandle>& parts);

}  // namespace sluice
