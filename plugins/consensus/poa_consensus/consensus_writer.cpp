// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/consensus_writer.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "poa_consensus/graph_text.hpp"

namespace sluice::poa_consensus {
namespace {

template <class RecordsOfRow>
void make_records(const Batch& in, Output& out, RecordsOfRow&& records_of_row) {
  std::vector<std::string> records(static_cast<std::size_t>(in.rows()));
  for (std::int64_t row = 0; row < in.rows(); ++row)
    if (in.ok(row)) records_of_row(row, records[static_cast<std::size_t>(row)]);
  out.text_rows("_records", records);
}

}  // namespace

void TextOfWindows::write(const Call& call, const Batch& in, const char* column, const char* outcome) {
  const TextView records = in.text("_records"), results = in.text(column);
  std::uint64_t good = 0;
  file_.write_rows(call, records);
  for (std::int64_t row = 0; row < in.rows(); ++row) good += in.ok(row) && !results[row].empty() ? 1 : 0;
  call.outcome(outcome, good, static_cast<std::uint64_t>(in.rows()));
}

void ConsensusWriter::describe(Describe<ConsensusWriter>& d) {
  d.id("consensus_writer").sink("window").concatenates().summary("writes the consensus of each window as FASTA");
  d.doc(
      "One record per window, in the windows' order, with the consensus in one line. A window of several haplotypes has a record for each, named "
      "NAME/1, NAME/2 ..., with the number of its sequences behind the name.");
  d.needs("window_name", "utf8", "name of the window").needs("consensus", "utf8", "its consensus");
  d.needs("haplotypes", "utf8", "consensus of each of its haplotypes, each followed by a newline", Needed::optional);
  d.needs("haplotype_of", "list<i32>", "number of each sequence's haplotype", Needed::optional);
  d.option("output", &Parameters::output, "file to write; .gz: BGZF; .zst: zstd; - is standard output").required().writes();
}

void ConsensusWriter::process(const Call&, const Batch& in, Output& out) {
  const TextView name = in.text("window_name"), consensus = in.text("consensus");
  const bool has_haplotypes = in.has("haplotypes") && in.has("haplotype_of");
  make_records(in, out, [&](std::int64_t row, std::string& record) {
    std::string_view rest = has_haplotypes ? in.text("haplotypes")[row] : std::string_view();
    if (std::count(rest.begin(), rest.end(), '\n') < 2)
      return void(record.append(">").append(name[row]).append("\n").append(consensus[row]).append("\n"));
    const auto haplotype_of = in.list<std::int32_t>("haplotype_of")[row];
    for (std::int32_t number = 0; !rest.empty(); ++number) {
      const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
      record.append(">").append(name[row]).append("/").append(std::to_string(number + 1)).append(" sequences=");
      record.append(std::to_string(std::count(haplotype_of.begin(), haplotype_of.end(), number))).append("\n").append(rest.substr(0, end));
      rest.remove_prefix(end);
    }
  });
}

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

GfaWriter::GfaWriter(const Setup& setup, const Parameters& parameters) : TextOfWindows(setup, parameters, gfa_header) {}

void GfaWriter::describe(Describe<GfaWriter>& d) {
  d.id("gfa_writer").sink("window").concatenates().summary("writes the partial order graph of each window as GFA 1");
  d.doc(
      "Segments are the graph's nodes, one letter each, named WINDOW:1, WINDOW:2 ...; links have the weight of the edge (ew:f), and ic:Z:true marks "
      "the "
      "consensus, as spoa has it. Each sequence is a path WINDOW/NUMBER, the consensus is WINDOW/consensus.");
  d.needs("graph_gfa", "utf8", "lines of GFA");
  d.option("output", &Parameters::output, "file to write; .gz: BGZF; .zst: zstd; - is standard output").required().writes();
}

void GfaWriter::process(const Call&, const Batch& in, Output& out) {
  make_records(in, out, [lines = in.text("graph_gfa")](std::int64_t row, std::string& record) { record = lines[row]; });
}

void DotWriter::describe(Describe<DotWriter>& d) {
  d.id("dot_writer").sink("window").concatenates().summary("writes the partial order graph of each window for Graphviz");
  d.doc("One digraph per window, named after it, as spoa draws it: nodes of the consensus are filled, aligned nodes are joined by dotted lines.");
  d.needs("graph_dot", "utf8", "the graph");
  d.option("output", &Parameters::output, "file to write; .gz: BGZF; .zst: zstd; - is standard output").required().writes();
}

void DotWriter::process(const Call&, const Batch& in, Output& out) {
  make_records(in, out, [text = in.text("graph_dot")](std::int64_t row, std::string& record) { record = text[row]; });
}

}  // namespace sluice::poa_consensus
