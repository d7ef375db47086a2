// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Letters of a stretch copied from memory, many at a time.

#include <cstddef>
#include <cstdint>

namespace sluice::window_cutting {

enum class Strand : std::uint8_t { forward, reverse };

// Bases [begin, end) of packed ones (sluice/sequence/packed_bases.hpp), turned to the strand, to out[0 .. end - begin).
void copy_bases(const std::uint64_t* packed, std::size_t begin, std::size_t end, Strand strand, char* out);

// letters[0 .. size), from the last one on for the reverse strand, to a place that does not overlap them.
void copy_qualities(const char* letters, std::size_t size, Strand strand, char* out);

}  // namespace sluice::window_cutting
