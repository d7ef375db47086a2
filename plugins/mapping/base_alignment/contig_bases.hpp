// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Both sides of an alignment as text: A, C, G, T; what is none of these is 'N' on the contig and 'n' on the read, so that it equals nothing.

#include <cstdint>
#include <sluice/minimizer_index.hpp>
#include <string>
#include <string_view>

namespace sluice::base_alignment {

// The bases [begin, end) of a contig.
void copy_contig_bases(const MinimizerIndexView& index, std::size_t contig, std::int64_t begin, std::int64_t end, std::string& text);

enum class Orientation { forward, reverse };
// The read, or its reverse complement.
void orient(std::string_view bases, Orientation orientation, std::string& text);

}  // namespace sluice::base_alignment
