// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_merging/contig_writer.hpp"

#include <cstdio>
#include <sluice/resume.hpp>

namespace sluice::window_merging {

namespace {

// What the forms have in common. Writer: ContigWriter or one that derives from it.
template <class Writer>
void describe_contigs(Describe<Writer>& d) {
  d.sink("contig").work_unit("row").concatenates();
  d.doc(
      "One record a contig, its sequence on one line. tags = racon: behind the name LN:i (bases), RC:i (overlaps on the contig) and XC:f (share of "
      "its "
      "windows that were polished). Contigs without bases are left out.");
  using Parameters = typename Writer::Parameters;
  d.option("output", &Parameters::output, "where to write; .gz: BGZF; .zst: zstd; - is standard output").required().writes();
  d.option("tags", &Parameters::tags, "what follows the name").choices({"racon", "none"});
  d.option("name_suffix", &Parameters::name_suffix, "is appended to each name (racon -f: r)");
  d.needs("contig_name", "utf8", "name of the contig").needs("contig_bases", "utf8", "its bases").needs("windows", "i64", "windows of the contig");
  d.needs("polished_windows", "i64", "of these, polished").needs("overlaps", "i64", "overlaps on the contig");
  d.needs("corrected_bases", "i64", "if it is there, the contigs are corrected reads, and are called so", Needed::optional);
}

}  // namespace

void ContigWriter::describe(Describe<ContigWriter>& d) {
  d.id("contig_writer").summary("writes polished contigs as FASTA, the records of racon");
  describe_contigs(d);
}

void ContigFastqWriter::describe(Describe<ContigFastqWriter>& d) {
  d.id("contig_fastq_writer").summary("writes polished contigs as FASTQ, with the names of racon's records");
  describe_contigs(d);
  d.needs("contig_qualities", "utf8", "Phred + 33 of its bases");
}

ContigWriter::ContigWriter(const Setup& setup, const Parameters& p)
    : has_tags_(p.tags == "racon"), suffix_(p.name_suffix), is_of_reads_(setup.available("corrected_bases")), file_(setup, p.output) {
  resume(setup, [this](StateReader& from) { file_.restore(from); });
}

void ContigWriter::make_records(const Call&, const Batch& in, Output& out, Form form) const {
  const TextView names = in.text("contig_name");
  const TextView bases = in.text("contig_bases");
  const auto windows = in.column<std::int64_t>("windows");
  const auto polished = in.column<std::int64_t>("polished_windows");
  const auto overlaps = in.column<std::int64_t>("overlaps");
  std::vector<std::string> records(static_cast<std::size_t>(in.rows()));
  for (std::int64_t row = 0; row < in.rows(); ++row) {
    if (!in.ok(row) || bases[row].empty()) continue;
    const auto r = static_cast<std::size_t>(row);
    std::string& record = records[r];
    record.reserve((form == Form::fastq ? 2 : 1) * bases[row].size() + names[row].size() + 64);
    record.append(form == Form::fastq ? "@" : ">").append(names[row]).append(suffix_);
    if (has_tags_) {
      const double share = windows[r] > 0 ? static_cast<double>(polished[r]) / static_cast<double>(windows[r]) : 0.0;
      char text[48];
      std::snprintf(text, sizeof text, "%f", share);
      record.append(" LN:i:").append(std::to_string(bases[row].size())).append(" RC:i:").append(std::to_string(overlaps[r]));
      record.append(" XC:f:").append(text);
    }
    record.append("\n").append(bases[row]).append("\n");
    if (form == Form::fastq) record.append("+\n").append(in.text("contig_qualities")[row]).append("\n");
  }
  out.text_rows("_records", records);
}

void ContigWriter::commit(const Call& call, const Batch& in) {
  const TextView records = in.text("_records");
  const auto polished = in.column<std::int64_t>("polished_windows");
  std::uint64_t changed = 0;
  for (std::int64_t row = 0; row < in.rows(); ++row) {
    if (!in.ok(row)) continue;
    changed += !records[row].empty() && polished[static_cast<std::size_t>(row)] > 0 ? 1 : 0;
  }
  file_.write_rows(call, records);
  call.outcome(is_of_reads_ ? "corrected" : "polished", changed, static_cast<std::uint64_t>(in.rows()));
}

void ContigWriter::finish(const Call& call, Output&) { file_.finish(call); }

}  // namespace sluice::window_merging
