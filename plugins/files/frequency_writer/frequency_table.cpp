// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "frequency_writer/frequency_table.hpp"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <vector>

namespace sluice::frequency_writer {
namespace {

constexpr std::string_view split_group = "split-group";  // in place of the sequence of a site that was split off a group

void append_line(std::string& text, std::string_view contig, std::int64_t position, std::string_view code, char strand, std::int64_t called,
                 std::int64_t methylated) {
  const double percent = 100.0 * static_cast<double>(methylated) / static_cast<double>(called);
  fmt::format_to(std::back_inserter(text), "{0}\t{1}\t{2}\t{8}\t{3}\t{4}\t{1}\t{2}\t255,0,0\t{3}\t{5:.2f}\t{6}\t{7}\t0\t0\t0\t0\t0\n", contig,
                 position, position + 1, called, strand, percent, methylated, called - methylated, code);
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

// Where the group has sites under reads of this strand, from its first one on. False: it can't have the counts there.
bool BedMethyl::is_possible(const Site& site, Strand strand, const Counts& counts, std::vector<std::int64_t>& offsets) const {
  offsets.assign(1, 0);
  const bool is_single = site.start == site.end && site.motifs == 1;
  // Of a single site nothing but its strand could be in question.
  if (!is_single || (!motif_.is_palindrome() && site.sequence != split_group)) {
    offsets.clear();
    const MotifSites& sites = motif_.sites(strand);
    const std::size_t first = find_motif(site.sequence, sites);
    for (std::size_t at = first; at != std::string_view::npos; at = find_motif(site.sequence, sites, at + 1))
      offsets.push_back(static_cast<std::int64_t>(at - first));
    if (offsets.empty() || offsets.back() != site.end - site.start) return false;
  }
  const auto count = static_cast<std::int64_t>(offsets.size());
  return (count == site.motifs || !motif_.is_palindrome()) && counts.called % count == 0 && counts.methylated % count == 0;
}

bool BedMethyl::add(const Site& site, std::string& text) {
  if (site.motifs < 1) return false;
  struct OfStrand {
    Strand strand;
    Counts counts;
    std::vector<std::int64_t> offsets;
  };
  OfStrand both[] = {{Strand::forward, {site.called_forward, site.methylated_forward}, {}},
                     {Strand::reverse, {site.called_sites - site.called_forward, site.called_sites_methylated - site.methylated_forward}, {}}};
  for (OfStrand& of : both)
    if ((of.counts.called > 0 || motif_.is_palindrome()) && !is_possible(site, of.strand, of.counts, of.offsets)) return false;
  if (site.contig != contig_) {
    finish(text);
    contig_ = site.contig;
  }
  write_before(site.start, text);
  for (const OfStrand& of : both) {
    if (of.counts.called == 0) continue;
    const auto count = static_cast<std::int64_t>(of.offsets.size());
    const bool is_combined = strands_ == Strands::combined;
    const std::int64_t first = site.start + motif_.sites(is_combined ? Strand::forward : of.strand).modified;
    for (const std::int64_t offset : of.offsets) {
      Counts& sum = pending_[{first + offset, is_combined ? '.' : of.strand == Strand::forward ? '+' : '-'}];
      sum.called += of.counts.called / count;
      sum.methylated += of.counts.methylated / count;
    }
  }
  return true;
}

void BedMethyl::finish(std::string& text) { write_before(std::numeric_limits<std::int64_t>::max(), text); }

void BedMethyl::write_before(std::int64_t position, std::string& text) {
  const auto end = pending_.lower_bound({position, '\0'});
  for (auto at = pending_.begin(); at != end; ++at)
    append_line(text, contig_, at->first.first, motif_.code, at->first.second, at->second.called, at->second.methylated);
  pending_.erase(pending_.begin(), end);
}

void BedMethyl::save(StateWriter& to) const {
  to.text(contig_);
  to.value(pending_.size());
  for (const auto& [place, counts] : pending_) {
    to.value(place.first);
    to.value(place.second);
    to.value(counts);
  }
}

void BedMethyl::restore(StateReader& from) {
  contig_ = from.text();
  const auto positions = from.value<std::size_t>();
  for (std::size_t i = 0; i < positions; ++i) {
    const auto position = from.value<std::int64_t>();
    const char strand = from.value<char>();
    pending_.emplace_hint(pending_.end(), std::pair(position, strand), from.value<Counts>());
  }
}

}  // namespace sluice::frequency_writer
