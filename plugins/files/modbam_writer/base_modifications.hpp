// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From methylation calls on the reference to the MM and ML tags of one alignment record.
// Source of the format: Sequence Alignment/Map Optional Fields Specification, section 1.7 (base modifications).

#include <cstdint>
#include <sluice/motif.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::modbam_writer {

// One site of the reference (a CpG, or another motif's) with a call.
struct SiteCall {
  std::int64_t site = 0;         // its first base on the forward strand, 0-based: C of a CpG
  std::uint8_t probability = 0;  // that it is methylated, see probability_code
};

// A group of sites that share one call, as methylation_hmm makes them.
struct SiteGroup {
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

// The tags' contents: the motif's modification, 5-methylcytosine ("m") on the C of CpGs, say; positions in sequencing orientation.
struct ModificationTags {
  std::string positions;                    // MM: "C+m?,3,0,12;"
  std::vector<std::uint8_t> probabilities;  // ML, in the same order
};

// The probability 1 / (1 + exp(-ratio)) of a log-likelihood ratio (natural logarithm, both hypotheses equally likely beforehand) in 256
// equal steps: N stands for [N/256, (N+1)/256), as the specification says. 0 for NaN.
std::uint8_t probability_code(double log_lik_ratio);

// Appends every site of the group with the group's probability; `sites`: of the motif under reads of that strand. False, with nothing appended, when
// the reference has other than `motifs` sites between the first and the last site, or when one of these is none: then the group was called on another
// reference.
bool append_group(std::string_view contig_bases, const MotifSites& sites, const SiteGroup& group, std::uint8_t probability,
                  std::vector<SiteCall>& calls);

// A call that the read's own sequence shows.
struct ReadCall {
  std::int64_t position;  // of the modified base (forward) or its partner (reverse) in SEQ
  std::size_t call;       // which one it is
};

// Replaces `placed` by the calls that count, ascending in SEQ; see make_tags. False when the calls do not ascend or the CIGAR does not fit.
bool place_calls(const RecordAlignment& alignment, const MotifSites& sites, std::span<const SiteCall> calls, std::vector<ReadCall>& placed);

// Fills `tags` from calls that ascend by site. A call counts where the read itself has the motif in neighbouring bases aligned to those of the
// site (no insertion between them); other calls say nothing about this read's sequence and are left out. On a reverse record the
// modified base is the partner of SEQ's. Bases that are not listed have no call ("?"). False when the calls do not ascend or the CIGAR does not fit.
bool make_tags(const RecordAlignment& alignment, const Motif& motif, std::span<const SiteCall> calls, ModificationTags& tags);

}  // namespace sluice::modbam_writer
