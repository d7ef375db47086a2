// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where both sequences are nearly as long and alike, no path with an intron is as good as one without. Then sites do not count, the alignment is the
// same along the transcript and against it, and that of the kernel for one affine piece (kernel/align.hpp), which needs a narrow band of the matrix
// only. A way of our own: what is given is what align_spliced gives, or nothing.

#include "base_alignment/kernel/align.hpp"

namespace sluice::base_alignment {

// No path from end to end that has an intron, or an end gap that costs as one, scores more where sites cost nothing or more.
std::int64_t highest_with_intron(const Scores& scores, std::int32_t query_length, std::int32_t target_length);

// False: it is not known that the path has no intron, and result is of no use. Its cigar is replaced.
bool align_without_introns(const Scores& scores, const Problem& problem, MatrixRows& rows, Alignment& result);

}  // namespace sluice::base_alignment
