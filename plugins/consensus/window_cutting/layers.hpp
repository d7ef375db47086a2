// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Cuts an aligned read at the borders of windows, as racon 1.5.0 does (Vaser et al., Genome Research 2017).

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::window_cutting {

// A part of a read that belongs to one window: from the first to the last matched (or mismatched) column of the alignment within the window.
struct Layer {
  std::int64_t target_begin = 0, target_end = 0;  // bases of the target, end exclusive
  std::int64_t query_begin = 0, query_end = 0;    // of the aligned part of the read, in the target's orientation
};

// cigar: M, = or X, I, D in BAM encoding, from target_begin on. Windows are [0, W), [W, 2W) ... of the target, W = window_length > 0. A window whose
// border falls into a deletion before any match gets no layer. Replaces `layers`. False: the operations do not add up to the two spans (query_length
// bases, target_end - target_begin bases), or there are others.
bool cut_layers(std::span<const std::uint32_t> cigar, std::int64_t query_length, std::int64_t target_begin, std::int64_t target_end,
                std::int64_t window_length, std::vector<Layer>& layers);

// Mean of the Phred scores (characters - 33); 0 for an empty text.
double mean_quality(std::string_view qualities);

}  // namespace sluice::window_cutting
