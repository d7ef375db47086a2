// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From methylation calls at the sites of a motif to one state for each base of a read.

#include <cstdint>
#include <sluice/motif.hpp>
#include <sluice/placed_calls.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "modification_pileup/aligned_states.hpp"
#include "modification_pileup/alignment_record.hpp"

namespace sluice::modification_pileup {

// The calls of one read, group by group.
struct GroupCalls {
  std::span<const std::int64_t> start, end;
  std::span<const std::int32_t> motifs;
  std::span<const float> methylated, unmethylated;  // log-likelihoods
};

enum class SiteStatus : std::uint8_t { fine, not_on_reference, alignment_without_read };

// Reusable memory.
class SiteStates {
 public:
  // A call fails if its log-likelihood ratio is less than the threshold away from 0.
  SiteStates(Motif motif, double call_threshold);

  // Kinds of calls that states are elements of, as the column call_kinds has them.
  std::vector<std::int32_t> kinds() const;

  // After `fine`: `aligned`. A call counts where the read shows the motif, as in modBAM; a ratio that is no number is no call.
  SiteStatus fill(const AlignmentRecord& record, std::string_view contig, const GroupCalls& calls, AlignedStates& aligned);

 private:
  Motif motif_;
  double call_threshold_;
  std::vector<std::uint32_t> cigar_;
  std::vector<std::uint8_t> bases_, call_states_;
  std::vector<methylation::SiteCall> calls_;
  std::vector<methylation::ReadCall> placed_;
};

}  // namespace sluice::modification_pileup
