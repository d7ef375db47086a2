// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Parts of a batch by rows, and the way back: for a batch that is divided between lanes, or does not fit a device in one piece.

#include <cstdint>
#include <sluice/column.hpp>
#include <vector>

#include "batch/batch.hpp"

namespace sluice {

// Rows [begin, end): the columns share the batch's memory (columns that lie only on a device are fetched first).
BatchHandle slice_rows(const BatchHandle& batch, std::int64_t begin, std::int64_t end);

// The given rows, ascending: a range shares the batch's memory, others are copied together.
BatchHandle take_rows(const BatchHandle& batch, const std::vector<std::uint32_t>& rows);

// `whole` with the columns that its parts have gained. The parts hold its rows one after the other, or, where `rows` is not empty, part p
// holds the rows rows[p]; every row is in exactly one part.
BatchHandle join_rows(const BatchHandle& whole, const std::vector<BatchHandle>& parts, const std::vector<std::vector<std::uint32_t>>& rows = {});

// The rows of several batches with the same columns behind each other, under the first one's number. Nothing is copied: see Column.
BatchHandle append_rows(const std::vector<BatchHandle>& batches);

// The rows of several columns of one type behind each other, copied.
ArrowArray appended_rows(const std::vector<ColumnHandle>& parts);

}  // namespace sluice
