// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Do the records fit the reference, or only its names and lengths?

#include <htslib/sam.h>

#include <cstdint>
#include <string_view>

namespace sluice::alignment_reader {

struct Agreement {
  std::int64_t records = 0, bases = 0, equal = 0;  // bases: aligned to a base (M, = and X), both of them A, C, G or T
  std::int64_t agreeing = 0;                       // records, at least half of whose bases are equal

  double share() const { return bases > 0 ? static_cast<double>(equal) / static_cast<double>(bases) : 1; }
};

// Nanopore reads agree with their reference in 80 to 99 % of the aligned bases, with any other in 25 to 30 %. Some thousand bases tell.
constexpr double least_agreement = 0.5;
constexpr std::int64_t enough_bases = 2000, enough_records = 64;

// Of a record; fewer bases say nothing about it.
constexpr std::int64_t least_bases = 20;

// Adds a record that is aligned to `contig` (A, C, G, T in any case). Places beyond it do not count, nor does a record without (enough) bases.
void add_record(const bam1_t& record, std::string_view contig, Agreement& agreement);

}  // namespace sluice::alignment_reader
