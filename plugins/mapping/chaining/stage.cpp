// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <sluice/kept_buffer.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/minimap2_release.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "chaining/chaining.hpp"

#ifdef SLUICE_WITH_CUDA
#include "chaining/cuda_batch.hpp"
#endif

namespace sluice::chaining {
namespace {

// A read whose workspace needs more than this gives its memory back at once: one read full of repeats would else pin it for the whole run.
constexpr std::size_t kept_workspace_bytes = std::size_t{64} << 20;
constexpr std::size_t kept_batch_bytes = std::size_t{128} << 20;

constexpr std::int32_t minimap2_chain_skip = 25;

class Chaining {
 public:
  struct Parameters : ChainingParameters {
    std::optional<std::int32_t> max_chain_skip, max_intron;
    std::string compat = "none", rmq = "no";
  };
  static void describe(Describe<Chaining>& d) {
    d.id("chaining").summary("finds chains of anchors that a read shares with its targets").map("read").work_unit("anchor");
    d.doc(
        "The chaining of minimap2 2.24 (Li 2018, 2021): predecessors within max_gap and bw under a gap cost, chains from the best end back, and one "
        "more "
        "pass over the chained anchors that joins chains across long gaps. Options carry minimap2's names; the defaults are map-ont's, but that "
        "max_chain_skip has no effect, which is exact.");
    d.needs("read_length", "i32", "bases").needs("anchor_x", "list<u64>", "reverse strand << 63 | target << 32 | position, ascending");
    d.needs("anchor_y", "list<u64>", "span << 32 | position on the read, in the direction of the target");
    d.uses("index", "minimizer_index", "the index that the anchors come from: its k takes the place of the option", Needed::optional);
    d.gives("chain_score", "list<i32>", "score of each chain").gives("chain_anchor_count", "list<i32>", "anchors of each chain");
    d.gives("chain_anchor_x", "list<u64>", "anchor_x of the chains' anchors, chain by chain");
    d.gives("chain_anchor_y", "list<u64>", "anchor_y of the chains' anchors, chain by chain");
    d.gives("anchor_score", "list<i32>", "best score of a chain that ends at the anchor, before chains are joined", Needed::optional);
    d.gives("anchor_predecessor", "list<i32>", "the anchor before it in that chain, -1: none", Needed::optional);
    d.option("max_gap", &Parameters::max_gap, "largest gap between anchors of a chain").range(1, 1e7).unit("bases");
    d.option("max_gap_ref", &Parameters::max_gap_ref, "largest gap on the target; -1: max_gap").range(-1, 1e7).unit("bases");
    d.option("bw", &Parameters::bw, "largest difference of the gaps on read and target").range(1, 1e7).unit("bases");
    d.option("bw_long", &Parameters::bw_long, "the same when chains are joined; no more than bw: chains are not joined").range(0, 1e7).unit("bases");
    d.option(
         "max_chain_skip", &Parameters::max_chain_skip,
         "the search for a predecessor ends after this many that the chain has already; less than max_chain_iter: a heuristic, several times slower; "
         "left out: 1000000, or what compat says; 25 across introns")
        .range(0, 1e9);
    d.option("compat", &Parameters::compat, "other than none: max_chain_skip is minimap2's own, 25, if it is left out")
        .choices(overlap::compat_choices);
    d.option("max_chain_iter", &Parameters::max_chain_iter, "anchors among which a predecessor is looked for").range(1, 1e9);
    d.option("min_cnt", &Parameters::min_cnt, "fewest anchors of a chain").range(1, 1e6);
    d.option("min_chain_score", &Parameters::min_chain_score, "lowest score of a chain").range(1, 1e9);
    d.option("splice", &Parameters::splice, "chain across introns (minimap2's --splice); on the CPU");
    d.option("max_intron", &Parameters::max_intron, "splice: longest intron; takes the place of max_gap_ref, bw and bw_long (minimap2's -G)")
        .range(1, 1e7)
        .unit("bases");
    d.option("rmq", &Parameters::rmq, "chain with linear gap costs from the start, as minimap2 does for assemblies").choices({"no", "yes"});
    d.option("rmq_inner_dist", &Parameters::rmq_inner_dist, "with linear gap costs: distance within which every predecessor is tried")
        .range(0, 1e7)
        .unit("bases");
    d.option("rmq_size_cap", &Parameters::rmq_size_cap, "with linear gap costs: most anchors to choose from").range(1, 1e9);
    d.option("rmq_rescue_size", &Parameters::rmq_rescue_size, "chains are joined when the first leaves more of the read than this")
        .range(0, 1e9)
        .unit("bases");
    d.option("rmq_rescue_ratio", &Parameters::rmq_rescue_ratio, "chains are joined when the first covers more of the read than this").range(0, 1);
    d.option("chain_gap_scale", &Parameters::chain_gap_scale, "cost of a difference of gaps").range(0, 10);
    d.option("chain_skip_scale", &Parameters::chain_skip_scale, "cost of a gap").range(0, 10);
    d.option("k", &Parameters::k, "the minimizers' k, by which costs scale").range(1, 28).unit("bases");
#ifdef SLUICE_WITH_CUDA
    d.implementation<&Chaining::process_cuda>(
        "cuda", "scores by runs, those of repeats by diagonals; walks and joins by a block a read, those of the longest reads by the CPU");
#endif
    // In the order of AnchorFault, without none.
    d.reason("different_lengths", "anchor_x and anchor_y differ in length");
    d.reason("unsorted_anchors", "the anchors are not in ascending order");
    d.reason("anchor_outside_read", "an anchor lies outside of the read, or beyond 2 Gbases on its target");
    d.reason("too_many_anchors", "the read has more anchors than 31 bits can count");
  }

  static void check_parameters(const Parameters& p) {
    if (p.splice && p.rmq == "yes") throw Failure::usage("rmq knows no introns", "leave out rmq or splice");
    if (p.max_intron && !p.splice) throw Failure::usage("max_intron is for splice", "add splice, or leave it out");
  }

  Chaining(const Setup& setup, const Parameters& parameters)
      : parameters_(parameters), wants_score_(setup.wanted("anchor_score")), wants_predecessor_(setup.wanted("anchor_predecessor")) {
    if (setup.has_resource("index")) {
      const MinimizerIndexView index = minimizer_index_view(setup.resource("index"));
      parameters_.k = static_cast<std::int32_t>(index.k);
      if (index.parts() > 1) parameters_.ties = Ties::place;
    }
    if (parameters.compat != "none" || parameters.splice) parameters_.max_chain_skip = minimap2_chain_skip;
    if (parameters.max_intron) parameters_.max_gap_ref = parameters_.bw = parameters_.bw_long = *parameters.max_intron;
    if (parameters.max_chain_skip) parameters_.max_chain_skip = *parameters.max_chain_skip;
    parameters_.release = overlap::release_of(parameters.compat);
    parameters_.engine = parameters.rmq == "yes" ? Engine::range_minimum : Engine::dynamic_programming;
    if (parameters_.ties == Ties::place && may_join(parameters_))
      throw Failure::usage("bw_long: chains are joined by what else a read meets, but the index comes in parts",
                           "give bw_long 0, or raise part_bases");
  }

  Estimate estimate(const Batch& in) const {
    const auto offsets = in.list<std::uint64_t>("anchor_x").offsets();
    Estimate e;
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
      const auto n = static_cast<std::size_t>(offsets[row + 1] - offsets[row]);
      const auto work = static_cast<double>(n + 1);
      e.work += work;
      e.largest_row_work = std::max(e.largest_row_work, work);
      e.output_bytes += n * (16 + (wants_score_ ? 4U : 0U) + (wants_predecessor_ ? 4U : 0U));
      e.scratch_bytes = std::max<std::uint64_t>(e.scratch_bytes, chaining_workspace_bytes(n));
    }
    e.scratch_bytes += BatchRoom::bytes_of(static_cast<std::size_t>(offsets.back() - offsets.front()));
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto read_length = in.column<std::int32_t>("read_length");
    const auto x = in.list<std::uint64_t>("anchor_x"), y = in.list<std::uint64_t>("anchor_y");
    const Buffer anchor_offsets = out.offsets([&](std::int64_t row) { return x[row].size(); });
    const AnchorScores columns = score_columns(out, anchor_offsets);
    const auto at = anchor_offsets.as<std::int64_t>();
    give_chains(call, out, at, [&](std::size_t i, ChainingWorkspace& workspace, ChainRoom room) -> Chains {
      const auto row = static_cast<std::int64_t>(i);
      const AnchorScores scores = part_of(columns, at, i);
      const Anchors anchors{x[row], y[row]};
      const AnchorFault fault = in.ok(row) ? check_anchors(anchors, read_length[i]) : AnchorFault::none;
      if (in.ok(row) && fault == AnchorFault::none) return chain_anchors(anchors, read_length[i], parameters_, workspace, room, scores);
      clear(scores);
      if (fault != AnchorFault::none) out.fail(row, static_cast<std::uint32_t>(fault) - 1);
      return {};
    });
  }

  // A device does what the exact first engine does.
  bool offers(std::string_view device) const {
    return device == "cpu" ||
           (!parameters_.splice && parameters_.engine == Engine::dynamic_programming && skips_are_unlimited(parameters_, parameters_.max_chain_iter));
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out) {
    const sluice::cuda::DeviceCall device(call);
    cuda::ChainedBatch batch(device, in);
    if (!batch.has_anchors()) return batch.add_nothing(out, wants_score_, wants_predecessor_);
    const std::vector<std::uint8_t>& faults = batch.check();
    for (std::size_t row = 0; row < faults.size(); ++row)
      if (faults[row] != 0 && faults[row] != cuda::row_failed_before) out.fail(static_cast<std::int64_t>(row), faults[row] - 1U);
    batch.chain(call, parameters_, workspaces_);
    batch.add_chains(out);
    batch.add_scores(out, wants_score_, wants_predecessor_);
  }
#endif

 private:
  // Optional columns; empty where nobody wants them.
  AnchorScores score_columns(Output& out, const Buffer& offsets) const {
    AnchorScores columns;
    if (wants_score_) columns.score = out.list<std::int32_t>("anchor_score", offsets);
    if (wants_predecessor_) columns.predecessor = out.list<std::int32_t>("anchor_predecessor", offsets);
    return columns;
  }
  static AnchorScores part_of(AnchorScores all, std::span<const std::int64_t> at, std::size_t row) {
    const auto part = [&](std::span<std::int32_t> values) {
      return values.empty() ? values : values.subspan(static_cast<std::size_t>(at[row]), static_cast<std::size_t>(at[row + 1] - at[row]));
    };
    return {part(all.score), part(all.predecessor)};
  }
  static void clear(AnchorScores scores) {
    std::fill(scores.score.begin(), scores.score.end(), 0);
    std::fill(scores.predecessor.begin(), scores.predecessor.end(), -1);
  }

  // chains_of_row(row, workspace, room) for every row on the run's threads, and the columns of chains. `at`: where the rows' anchors begin.
  template <class ChainsOfRow>
  void give_chains(const Call& call, Output& out, std::span<const std::int64_t> at, ChainsOfRow&& chains_of_row) {
    const auto rows = static_cast<std::size_t>(out.rows());
    auto batch = batches_.take();
    batch->make_room(rows, static_cast<std::size_t>(at[rows]));
    std::vector<Chains>& chains = batch->chains;
    // The reads with the most anchors first, whoever is free takes the next: no thread is left with a long read when the others are done. Reads
    // without anchors are too little work to be handed out: where nothing is seeded, a batch has tens of thousands of them.
    std::vector<std::size_t>& order = batch->order;
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto anchors_of = [&](std::size_t row) { return at[row + 1] - at[row]; };
    const auto empty = std::stable_partition(order.begin(), order.end(), [&](std::size_t row) { return anchors_of(row) > 0; });
    std::stable_sort(order.begin(), empty, [&](std::size_t a, std::size_t b) { return anchors_of(a) > anchors_of(b); });
    if (empty != order.end()) {
      auto workspace = workspaces_.take();
      std::for_each(empty, order.end(),
                    [&](std::size_t row) { chains[row] = chains_of_row(row, *workspace, batch->room(static_cast<std::size_t>(at[row]), 0)); });
    }
    std::atomic<std::size_t> next{0};
    call.parallel_for(static_cast<std::size_t>(empty - order.begin()), 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t turn = begin; turn < end; ++turn) {
        const std::size_t i = order[next.fetch_add(1, std::memory_order_relaxed)];
        const auto from = static_cast<std::size_t>(at[i]), count = static_cast<std::size_t>(at[i + 1] - at[i]);
        chains[i] = chains_of_row(i, *workspace, batch->room(from, count));
        if (chaining_workspace_bytes(count) > kept_workspace_bytes) *workspace = ChainingWorkspace();
      }
    });
    const auto gather = [&]<class T>(const char* name, const Buffer& offsets, std::span<const T> Chains::*part) {
      const std::span<T> to = out.list<T>(name, offsets);
      const auto ends = offsets.as<std::int64_t>();
      for (std::size_t i = 0; i < rows; ++i) std::copy((chains[i].*part).begin(), (chains[i].*part).end(), to.begin() + ends[i]);
    };
    const Buffer of_chains = out.offsets([&](std::int64_t row) { return chains[static_cast<std::size_t>(row)].score.size(); });
    const Buffer of_anchors = out.offsets([&](std::int64_t row) { return chains[static_cast<std::size_t>(row)].anchor_x.size(); });
    gather("chain_score", of_chains, &Chains::score);
    gather("chain_anchor_count", of_chains, &Chains::anchor_count);
    gather("chain_anchor_x", of_anchors, &Chains::anchor_x);
    gather("chain_anchor_y", of_anchors, &Chains::anchor_y);
    if (batch->bytes() > kept_batch_bytes) batch.discard();
  }

  // The chains of a batch before their number is known.
  struct BatchRoom {
    std::vector<std::size_t> order;
    std::vector<Chains> chains;
    KeptBuffer<std::int32_t> score, anchor_count;
    KeptBuffer<std::uint64_t> anchor_x, anchor_y;

    void make_room(std::size_t rows, std::size_t anchors) {
      order.resize(rows);
      chains.assign(rows, {});
      score.start(anchors);
      anchor_count.start(anchors);
      anchor_x.start(anchors);
      anchor_y.start(anchors);
    }
    ChainRoom room(std::size_t from, std::size_t count) {
      return {{score.data() + from, count}, {anchor_count.data() + from, count}, {anchor_x.data() + from, count}, {anchor_y.data() + from, count}};
    }
    static constexpr std::size_t bytes_of(std::size_t anchors) { return anchors * 24; }
    std::size_t bytes() const { return score.bytes() + anchor_count.bytes() + anchor_x.bytes() + anchor_y.bytes(); }
  };

  ChainingParameters parameters_;
  bool wants_score_, wants_predecessor_;
  Workspaces<ChainingWorkspace> workspaces_;
  Workspaces<BatchRoom> batches_;
};

}  // namespace
}  // namespace sluice::chaining

SLUICE_PLUGIN("chaining", "0.1.0", "MIT", sluice::chaining::Chaining);
