// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The first of the alignment files that others still write.

#include <memory>
#include <sluice/followed_files.hpp>
#include <sluice/stage.hpp>

#include "alignment_reader/alignment_file.hpp"

namespace sluice::alignment_reader {

// Waits until the header of a file is there. `options.path` is none of them. Throws Failure: the one file that is named is not BAM, or the end is
// told before one that can be read has come.
std::unique_ptr<AlignmentFile> first_to_come(const Setup& setup, const FollowRules& rules, OpenOptions options);

}  // namespace sluice::alignment_reader
