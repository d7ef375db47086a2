// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <sluice/minimizer_index.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "paf_writer/paf_line.hpp"

namespace sluice::paf_writer {
namespace {

constexpr const char* alignment_columns[] = {"aligned_query_start", "aligned_query_end", "aligned_target_start", "aligned_target_end",
                                             "aligned_matches",     "aligned_columns",   "edit_distance",        "alignment_score"};
constexpr const char* ranking_columns[] = {"aligned_is_primary", "aligned_mapq"};

// The base-level alignments of one read's hits, one after the other.
class AlignmentsOfRead {
 public:
  // in: null if there are none.
  AlignmentsOfRead(const Batch* in, std::int64_t row, bool with_differences)
      : in_(in),
        row_(row),
        with_differences_(with_differences),
        differences_(with_differences ? in->text("difference_text")[row] : std::string_view()) {}
  void add_next(PafHit& hit) {
    if (in_ == nullptr) return;
    const auto value = [&](const char* column) {
      const auto values = in_->list<std::int32_t>(column)[row_];
      if (next_ >= values.size())
        throw Failure::input("the lists of a read's alignments are too short", "this is a bug in the stage that gives them");
      return values[next_];
    };
    const auto operations = static_cast<std::size_t>(value("cigar_count"));
    std::optional<std::string_view> difference;
    if (with_differences_) {
      const std::size_t end = std::min(differences_.find('\n'), differences_.size());
      difference = differences_.substr(0, end);
      differences_.remove_prefix(std::min(end + 1, differences_.size()));
    }
    if (operations > 0) {
      hit.query_start = value("aligned_query_start");
      hit.query_end = value("aligned_query_end");
      hit.target_start = value("aligned_target_start");
      hit.target_end = value("aligned_target_end");
      hit.matches = value("aligned_matches");
      hit.block = value("aligned_columns");
      hit.alignment = {value("edit_distance"), value("alignment_score"), in_->list<std::uint32_t>("hit_cigar")[row_].subspan(at_, operations),
                       difference};
    }
    const auto byte = [&](const char* column) {
      const auto values = in_->list<std::uint8_t>(column)[row_];
      if (next_ >= values.size())
        throw Failure::input("the lists of a read's alignments are too short", "this is a bug in the stage that gives them");
      return values[next_];
    };
    hit.primary = byte("aligned_is_primary") != 0;
    if (!hit.primary) hit.second_score = -1;
    hit.mapping_quality = byte("aligned_mapq");
    at_ += operations;
    ++next_;
  }

 private:
  const Batch* in_;
  std::int64_t row_;
  std::size_t next_ = 0, at_ = 0;
  bool with_differences_;
  std::string_view differences_;
};

bool has_better_alignment(const PafHit& a, const PafHit& b) { return a.alignment && (!b.alignment || a.alignment->score > b.alignment->score); }

// Sink: lines are made in parallel, written in the order of the reads.
class PafWriter {
 public:
  struct Parameters {
    Path output;
    bool secondary = true;
    bool paf_no_hit = false;
    bool cs = false;
  };
  static void describe(Describe<PafWriter>& d) {
    d.id("paf_writer").summary("writes hits as PAF, the lines of minimap2");
    d.doc(
        "One line per hit, reads in input order, hits in the order of their scores. Twelve columns: read, its length, start, end, strand, contig, "
        "its length, "
        "start, end, matches, block length, mapping quality; then the tags tp (P primary, S secondary), cm (anchors), s1 (score), s2 (score of the "
        "best secondary hit, primary hits only), dv (estimated divergence), rl (bases of the read in repeats). Reads that failed have no line. Hits "
        "with "
        "a base-level alignment have its places, matches and columns, NM, AS and de instead of dv, and cg (and cs, if there is one) at the end.");
    d.sink("read").work_unit("row");
    d.needs("read_id", "utf8", "name of the read").needs("read_length", "i32", "bases of the read");
    d.needs("repeat_length", "i32", "bases under minimizers that were too frequent to be looked up");
    d.needs("hit_target", "list<i32>", "per hit: number of the contig in the index");
    d.needs("hit_query_start", "list<i32>", "per hit: first base on the read").needs("hit_query_end", "list<i32>", "per hit: end on the read");
    d.needs("hit_target_start", "list<i32>", "per hit: first base on the contig").needs("hit_target_end", "list<i32>", "per hit: end on the contig");
    d.needs("hit_score", "list<i32>", "per hit: score").needs("hit_second_score", "list<i32>", "per hit: best secondary score; -1: no tag");
    d.needs("hit_anchors", "list<i32>", "per hit: anchors");
    d.needs("hit_matches", "list<i32>", "per hit: matching bases").needs("hit_block", "list<i32>", "per hit: bases of the block");
    d.needs("hit_is_reverse", "list<u8>", "per hit: 1 on the reverse strand").needs("hit_is_primary", "list<u8>", "per hit: 1 if primary");
    d.needs("hit_mapq", "list<u8>", "per hit: mapping quality").needs("hit_divergence", "list<f32>", "per hit: divergence; -1: no tag");
    d.needs("cigar_count", "list<i32>", "per hit: operations of its alignment; 0: none", Needed::optional);
    d.needs("hit_cigar", "list<u32>", "operations of all hits", Needed::optional);
    for (const char* column : alignment_columns) d.needs(column, "list<i32>", "per hit: see base_alignment", Needed::optional);
    for (const char* column : ranking_columns) d.needs(column, "list<u8>", "per hit: see base_alignment", Needed::optional);
    d.needs("difference_text", "utf8", "cs tags of the hits, for cs", Needed::optional);
    d.uses("index", "minimizer_index", "the sequences that the reads were mapped to");
    d.option("output", &Parameters::output, "where to write the hits; - is standard output").required().writes();
    d.option("secondary", &Parameters::secondary, "write secondary hits, too (minimap2 --secondary)");
    d.option("paf_no_hit", &Parameters::paf_no_hit, "write a line with * for each read without hits (minimap2 --paf-no-hit)");
    d.option("cs", &Parameters::cs, "write cs tags of hits with a base-level alignment (minimap2 --cs)");
  }

  PafWriter(const Setup& setup, const Parameters& p)
      : index_(minimizer_index_view(setup.resource("index"))), secondary_(p.secondary), paf_no_hit_(p.paf_no_hit), file_(setup, p.output) {
    has_alignments_ = setup.available("cigar_count") && setup.available("hit_cigar");
    for (const char* column : alignment_columns) has_alignments_ = has_alignments_ && setup.available(column);
    for (const char* column : ranking_columns) has_alignments_ = has_alignments_ && setup.available(column);
    has_differences_ = has_alignments_ && p.cs && setup.available("difference_text");
  }

  void process(const Call&, const Batch& in, Output& out) {
    auto text = texts_.take();
    text->clear();
    const Hits hits(in);
    const TextView read_ids = in.text("read_id");
    const auto read_length = in.column<std::int32_t>("read_length");
    const auto repeat_length = in.column<std::int32_t>("repeat_length");
    std::vector<PafHit> ordered;
    const Buffer ends = out.offsets([&](std::int64_t row) {
      const std::size_t before = text->size();
      if (!in.ok(row)) return std::size_t{0};
      const auto r = static_cast<std::size_t>(row);
      const PafRead read{.id = read_ids[row], .length = read_length[r], .repeat_length = repeat_length[r]};
      const std::size_t count = hits.count(row, read.id);
      if (count == 0 && paf_no_hit_) append_no_hit(*text, read);
      AlignmentsOfRead alignments(has_alignments_ ? &in : nullptr, row, has_differences_);
      ordered.clear();
      for (std::size_t i = 0; i < count; ++i) alignments.add_next(ordered.emplace_back(hits.hit(row, i, index_, read.id)));
      // Hits come by the scores of their chains.
      if (has_alignments_) std::stable_sort(ordered.begin(), ordered.end(), has_better_alignment);
      for (const PafHit& hit : ordered)
        if (hit.primary || secondary_) append_hit(*text, read, hit);
      return text->size() - before;
    });
    const std::span<char> lines = out.text("_lines", ends);
    std::copy(text->begin(), text->end(), lines.begin());
  }

  void commit(const Call& call, const Batch& in) {
    const TextView lines = in.text("_lines");
    const auto targets = in.list<std::int32_t>("hit_target");
    double mapped = 0, hits = 0;
    std::size_t bytes = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      bytes += lines[row].size();
      if (!in.ok(row)) continue;
      mapped += targets[row].empty() ? 0 : 1;
      hits += static_cast<double>(targets[row].size());
    }
    if (bytes != 0) file_.write({lines[0].data(), bytes});
    call.count("reads mapped", mapped);
    call.outcome("mapped", static_cast<std::uint64_t>(mapped), static_cast<std::uint64_t>(in.rows()));
    call.count("hits", hits);
  }

  void finish(const Call&, Output&) { file_.close(); }

 private:
  // The hit columns of a batch.
  class Hits {
   public:
    explicit Hits(const Batch& in)
        : target_(in.list<std::int32_t>("hit_target")),
          query_start_(in.list<std::int32_t>("hit_query_start")),
          query_end_(in.list<std::int32_t>("hit_query_end")),
          target_start_(in.list<std::int32_t>("hit_target_start")),
          target_end_(in.list<std::int32_t>("hit_target_end")),
          score_(in.list<std::int32_t>("hit_score")),
          second_score_(in.list<std::int32_t>("hit_second_score")),
          anchors_(in.list<std::int32_t>("hit_anchors")),
          matches_(in.list<std::int32_t>("hit_matches")),
          block_(in.list<std::int32_t>("hit_block")),
          is_reverse_(in.list<std::uint8_t>("hit_is_reverse")),
          is_primary_(in.list<std::uint8_t>("hit_is_primary")),
          mapq_(in.list<std::uint8_t>("hit_mapq")),
          divergence_(in.list<float>("hit_divergence")) {}

    std::size_t count(std::int64_t row, std::string_view read_id) const {
      const std::size_t count = target_[row].size();
      for (const auto* list : {&query_start_, &query_end_, &target_start_, &target_end_, &score_, &second_score_, &anchors_, &matches_, &block_})
        if ((*list)[row].size() != count) refuse(read_id, "the lists of its hits differ in length");
      for (const auto* list : {&is_reverse_, &is_primary_, &mapq_})
        if ((*list)[row].size() != count) refuse(read_id, "the lists of its hits differ in length");
      if (divergence_[row].size() != count) refuse(read_id, "the lists of its hits differ in length");
      return count;
    }
    PafHit hit(std::int64_t row, std::size_t i, const MinimizerIndexView& index, std::string_view read_id) const {
      const auto target = static_cast<std::size_t>(static_cast<std::uint32_t>(target_[row][i]));
      if (target >= index.contigs()) refuse(read_id, "a hit is on contig " + std::to_string(target_[row][i]) + ", which the index does not have");
      return {.query_start = query_start_[row][i],
              .query_end = query_end_[row][i],
              .reverse = is_reverse_[row][i] != 0,
              .target = index.contig_name(target),
              .target_length = index.contig_length[target],
              .target_start = target_start_[row][i],
              .target_end = target_end_[row][i],
              .matches = matches_[row][i],
              .block = block_[row][i],
              .mapping_quality = mapq_[row][i],
              .primary = is_primary_[row][i] != 0,
              .anchors = anchors_[row][i],
              .score = score_[row][i],
              .second_score = second_score_[row][i],
              .divergence = divergence_[row][i]};
    }

   private:
    [[noreturn]] static void refuse(std::string_view read_id, const std::string& what) {
      throw Failure::input("read '" + std::string(read_id) + "': " + what);
    }
    ListView<std::int32_t> target_, query_start_, query_end_, target_start_, target_end_, score_, second_score_, anchors_, matches_, block_;
    ListView<std::uint8_t> is_reverse_, is_primary_, mapq_;
    ListView<float> divergence_;
  };

  MinimizerIndexView index_;
  bool secondary_, paf_no_hit_, has_alignments_ = false, has_differences_ = false;
  OutputFile file_;
  Workspaces<std::string> texts_;
};

}  // namespace
}  // namespace sluice::paf_writer

SLUICE_PLUGIN("paf_writer", "0.1.0", "MIT", sluice::paf_writer::PafWriter);
