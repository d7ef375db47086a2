// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Alphabetical order of a text's suffixes.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace sluice::fm_index {

// body(begin, end) over disjoint parts of [0, count), each at least `grain` long but the last; from several threads at once.
using ParallelFor = std::function<void(std::size_t count, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body)>;

// Fills rows[0 .. length] with the places of the suffixes of a text of `length` bases (packed as sluice/fm_index.hpp says), the empty one first; a
// suffix comes before those that continue it. length < 2^32 - 1; rows.size() == length + 1.
//
// Suffixes are dealt out by their first 12 bases, and each bucket is sorted by 32 bases at a time as 64-bit numbers. Suffixes that are still equal
// after several hundred bases (long repeats) are left to prefix doubling (Larsson & Sadakane 2007), which takes an eighth of a byte more for each
// base and about 12 for each base of such repeats; nothing depends on chance or on the threads.
void sort_suffixes(const std::uint64_t* packed, std::uint64_t length, std::span<std::uint32_t> rows, const ParallelFor& parallel_for);

}  // namespace sluice::fm_index
