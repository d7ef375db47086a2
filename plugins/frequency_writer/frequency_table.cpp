// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "frequency_writer/frequency_table.hpp"

#include <fmt/format.h>

#include <iterator>

namespace sluice::frequency_writer {
namespace {

void append_strand(std::string& text, std::string_view contig, std::int64_t position, char strand, std::int64_t called, std::int64_t methylated) {
  if (called <= 0) return;
  const double percent = 100.0 * static_cast<double>(methylated) / static_cast<double>(called);
  fmt::format_to(std::back_inserter(text), "{0}\t{1}\t{2}\tm\t{3}\t{4}\t{1}\t{2}\t255,0,0\t{3}\t{5:.2f}\t{6}\t{7}\t0\t0\t0\t0\t0\n", contig, position,
                 position + 1, called, strand, percent, methylated, called - methylated);
}

}  // namespace

std::string_view table_header(TableVersion version) {
  return version == TableVersion::v1
             ? "chromosome\tstart\tend\tnum_cpgs_in_group\tcalled_sites\tcalled_sites_methylated\tmethylated_frequency\tgroup_sequence\n"
             : "chromosome\tstart\tend\tnum_motifs_in_group\tcalled_sites\tcalled_sites_methylated\tmethylated_frequency\tgroup_sequence\n";
}

void append_table_line(std::string& text, const Site& site) {
  const double frequency = site.called_sites > 0 ? static_cast<double>(site.called_sites_methylated) / static_cast<double>(site.called_sites) : 0.0;
  fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{}\t{}\t{:.3f}\t{}\n", site.contig, site.start, site.end, site.motifs, site.called_sites,
                 site.called_sites_methylated, frequency, site.sequence);
}

void append_bedmethyl_lines(std::string& text, const Site& site) {
  append_strand(text, site.contig, site.start, '+', site.called_forward, site.methylated_forward);
  append_strand(text, site.contig, site.start + 1, '-', site.called_sites - site.called_forward,
                site.called_sites_methylated - site.methylated_forward);
}

}  // namespace sluice::frequency_writer
