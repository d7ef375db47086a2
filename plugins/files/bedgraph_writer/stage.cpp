// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <sluice/arrow/indexed_table.hpp>
#include <sluice/hts/join_indexed_text.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>

namespace sluice::bedgraph_writer {
namespace {

// Sink: the share of one modification at each position as bedGraph.
class BedGraphWriter {
 public:
  struct Parameters {
    Path output;
    std::string modification = "m";
    std::int64_t min_coverage = 1;
  };
  static void describe(Describe<BedGraphWriter>& d) {
    d.id("bedgraph_writer").summary("writes the share of a base modification at each position as bedGraph").sink("pileup").work_unit("row");
    d.doc(
        "Contig, position, position + 1 and percent modified, tab-separated. Both strands and all partitions of a position are added up. Rows have "
        "to "
        "come sorted by position, as modification_pileup gives them. .gz: BGZF with the index of tabix; .zst: zstd; .arrow: Arrow IPC.");
    d.needs("contig", "utf8", "name of the reference sequence").needs("position", "i64", "0-based, on the forward strand");
    d.needs("modification", "utf8", "its code");
    for (const char* name : {"modified", "canonical", "other_modified"}) d.needs(name, "i64", "reads, see modification_pileup");
    d.option("output", &Parameters::output, "file to write; .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; - is standard output")
        .required()
        .writes()
        .beside(".tbi")
        .beside(".csi");
    d.option("modification", &Parameters::modification, "code of the modification that is written");
    d.option("min_coverage", &Parameters::min_coverage, "positions with fewer valid calls are left out").range(1, 1e9);
  }

  BedGraphWriter(const Setup& setup, const Parameters& p)
      : modification_(p.modification), min_coverage_(p.min_coverage), file_(setup, p.output, schema(), hts::bed_columns) {
    resume(setup, [this](StateReader& from) {
      file_.restore(from);
      site_.contig = from.text();
      site_.position = from.value<std::int64_t>(), site_.modified = from.value<std::int64_t>(), site_.valid = from.value<std::int64_t>();
    });
  }

  void commit(const Call& call, const Batch& in) {
    const TextView contig = in.text("contig"), modification = in.text("modification");
    const auto position = in.column<std::int64_t>("position"), modified = in.column<std::int64_t>("modified"),
               canonical = in.column<std::int64_t>("canonical"), other = in.column<std::int64_t>("other_modified");
    std::string lines;
    std::uint64_t used = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      const auto i = static_cast<std::size_t>(row);
      if (!in.ok(row) || modification[row].substr(0, modification[row].find(',')) != modification_) continue;
      constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 1024;
      for (const std::int64_t number : {position[i], modified[i], canonical[i], other[i]})
        if (number < 0 || number > most)
          throw Failure::input("site " + std::string(contig[row]) + ":" + std::to_string(position[i]) + ": a position or counts that can't be",
                               "use the rows of modification_pileup");
      if (site_.contig != contig[row] || site_.position != position[i]) {
        append_site(lines);
        site_ = {std::string(contig[row]), position[i], 0, 0};
      }
      site_.modified += modified[i];
      site_.valid += modified[i] + canonical[i] + other[i];
      ++used;
    }
    file_.write(call, lines);
    call.outcome("written", used, static_cast<std::uint64_t>(in.rows()));
  }
  void finish(const Call& call, Output&) {
    std::string line;
    append_site(line);
    file_.write(call, line);
    file_.finish(call);
  }
  void save(const Call& call, StateWriter& to) {
    file_.save(call, to);
    to.text(site_.contig);
    to.value(site_.position), to.value(site_.modified), to.value(site_.valid);
  }

 private:
  struct Site {
    std::string contig;
    std::int64_t position = -1, modified = 0, valid = 0;
  };
  static arrow::TableSchema schema() { return arrow::table_schema("chrom\tstart\tend\tpercent_modified", {"utf8", "i64", "i64", "f64"}); }
  void append_site(std::string& lines) const {
    if (site_.valid < min_coverage_) return;
    const auto append = [&](const auto... number) {
      char digits[32];
      lines.append(digits, static_cast<std::size_t>(std::to_chars(digits, std::end(digits), number...).ptr - digits));
    };
    lines += site_.contig + '\t';
    append(site_.position);
    lines += '\t';
    append(site_.position + 1);
    lines += '\t';
    append(100.0 * static_cast<double>(site_.modified) / static_cast<double>(site_.valid), std::chars_format::fixed, 2);
    lines += '\n';
  }

  std::string modification_;
  std::int64_t min_coverage_;
  arrow::IndexedTable file_;
  Site site_;  // whose rows may not all have come
};

}  // namespace
}  // namespace sluice::bedgraph_writer

SLUICE_PLUGIN("bedgraph_writer", "0.1.0", "MIT", sluice::bedgraph_writer::BedGraphWriter);
