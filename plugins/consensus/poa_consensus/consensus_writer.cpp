// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/consensus_writer.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::poa_consensus {
namespace {

template <class RecordsOfRow>
void make_records(const Batch& in, Output& out, RecordsOfRow&& records_of_row) {
  std::vector<std::string> records(static_cast<std::size_t>(in.rows()));
  for (std::int64_t row = 0; row < in.rows(); ++row)
    if (in.ok(row)) records_of_row(row, records[static_cast<std::size_t>(row)]);
  out.text_rows("_records", records);
}

// column: what a window must have to have come to something, which `outcome` names.
void write_records(const Call& call, const Batch& in, const char* column, const char* outcome, hts::TextOutput& file) {
  const TextView records = in.text("_records"), results = in.text(column);
  std::uint64_t good = 0;
  file.write_rows(call, records);
  for (std::int64_t row = 0; row < in.rows(); ++row) good += in.ok(row) && !results[row].empty() ? 1 : 0;
  call.outcome(outcome, good, static_cast<std::uint64_t>(in.rows()));
}

}  // namespace

void ConsensusWriter::describe(Describe<ConsensusWriter>& d) {
  d.id("consensus_writer").sink("window").concatenates().summary("writes the consensus of each window as FASTA");
  d.doc("One record per window, in the windows' order, with the consensus in one line.");
  d.needs("window_name", "utf8", "name of the window").needs("consensus", "utf8", "its consensus");
  d.option("output", &Parameters::output, "file to write; .gz: BGZF; .zst: zstd; - is standard output").required().writes();
}

void ConsensusWriter::process(const Call&, const Batch& in, Output& out) {
  const TextView name = in.text("window_name"), consensus = in.text("consensus");
  make_records(in, out,
               [&](std::int64_t row, std::string& record) { record.append(">").append(name[row]).append("\n").append(consensus[row]).append("\n"); });
}

void ConsensusWriter::commit(const Call& call, const Batch& in) { write_records(call, in, "consensus", "resolved", file_); }

void MsaWriter::describe(Describe<MsaWriter>& d) {
  d.id("msa_writer").sink("window").concatenates().summary("writes the alignment of each window's sequences as FASTA");
  d.doc("One record per sequence, named NAME/NUMBER after its window and its place there, all of a window equally long, with '-' for gaps.");
  d.needs("window_name", "utf8", "name of the window").needs("msa", "utf8", "the rows of its alignment, each followed by a newline");
  d.option("output", &Parameters::output, "file to write; .gz: BGZF; .zst: zstd; - is standard output").required().writes();
}

void MsaWriter::process(const Call&, const Batch& in, Output& out) {
  const TextView name = in.text("window_name"), msa = in.text("msa");
  make_records(in, out, [&](std::int64_t row, std::string& record) {
    std::string_view rest = msa[row];
    for (int sequence = 0; !rest.empty(); ++sequence) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      record.append(">").append(name[row]).append("/").append(std::to_string(sequence)).append("\n").append(rest.substr(0, end)).append("\n");
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  });
}

void MsaWriter::commit(const Call& call, const Batch& in) { write_records(call, in, "msa", "aligned", file_); }

}  // namespace sluice::poa_consensus
