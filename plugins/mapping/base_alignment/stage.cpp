// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdint>
#include <limits>
#include <sluice/minimizer_index.hpp>
#include <sluice/stage.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base_alignment/contig_bases.hpp"
#include "base_alignment/hit_aligner.hpp"
#include "base_alignment/primary_alignment.hpp"
#include "base_alignment/ranking.hpp"

namespace sluice::base_alignment {
namespace {

// Unaligned ends may reach so much further on the target than they are long on the query.
std::int64_t reach(std::int64_t query_bases) { return query_bases + query_bases / 4 + 300; }

class BaseAlignment {
 public:
  struct Parameters : Scoring {
    bool secondary = true;
    bool eqx = false;
    double mask_level = 0.5;
    bool hard_mask_level = false;
    std::int32_t mask_length = std::numeric_limits<std::int32_t>::max();
    std::int32_t min_chain_score = 40;
  };

  static void describe(Describe<BaseAlignment>& d) {
    d.id("base_alignment")
        .map("read")
        .summary("aligns mapped reads base by base along their chains")
        .doc(
            "Keeps a chain's trustworthy anchors, aligns the stretches between them with two-piece affine gaps (WFA2-lib), and extends both ends as "
            "long as the score grows. Gaps are moved to the left. A secondary hit whose alignment is better than its primary's becomes primary.")
        .work_unit("base");
    d.uses("index", "minimizer_index", "names, lengths and bases of the contigs");
    d.needs("bases", "utf8", "the read in sequencing orientation")
        .needs("hit_target", "list<i32>", "contig of each hit")
        .needs("hit_is_reverse", "list<u8>", "1: the hit is on the reverse strand")
        .needs("hit_is_primary", "list<u8>", "0: a secondary hit")
        .needs("hit_mapq", "list<u8>", "mapping quality of each hit, by the chains")
        .needs("hit_score", "list<i32>", "score of each hit's chain")
        .needs("hit_anchors", "list<i32>", "anchors of each hit")
        .needs("repeat_length", "i32", "bases under minimizers that were too frequent to be looked up")
        .needs("hit_chain", "list<i32>", "chain of each hit")
        .needs("chain_anchor_count", "list<i32>", "anchors of each chain")
        .needs("chain_anchor_x", "list<u64>", "anchors of all chains: target places")
        .needs("chain_anchor_y", "list<u64>", "anchors of all chains: spans and query places");
    d.gives("cigar_count", "list<i32>", "per hit: operations in hit_cigar; 0: not aligned")
        .gives("hit_cigar", "list<u32>", "operations of all hits in BAM encoding, in reference orientation, without clips")
        .gives("aligned_query_start", "list<i32>", "per hit: first aligned base of the read, in sequencing orientation")
        .gives("aligned_query_end", "list<i32>", "per hit: end of the aligned part, exclusive")
        .gives("aligned_target_start", "list<i32>", "per hit: first aligned base of the contig")
        .gives("aligned_target_end", "list<i32>", "per hit: its end, exclusive")
        .gives("aligned_matches", "list<i32>", "per hit: columns with equal bases")
        .gives("aligned_columns", "list<i32>", "per hit: columns of the alignment, gaps included")
        .gives("edit_distance", "list<i32>", "per hit: mismatches and gap bases (NM)")
        .gives("alignment_score", "list<i32>", "per hit: score (AS)")
        .gives("aligned_is_primary", "list<u8>", "per hit: 1 if no hit with a better alignment covers its part of the read")
        .gives("aligned_mapq", "list<u8>", "per hit: mapping quality by the alignments, 0 to 60; secondary hits: 0")
        .gives("difference_text", "utf8", "cs tags of the hits, each followed by a newline", Needed::optional)
        .gives("mismatch_text", "utf8", "MD tags of the hits, each followed by a newline", Needed::optional);
    d.option("match", &Parameters::match, "score of equal bases (minimap2's -A)").range(1, 100);
    d.option("mismatch", &Parameters::mismatch, "penalty of different bases (-B)").range(1, 100);
    d.option("gap_open", &Parameters::gap_open, "penalty of opening a gap (-O)").range(0, 1000);
    d.option("gap_extend", &Parameters::gap_extend, "penalty of each base of a gap (-E)").range(1, 1000);
    d.option("long_gap_open", &Parameters::long_gap_open, "the same for long gaps: a gap costs the smaller of both (-O, second value)")
        .range(0, 1000);
    d.option("long_gap_extend", &Parameters::long_gap_extend, "(-E, second value)").range(1, 1000);
    d.option("secondary", &Parameters::secondary, "align secondary hits too; without them hits stay primary or secondary as their chains are");
    d.option("eqx", &Parameters::eqx, "write = and X instead of M");
    d.option("mask_level", &Parameters::mask_level, "as of map_selection, for alignments").range(0, 1);
    d.option("hard_mask_level", &Parameters::hard_mask_level, "as of map_selection, for alignments");
    d.option("mask_length", &Parameters::mask_length, "as of map_selection, for alignments")
        .range(0, std::numeric_limits<std::int32_t>::max())
        .unit("bases");
    d.option("min_chain_score", &Parameters::min_chain_score, "as of map_selection: the least score that a second hit is assumed to have")
        .range(0, std::numeric_limits<std::int32_t>::max());
  }

  BaseAlignment(const Setup& setup, const Parameters& p)
      : index_(minimizer_index_view(setup.resource("index"))),
        compressed_(index_.homopolymer_compressed ? Compressed::yes : Compressed::no),
        scoring_(p),
        ranking_{.mask_level = static_cast<float>(p.mask_level),
                 .masking = p.hard_mask_level ? Masking::hard : Masking::soft,
                 .mask_length = p.mask_length,
                 .min_chain_score = p.min_chain_score,
                 .scoring = p},
        secondary_(p.secondary),
        eqx_(p.eqx),
        wants_difference_(setup.wanted("difference_text")),
        wants_mismatches_(setup.wanted("mismatch_text")) {
    if (index_.packed_bases.empty() && index_.contigs() > 0)
      throw Failure::input("the minimizer index has no bases, so nothing can be aligned to it", "make the index from FASTA, or with its bases");
  }

  Estimate estimate(const Batch& in) const {
    const auto bases = in.text("bases").offsets();
    Estimate e;
    for (std::size_t row = 0; row + 1 < bases.size(); ++row) {
      const auto work = static_cast<double>(bases[row + 1] - bases[row]);
      e.work += work;
      e.largest_row_work = std::max(e.largest_row_work, work);
    }
    e.output_bytes = static_cast<std::uint64_t>(e.work);
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<Row> made(rows);
    call.parallel_for(rows, 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t row = begin; row < end; ++row)
        if (in.ok(static_cast<std::int64_t>(row))) align_row(in, static_cast<std::int64_t>(row), *workspace, made[row]);
    });
    const Buffer per_hit = out.offsets([&](std::int64_t row) { return made[static_cast<std::size_t>(row)].hits.size(); });
    const Buffer per_operation = out.offsets([&](std::int64_t row) { return made[static_cast<std::size_t>(row)].cigar.size(); });
    const auto add = [&](const char* name, std::int32_t Hit::*member) {
      auto to = out.list<std::int32_t>(name, per_hit).begin();
      for (const Row& row : made)
        for (const Hit& hit : row.hits) *to++ = hit.*member;
    };
    add("cigar_count", &Hit::operations);
    add("aligned_query_start", &Hit::query_start);
    add("aligned_query_end", &Hit::query_end);
    add("aligned_target_start", &Hit::target_start);
    add("aligned_target_end", &Hit::target_end);
    add("aligned_matches", &Hit::matches);
    add("aligned_columns", &Hit::columns);
    add("edit_distance", &Hit::edit_distance);
    add("alignment_score", &Hit::score);
    const auto add_byte = [&](const char* name, std::uint8_t Hit::*member) {
      auto to = out.list<std::uint8_t>(name, per_hit).begin();
      for (const Row& row : made)
        for (const Hit& hit : row.hits) *to++ = hit.*member;
    };
    add_byte("aligned_is_primary", &Hit::is_primary);
    add_byte("aligned_mapq", &Hit::mapping_quality);
    auto to = out.list<std::uint32_t>("hit_cigar", per_operation).begin();
    for (const Row& row : made) to = std::copy(row.cigar.begin(), row.cigar.end(), to);
    const auto add_text = [&](const char* name, std::string Row::*member) {
      std::vector<std::string_view> texts;
      for (const Row& row : made) texts.emplace_back(row.*member);
      out.text_rows(name, texts);
    };
    if (wants_difference_) add_text("difference_text", &Row::difference);
    if (wants_mismatches_) add_text("mismatch_text", &Row::mismatches);
  }

 private:
  struct Hit {
    std::int32_t operations = 0, query_start = 0, query_end = 0, target_start = 0, target_end = 0;
    std::int32_t matches = 0, columns = 0, edit_distance = 0, score = 0;
    std::uint8_t is_primary = 0, mapping_quality = 0;
  };
  struct Row {
    std::vector<Hit> hits;
    std::vector<std::uint32_t> cigar;
    std::string difference, mismatches;
  };
  struct Workspace {
    explicit Workspace(const Scoring& scoring) : aligner(scoring) {}
    HitAligner aligner;
    HitAlignment alignment;
    std::vector<FixedPoint> points;
    std::vector<std::size_t> chain_begin;
    std::string forward, reverse, target;
    std::vector<AlignedHit> aligned;
    RankingScratch ranking;
  };
  // Default-constructible, as Workspaces wants it.
  struct LazyWorkspace {
    std::unique_ptr<Workspace> made;
    Workspace& get(const Scoring& scoring) {
      if (!made) made = std::make_unique<Workspace>(scoring);
      return *made;
    }
  };

  void align_row(const Batch& in, std::int64_t row, LazyWorkspace& lazy, Row& made) const {
    Workspace& workspace = lazy.get(scoring_);
    const std::string_view bases = in.text("bases")[row];
    const auto target = in.list<std::int32_t>("hit_target")[row];
    const auto is_reverse = in.list<std::uint8_t>("hit_is_reverse")[row], is_primary = in.list<std::uint8_t>("hit_is_primary")[row];
    const auto chain = in.list<std::int32_t>("hit_chain")[row], counts = in.list<std::int32_t>("chain_anchor_count")[row];
    const auto x = in.list<std::uint64_t>("chain_anchor_x")[row], y = in.list<std::uint64_t>("chain_anchor_y")[row];
    if (is_reverse.size() != target.size() || is_primary.size() != target.size() || chain.size() != target.size() || x.size() != y.size())
      throw Failure::input("the lists of a read's hits differ in length", "this is a bug in the stage that gives them");
    workspace.chain_begin.assign(1, 0);
    for (const std::int32_t count : counts)
      workspace.chain_begin.push_back(workspace.chain_begin.back() + static_cast<std::size_t>(std::max(count, 0)));
    if (workspace.chain_begin.back() != x.size())
      throw Failure::input("the chains of a read have other anchors than they say", "this is a bug in the stage that gives them");
    workspace.forward.clear();
    workspace.reverse.clear();
    made.hits.resize(target.size());
    for (std::size_t i = 0; i < target.size(); ++i) {
      const bool wanted = is_primary[i] != 0 || secondary_;
      const auto c = static_cast<std::size_t>(chain[i]);
      if (wanted && chain[i] >= 0 && c < counts.size() && target[i] >= 0 && static_cast<std::size_t>(target[i]) < index_.contigs()) {
        const std::size_t begin = workspace.chain_begin[c], count = workspace.chain_begin[c + 1] - begin;
        align_hit(bases, static_cast<std::size_t>(target[i]), is_reverse[i] != 0, x.subspan(begin, count), y.subspan(begin, count), workspace, made,
                  made.hits[i]);
      }
      if (wants_difference_) made.difference += '\n';
      if (wants_mismatches_) made.mismatches += '\n';
    }
    rank_row(in, row, workspace, made.hits);
  }

  // Hits without alignments stay what their chains made them.
  void rank_row(const Batch& in, std::int64_t row, Workspace& workspace, std::vector<Hit>& hits) const {
    const auto target = in.list<std::int32_t>("hit_target")[row];
    const auto chain_score = in.list<std::int32_t>("hit_score")[row], anchors = in.list<std::int32_t>("hit_anchors")[row];
    const auto is_primary = in.list<std::uint8_t>("hit_is_primary")[row], mapq = in.list<std::uint8_t>("hit_mapq")[row];
    if (chain_score.size() != hits.size() || anchors.size() != hits.size() || mapq.size() != hits.size())
      throw Failure::input("the lists of a read's hits differ in length", "this is a bug in the stage that gives them");
    bool any_primary = false;
    for (std::size_t i = 0; i < hits.size(); ++i) {
      hits[i].is_primary = is_primary[i];
      hits[i].mapping_quality = mapq[i];
      any_primary = any_primary || is_primary[i] != 0;
    }
    // Where all chains are kept none is primary.
    if (!secondary_ || !any_primary) return;
    workspace.aligned.clear();
    for (std::size_t i = 0; i < hits.size(); ++i)
      if (hits[i].operations != 0)
        workspace.aligned.push_back({.query_start = hits[i].query_start,
                                     .query_end = hits[i].query_end,
                                     .target = target[i],
                                     .target_start = hits[i].target_start,
                                     .target_end = hits[i].target_end,
                                     .matches = hits[i].matches,
                                     .columns = hits[i].columns,
                                     .score = hits[i].score,
                                     .chain_score = chain_score[i],
                                     .anchors = anchors[i]});
    rank_alignments(ranking_, in.column<std::int32_t>("repeat_length")[static_cast<std::size_t>(row)], workspace.ranking, workspace.aligned);
    auto ranked = workspace.aligned.begin();
    for (Hit& hit : hits) {
      if (hit.operations == 0) continue;
      hit.is_primary = ranked->is_primary ? 1 : 0;
      hit.mapping_quality = ranked->mapping_quality;
      ++ranked;
    }
  }

  void align_hit(std::string_view bases, std::size_t contig, bool is_reverse, std::span<const std::uint64_t> x, std::span<const std::uint64_t> y,
                 Workspace& workspace, Row& row, Hit& hit) const {
    choose_fixed_points(x, y, compressed_, workspace.points);
    std::string& query = is_reverse ? workspace.reverse : workspace.forward;
    if (query.empty()) orient(bases, is_reverse ? Orientation::reverse : Orientation::forward, query);
    const auto length = static_cast<std::int64_t>(query.size());
    const std::int64_t contig_length = index_.contig_length[contig];
    std::erase_if(workspace.points, [&](const FixedPoint& p) { return p.query > length || p.target > contig_length; });
    if (workspace.points.empty()) return;
    const FixedPoint first = workspace.points.front(), last = workspace.points.back();
    const std::int64_t begin = std::max<std::int64_t>(0, first.target - reach(first.query));
    const std::int64_t end = std::min(contig_length, last.target + reach(length - last.query));
    copy_contig_bases(index_, contig, begin, end, workspace.target);
    for (FixedPoint& point : workspace.points) point.target -= static_cast<std::int32_t>(begin);
    HitAlignment& alignment = workspace.alignment;
    if (!workspace.aligner.align(query, workspace.target, workspace.points, alignment)) return;

    const auto part = [](const std::string& text, std::int32_t from, std::int32_t to) {
      return std::string_view(text).substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
    };
    const std::string_view aligned_query = part(query, alignment.query_begin, alignment.query_end);
    const std::string_view aligned_target = part(workspace.target, alignment.target_begin, alignment.target_end);
    const Summary summary = summarize(alignment.path, aligned_query, aligned_target, scoring_);
    if (wants_difference_) append_difference(row.difference, alignment.path, aligned_query, aligned_target);
    if (wants_mismatches_) append_mismatched_reference(row.mismatches, alignment.path, aligned_query, aligned_target);
    if (eqx_) split_matches(alignment.path, aligned_query, aligned_target);
    const std::span<const std::uint32_t> operations = std::as_const(alignment.path).operations();
    row.cigar.insert(row.cigar.end(), operations.begin(), operations.end());
    const auto whole = static_cast<std::int32_t>(length);
    hit.operations = static_cast<std::int32_t>(operations.size());
    hit.query_start = is_reverse ? whole - alignment.query_end : alignment.query_begin;
    hit.query_end = is_reverse ? whole - alignment.query_begin : alignment.query_end;
    hit.target_start = static_cast<std::int32_t>(begin) + alignment.target_begin;
    hit.target_end = static_cast<std::int32_t>(begin) + alignment.target_end;
    hit.matches = summary.matches;
    hit.columns = summary.columns;
    hit.edit_distance = summary.edit_distance;
    hit.score = summary.score;
  }

  MinimizerIndexView index_;
  Compressed compressed_;
  Scoring scoring_;
  RankingSettings ranking_;
  bool secondary_, eqx_, wants_difference_, wants_mismatches_;
  Workspaces<LazyWorkspace> workspaces_;
};

}  // namespace
}  // namespace sluice::base_alignment

SLUICE_PLUGIN("base_alignment", "0.1.0", "MIT", sluice::base_alignment::BaseAlignment, sluice::base_alignment::PrimaryAlignment);
