// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The table of per-read methylation calls as f5c 1.6 and nanopolish 0.14 write it (call-methylation): tab-separated text, byte for byte.

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::methylation_writer {

enum class TableVersion : std::uint8_t {
  v1,  // no strand column; the count of CpGs is called num_cpgs
  v2,  // f5c's default since 1.0
};

enum class Strand : std::uint8_t { forward, reverse };

// One group of sites in one read: CpGs, or those of another motif.
struct Call {
  std::string_view contig;
  Strand strand = Strand::forward;
  std::int64_t first_site = 0;  // first base of the first site on the reference, 0-based: C of a CpG
  std::int64_t last_site = 0;   // first base of the last site
  std::string_view read_id;
  float log_lik_methylated = 0;    // natural logarithm
  float log_lik_unmethylated = 0;  // natural logarithm
  std::int64_t motifs = 0;         // sites in the group
  std::string_view sequence;       // of the reference around the group, see group_sequence
};

// The header line, with its newline.
std::string_view table_header(TableVersion version);

// Appends the line of one call, with its newline. The ratio is double(methylated) - double(unmethylated).
void append_call(std::string& text, const Call& call, TableVersion version);

// k - 1 bases before the first site to k - 1 bases after the first base of the last one, or to its end if its `motif_length` is more than k, cut at
// the ends of the contig; empty when the group lies outside it.
std::string_view group_sequence(std::string_view contig_bases, std::int64_t first_site, std::int64_t last_site, std::int64_t k,
                                std::int64_t motif_length);

}  // namespace sluice::methylation_writer
