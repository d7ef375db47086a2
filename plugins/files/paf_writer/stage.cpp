// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <optional>
#include <sluice/arrow/indexed_table.hpp>
#include <sluice/arrow/known_tables.hpp>
#include <sluice/file_joining.hpp>
#include <sluice/hts/join_indexed_text.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/alignment_figures.hpp>
#include <sluice/overlap/hit_columns.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "paf_writer/paf_line.hpp"

namespace sluice::paf_writer {
namespace {

// Sink: lines are made in parallel, written in the order of the reads.
class PafWriter : public hts::JoinsIndexedText<hts::paf_target_columns> {
 public:
  struct Parameters {
    Path output;
    bool secondary = true;
    bool paf_no_hit = false;
    bool cigar = true, cs = false, cs_long = false, ds = false, md = false, eqx = false;
  };
  static void describe(Describe<PafWriter>& d) {
    d.id("paf_writer").summary("writes hits as PAF, the lines of minimap2");
    d.doc(
        "One line per hit, reads in input order, hits in the order of their scores. Twelve columns: read, its length, start, end, strand, contig, "
        "its length, "
        "start, end, matches, block length, mapping quality; then the tags tp (P primary, S secondary), cm (anchors), s1 (score), s2 (score of the "
        "best secondary hit, primary hits only), dv (estimated divergence), rl (bases of the read in repeats). Reads that failed have no line. With "
        "base-level alignments there is a line for each of them instead, and NM, ms, AS, nn, ts (across introns), de instead of dv, zd, and cg (and "
        "cs "
        "or MD) at the end.");
    d.sink("read").work_unit("row").concatenates();
    d.needs("read_id", "utf8", "name of the read").needs("read_length", "i32", "bases of the read");
    d.needs("repeat_length", "i32", "bases under minimizers that were too frequent to be looked up");
    overlap::needs_hits(d);
    overlap::needs_read_alignments(d, Needed::optional);
    d.needs("difference_text", "utf8", "cs tags of the alignments, for cs", Needed::optional);
    d.needs("mismatch_text", "utf8", "MD tags of the alignments, for md", Needed::optional);
    d.uses("index", "minimizer_index", "the sequences that the reads were mapped to");
    d.option("output", &Parameters::output,
             "where to write the hits; .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; .parquet: Parquet, a column per tag; - is standard output")
        .required()
        .writes()
        .beside(".tbi")
        .beside(".csi");
    d.option("secondary", &Parameters::secondary, "write secondary hits, too (minimap2 --secondary)");
    d.option("paf_no_hit", &Parameters::paf_no_hit, "write a line with * for each read without hits (minimap2 --paf-no-hit)");
    d.option("cigar", &Parameters::cigar, "write the CIGARs of alignments (minimap2 -c)");
    d.option("cs", &Parameters::cs, "write cs tags of alignments (minimap2 --cs)");
    d.option("cs_long", &Parameters::cs_long, "the same, made with cs_long by base_alignment (--cs=long)");
    d.option("ds", &Parameters::ds, "write ds tags, made with ds by base_alignment, instead of cs tags (minimap2 --ds)");
    d.option("md", &Parameters::md, "write MD tags of alignments, instead of cs tags if both are wanted (minimap2 --MD)");
    d.option("eqx", &Parameters::eqx, "CIGARs have = and X, made with eqx by base_alignment (minimap2 --eqx)");
  }

  static void check_parameters(const Parameters& p) {
    for (const std::string_view ending : {".bam", ".sam", ".sam.gz", ".sam.zst", ".cram"})
      if (p.output.ends_with(ending))
        throw Failure::usage("'" + p.output + "' is the name of another kind of file than PAF", "add --format sam or bam, or choose another name");
  }

  PafWriter(const Setup& setup, const Parameters& p)
      : index_(minimizer_index_view(setup.resource("index"))),
        secondary_(p.secondary),
        paf_no_hit_(p.paf_no_hit),
        cigar_(p.cigar),
        has_alignments_(overlap::read_alignments_available(setup)),
        figures_(index_),
        text_(text_tag(setup, p, has_alignments_)),
        file_(setup, p.output, tag_columns(has_alignments_, p.cigar, text_), hts::paf_target_columns) {
    resume(setup, [this](StateReader& from) { file_.restore(from); });
  }

  void process(const Call& call, const Batch& in, Output& out) {
    auto text = texts_.take();
    text->clear();
    const overlap::HitColumns hits(in);
    std::optional<overlap::ReadAlignments> alignments;
    if (has_alignments_) alignments.emplace(in, text_);
    const TextView read_ids = in.text("read_id");
    const auto read_length = in.column<std::int32_t>("read_length");
    const auto repeat_length = in.column<std::int32_t>("repeat_length");
    std::vector<overlap::ReadAlignment> of_read;
    overlap::AlignmentFigures::Counts found(figures_);
    const Buffer ends = out.offsets([&](std::int64_t row) {
      const std::size_t before = text->size();
      if (!in.ok(row)) return std::size_t{0};
      const auto r = static_cast<std::size_t>(row);
      const PafRead read{.id = read_ids[row], .length = read_length[r], .repeat_length = repeat_length[r]};
      const auto append = [&](const PafHit& hit) {
        if (hit.primary || secondary_) append_hit(*text, read, hit);
      };
      std::size_t count = 0;
      found.add_read(read.length);
      if (alignments) {
        alignments->read(row, index_.contigs(), of_read);
        count = of_read.size();
        for (const overlap::ReadAlignment& alignment : of_read) {
          found.add(alignment);
          append(hit_of(alignment));
        }
      } else {
        count = hits.count(row, read.id);
        for (std::size_t i = 0; i < count; ++i) {
          const overlap::ReadHit hit = hits.hit(row, i);
          append(hit_of(hit, read.id));
          found.add(hit);
        }
      }
      if (count == 0 && paf_no_hit_) append_no_hit(*text, read);
      return text->size() - before;
    });
    const std::span<char> lines = out.text("_lines", ends);
    std::copy(text->begin(), text->end(), lines.begin());
    found.give(call);
  }

  void commit(const Call& call, const Batch& in) {
    const auto targets = in.list<std::int32_t>(has_alignments_ ? "aligned_target" : "hit_target");
    double mapped = 0, hits = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      mapped += targets[row].empty() ? 0 : 1;
      hits += static_cast<double>(targets[row].size());
    }
    file_.write_rows(call, in.text("_lines"));
    call.count("reads mapped", mapped);
    call.outcome("mapped", static_cast<std::uint64_t>(mapped), static_cast<std::uint64_t>(in.rows()));
    call.count("hits", hits);
  }

  void finish(const Call& call, Output&) {
    file_.finish(call);
    figures_.describe(call, has_alignments_);
  }
  void save(const Call& call, StateWriter& to) { file_.save(call, to); }

 private:
  static overlap::TagText text_tag(const Setup& setup, const Parameters& p, bool has_alignments) {
    if (has_alignments && p.md && setup.available("mismatch_text")) return overlap::TagText::mismatches;
    if (has_alignments && p.ds && setup.available("difference_text")) return overlap::TagText::difference_and_shifts;
    if (has_alignments && (p.cs || p.cs_long) && setup.available("difference_text")) return overlap::TagText::difference;
    return overlap::TagText::none;
  }
  static arrow::TableSchema tag_columns(bool has_alignments, bool cigar, overlap::TagText text) {
    std::vector<arrow::TableColumn> tags;
    const auto integers = [&tags](const std::vector<const char*>& names) {
      for (const char* name : names) tags.push_back(arrow::tag_column(name, "i64"));
    };
    if (has_alignments) {
      integers({"NM", "ms", "AS", "nn"});
      tags.push_back(arrow::tag_column("ts", "utf8"));
    }
    tags.push_back(arrow::tag_column("tp", "utf8"));
    integers({"cm", "s1", "s2"});
    tags.push_back(has_alignments ? arrow::tag_column("de", "f64") : arrow::tag_column("dv", "f32"));
    if (has_alignments) integers({"zd"});
    integers({"rl"});
    if (has_alignments && cigar) tags.push_back(arrow::tag_column("cg", "utf8"));
    if (text == overlap::TagText::difference_and_shifts) tags.push_back(arrow::tag_column("ds", "utf8"));
    if (text == overlap::TagText::difference) tags.push_back(arrow::tag_column("cs", "utf8"));
    if (text == overlap::TagText::mismatches) tags.push_back(arrow::tag_column("MD", "utf8"));
    return arrow::paf_schema(std::move(tags));
  }
  PafHit hit_of(const overlap::ReadHit& hit, std::string_view read_id) const {
    const auto target = static_cast<std::size_t>(static_cast<std::uint32_t>(hit.target));
    if (target >= index_.contigs())
      throw Failure::input("read '" + std::string(read_id) + "': a hit is on contig " + std::to_string(hit.target) +
                           ", which the index does not have");
    return {.query_start = hit.query_start,
            .query_end = hit.query_end,
            .reverse = hit.is_reverse != 0,
            .target = index_.contig_name(target),
            .target_length = index_.contig_length[target],
            .target_start = hit.target_start,
            .target_end = hit.target_end,
            .matches = hit.matches,
            .block = hit.block,
            .mapping_quality = hit.mapping_quality,
            .primary = hit.is_primary != 0,
            .anchors = hit.anchors,
            .score = hit.score,
            .second_score = hit.second_score,
            .divergence = hit.divergence};
  }
  PafHit hit_of(const overlap::ReadAlignment& alignment) const {
    const auto target = static_cast<std::size_t>(alignment.target);
    return {.query_start = alignment.query_start,
            .query_end = alignment.query_end,
            .reverse = alignment.is_reverse,
            .target = index_.contig_name(target),
            .target_length = index_.contig_length[target],
            .target_start = alignment.target_start,
            .target_end = alignment.target_end,
            .matches = alignment.matches,
            .block = alignment.columns,
            .mapping_quality = alignment.mapping_quality,
            .primary = alignment.is_primary,
            .alignment = PafAlignment{alignment, cigar_, text_}};
  }

  MinimizerIndexView index_;
  bool secondary_, paf_no_hit_, cigar_, has_alignments_;
  overlap::AlignmentFigures figures_;
  overlap::TagText text_;
  arrow::IndexedTable file_;
  Workspaces<std::string> texts_;
};

}  // namespace
}  // namespace sluice::paf_writer

SLUICE_PLUGIN_WITH(sluice::file_joining<sluice::paf_writer::PafWriter>, "paf_writer", "0.1.0", "MIT", sluice::paf_writer::PafWriter);
