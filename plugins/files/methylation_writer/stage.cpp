// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <optional>
#include <sluice/arrow/table_output.hpp>
#include <sluice/file_joining.hpp>
#include <sluice/hts/join_text.hpp>
#include <sluice/kmer_model.hpp>
#include <sluice/motif.hpp>
#include <sluice/reference_text.hpp>
#include <sluice/region.hpp>
#include <sluice/resume.hpp>
#include <sluice/site_calls.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "methylation_writer/methylation_figures.hpp"
#include "methylation_writer/methylation_table.hpp"

namespace sluice::methylation_writer {
namespace {

// Sink: the calls of all reads as f5c's table. Lines are made in parallel, written in the order of the alignments.
class MethylationTable : public hts::JoinsText<> {
 public:
  struct Parameters {
    Path output;
    int version = 2;
    std::string motif = "cpg";
    double call_threshold = 2.5;
    std::string report_region;
  };
  static void describe(Describe<MethylationTable>& d) {
    d.id("methylation_tsv").summary("writes methylation calls as the TSV of f5c and nanopolish");
    d.doc(
        "One line per group of CpGs (or of another motif's sites) and read: chromosome, strand, start, end, read name, log-likelihood ratio and both "
        "log-likelihoods, strands, number of sites, "
        "and the reference around the group. Byte-compatible with f5c 1.6 call-methylation, --meth-out-version 1 or 2. Reads that failed have no "
        "lines.");
    d.sink("read").work_unit("row").concatenates();
    d.needs("read_id", "utf8", "name of the read").needs("contig", "utf8", "name of the reference sequence");
    d.needs("is_reverse", "u8", "1 if the read aligned to the reverse strand");
    needs_site_calls(d);
    d.uses("reference", "contig", "the sequences that the reads are aligned to");
    d.uses("model", "kmer", "the methylation model; its k sets how much of the reference the last column shows");
    d.option("output", &Parameters::output,
             "where to write the table; .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; .parquet: Parquet; - is standard output")
        .required()
        .writes();
    d.option("version", &Parameters::version, "2, or 1 for the older columns: no strand, num_cpgs instead of num_motifs").range(1, 2);
    d.option("motif", &Parameters::motif,
             "what was called; a long one is shown whole in the last column: cpg, gpc, dam, dcm, or LETTERS:POSITION:CODE");
    d.option("call_threshold", &Parameters::call_threshold, "report: least distance of the log-likelihood ratio from 0 for a call to count")
        .range(0, 1e6);
    d.option("report_region", &Parameters::report_region, "report: show methylation along this region instead of the whole reference");
  }

  static void check_parameters(const Parameters& p) {
    parse_motif(p.motif);
    RegionText(p.report_region);
  }

  MethylationTable(const Setup& setup, const Parameters& parameters)
      : version_(parameters.version == 1 ? TableVersion::v1 : TableVersion::v2),
        k_(kmer_size(setup.resource("model"))),
        motif_length_(parse_motif(parameters.motif).forward.length),
        output_name_(parameters.output),
        reference_(setup.resource("reference")),
        figures_(windows_of(reference_, parameters.report_region), parameters.call_threshold),
        file_(setup, parameters.output, schema_of(version_)) {
    for (std::int64_t row = 0; row < reference_.contigs(); ++row)
      contigs_.emplace(reference_.name(row), Contig{static_cast<std::size_t>(row), reference_.bases(row)});
    file_.header(table_header(version_));
    resume(setup, [this](StateReader& from) { file_.restore(from); });
  }

  void process(const sluice::Call& call, const Batch& in, Output& out) const {
    const TextView read_ids = in.text("read_id");
    const TextView contig_names = in.text("contig");
    const auto is_reverse = in.column<std::uint8_t>("is_reverse");
    const SiteCalls calls(in);
    std::string text;
    MethylationFigures::Counts found(figures_);
    Buffer ends = out.offsets([&](std::int64_t row) {
      const std::size_t before = text.size();
      if (!in.ok(row)) return std::size_t{0};
      const std::size_t groups = calls.groups(row, read_ids[row]);
      if (groups == 0) return std::size_t{0};
      const Contig& contig = contig_of(contig_names[row]);
      for (std::size_t i = 0; i < groups; ++i) {
        found.add(contig.number, calls.start[row][i], calls.motifs[row][i], calls.log_lik_ratio(row, i));
        append_call(text,
                    {.contig = contig_names[row],
                     .strand = is_reverse[static_cast<std::size_t>(row)] != 0 ? Strand::reverse : Strand::forward,
                     .first_site = calls.start[row][i],
                     .last_site = calls.end[row][i],
                     .read_id = read_ids[row],
                     .log_lik_methylated = calls.methylated[row][i],
                     .log_lik_unmethylated = calls.unmethylated[row][i],
                     .motifs = calls.motifs[row][i],
                     .sequence = reference_.read(group_sequence(contig.bases, calls.start[row][i], calls.end[row][i], k_, motif_length_), call)},
                    version_);
      }
      return text.size() - before;
    });
    const std::span<char> lines = out.text("_lines", ends);
    std::copy(text.begin(), text.end(), lines.begin());
    found.give(call);
  }

  void commit(const sluice::Call& call, const Batch& in) {
    const auto groups = in.list<std::int64_t>("site_start");
    double calls = 0;
    std::uint64_t called = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      calls += static_cast<double>(groups[row].size());
      called += groups[row].empty() ? 0 : 1;
    }
    file_.write_rows(call, in.text("_lines"));
    call.count("calls written", calls);
    call.outcome("called", called, static_cast<std::uint64_t>(in.rows()));
  }

  void finish(const sluice::Call& call, Output&) {
    file_.finish(call);
    figures_.describe(call);
  }
  void save(const sluice::Call& call, StateWriter& to) { file_.save(call, to); }

 private:
  static arrow::TableSchema schema_of(TableVersion version) {
    std::vector<std::string_view> types = {"utf8", "i64", "i64", "utf8", "f64", "f32", "f32", "i64", "i64", "utf8"};
    if (version == TableVersion::v2) types.insert(types.begin() + 1, "utf8");  // the strand
    return arrow::table_schema(table_header(version), types);
  }
  struct Contig {
    std::size_t number = 0;
    std::string_view bases;
  };
  static SequenceWindows windows_of(const ReferenceText& reference, const std::string& region) {
    std::vector<std::string_view> of_contigs;
    std::vector<std::int64_t> lengths;
    for (std::int64_t row = 0; row < reference.contigs(); ++row) {
      of_contigs.push_back(reference.name(row));
      lengths.push_back(static_cast<std::int64_t>(reference.bases(row).size()));
    }
    if (region.empty()) return {std::move(of_contigs), std::move(lengths)};
    const auto number_of = [&](std::string_view name) {
      return static_cast<std::size_t>(std::find(of_contigs.begin(), of_contigs.end(), name) - of_contigs.begin());
    };
    const auto length_of = [&](std::string_view name) {
      const std::size_t number = number_of(name);
      return number < lengths.size() ? std::optional(lengths[number]) : std::nullopt;
    };
    const Region shown = resolve_region(region, length_of, "the reference");
    const std::size_t number = number_of(shown.contig);
    return {std::move(of_contigs), std::move(lengths), number, shown.start, shown.end};
  }
  const Contig& contig_of(std::string_view contig) const {
    const auto found = contigs_.find(contig);
    if (found == contigs_.end())
      throw Failure::input("contig '" + std::string(contig) + "' is not in the reference, needed for '" + output_name_ + "'",
                           "give the reference that the reads were aligned to");
    return found->second;
  }

  TableVersion version_;
  std::int64_t k_, motif_length_;
  std::string output_name_;
  ReferenceText reference_;
  MethylationFigures figures_;
  std::unordered_map<std::string_view, Contig> contigs_;  // by name; names and bases are the reference's
  arrow::TableOutput file_;
};

}  // namespace
}  // namespace sluice::methylation_writer

SLUICE_PLUGIN_WITH(sluice::file_joining<sluice::methylation_writer::MethylationTable>, "methylation_writer", "0.1.0", "MIT",
                   sluice::methylation_writer::MethylationTable);
