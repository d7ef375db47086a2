// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <sluice/minimizer_index.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "base_alignment/alignment_columns.hpp"
#include "base_alignment/alignment_rows.hpp"
#include "base_alignment/alignment_texts.hpp"
#include "base_alignment/memory_estimate.hpp"
#include "base_alignment/read_aligner.hpp"
#include "base_alignment/second_pass.hpp"
#include "base_alignment/splicing/junction_jumps.hpp"
#include "base_alignment/splicing/site_score_table.hpp"

#ifdef SLUICE_WITH_CUDA
#include <atomic>
#include <sluice/cuda.hpp>

#include "base_alignment/cuda/cuda.hpp"
#include "base_alignment/device_reads.hpp"
#endif

namespace sluice::base_alignment {
namespace {

constexpr std::int32_t unlimited = std::numeric_limits<std::int32_t>::max();

class BaseAlignment {
 public:
  struct Parameters : Scores {
    std::int32_t z_drop = 400, z_drop_inversion = 200, end_bonus = -1, min_score = 80, min_fill_length = 200;
    std::int64_t max_matrix_cells = 100'000'000;
    double max_clip_ratio = 1;
    std::int32_t bw = 500, bw_long = 20000, max_gap = 5000, min_chain_score = 40, min_cnt = 3, best_count = 5;
    double secondary_ratio = 0.8, mask_level = 0.5;
    bool hard_mask_level = false;
    std::int32_t mask_length = unlimited;
    bool all_chains = false, trim_ends = true, for_only = false, rev_only = false, eqx = false;
    bool cs = true, cs_long = false, ds = false, md = true;
    std::string compat = "none";
    bool splice = false;
    std::string transcript_strand = "none";
    std::int32_t splice_model = 1, noncanonical = 0;
    bool splice_flank = false;
    std::optional<Path> junctions;
    std::int32_t junction_bonus = 0, end_seed_penalty = 6;
    std::optional<Path> site_scores, annotated_junctions, seen_junctions;
    double site_score_scale = 0.7;
    std::int32_t no_site_score = 5, least_jump = 3;
    bool two_pass = false;
  };

  static void describe(Describe<BaseAlignment>& d) {
    d.id("base_alignment")
        .map("read")
        .summary("aligns mapped reads base by base along their chains")
        .doc(
            "The base-level alignment of minimap2 2.31 (Li 2018, 2021), column for column: chains lose doubtful ends and seeds, their ends are "
            "extended, "
            "the gaps between anchors filled with two-piece affine costs in a band, hits split where the score falls too far, inversions looked for "
            "between the parts; then the alignments' own scores say which of them are kept, which is primary, and how sure it is. A read can have "
            "more "
            "alignments than hits, or fewer. With `splice` a gap on the contig may be an intron, which is looked for by the bases at its ends. "
            "Options carry minimap2's letters in their help; the defaults are map-ont's.")
        .work_unit("base")
        .host_columns();
    d.uses("index", "minimizer_index", "names, lengths and bases of the contigs");
    d.needs("bases", "utf8", "the read in sequencing orientation")
        .needs("repeat_length", "i32", "bases under minimizers that were too frequent to be looked up")
        .needs("hit_target", "list<i32>", "contig of each hit")
        .needs("hit_is_reverse", "list<u8>", "1: the hit is on the reverse strand")
        .needs("hit_is_primary", "list<u8>", "0: a secondary hit")
        .needs("hit_score", "list<i32>", "score of each hit's chain")
        .needs("hit_second_score", "list<i32>", "best score of a chain secondary to it")
        .needs("hit_rivals", "list<i32>", "hits secondary to it with as many anchors")
        .needs("hit_hash", "list<u32>", "decides between hits of equal score")
        .needs("hit_chain", "list<i32>", "chain of each hit")
        .needs("chain_anchor_count", "list<i32>", "anchors of each chain")
        .needs("chain_anchor_x", "list<u64>", "anchors of all chains: target places")
        .needs("chain_anchor_y", "list<u64>", "anchors of all chains: spans and query places");
    d.gives("aligned_target", "list<i32>", "per alignment, the best first: number of the contig in the index")
        .gives("aligned_is_reverse", "list<u8>", "per alignment: 1 if the read aligns to the reverse strand")
        .gives("aligned_query_start", "list<i32>", "per alignment: first aligned base of the read, in sequencing orientation")
        .gives("aligned_query_end", "list<i32>", "per alignment: end of the aligned part, exclusive")
        .gives("aligned_target_start", "list<i32>", "per alignment: first aligned base of the contig")
        .gives("aligned_target_end", "list<i32>", "per alignment: its end, exclusive")
        .gives("aligned_matches", "list<i32>", "per alignment: columns with equal bases")
        .gives("aligned_columns", "list<i32>", "per alignment: columns, gaps included, without those with an N")
        .gives("aligned_ambiguous", "list<i32>", "per alignment: columns with an N (nn)")
        .gives("edit_distance", "list<i32>", "per alignment: mismatches, gap bases and columns with an N (NM)")
        .gives("alignment_score", "list<i32>", "per alignment: score of the whole (AS)")
        .gives("aligned_best_score", "list<i32>", "per alignment: score of the best part, long gaps costing less (ms)")
        .gives("aligned_divergence", "list<f64>", "per alignment: differences per column, a gap being one column (de)")
        .gives("aligned_anchors", "list<i32>", "per alignment: anchors of its chain (cm)")
        .gives("aligned_chain_score", "list<i32>", "per alignment: score of its chain (s1)")
        .gives("aligned_second_score", "list<i32>", "per primary alignment: best score of a chain secondary to it (s2); others: -1")
        .gives("aligned_is_primary", "list<u8>", "per alignment: 1 if no better one covers its part of the read")
        .gives("aligned_is_first", "list<u8>", "per alignment: 1 for the first primary one of the read")
        .gives("aligned_is_inversion", "list<u8>", "per alignment: 1 if it is an inverted stretch between two parts of a hit")
        .gives("aligned_split", "list<u8>", "per alignment: 1 if a part was split off behind it, 2 if it was split off, 3 both (zd)")
        .gives("aligned_mapq", "list<u8>", "per alignment: mapping quality, 0 to 60; secondary ones: 0")
        .gives("aligned_transcript_strand", "list<u8>", "per alignment: 1 if the read runs along its transcript, 2 if against it (ts), else unknown")
        .gives("cigar_count", "list<i32>", "per alignment: operations in aligned_cigar")
        .gives("aligned_cigar", "list<u32>", "operations of all alignments in BAM encoding, in reference orientation, without clips")
        .gives("difference_text", "utf8", "cs tags of the alignments, each followed by a newline", Needed::optional)
        .gives("mismatch_text", "utf8", "MD tags of the alignments, each followed by a newline", Needed::optional);
    d.option("match", &Parameters::match, "score of equal bases (minimap2's -A)").range(1, 100);
    d.option("mismatch", &Parameters::mismatch, "penalty of different bases (-B)").range(0, 100);
    d.option("transition", &Parameters::transition, "penalty of A against G and of C against T; 0: that of mismatch (-b); on the CPU").range(0, 100);
    d.option("gap_open", &Parameters::gap_open, "penalty of opening a gap (-O)").range(1, 125);
    d.option("gap_extend", &Parameters::gap_extend, "penalty of each base of a gap (-E)").range(1, 125);
    d.option("long_gap_open", &Parameters::gap_open_long, "the same for long gaps: a gap costs the smaller of both (-O, second value)").range(1, 125);
    d.option("long_gap_extend", &Parameters::gap_extend_long, "(-E, second value)").range(1, 125);
    d.option("ambiguous", &Parameters::ambiguous, "penalty of a column with an N (--score-N)").range(0, 100);
    d.option("z_drop", &Parameters::z_drop, "the score may fall so far below its best before a hit is split or ends (-z)").range(0, unlimited);
    d.option("z_drop_inversion", &Parameters::z_drop_inversion, "the same where an inversion explains it (-z, second value)").range(0, unlimited);
    d.option("end_bonus", &Parameters::end_bonus, "score of reaching the end of the read (--end-bonus); -1: none").range(-1, 1e6);
    d.option("min_score", &Parameters::min_score, "least score of an alignment (-s)").range(0, unlimited);
    d.option("min_fill_length", &Parameters::min_fill_length, "anchors closer than this are skipped (--min-dp-len)")
        .range(0, unlimited)
        .unit("bases");
    d.option("max_matrix_cells", &Parameters::max_matrix_cells, "gaps with a larger matrix split the hit (--cap-sw-mem); 0: any size").range(0, 1e12);
    d.option("max_clip_ratio", &Parameters::max_clip_ratio,
             "alignments with more than this share of the read on both sides are dropped (--max-clip-ratio)")
        .range(0, 1);
    d.option("trim_ends", &Parameters::trim_ends, "drop doubtful ends of chains (minimap2: unless --no-end-flt)");
    d.option("for_only", &Parameters::for_only, "as of minimizer_seeding: inversions are not looked for (--for-only)");
    d.option("rev_only", &Parameters::rev_only, "the same (--rev-only)");
    d.option("eqx", &Parameters::eqx, "write = and X instead of M (--eqx)");
    d.option("cs", &Parameters::cs, "make the texts of cs tags (--cs)");
    d.option("md", &Parameters::md, "make the texts of MD tags (--MD)");
    d.option("cs_long", &Parameters::cs_long, "cs tags that spell equal bases, too (--cs=long)");
    d.option("ds", &Parameters::ds,
             "make the texts of ds tags in place of cs tags: bases of gaps are bracketed by which they could be shifted (--ds)");
    d.option("bw", &Parameters::bw, "as of chaining: half the band of extensions is two thirds of it (-r)").range(1, 1e7).unit("bases");
    d.option("bw_long", &Parameters::bw_long, "as of chaining: the same of gaps (-r, second value)").range(0, 1e7).unit("bases");
    d.option("max_gap", &Parameters::max_gap, "as of chaining: ends are extended by no more bases (-g)").range(1, 1e7).unit("bases");
    d.option("min_cnt", &Parameters::min_cnt, "as of chaining: fewest anchors of a part (-n)").range(1, 1e6);
    d.option("min_chain_score", &Parameters::min_chain_score, "as of chaining (-m)").range(0, unlimited);
    d.option("all_chains", &Parameters::all_chains, "as of map_selection: no alignment is primary (-P)");
    d.option("secondary_ratio", &Parameters::secondary_ratio, "as of map_selection (-p)").range(0, 1);
    d.option("best_count", &Parameters::best_count, "as of map_selection (-N)").range(0, unlimited);
    d.option("mask_level", &Parameters::mask_level, "as of map_selection (-M)").range(0, 1);
    d.option("hard_mask_level", &Parameters::hard_mask_level, "as of map_selection (--hard-mask-level)");
    d.option("mask_length", &Parameters::mask_length, "as of map_selection (--mask-len)").range(0, unlimited).unit("bases");
    d.option("compat", &Parameters::compat, overlap::compat_help).choices(overlap::compat_choices);
    d.option("splice", &Parameters::splice, "align across introns, each of which costs long_gap_open (--splice)");
    d.option(
         "transcript_strand", &Parameters::transcript_strand,
         "splice: whether reads run along their transcripts (forward: -u f), against them (-u r), either way (-u b), or sites do not count (-u n)")
        .choices({"none", "forward", "reverse", "both"});
    d.option("splice_model", &Parameters::splice_model, "splice: 1: costs of sites as in miniprot, 0: all but GT..AG cost noncanonical (-J)")
        .range(0, 1);
    d.option("noncanonical", &Parameters::noncanonical, "splice_model 0: cost of an end of an intron that is not GT or AG (-C)").range(0, 60);
    d.option("splice_flank", &Parameters::splice_flank, "splice_model 0: the base beside GT and AG counts, too (--splice-flank)");
    d.option("junctions", &Parameters::junctions, "splice: known introns as BED, or transcripts as BED with 12 columns (--junc-bed)").reads();
    d.option("junction_bonus", &Parameters::junction_bonus, "splice: score of an end of an intron in junctions (--junc-bonus)").range(0, 40);
    d.option("site_scores", &Parameters::site_scores, "splice: scores of splice sites, in place of junctions (--spsc)").reads();
    d.option("site_score_scale", &Parameters::site_score_scale, "splice: scores are multiplied by it (--spsc-scale)").range(0, 1);
    d.option("no_site_score", &Parameters::no_site_score, "splice: penalty of places that site_scores do not have (--spsc0)").range(0, 60);
    d.option("annotated_junctions", &Parameters::annotated_junctions,
             "splice: junctions as BED, over which ends of alignments may jump by a few bases (-j)")
        .reads();
    d.option("seen_junctions", &Parameters::seen_junctions, "splice: the same of an earlier run, those of score 5 and more (--pass1)").reads();
    d.option("least_jump", &Parameters::least_jump, "splice: fewest bases of an exon that a jump adds (--jump-min-match)")
        .range(1, 1000)
        .unit("bases");
    d.option("two_pass", &Parameters::two_pass, "splice: jumps are left to splice_second_pass, which knows the introns of all reads");
    d.option("end_seed_penalty", &Parameters::end_seed_penalty, "splice: what the anchors at the ends of a chain must outweigh (--end-seed-pen)")
        .range(0, 1000);
#ifdef SLUICE_WITH_CUDA
    d.implementation<&BaseAlignment::process_cuda>("cuda",
                                                   "the gaps and ends of all reads of a batch at once, a quarter of a warp a gap; across introns "
                                                   "what lies over them, a warp each, and the rest by the "
                                                   "CPU; what has no room in the device's memory by the CPU");
#endif
  }

  static bool is_given(const std::optional<Path>& path) { return path && !path->empty(); }

  // What minimap2 refuses, and what it takes but can't align with (it ends with a segmentation fault, or its numbers of 8 bits overflow).
  static void check_parameters(const Parameters& p) {
    const std::string gap = std::to_string(p.gap_open + p.gap_extend);
    if (p.splice && !intron_costs_fit(p))
      throw Failure::usage("these costs of gaps and introns are not possible",
                           "long_gap_open, the cost of an intron, must be above gap_open + gap_extend, and all three together at most 127");
    if (!p.splice && !gap_costs_fit(p))
      throw Failure::usage(
          "these gap costs are not possible",
          "long_gap_extend must be below gap_extend and long_gap_open + long_gap_extend above gap_open + gap_extend (or both equal), and "
          "all four together at most 127");
    if (const std::int32_t most = highest_penalty(p); p.worst_column() > most)
      throw Failure::usage("mismatch = " + std::to_string(p.mismatch) + ", transition = " + std::to_string(p.transition) +
                               " and ambiguous = " + std::to_string(p.ambiguous) + " allow no alignment where gap_open + gap_extend = " + gap +
                               ": a column must not cost more than two gaps of one base",
                           "give each at most " + std::to_string(most) + ", or raise gap_open");
    if (const std::int32_t most = highest_match(p); p.match > most)
      throw Failure::usage("match = " + std::to_string(p.match) + " is too much where gap_open + gap_extend = " + gap,
                           most > 0 ? "give at most " + std::to_string(most) : "lower gap_open");
    if (p.eqx && (is_given(p.annotated_junctions) || is_given(p.seen_junctions) || p.two_pass))
      throw Failure::usage("eqx does not go with annotated_junctions, seen_junctions and two_pass", "leave out one of them");
    if (p.two_pass && is_given(p.seen_junctions))
      throw Failure::usage("two_pass finds the introns that seen_junctions would give", "leave out one of them");
    if (p.two_pass && overlap::release_of(p.compat) == overlap::Minimap2Release::v2_24)
      throw Failure::usage("minimap2 2.24 knows no two_pass", "leave out compat = minimap2=2.24, or two_pass");
    if (p.z_drop < p.z_drop_inversion) throw Failure::usage("z_drop_inversion is above z_drop", "give z_drop at least the same value");
  }

  BaseAlignment(const Setup& setup, const Parameters& p) : index_(minimizer_index_view(setup.resource("index"))), texts_(setup, p) {
    if (index_.packed_bases.empty() && index_.contigs() > 0)
      throw Failure::input("the minimizer index has no bases, so nothing can be aligned to it", "make the index from FASTA, or with its bases");
    settings_ = {.scores = p,
                 .splice = splice_settings(setup, p),
                 .z_drop = p.z_drop,
                 .z_drop_inversion = p.z_drop_inversion,
                 .end_bonus = p.end_bonus,
                 .min_score = p.min_score,
                 .min_fill_length = p.min_fill_length,
                 .max_cells = p.max_matrix_cells,
                 .max_clip_ratio = static_cast<float>(p.max_clip_ratio),
                 .bw = p.bw,
                 .bw_long = p.bw_long,
                 .max_gap = p.max_gap,
                 .min_chain_score = p.min_chain_score,
                 .min_count = p.min_cnt,
                 .best_count = p.best_count,
                 .secondary_ratio = static_cast<float>(p.secondary_ratio),
                 .mask = {static_cast<float>(p.mask_level), p.hard_mask_level ? overlap::Masking::hard : overlap::Masking::soft, p.mask_length},
                 .trim_ends = p.trim_ends,
                 .find_inversions = !p.splice && !p.for_only && !p.rev_only,
                 .rank = !p.all_chains,
                 .release = overlap::release_of(p.compat),
                 .eqx = p.eqx,
                 .k = static_cast<std::int32_t>(index_.k),
                 .homopolymer_compressed = index_.homopolymer_compressed};
  }

  Estimate estimate(const Batch& in) const {
    return estimate_alignment(in, {.texts = {texts_.makes_difference(), texts_.makes_mismatches()},
                                   .form = texts_.form(),
                                   .eqx = settings_.eqx,
                                   .splice = settings_.splice.enabled,
                                   .sites_are_known = sites_may_gain(settings_)});
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<AlignedRow> made(rows);
    call.parallel_for(rows, 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t row = begin; row < end; ++row)
        if (in.ok(static_cast<std::int64_t>(row)) && !call.cancelled()) align_row(in, static_cast<std::int64_t>(row), *workspace, made[row]);
    });
    give_alignments(made, texts_.wanted(), out);
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out) {
    const sluice::cuda::DeviceCall device(call);
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<RoundRead> reads(rows);
    const auto each_read = [&](const auto& body) {
      call.parallel_for(rows, 1, [&](std::size_t begin, std::size_t end) {
        auto workspace = workspaces_.take();
        for (std::size_t row = begin; row < end; ++row) {
          if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the alignment was cancelled");
          if (in.ok(static_cast<std::int64_t>(row))) body(row, workspace->get(settings_, index_), *workspace);
        }
      });
    };
    each_read([&](std::size_t row, ReadAligner& aligner, Workspace&) {
      const ReadHits read = hits_of(in, static_cast<std::int64_t>(row));
      if (read.target.empty()) return;
      aligner.start(read, reads[row].state);
      plan_round(settings_, aligner, reads[row]);
    });
    std::size_t left = 0, on_device = 0;
    std::atomic<std::size_t> unproven = 0;
    for (std::atomic<bool> goes_on = true; goes_on;) {
      cuda::Answers answers;
      align_on(device, reads, answers);
      left += answers.left;
      on_device += answers.of.size() - answers.left;
      goes_on = false;
      each_read([&](std::size_t row, ReadAligner& aligner, Workspace&) {
        if (reads[row].round.empty()) return;
        std::size_t of_read = 0;
        const bool has_more = take_round(aligner, answers, reads[row], of_read);
        unproven += of_read;
        if (!has_more) return;
        plan_round(settings_, aligner, reads[row]);
        goes_on = true;
      });
    }
    if (left > 0) call.count("pieces_left_to_cpu", static_cast<double>(left));
    if (settings_.splice.enabled) {
      call.count("spliced_pieces_on_device", static_cast<double>(on_device));
      call.count("spliced_pieces_again_on_cpu", static_cast<double>(unproven));
    }
    std::vector<AlignedRow> made(rows);
    each_read([&](std::size_t row, ReadAligner& aligner, Workspace& workspace) {
      ReadState& state = reads[row].state;
      if (state.hits.empty()) return;
      aligner.finish(in.column<std::int32_t>("repeat_length")[row], state);
      made[row].hits.swap(state.hits);
      add_texts(state.strands, workspace.target, made[row]);
    });
    give_alignments(made, texts_.wanted(), out);
  }
#endif

  // A device knows one penalty of mismatches.
  bool offers(std::string_view device) const { return device == "cpu" || !settings_.scores.has_transitions(); }

 private:
  SpliceSettings splice_settings(const Setup& setup, const Parameters& p) const {
    SpliceSettings splice;
    if (!p.splice) return splice;
    const overlap::Minimap2Release release = overlap::release_of(p.compat);
    splice.enabled = true;
    splice.along = p.transcript_strand == "forward" || p.transcript_strand == "both";
    splice.against = p.transcript_strand == "reverse" || p.transcript_strand == "both";
    if (p.splice_model == 0 || release == overlap::Minimap2Release::v2_24)
      splice.costs.of_kind = {p.splice_flank ? p.noncanonical / 2 : 0, p.noncanonical, p.noncanonical, p.noncanonical};
    splice.costs.known_end_bonus = p.junction_bonus;
    splice.end_seed_penalty = p.end_seed_penalty;
    splice.costs.no_score_penalty = p.no_site_score;
    splice.least_jump = p.least_jump;
    if (is_given(p.junctions)) splice.known = std::make_shared<KnownJunctions>(setup, *p.junctions, index_, release);
    if (is_given(p.site_scores)) {
      const std::int32_t most = std::min(63, std::max((p.gap_open_long + 1) / 2 - 1, p.gap_open_long - p.gap_open));
      splice.site_scores = std::make_shared<SiteScoreTable>(setup, *p.site_scores, index_, static_cast<float>(p.site_score_scale), most);
    }
    if (!p.two_pass && (is_given(p.annotated_junctions) || is_given(p.seen_junctions))) {
      const auto jumps = std::make_shared<JunctionEnds>(index_.contigs());
      if (is_given(p.annotated_junctions)) jumps->add(KnownJunctions(setup, *p.annotated_junctions, index_, release), true);
      if (is_given(p.seen_junctions)) jumps->add(KnownJunctions(setup, *p.seen_junctions, index_, release, good_junction_score), false);
      jumps->sort();
      splice.jumps = jumps;
    }
    return splice;
  }

  // Default-constructible, as Workspaces wants it.
  struct Workspace {
    std::unique_ptr<ReadAligner> made;
    std::vector<std::uint8_t> target;
    ReadAligner& get(const AlignmentSettings& settings, const MinimizerIndexView& index) {
      if (!made) made = std::make_unique<ReadAligner>(settings, index);
      return *made;
    }
  };

  // The lists fit each other.
  ReadHits hits_of(const Batch& in, std::int64_t row) const {
    const ReadHits read = read_hits_of(in, row);
    const std::string problem = problem_of(read, index_.contig_length);
    if (!problem.empty())
      throw Failure::input("row " + std::to_string(row) + " of the reads: " + problem, "this is a bug in the stage that gives its hits");
    return read;
  }

  void align_row(const Batch& in, std::int64_t row, Workspace& workspace, AlignedRow& made) const {
    const ReadHits read = hits_of(in, row);
    if (read.target.empty()) return;
    ReadAligner& aligner = workspace.get(settings_, index_);
    made.hits.swap(aligner.align(read));
    add_texts(aligner.strands(), workspace.target, made);
  }

#ifdef SLUICE_WITH_CUDA
  void align_on(const sluice::cuda::DeviceCall& device, std::span<RoundRead> reads, cuda::Answers& answers) {
    std::vector<sluice::cuda::Memory> memory;  // until the device has done all
    cuda::Resources resources;
    resources.stream = device.stream();
    resources.allocate = [&](std::size_t bytes) { return memory.emplace_back(device.allocate(bytes)).get(); };
    // Eight streams take half of a device's memory at most.
    resources.scratch_bytes = scratch_of_device_.get(device.ordinal(), [] {
      std::size_t free_bytes = 0, all_bytes = 0;
      sluice::cuda::check(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
      return free_bytes / 32;  // twice, where it has to grow
    });
    if (settings_.splice.enabled)
      cuda::align_spliced(settings_.scores, spliced_problems_of(reads), resources, answers);
    else
      cuda::align(settings_.scores, problems_of(reads), resources, answers);
  }
#endif

  void add_texts(const ReadStrands& read, std::vector<std::uint8_t>& target, AlignedRow& made) const {
    for (const AlignedHit& hit : made.hits) made.operations += hit.cigar.size();
    texts_.add(index_, read, target, made);
  }

  MinimizerIndexView index_;
  AlignmentSettings settings_;
  AlignmentTexts texts_;
  Workspaces<Workspace> workspaces_;
#ifdef SLUICE_WITH_CUDA
  sluice::cuda::PerDevice<std::size_t> scratch_of_device_;
#endif
};

}  // namespace
}  // namespace sluice::base_alignment

SLUICE_PLUGIN("base_alignment", "0.2.0", "MIT", sluice::base_alignment::BaseAlignment, sluice::base_alignment::AlignmentRows,
              sluice::base_alignment::SecondPass);
