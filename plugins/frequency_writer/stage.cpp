// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <limits>
#include <sluice/stage.hpp>
#include <string>

#include "frequency_writer/frequency_table.hpp"

namespace sluice::frequency_writer {
namespace {

// Sink: methylation frequencies per site, in the order they come (methylation_frequency sorts them).
class FrequencyWriter {
 public:
  struct Parameters {
    Path output;
    std::string format = "tsv";
    int version = 2;
  };
  static void describe(Describe<FrequencyWriter>& d) {
    d.id("frequency_writer").summary("writes methylation frequencies per site, as f5c meth-freq or as bedMethyl");
    d.doc(
        "tsv: the columns and bytes of f5c 1.6 meth-freq, strands merged. bedmethyl: 18 columns as modkit writes them, one line per strand with "
        "calls; "
        "needs single CpGs, that is split_groups = true at methylation_frequency.");
    d.sink("site").work_unit("row");
    d.needs("contig", "utf8", "name of the reference sequence")
        .needs("start", "i64", "C of the first CpG, 0-based")
        .needs("end", "i64", "C of the last CpG");
    d.needs("motifs", "i32", "CpGs in the group");
    d.needs("called_sites", "i64", "called reads times CpGs").needs("called_sites_methylated", "i64", "of these, methylated");
    d.needs("called_forward", "i64", "called_sites of forward reads").needs("methylated_forward", "i64", "called_sites_methylated of forward reads");
    d.needs("sequence", "utf8", "the reference around the group, or split-group");
    d.option("output", &Parameters::output, "where to write; - is standard output").required();
    d.option("format", &Parameters::format, "tsv as f5c meth-freq, or bedmethyl").choices({"tsv", "bedmethyl"});
    d.option("version", &Parameters::version, "tsv: 2, or 1 for the older name num_cpgs_in_group").range(1, 2);
  }

  FrequencyWriter(const Setup& setup, const Parameters& parameters)
      : format_(parameters.format == "bedmethyl" ? Format::bedmethyl : Format::tsv),
        output_name_(parameters.output),
        file_(setup, parameters.output) {
    if (format_ == Format::tsv) file_.write(table_header(parameters.version == 1 ? TableVersion::v1 : TableVersion::v2));
  }

  void process(const Call&, const Batch& in, Output& out) const {
    const TextView contig = in.text("contig");
    const auto start = in.column<std::int64_t>("start");
    const auto end = in.column<std::int64_t>("end");
    const auto motifs = in.column<std::int32_t>("motifs");
    const auto called_sites = in.column<std::int64_t>("called_sites");
    const auto called_sites_methylated = in.column<std::int64_t>("called_sites_methylated");
    const auto called_forward = in.column<std::int64_t>("called_forward");
    const auto methylated_forward = in.column<std::int64_t>("methylated_forward");
    const TextView sequence = in.text("sequence");
    std::string text;
    const Buffer ends = out.offsets([&](std::int64_t row) {
      const std::size_t before = text.size();
      if (!in.ok(row)) return std::size_t{0};
      const auto at = static_cast<std::size_t>(row);
      const Site site{.contig = contig[row],
                      .start = start[at],
                      .end = end[at],
                      .motifs = motifs[at],
                      .called_sites = called_sites[at],
                      .called_sites_methylated = called_sites_methylated[at],
                      .called_forward = called_forward[at],
                      .methylated_forward = methylated_forward[at],
                      .sequence = sequence[row]};
      check(site);
      if (format_ == Format::tsv)
        append_table_line(text, site);
      else
        append_bedmethyl_lines(text, site);
      return text.size() - before;
    });
    const std::span<char> lines = out.text("_lines", ends);
    std::copy(text.begin(), text.end(), lines.begin());
  }

  void commit(const Call& call, const Batch& in) {
    const TextView lines = in.text("_lines");
    double sites = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      file_.write(lines[row]);
      ++sites;
    }
    call.count("sites written", sites);
  }

  void finish(const Call&, Output&) { file_.close(); }

 private:
  enum class Format : std::uint8_t { tsv, bedmethyl };

  void check(const Site& site) const {
    const auto place = [&] { return "site " + std::string(site.contig) + ":" + std::to_string(site.start); };
    const bool counts_fit = site.start >= 0 && site.end >= site.start && site.end < std::numeric_limits<std::int64_t>::max() - 2 &&
                            site.methylated_forward >= 0 && site.methylated_forward <= site.called_forward &&
                            site.called_forward <= site.called_sites && site.called_sites_methylated >= site.methylated_forward &&
                            site.called_sites_methylated - site.methylated_forward <= site.called_sites - site.called_forward;
    if (!counts_fit) throw Failure::input(place() + ": positions or counts that can't be", "use the sites of methylation_frequency");
    if (format_ == Format::bedmethyl && site.motifs != 1)
      throw Failure::usage(
          "'" + output_name_ + "': bedMethyl has one position per line, but " + place() + " is a group of " + std::to_string(site.motifs) + " CpGs",
          "set split_groups = true at methylation_frequency");
  }

  Format format_;
  std::string output_name_;
  OutputFile file_;
};

}  // namespace
}  // namespace sluice::frequency_writer

SLUICE_PLUGIN("frequency_writer", "0.1.0", "MIT", sluice::frequency_writer::FrequencyWriter);
