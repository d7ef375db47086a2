// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cmath>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/hit_columns.hpp>
#include <sluice/stage.hpp>
#include <string>

#include "hit_selection/hit_merging.hpp"
#include "hit_selection/hits.hpp"
#include "hit_selection/selection.hpp"

#ifdef SLUICE_WITH_CUDA
#include "hit_selection/measured_batch.hpp"
#endif

namespace sluice::hit_selection {
namespace {

constexpr std::int32_t unlimited = std::numeric_limits<std::int32_t>::max();

class MapSelection {
 public:
  struct Parameters {
    bool all_chains = false;
    double secondary_ratio = 0.8;
    int best_count = 5;
    double mask_level = 0.5;
    bool hard_mask_level = false;
    int mask_length = unlimited;
    int max_gap = 5000;
    int min_chain_score = 40;
    int seed = 11;
    bool no_hash_name = false;
    std::string compat = "none";
  };
  static void describe(Describe<MapSelection>& d) {
    d.id("map_selection").summary("chooses each read's primary and secondary hits among its chains, and says how sure they are");
    d.doc(
        "minimap2 2.31 without base alignment: chains become hits by descending score; a hit that overlaps a better one by more than `mask_level` of "
        "the "
        "shorter is secondary; the best secondary ones are kept; the divergence is estimated from the minimizers that have no anchor, and the "
        "mapping "
        "quality from the scores of the best hit and the next, the number of anchors and the bases in repeats.\n\n"
        "With `all_chains` every chain is kept and none is primary, as overlaps of reads need it.");
    d.map("read").work_unit("anchor");
    d.needs("read_id", "utf8", "name of the read; ties between hits depend on it");
    d.needs("read_length", "i32", "bases of the read");
    d.needs("repeat_length", "i32", "bases under minimizers that were too frequent to be looked up");
    d.needs("seed_position", "list<u64>", "minimizers that were looked up: span << 32 | last base on the read");
    d.needs("chain_score", "list<i32>", "score of each chain");
    d.needs("chain_anchor_count", "list<i32>", "anchors of each chain");
    d.needs("chain_anchor_x", "list<u64>", "anchors of all chains: strand << 63 | contig << 32 | last base on the contig");
    d.needs("chain_anchor_y", "list<u64>",
            "anchors of all chains: span << 32 | last base on the read, on the reverse complement for the reverse strand");
    d.uses("index", "minimizer_index", "the sequences that the reads are mapped to");
    overlap::gives_hits(d);
    d.gives("hit_chain", "list<i32>", "per hit: which of the read's chains it is", Needed::optional);
    d.gives("hit_rivals", "list<i32>", "per primary hit: hits secondary to it that have at least as many anchors; secondary hits: 0",
            Needed::optional);
    d.gives("hit_hash", "list<u32>", overlap::hit_hash_doc, Needed::optional);
    d.option("all_chains", &Parameters::all_chains, "keep all chains, none of them primary (minimap2 -P)");
    d.option("secondary_ratio", &Parameters::secondary_ratio,
             "least score of a secondary hit, as a share of its primary's; 0: all are kept (minimap2 -p)")
        .range(0, 1);
    d.option("best_count", &Parameters::best_count, "most secondary hits of a read (minimap2 -N)").range(0, unlimited);
    d.option("mask_level", &Parameters::mask_level,
             "overlap with a better hit, as a share of the shorter one, above which a hit is secondary (minimap2 -M)")
        .range(0, 1);
    d.option("hard_mask_level", &Parameters::hard_mask_level,
             "only mask_level decides, even for a hit that covers other parts of the read (minimap2 --hard-mask-level)");
    d.option("mask_length", &Parameters::mask_length, "a hit that alone covers more bases of the read than this stays primary (minimap2 --mask-len)")
        .range(0, unlimited)
        .unit("bases");
    d.option("max_gap", &Parameters::max_gap,
             "chaining's max_gap: a secondary hit on the other strand is kept if its score is above four fifths of it (minimap2 -g)")
        .range(1, unlimited)
        .unit("bases");
    d.option("min_chain_score", &Parameters::min_chain_score,
             "chaining's min_chain_score: the least score that a second hit is assumed to have (minimap2 -m)")
        .range(0, unlimited);
    d.option("seed", &Parameters::seed, "of the hash that orders hits of equal score (minimap2 --seed)").range(0, unlimited);
    d.option("no_hash_name", &Parameters::no_hash_name,
             "leave the read's name out of that hash, so that equal bases give equal hits (minimap2 --no-hash-name)");
    d.option("compat", &Parameters::compat, overlap::compat_help).choices(overlap::compat_choices);
#ifdef SLUICE_WITH_CUDA
    d.implementation<&MapSelection::process_cuda>(
        "cuda",
        "the anchors of all chains of a batch are gone through on the device, a warp a chain, and stay there; "
        "the CPU chooses among the hits");
#endif
  }

  MapSelection(const Setup& setup, const Parameters& p)
      : index_(minimizer_index_view(setup.resource("index"))),
        wants_chain_(setup.wanted("hit_chain")),
        wants_rivals_(setup.wanted("hit_rivals")),
        wants_hash_(setup.wanted("hit_hash")) {
    settings_ = {.k = static_cast<std::int32_t>(index_.k),
                 .selection = p.all_chains ? Selection::all : Selection::best,
                 .secondary_ratio = static_cast<float>(p.secondary_ratio),
                 .best_count = p.best_count,
                 .mask_level = static_cast<float>(p.mask_level),
                 .masking = p.hard_mask_level ? Masking::hard : Masking::soft,
                 .mask_length = p.mask_length,
                 .max_gap = p.max_gap,
                 .min_chain_score = p.min_chain_score,
                 .names = p.no_hash_name ? ReadNames::ignored : ReadNames::hashed,
                 .seed = static_cast<std::uint32_t>(p.seed),
                 .release = overlap::release_of(p.compat)};
  }

  Estimate estimate(const Batch& in) const {
    const auto anchors = in.list<std::uint64_t>("chain_anchor_x");
    Estimate e;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const auto work = static_cast<double>(anchors[row].size());
      e.work += work;
      e.largest_row_work = std::max(e.largest_row_work, work);
    }
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    auto workspace = workspaces_.take();
    std::vector<Hit>& all = workspace->all;
    std::vector<std::size_t>& count = workspace->count;
    all.clear();
    count.assign(static_cast<std::size_t>(in.rows()), 0);
    const TextView read_ids = in.text("read_id");
    const auto read_length = in.column<std::int32_t>("read_length");
    const auto repeat_length = in.column<std::int32_t>("repeat_length");
    const auto seed_position = in.list<std::uint64_t>("seed_position");
    const auto chain_score = in.list<std::int32_t>("chain_score");
    const auto chain_anchor_count = in.list<std::int32_t>("chain_anchor_count");
    const auto anchor_x = in.list<std::uint64_t>("chain_anchor_x");
    const auto anchor_y = in.list<std::uint64_t>("chain_anchor_y");
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      if (call.cancelled()) break;
      const auto i = static_cast<std::size_t>(row);
      choose({.read_id = read_ids[row],
              .read_length = read_length[i],
              .repeat_length = repeat_length[i],
              .seed_position = seed_position[row],
              .chain_score = chain_score[row],
              .chain_anchor_count = chain_anchor_count[row],
              .anchors = {anchor_x[row], anchor_y[row]}},
             *workspace);
      all.insert(all.end(), workspace->one.begin(), workspace->one.end());
      count[i] = workspace->one.size();
    }
    give_hits(count, all, out);
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out) {
    const sluice::cuda::DeviceCall device(call);
    const cuda::TargetLengths& targets = targets_.get(device.ordinal(), [&] { return cuda::TargetLengths(device, index_.contig_length); });
    const cuda::MeasuredBatch batch(device, in, targets);
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<std::vector<Hit>> hits(rows);
    std::vector<std::size_t> count(rows);
    constexpr std::size_t rows_at_once = 16;
    call.parallel_for(rows, rows_at_once, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t row = begin; row < end && !call.cancelled(); ++row) {
        if (!in.ok(static_cast<std::int64_t>(row))) continue;
        choose(batch.read(row), *workspace);
        hits[row] = workspace->one;
        count[row] = hits[row].size();
      }
    });
    std::vector<Hit> all;
    for (const std::vector<Hit>& of_row : hits) all.insert(all.end(), of_row.begin(), of_row.end());
    give_hits(count, all, out);
  }
#endif

 private:
  struct Workspace {
    SelectionScratch scratch;
    std::vector<Hit> one, all;
    std::vector<std::size_t> count;
  };

  // The read's hits become workspace.one.
  void choose(const ReadChains& read, Workspace& workspace) const {
    workspace.one.clear();
    if (read.chain_score.empty() && read.anchors.x.empty()) return;
    if (read.measured.empty()) {
      const std::string problem = problem_of(read, index_.contig_length);
      if (!problem.empty()) throw Failure::input("read '" + std::string(read.read_id) + "': " + problem);
    }
    select_hits(read, index_.contig_length, settings_, workspace.scratch, workspace.one);
  }

  // count: hits of each row, which are `all` one after the other.
  void give_hits(std::span<const std::size_t> count, const std::vector<Hit>& all, Output& out) const {
    const Buffer offsets = out.offsets([&](std::int64_t row) { return count[static_cast<std::size_t>(row)]; });
    const auto give = [&]<class Value>(const char* name, Value value_of) {
      using T = decltype(value_of(all.front()));
      const std::span<T> values = out.list<T>(name, offsets);
      for (std::size_t i = 0; i < all.size(); ++i) values[i] = value_of(all[i]);
    };
    const auto flag = [](bool set) { return static_cast<std::uint8_t>(set ? 1 : 0); };
    give("hit_target", [](const Hit& hit) { return hit.target; });
    give("hit_query_start", [](const Hit& hit) { return hit.query_start; });
    give("hit_query_end", [](const Hit& hit) { return hit.query_end; });
    give("hit_target_start", [](const Hit& hit) { return hit.target_start; });
    give("hit_target_end", [](const Hit& hit) { return hit.target_end; });
    give("hit_score", [](const Hit& hit) { return hit.score; });
    give("hit_second_score", [](const Hit& hit) { return hit.primary() ? hit.second_score : -1; });
    give("hit_anchors", [](const Hit& hit) { return hit.anchors; });
    give("hit_matches", [](const Hit& hit) { return hit.matches; });
    give("hit_block", [](const Hit& hit) { return hit.block; });
    give("hit_is_reverse", [&](const Hit& hit) { return flag(hit.reverse); });
    give("hit_is_primary", [&](const Hit& hit) { return flag(hit.primary()); });
    give("hit_mapq", [](const Hit& hit) { return hit.mapping_quality; });
    give("hit_divergence", [](const Hit& hit) { return hit.divergence; });
    if (wants_chain_) give("hit_chain", [](const Hit& hit) { return hit.chain; });
    if (wants_rivals_) give("hit_rivals", [](const Hit& hit) { return hit.rivals; });
    if (wants_hash_) give("hit_hash", [](const Hit& hit) { return hit.hash; });
  }

  MinimizerIndexView index_;
  bool wants_chain_, wants_rivals_, wants_hash_;
  Settings settings_;
  Workspaces<Workspace> workspaces_;
#ifdef SLUICE_WITH_CUDA
  sluice::cuda::PerDevice<cuda::TargetLengths> targets_;
#endif
};

}  // namespace
}  // namespace sluice::hit_selection

SLUICE_PLUGIN("hit_selection", "0.1.0", "MIT", sluice::hit_selection::MapSelection, sluice::hit_selection::HitMerging);
