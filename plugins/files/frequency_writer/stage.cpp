// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdint>
#include <limits>
#include <sluice/arrow/indexed_table.hpp>
#include <sluice/arrow/known_tables.hpp>
#include <sluice/motif.hpp>
#include <sluice/result_figures.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "frequency_writer/frequency_table.hpp"

namespace sluice::frequency_writer {
namespace {

constexpr Figure mean_coverage{0, FigureKind::mean, "coverage of sites", "",
                               "reads with a call that counts, of a site or a group of sites, in the mean"};
constexpr Figure coverage_histogram{1, FigureKind::histogram, "coverage of each site", "",
                                    "sites or groups of sites by their reads with a call that counts; the last class holds all above"};
constexpr std::int64_t most_coverage = 200;

// Sink: methylation frequencies per site, in the order they come (methylation_frequency sorts them).
class FrequencyWriter {
 public:
  struct Parameters {
    Path output;
    std::string format = "tsv";
    int version = 2;
    bool combine_strands = false;
    std::string motif = "cpg";
  };
  static void describe(Describe<FrequencyWriter>& d) {
    d.id("frequency_writer").summary("writes methylation frequencies per site, as f5c meth-freq or as bedMethyl");
    d.doc(
        "tsv: the columns and bytes of f5c 1.6 meth-freq, strands merged. bedmethyl: 18 columns as modkit writes them, one line per position and "
        "strand with calls; "
        "a group of sites counts for each of them, so split_groups at methylation_frequency makes no difference.");
    d.sink("site").work_unit("row");  // bedMethyl adds up groups that share positions, also across a border of parts
    d.needs("contig", "utf8", "name of the reference sequence")
        .needs("start", "i64", "first base of the first site, 0-based")
        .needs("end", "i64", "first base of the last site");
    d.needs("motifs", "i32", "sites in the group");
    d.needs("called_sites", "i64", "called reads times sites").needs("called_sites_methylated", "i64", "of these, methylated");
    d.needs("called_forward", "i64", "called_sites of forward reads").needs("methylated_forward", "i64", "called_sites_methylated of forward reads");
    d.needs("sequence", "utf8", "the reference around the group, or split-group");
    d.option("output", &Parameters::output, "where to write; .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; .parquet: Parquet; - is standard output")
        .required()
        .writes()
        .beside(".tbi")
        .beside(".csi");
    d.option("format", &Parameters::format, "tsv as f5c meth-freq, or bedmethyl").choices({"tsv", "bedmethyl"});
    d.option("combine_strands", &Parameters::combine_strands,
             "bedmethyl: one line for both strands of a site, at the modified base of the forward strand");
    d.option("motif", &Parameters::motif, "what was called: cpg, gpc, dam, dcm, or LETTERS:POSITION:CODE");
    d.option("version", &Parameters::version, "tsv: 2, or 1 for the older name num_cpgs_in_group").range(1, 2);
  }

  static void check_parameters(const Parameters& p) {
    if (!parse_motif(p.motif).is_palindrome() && p.combine_strands)
      throw Failure::usage("combine_strands: motif '" + p.motif + "' is not its own reverse complement, so the strands have no sites in common",
                           "leave combine_strands out");
  }

  FrequencyWriter(const Setup& setup, const Parameters& parameters)
      : format_(parameters.format == "bedmethyl" ? Format::bedmethyl : Format::tsv),
        bed_methyl_(parameters.combine_strands ? Strands::combined : Strands::apart, parse_motif(parameters.motif)),
        file_(setup, parameters.output, schema_of(parameters), format_ == Format::bedmethyl ? std::optional(hts::bed_columns) : std::nullopt) {
    if (format_ == Format::tsv) file_.table().header(table_header(version_of(parameters)));
    resume(setup, [this](StateReader& from) {
      file_.restore(from);
      bed_methyl_.restore(from);
    });
  }

  void process(const Call&, const Batch& in, Output& out) const {
    if (format_ == Format::bedmethyl) return;  // positions of neighbouring sites are added up, so commit() makes the lines
    const Columns sites(in);
    std::string text;
    const Buffer ends = out.offsets([&](std::int64_t row) {
      const std::size_t before = text.size();
      if (in.ok(row)) append_table_line(text, sites[row]);
      return text.size() - before;
    });
    const std::span<char> lines = out.text("_lines", ends);
    std::copy(text.begin(), text.end(), lines.begin());
  }

  void commit(const Call& call, const Batch& in) {
    double written = 0;
    ResultFigures figures;
    std::uint64_t called = 0, reads = 0;
    const auto called_sites = in.column<std::int64_t>("called_sites");
    const auto motifs = in.column<std::int32_t>("motifs");
    std::vector<std::uint64_t> coverage(most_coverage + 1);
    std::string text;
    const Columns sites(in);
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      ++written;
      called += called_sites[static_cast<std::size_t>(row)] > 0 ? 1 : 0;
      const std::int64_t of_site = called_sites[static_cast<std::size_t>(row)] / std::max(motifs[static_cast<std::size_t>(row)], 1);
      reads += static_cast<std::uint64_t>(std::max<std::int64_t>(of_site, 0));
      ++coverage[static_cast<std::size_t>(std::clamp<std::int64_t>(of_site, 0, most_coverage))];
      if (format_ == Format::bedmethyl && !bed_methyl_.add(sites[row], text))
        throw Failure::input(place_of(sites[row]) + ": sequence and counts do not show its sites",
                             "use the sites of methylation_frequency, and the motif that was called");
    }
    if (format_ == Format::tsv)
      file_.write_rows(call, in.text("_lines"));
    else
      file_.write(call, text);
    figures.add_mean(mean_coverage, reads, static_cast<std::uint64_t>(written));
    for (std::size_t i = 0; i < coverage.size(); ++i)
      if (coverage[i] > 0) figures.add_class(coverage_histogram, static_cast<std::int64_t>(i), coverage[i]);
    figures.give(call);
    call.count("sites written", written);
    call.outcome("called", called, static_cast<std::uint64_t>(in.rows()));
  }

  void finish(const Call& call, Output&) {
    std::string text;
    bed_methyl_.finish(text);
    ResultFigures figures;
    for (const Figure& figure : {mean_coverage, coverage_histogram}) figures.describe(figure);
    figures.give(call);
    file_.write(call, text);
    file_.finish(call);
  }

  void save(const Call& call, StateWriter& to) {
    file_.save(call, to);
    bed_methyl_.save(to);
  }

 private:
  enum class Format : std::uint8_t { tsv, bedmethyl };

  static TableVersion version_of(const Parameters& p) { return p.version == 1 ? TableVersion::v1 : TableVersion::v2; }
  static arrow::TableSchema schema_of(const Parameters& p) {
    if (p.format == "bedmethyl") return arrow::bed_methyl_schema();
    return arrow::table_schema(table_header(version_of(p)), {"utf8", "i64", "i64", "i64", "i64", "i64", "f64", "utf8"});
  }
  static std::string place_of(const Site& site) { return "site " + std::string(site.contig) + ":" + std::to_string(site.start); }

  class Columns {
   public:
    explicit Columns(const Batch& in)
        : contig_(in.text("contig")),
          sequence_(in.text("sequence")),
          start_(in.column<std::int64_t>("start")),
          end_(in.column<std::int64_t>("end")),
          called_sites_(in.column<std::int64_t>("called_sites")),
          called_sites_methylated_(in.column<std::int64_t>("called_sites_methylated")),
          called_forward_(in.column<std::int64_t>("called_forward")),
          methylated_forward_(in.column<std::int64_t>("methylated_forward")),
          motifs_(in.column<std::int32_t>("motifs")) {}
    // Throws Failure::input for a site that can't be.
    Site operator[](std::int64_t row) const {
      const auto at = static_cast<std::size_t>(row);
      const Site site{.contig = contig_[row],
                      .start = start_[at],
                      .end = end_[at],
                      .motifs = motifs_[at],
                      .called_sites = called_sites_[at],
                      .called_sites_methylated = called_sites_methylated_[at],
                      .called_forward = called_forward_[at],
                      .methylated_forward = methylated_forward_[at],
                      .sequence = sequence_[row]};
      constexpr std::int64_t furthest = std::numeric_limits<std::int64_t>::max() / 4;
      const bool possible = site.start >= 0 && site.end >= site.start && site.end < furthest && site.methylated_forward >= 0 &&
                            site.methylated_forward <= site.called_forward && site.called_forward <= site.called_sites &&
                            site.called_sites < furthest && site.called_sites_methylated >= site.methylated_forward &&
                            site.called_sites_methylated - site.methylated_forward <= site.called_sites - site.called_forward;
      if (!possible) throw Failure::input(place_of(site) + ": positions or counts that can't be", "use the sites of methylation_frequency");
      return site;
    }

   private:
    TextView contig_, sequence_;
    std::span<const std::int64_t> start_, end_, called_sites_, called_sites_methylated_, called_forward_, methylated_forward_;
    std::span<const std::int32_t> motifs_;
  };

  Format format_;
  BedMethyl bed_methyl_;
  arrow::IndexedTable file_;
};

}  // namespace
}  // namespace sluice::frequency_writer

SLUICE_PLUGIN("frequency_writer", "0.1.0", "MIT", sluice::frequency_writer::FrequencyWriter);
