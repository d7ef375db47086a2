// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "methylation_writer/methylation_table.hpp"

#include <algorithm>
#include <sluice/number_text.hpp>

namespace sluice::methylation_writer {

std::string_view table_header(TableVersion version) {
  return version == TableVersion::v1
             ? "chromosome\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_methylated\tlog_lik_unmethylated\tnum_calling_strands\tnum_cpgs\tsequence\n"
             : "chromosome\tstrand\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_methylated\tlog_lik_unmethylated\tnum_calling_strands\tnum_motifs\t"
               "sequence\n";
}

void append_call(std::string& text, const Call& call, TableVersion version) {
  text += call.contig;
  if (version == TableVersion::v2) text += call.strand == Strand::reverse ? "\t-" : "\t+";
  text += '\t';
  append_integer(text, call.first_site);
  text += '\t';
  append_integer(text, call.last_site);
  text += '\t';
  text += call.read_id;
  text += '\t';
  append_fixed<2>(text, static_cast<double>(call.log_lik_methylated) - static_cast<double>(call.log_lik_unmethylated));
  text += '\t';
  append_fixed<2>(text, call.log_lik_methylated);
  text += '\t';
  append_fixed<2>(text, call.log_lik_unmethylated);
  text += "\t1\t";  // strands that took part: 1, because 1D reads have one
  append_integer(text, call.motifs);
  text += '\t';
  text += call.sequence;
  text += '\n';
}

std::string_view group_sequence(std::string_view contig_bases, std::int64_t first_site, std::int64_t last_site, std::int64_t k,
                                std::int64_t motif_length) {
  const auto length = static_cast<std::int64_t>(contig_bases.size());
  if (first_site < 0 || last_site < first_site || last_site >= length || k < 1) return {};
  const std::int64_t begin = std::max<std::int64_t>(first_site - (k - 1), 0);
  const std::int64_t behind = std::max(k, motif_length);
  const std::int64_t end = behind > length - last_site ? length : last_site + behind;
  return contig_bases.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

}  // namespace sluice::methylation_writer
