// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Letters of a store's first sequences, held in memory beside the table, as far as a number of bytes goes.

#include <cstdint>
#include <sluice/stage.hpp>
#include <string>

#include "sequence_store/stored_file.hpp"

namespace sluice::sequence_store {

// Rows [0, packed) have their bases in memory, rows [0, with_qualities) their qualities: a byte there saves reading four bases, or one quality.
struct RowsInMemory {
  std::int64_t packed = 0, with_qualities = 0;
};
RowsInMemory rows_in_memory(const SequenceTable& table, std::int64_t bytes);

// The columns packed_bases, is_packed and qualities_in_memory. path: for messages.
void hold_letters(const Call& call, const StoredFile& stored, const std::string& path, std::int64_t bytes, Output& out);

}  // namespace sluice::sequence_store
