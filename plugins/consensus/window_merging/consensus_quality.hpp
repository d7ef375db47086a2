// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Qualities of a consensus from the sequences that it was made of.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sluice::window_merging {

// Appends Phred + 33 of bases [begin, end) of a consensus. coverage: per base of all of it, sequences with a letter there; support: those with that
// letter. Sequences that have a gap where few have a letter count against it: they are those that the bases beside it have more.
void append_qualities(std::span<const std::int32_t> coverage, std::span<const std::int32_t> support, std::size_t begin, std::size_t end,
                      std::string& qualities);

}  // namespace sluice::window_merging
