// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cstdint>
#include <sluice/arrow/indexed_table.hpp>
#include <sluice/file_joining.hpp>
#include <sluice/hts/join_indexed_text.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/alignment_figures.hpp>
#include <sluice/overlap/read_alignments.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "bed_writer/bed_line.hpp"

namespace sluice::bed_writer {
namespace {

// Sink: lines are made in parallel, written in the order of the reads.
class BedWriter : public hts::JoinsIndexedText<hts::bed_columns> {
 public:
  struct Parameters {
    Path output;
    bool secondary = true, blocks = false;
  };
  static void describe(Describe<BedWriter>& d) {
    d.id("bed_writer").summary("writes the places of alignments as BED, the lines of bedtools bamtobed");
    d.doc(
        "One line per alignment, reads in input order: contig, start, end, read, mapping quality, strand. With blocks there are twelve columns: "
        "start "
        "and end again, a colour, and how many blocks introns leave, their lengths and their starts from the line's start. Reads without an "
        "alignment have no line.");
    d.sink("read").work_unit("row").concatenates();
    d.needs("read_id", "utf8", "name of the read").needs("read_length", "i32", "bases of the read");
    overlap::needs_read_alignments(d);
    d.uses("index", "minimizer_index", "the sequences that the reads were mapped to");
    d.option("output", &Parameters::output, "file to write; .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; - is standard output")
        .required()
        .writes()
        .beside(".tbi")
        .beside(".csi");
    d.option("secondary", &Parameters::secondary, "write secondary alignments, too");
    d.option("blocks", &Parameters::blocks, "twelve columns, with the blocks between introns");
  }

  BedWriter(const Setup& setup, const Parameters& p)
      : index_(minimizer_index_view(setup.resource("index"))),
        secondary_(p.secondary),
        columns_(p.blocks ? Columns::twelve : Columns::six),
        figures_(index_),
        file_(setup, p.output, schema(columns_), hts::bed_columns) {
    resume(setup, [this](StateReader& from) { file_.restore(from); });
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const overlap::ReadAlignments alignments(in, overlap::TagText::none);
    const TextView read_ids = in.text("read_id");
    const auto read_length = in.column<std::int32_t>("read_length");
    std::vector<overlap::ReadAlignment> of_read;
    std::vector<std::string> lines(static_cast<std::size_t>(in.rows()));
    overlap::AlignmentFigures::Counts found(figures_);
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const auto r = static_cast<std::size_t>(row);
      found.add_read(read_length[r]);
      alignments.read(row, index_.contigs(), of_read);
      for (const overlap::ReadAlignment& alignment : of_read) {
        found.add(alignment);
        if (alignment.is_primary || secondary_)
          append_alignment(lines[r], read_ids[row], index_.contig_name(static_cast<std::size_t>(alignment.target)), alignment, columns_);
      }
    }
    out.text_rows("_lines", lines);
    found.give(call);
  }

  void commit(const Call& call, const Batch& in) {
    const auto targets = in.list<std::int32_t>("aligned_target");
    std::uint64_t mapped = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) mapped += in.ok(row) && !targets[row].empty() ? 1 : 0;
    file_.write_rows(call, in.text("_lines"));
    call.outcome("mapped", mapped, static_cast<std::uint64_t>(in.rows()));
  }

  void finish(const Call& call, Output&) {
    file_.finish(call);
    figures_.describe(call, true);
  }
  void save(const Call& call, StateWriter& to) { file_.save(call, to); }

 private:
  static arrow::TableSchema schema(Columns columns) {
    if (columns == Columns::six) return arrow::table_schema("chrom\tstart\tend\tname\tscore\tstrand", {"utf8", "i64", "i64", "utf8", "i64", "utf8"});
    return arrow::table_schema("chrom\tstart\tend\tname\tscore\tstrand\tthick_start\tthick_end\tcolor\tblock_count\tblock_sizes\tblock_starts",
                               {"utf8", "i64", "i64", "utf8", "i64", "utf8", "i64", "i64", "utf8", "i64", "utf8", "utf8"});
  }

  MinimizerIndexView index_;
  bool secondary_;
  Columns columns_;
  overlap::AlignmentFigures figures_;
  arrow::IndexedTable file_;
};

}  // namespace
}  // namespace sluice::bed_writer

SLUICE_PLUGIN_WITH(sluice::file_joining<sluice::bed_writer::BedWriter>, "bed_writer", "0.1.0", "MIT", sluice::bed_writer::BedWriter);
