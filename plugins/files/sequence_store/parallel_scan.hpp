// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The table of a plain file, made by several threads, each of which scans a part of it.
//
// Where a part begins is guessed: a '>' at the beginning of a line, or an '@' there that begins four lines as most FASTQ files have them. A guess
// counts only if the part before ends at that very place, so that the table is that of one scan from the beginning, whatever the file holds.

#include <cstdint>
#include <functional>
#include <string>

#include "sequence_store/sequence_scan.hpp"

namespace sluice::sequence_store {

// parallel(count, body): calls body(i) for all i below count, from any threads.
using Parallel = std::function<void(std::size_t count, const std::function<void(std::size_t)>& body)>;

constexpr std::int64_t usual_part_bytes = std::int64_t{8} << 20;

// Replaces the table. False: the file has to be scanned from the beginning, because it is malformed, has records with lines of unequal length or
// records that parts can't be guessed of, or is shorter than two parts; the table is then unspecified.
bool scan_in_parts(int file, std::int64_t file_bytes, std::int64_t part_bytes, const Parallel& parallel, const std::function<bool()>& cancelled,
                   SequenceTable& table);

}  // namespace sluice::sequence_store
