// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From methylation calls on the reference to the MM and ML tags of one alignment record.
// Source of the format: Sequence Alignment/Map Optional Fields Specification, section 1.7 (base modifications).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::modbam_writer {

enum class Strand : std::uint8_t { forward, reverse };

// One CpG of the reference with a call.
struct CpgCall {
  std::int64_t site = 0;         // of its C on the forward strand, 0-based
  std::uint8_t probability = 0;  // that it is methylated, see probability_code
};

// A group of CpGs that share one call, as methylation_hmm makes them.
struct CpgGroup {
  std::int64_t first_site = 0;
  std::int64_t last_site = 0;
  std::int32_t motifs = 0;
};

// The alignment of a record, in the orientation of the reference, as BAM stores it.
struct RecordAlignment {
  std::int64_t reference_start = 0;            // 0-based
  std::span<const std::uint32_t> cigar;        // length << 4 | operation
  const std::uint8_t* packed_bases = nullptr;  // two bases a byte, high half first; A 1, C 2, G 4, T 8
  std::int64_t base_count = 0;                 // of SEQ: hard-clipped bases don't count
  Strand strand = Strand::forward;
};

// The tags' contents: 5-methylcytosine ("m") on the C of CpGs, positions in sequencing orientation.
struct ModificationTags {
  std::string positions;                    // MM: "C+m?,3,0,12;"
  std::vector<std::uint8_t> probabilities;  // ML, in the same order
};

// The probability 1 / (1 + exp(-ratio)) of a log-likelihood ratio (natural logarithm, both hypotheses equally likely beforehand) in 256
// equal steps: N stands for [N/256, (N+1)/256), as the specification says. 0 for NaN.
std::uint8_t probability_code(double log_lik_ratio);

// Appends every CpG of the group with the group's probability. False, with nothing appended, when the reference has other than `motifs`
// CpGs between the first and the last site, or when one of these is none: then the group was called on another reference.
bool append_group(std::string_view contig_bases, const CpgGroup& group, std::uint8_t probability, std::vector<CpgCall>& calls);

// Fills `tags` from calls that ascend by site. A call counts where the read itself has CG in neighbouring bases aligned to the two bases of the
// site (no insertion between them); other calls say nothing about this read's sequence and are left out. On a reverse record the methylated
// C is the partner of the G. Bases that are not listed have no call ("?"). False when the calls do not ascend or the CIGAR does not fit.
bool make_tags(const RecordAlignment& alignment, std::span<const CpgCall> calls, ModificationTags& tags);

}  // namespace sluice::modbam_writer
