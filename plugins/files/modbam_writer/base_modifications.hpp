// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From methylation calls on the reference to the MM and ML tags of one alignment record.
// Source of the format: Sequence Alignment/Map Optional Fields Specification, section 1.7 (base modifications).

#include <cstdint>
#include <sluice/motif.hpp>
#include <sluice/placed_calls.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::modbam_writer {

using methylation::append_group, methylation::place_calls, methylation::ReadCall, methylation::RecordAlignment, methylation::SiteCall,
    methylation::SiteGroup;

// The tags' contents: the motif's modification, 5-methylcytosine ("m") on the C of CpGs, say; positions in sequencing orientation.
struct ModificationTags {
  std::string positions;                    // MM: "C+m?,3,0,12;"
  std::vector<std::uint8_t> probabilities;  // ML, in the same order
};

// The probability 1 / (1 + exp(-ratio)) of a log-likelihood ratio (natural logarithm, both hypotheses equally likely beforehand) in 256
// equal steps: N stands for [N/256, (N+1)/256), as the specification says. 0 for NaN.
std::uint8_t probability_code(double log_lik_ratio);

// Fills `tags` from calls that ascend by site, of those that count (sluice/placed_calls.hpp). On a reverse record the modified base is the partner of
// SEQ's. Bases that are not listed have no call ("?"). False when the calls do not ascend or the CIGAR does not fit.
bool make_tags(const RecordAlignment& alignment, const Motif& motif, std::span<const SiteCall> calls, ModificationTags& tags);

}  // namespace sluice::modbam_writer
