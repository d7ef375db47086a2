// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The files that `m6anet inference` (2.1) and `xpore diffmod` (2.2) read, as their own preparation makes them of the event table: sites of one contig
// after the other, with what each read has there.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "event_alignment_writer/site_levels.hpp"

namespace sluice::event_alignment_writer {

// A read at a site: plain bytes, as it goes from one call of a stage to another.
struct M6anetRead {
  std::int64_t site = 0;  // the middle base of the DRACH word, 0-based
  // seconds, standard deviation and mean of the 5-mers before, at and behind the site
  std::array<double, 9> features{};
};
struct XporeRead {
  std::int64_t site = 0;
  double mean = 0;
};

// Sites of a read: 5-mers DRACH whose neighbours have levels, too; or all positions. Nothing of a read with one position.
void append_reads(const std::vector<SiteLevel>& levels, std::string_view contig_bases, std::vector<M6anetRead>& reads);
void append_reads(const std::vector<SiteLevel>& levels, std::string_view contig_bases, std::vector<XporeRead>& reads);

// A number as Python prints it: the shortest that reads back as the same, 3.0, 1e-05.
void append_python_number(double value, std::string& text);

// Text of the files' next lines.
struct SiteLines {
  std::string data, index, read_counts;
};

struct M6anetForm {
  using Read = M6anetRead;
  static constexpr std::string_view index_header = "transcript_id,transcript_position,start,end,n_reads\n", read_counts_header = "";
  // Reads of a contig that are looked at, and reads that a site must have (readcount_max, tested after adding; min_segment_count).
  static constexpr std::uint64_t most_reads = 1001, fewest_at_site = 20;
  static constexpr std::string_view without_sites = "no DRACH site has the 20 reads that m6anet asks for: it will find nothing in the files";
};
struct XporeForm {
  using Read = XporeRead;
  static constexpr std::string_view index_header = "idx,start,end\n", read_counts_header = "idx,n_reads\n";
  static constexpr std::uint64_t most_at_site = 1000;
  static constexpr std::string_view without_sites = "no read has two positions: xpore will find nothing in the files";
};

// What is known of a contig until its last read has come.
template <class Form>
struct ContigSites {
  struct Entry {
    typename Form::Read read;
    std::int64_t read_index;
  };
  std::string name;
  std::string_view bases;        // of the reference, which outlives this; those around the entries have been read
  std::uint64_t reads = 0;       // of m6anet: all that have aligned events
  std::vector<Entry> entries;    // in the order of the reads
  std::uint64_t data_bytes = 0;  // written of data.json before this contig
};

// The contig's lines; data_bytes goes on.
SiteLines lines_of(ContigSites<M6anetForm>& contig);
SiteLines lines_of(ContigSites<XporeForm>& contig);

}  // namespace sluice::event_alignment_writer
