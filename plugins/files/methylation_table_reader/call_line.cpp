// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "methylation_table_reader/call_line.hpp"

#include "methylation_table_reader/tab_fields.hpp"

namespace sluice::methylation_table_reader {
std::string TableColumns::parse(std::string_view header) {
  positions_.fill(absent);
  field_count_ = split(header, [this](std::size_t index, std::string_view name) {
    const auto is = [&](Column column, std::string_view expected) {
      if (name == expected && positions_[column] == absent) positions_[column] = index;
    };
    is(chromosome, "chromosome");
    is(strand, "strand");
    is(start, "start");
    is(end, "end");
    is(read_name, "read_name");
    is(log_lik_ratio, "log_lik_ratio");
    is(log_lik_unmethylated, "log_lik_unmethylated");
    is(motifs, "num_motifs");
    is(motifs, "num_cpgs");
    is(sequence, "sequence");
  });
  constexpr std::array<const char*, column_count> names = {"chromosome",           "strand",     "start",   "end", "read_name", "log_lik_ratio",
                                                           "log_lik_unmethylated", "num_motifs", "sequence"};
  for (std::size_t column = 0; column < column_count; ++column)
    if (positions_[column] == absent && column != strand && column != sequence) return names[column];
  return {};
}

std::string parse_call(std::string_view line, const TableColumns& columns, CallLine& call) {
  std::array<std::string_view, TableColumns::column_count> fields{};
  const std::size_t count = split(line, [&](std::size_t index, std::string_view text) {
    for (std::size_t column = 0; column < fields.size(); ++column)
      if (columns.position(static_cast<TableColumns::Column>(column)) == index) fields[column] = text;
  });
  if (count != columns.field_count()) return std::to_string(count) + " columns instead of " + std::to_string(columns.field_count());
  call.contig = fields[TableColumns::chromosome];
  call.read_id = fields[TableColumns::read_name];
  call.sequence = fields[TableColumns::sequence];
  if (call.contig.empty()) return wrong("chromosome", "");
  if (call.read_id.empty()) return wrong("read_name", "");
  call.strand = Strand::forward;
  if (columns.position(TableColumns::strand) != TableColumns::absent) {
    const std::string_view strand = fields[TableColumns::strand];
    if (strand != "+" && strand != "-") return wrong("strand", strand);
    call.strand = strand == "-" ? Strand::reverse : Strand::forward;
  }
  if (!parse_number(fields[TableColumns::start], call.start) || call.start < 0) return wrong("start", fields[TableColumns::start]);
  if (!parse_number(fields[TableColumns::end], call.end) || call.end < call.start) return wrong("end", fields[TableColumns::end]);
  if (!parse_number(fields[TableColumns::motifs], call.motifs) || call.motifs < 1) return wrong("num_motifs", fields[TableColumns::motifs]);
  double ratio = 0;
  double unmethylated = 0;
  if (!parse_number(fields[TableColumns::log_lik_ratio], ratio)) return wrong("log_lik_ratio", fields[TableColumns::log_lik_ratio]);
  if (!parse_number(fields[TableColumns::log_lik_unmethylated], unmethylated))
    return wrong("log_lik_unmethylated", fields[TableColumns::log_lik_unmethylated]);
  call.log_lik_unmethylated = static_cast<float>(unmethylated);
  call.log_lik_methylated = static_cast<float>(static_cast<double>(call.log_lik_unmethylated) + ratio);
  return {};
}

}  // namespace sluice::methylation_table_reader
