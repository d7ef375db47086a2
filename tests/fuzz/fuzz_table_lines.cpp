// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as lines of tables that other programs write: PAF and MHAP, calls of methylation, frequencies.
// Run: build/fuzz/bin/fuzz_table_lines -max_len=2000 CORPUS tests/fuzz/table_lines_seeds
#include "fuzzed_file.hpp"
#include "methylation_table_reader/call_line.hpp"
#include "methylation_table_reader/frequency_line.hpp"
#include "overlap_reader/overlap_line.hpp"

using namespace fuzzing;

namespace {

void read_overlap(std::string_view line) {
  namespace reader = sluice::overlap_reader;
  reader::guess_line_format(line);
  for (const auto parse : {reader::parse_paf_line, reader::parse_mhap_line}) {
    reader::Overlap overlap;
    if (parse(line, overlap) != nullptr) continue;
    // Ends beyond the sequences are the stage's matter: it knows how long they are.
    require(overlap.query_start >= 0 && overlap.query_start <= overlap.query_end && overlap.query_length >= 0);
    require(overlap.target_start >= 0 && overlap.target_start <= overlap.target_end && overlap.target_length >= 0);
    require(reader::overlap_length(overlap) >= 0 && reader::overlap_error(overlap) <= 1);
  }
}

void read_call(std::string_view line, std::string_view header) {
  namespace reader = sluice::methylation_table_reader;
  reader::TableColumns columns;
  if (!columns.parse(header).empty()) return;
  reader::CallLine call;
  reader::FrequencyLine frequency;
  reader::is_frequency_header(line);
  if (reader::parse_frequency(line, frequency).empty()) require(frequency.called_sites >= frequency.called_sites_methylated);
  if (reader::parse_call(line, columns, call).empty()) require(call.contig.size() + call.read_id.size() <= line.size() && call.start <= call.end);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = text_of(data, size);
  const std::string_view header = text.substr(0, text.find('\n'));
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    read_overlap(line);
    read_call(line, header);
    read_call(line,
              "chromosome\tstrand\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_methylated\tlog_lik_unmethylated\tnum_calling_strands\tnum_"
              "motifs\tsequence");
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return 0;
}
