// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Methylation frequencies per site as text: the table of f5c meth-freq, and bedMethyl.

#include <cstdint>
#include <map>
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

enum class Strands : std::uint8_t {
  apart,
  combined,  // one line for both, at the C of the forward strand, with the strand "."
};

// Turns sites into lines of bedMethyl: one position and strand per line, the C of the forward strand at `start`, that of the reverse strand one
// further. 18 tab-separated columns as ENCODE's bedMethyl (9 + 2) extended by ONT's modkit: chrom, start, end, name "m", score (= valid coverage),
// strand, thick start, thick end, colour, Nvalid_cov, percent modified (two decimals), Nmod, Ncanonical, Nother_mod, Ndelete, Nfail, Ndiff,
// Nnocall. The last five are 0: calls below the threshold are not counted anywhere. Strands without calls have no line.
// A group of CpGs counts for each of its CpGs, found as CG in its sequence; counts of one position from several groups are added, as they are
// when methylation_frequency splits groups. Keeps only the positions that a later group may still reach.
class BedMethyl {
 public:
  explicit BedMethyl(Strands strands = Strands::apart) : strands_(strands) {}
  // Appends the lines of all positions before this site, which must not come before its predecessor (contig by contig, by start).
  // False, having done nothing, when the sequence does not show the site's CpGs or the counts are no multiples of them.
  bool add(const Site& site, std::string& text);
  // Appends what is left.
  void finish(std::string& text);

 private:
  struct Counts {
    std::int64_t called = 0, methylated = 0, called_forward = 0, methylated_forward = 0;
  };
  void write_before(std::int64_t position, std::string& text);

  Strands strands_;
  std::string contig_;
  std::map<std::int64_t, Counts> pending_;  // by the C on the forward strand
};

}  // namespace sluice::frequency_writer
