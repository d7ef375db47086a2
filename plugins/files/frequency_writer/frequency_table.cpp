// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "frequency_writer/frequency_table.hpp"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <vector>

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

bool BedMethyl::add(const Site& site, std::string& text) {
  const std::int64_t motifs = site.motifs;
  if (motifs < 1 || site.called_sites % motifs != 0 || site.called_sites_methylated % motifs != 0 || site.called_forward % motifs != 0 ||
      site.methylated_forward % motifs != 0)
    return false;
  std::vector<std::int64_t> offsets{0};
  if (motifs > 1) {
    offsets.clear();
    const std::size_t first = site.sequence.find("CG");
    for (std::size_t at = first; at != std::string_view::npos; at = site.sequence.find("CG", at + 1))
      offsets.push_back(static_cast<std::int64_t>(at - first));
    if (static_cast<std::int64_t>(offsets.size()) != motifs || offsets.back() != site.end - site.start) return false;
  }
  if (site.contig != contig_) {
    finish(text);
    contig_ = site.contig;
  }
  write_before(site.start, text);
  for (const std::int64_t offset : offsets) {
    Counts& counts = pending_[site.start + offset];
    counts.called += site.called_sites / motifs;
    counts.methylated += site.called_sites_methylated / motifs;
    counts.called_forward += site.called_forward / motifs;
    counts.methylated_forward += site.methylated_forward / motifs;
  }
  return true;
}

void BedMethyl::finish(std::string& text) { write_before(std::numeric_limits<std::int64_t>::max(), text); }

void BedMethyl::write_before(std::int64_t position, std::string& text) {
  const auto end = pending_.lower_bound(position);
  for (auto at = pending_.begin(); at != end; ++at) {
    const auto& [start, counts] = *at;
    if (strands_ == Strands::combined) {
      append_strand(text, contig_, start, '.', counts.called, counts.methylated);
      continue;
    }
    append_strand(text, contig_, start, '+', counts.called_forward, counts.methylated_forward);
    append_strand(text, contig_, start + 1, '-', counts.called - counts.called_forward, counts.methylated - counts.methylated_forward);
  }
  pending_.erase(pending_.begin(), end);
}

}  // namespace sluice::frequency_writer
