// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "methylation_table_reader/frequency_line.hpp"

#include <array>

#include "methylation_table_reader/tab_fields.hpp"

namespace sluice::methylation_table_reader {

bool is_frequency_header(std::string_view line) {
  constexpr std::string_view before = "chromosome\tstart\tend\tnum_",
                             behind = "_in_group\tcalled_sites\tcalled_sites_methylated\tmethylated_frequency\tgroup_sequence";
  return line.starts_with(before) && line.ends_with(behind);
}

std::string parse_frequency(std::string_view line, FrequencyLine& frequency) {
  std::array<std::string_view, 8> fields{};
  const std::size_t count = split(line, [&](std::size_t index, std::string_view text) {
    if (index < fields.size()) fields[index] = text;
  });
  if (count != fields.size()) return std::to_string(count) + " columns instead of " + std::to_string(fields.size());
  frequency.contig = fields[0];
  frequency.sequence = fields[7];
  if (frequency.contig.empty()) return wrong("chromosome", "");
  if (!parse_number(fields[1], frequency.start) || frequency.start < 0) return wrong("start", fields[1]);
  constexpr std::int64_t longest = 0xFFFFFFFF;
  if (!parse_number(fields[2], frequency.end) || frequency.end < frequency.start || frequency.end - frequency.start > longest)
    return wrong("end", fields[2]);
  if (!parse_number(fields[3], frequency.motifs) || frequency.motifs < 1) return wrong("num_motifs_in_group", fields[3]);
  if (!parse_number(fields[4], frequency.called_sites) || frequency.called_sites < 0 || frequency.called_sites > longest)
    return wrong("called_sites", fields[4]);
  if (!parse_number(fields[5], frequency.called_sites_methylated) || frequency.called_sites_methylated < 0 ||
      frequency.called_sites_methylated > frequency.called_sites)
    return wrong("called_sites_methylated", fields[5]);
  return {};
}

}  // namespace sluice::methylation_table_reader
