// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Methylation frequencies per site as text: the table of f5c meth-freq, and bedMethyl.

#include <cstdint>
#include <map>
#include <sluice/motif.hpp>
#include <sluice/saved_state.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::frequency_writer {

// One site (CpG, or another motif's), or one group of sites that were called together. Counts are reads times sites, over reads whose call passed the
// threshold.
struct Site {
  std::string_view contig;
  std::int64_t start = 0;  // first base of the first site, 0-based: C of a CpG
  std::int64_t end = 0;    // first base of the last site
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
  combined,  // one line for both, at the modified base of the forward strand, with the strand "."; for motifs that both strands have alike
};

// Turns sites into lines of bedMethyl: one position and strand per line, that of the modified base: of a CpG the C of the forward strand at `start`,
// that of the reverse strand one further. 18 tab-separated columns as ENCODE's bedMethyl (9 + 2) extended by ONT's modkit: chrom, start, end, the
// motif's modification code, score (= valid coverage), strand, thick start, thick end, colour, Nvalid_cov, percent modified (two decimals), Nmod,
// Ncanonical, Nother_mod, Ndelete, Nfail, Ndiff, Nnocall. The last five are 0: calls below the threshold are not counted anywhere. Strands without
// calls have no line. A group counts for each of its sites, found as the motif in its sequence; counts of one position from several groups are added,
// as they are when methylation_frequency splits groups. Keeps only the positions that a later group may still reach.
class BedMethyl {
 public:
  explicit BedMethyl(Strands strands = Strands::apart, Motif motif = parse_motif("cpg")) : strands_(strands), motif_(std::move(motif)) {}
  // Appends the lines of all positions before this site, which must not come before its predecessor (contig by contig, by start).
  // False, having done nothing, when the sequence does not show the site's motifs or the counts are no multiples of them.
  bool add(const Site& site, std::string& text);
  // Appends what is left.
  void finish(std::string& text);
  void save(StateWriter& to) const;
  void restore(StateReader& from);

 private:
  struct Counts {
    std::int64_t called = 0, methylated = 0;
  };
  bool is_possible(const Site& site, Strand strand, const Counts& counts, std::vector<std::int64_t>& offsets) const;
  void write_before(std::int64_t position, std::string& text);

  Strands strands_;
  Motif motif_;
  std::string contig_;
  std::map<std::pair<std::int64_t, char>, Counts> pending_;  // by place and strand of the modified base
};

}  // namespace sluice::frequency_writer
