// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Methylation frequencies per site as text: the table of f5c meth-freq, and bedMethyl.

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::frequency_writer {

// One CpG, or one group of CpGs that were called together. Counts are reads times CpGs, over reads whose call passed the threshold.
struct Site {
  std::string_view contig;
  std::int64_t start = 0;  // C of the first CpG, 0-based
  std::int64_t end = 0;    // C of the last CpG
  std::int32_t motifs = 0;
  std::int64_t called_sites = 0;  // both strands
  std::int64_t called_sites_methylated = 0;
  std::int64_t called_forward = 0;
  std::int64_t methylated_forward = 0;
  std::string_view sequence;
};

enum class TableVersion : std::uint8_t {
  v1,  // the third number is called num_cpgs_in_group
  v2,  // num_motifs_in_group
};

// Header line of f5c meth-freq, with its newline.
std::string_view table_header(TableVersion version);

// Appends one line of f5c 1.6 meth-freq: strands merged, the frequency with three decimals (0.000 for a site without calls).
void append_table_line(std::string& text, const Site& site);

// Appends up to two lines of bedMethyl, one per strand that has calls: the C of the forward strand at `start`, that of the reverse strand
// at `start` + 1. 18 tab-separated columns as ENCODE's bedMethyl (9 + 2) extended by ONT's modkit: chrom, start, end, name "m", score
// (= valid coverage), strand, thick start, thick end, colour, Nvalid_cov, percent modified (two decimals), Nmod, Ncanonical, Nother_mod,
// Ndelete, Nfail, Ndiff, Nnocall. The last five are 0: calls below the threshold are not counted anywhere. Only for single CpGs.
void append_bedmethyl_lines(std::string& text, const Site& site);

}  // namespace sluice::frequency_writer
