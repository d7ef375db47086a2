// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/pile_segmentation.hpp"

#include <algorithm>
#include <memory>
#include <sluice/result_figures.hpp>

#include "read_correction/pile_columns.hpp"

namespace sluice::read_correction {
namespace {

// Memory of a workspace that one huge pile has blown up is not kept.
constexpr std::size_t kept_bytes = std::size_t{32} << 20U;

constexpr Figure identity_of_overlaps{0, FigureKind::share, "identity of overlaps", "base",
                                      "bases of reads that overlapping ones have, too: of a stretch of up to six overlaps of each read"};

double overlapping_bases(std::span<const std::int32_t> begin, std::span<const std::int32_t> end) {
  double bases = 0;
  for (std::size_t i = 0; i < std::min(begin.size(), end.size()); ++i) bases += static_cast<double>(end[i]) - static_cast<double>(begin[i]);
  return std::max(bases, 0.0);
}

}  // namespace

void PileSegmentation::describe(Describe<PileSegmentation>& d) {
  d.id("pile_segmentation").summary("cuts a read and the reads that overlap it into pieces between shared anchors").map("pile").work_unit("base");
  d.doc(
      "Each query is anchored to the target by chained k-mers, which also reach up to 1,000 bases beyond the overlap's ends; the target is cut into "
      "pieces at places where most queries have an anchor, and each query's share of a piece (a layer) is found from its anchors, or by an alignment "
      "between two of them. The layers of a piece are given with the most similar queries first. Pieces with fewer than min_layers layers are not "
      "given. Reads are fetched as they are needed.");
  d.option("piece_length", &Parameters::piece_length,
           "mean length of a piece; none is longer than one and a half; without it 100, and 300 of reads that are alike to those over them in less "
           "than 75 %")
      .range(10, 100000)
      .unit("bases");
  d.option("k", &Parameters::k, "bases of a k-mer; without it 11, and 8 of such reads").range(5, 15);
  d.option("margin", &Parameters::margin, "an anchor supports places with this many of its bases to both sides").range(0, 100).unit("bases");
  d.option("min_layers", &Parameters::min_layers, "pieces with fewer layers are left as they are (CONSENT: minSupport)").range(1, 1000);
  d.option("max_layers", &Parameters::max_layers, "layers of a piece; the overlaps with most matches are used (CONSENT: maxSupport)").range(1, 1000);
  describe_pile_columns([&d](const char* name, const char* type, const char* help) { d.needs(name, type, help); });
  d.gives("piece_start", "list<i32>", "per piece: its first base on the target").gives("piece_end", "list<i32>", "per piece: its end");
  d.gives("piece_layers", "list<i32>", "per piece: number of its layers, which follow each other in the columns below");
  describe_layer_columns([&d](const char* name, const char* type, const char* help) { d.gives(name, type, help); });
  d.uses("reads", "sequence", "the reads");
  d.reason("bad_pile", "a pile whose overlaps do not lie on their reads");
}

PileSegmentation::PileSegmentation(const Setup& setup, const Parameters& p) : reads_(setup.resource("reads")) {
  const auto given = [](const std::optional<std::int64_t>& value) { return value ? std::optional(static_cast<std::int32_t>(*value)) : std::nullopt; };
  parameters_ = {.piece_length = given(p.piece_length),
                 .k = given(p.k),
                 .margin = static_cast<std::int32_t>(p.margin),
                 .min_layers = static_cast<std::int32_t>(p.min_layers),
                 .max_layers = static_cast<std::int32_t>(p.max_layers)};
  const PileCut of_noisy = choose_cut(true, parameters_.k, parameters_.piece_length);
  title_of_noisy_ = "reads cut by " + std::to_string(of_noisy.k) + "-mers into pieces of " + std::to_string(of_noisy.piece_length);
}

Estimate PileSegmentation::estimate(const Batch& in) const {
  const auto begin = in.list<std::int32_t>("pile_target_start"), end = in.list<std::int32_t>("pile_target_end");
  Estimate e;
  for (std::int64_t row = 0; row < in.rows(); ++row) {
    const double work = in.ok(row) ? overlapping_bases(begin[row], end[row]) : 0;
    e.row_work.push_back(work);
    e.work += work;
    e.largest_row_work = std::max(e.largest_row_work, work);
  }
  // 17 bytes a layer; the queries' bases, of 2 bits, and what is made of them.
  e.output_bytes = static_cast<std::uint64_t>(e.work * 17 / parameters_.piece_length.value_or(PileCut{}.piece_length));
  e.scratch_bytes = static_cast<std::uint64_t>(e.largest_row_work);
  return e;
}

void PileSegmentation::process(const Call& call, const Batch& in, Output& out) {
  const auto rows = static_cast<std::size_t>(in.rows());
  const auto target = in.column<std::int64_t>("target_index");
  std::vector<Pieces> results(rows);
  call.parallel_for(rows, 1, [&](std::size_t first, std::size_t last) {
    auto workspace = workspaces_.take();
    if (!workspace->cutter) workspace->cutter = std::make_unique<PileCutter>(parameters_);
    if (!workspace->reads) workspace->reads = std::make_unique<OrientedReads>(reads_);
    for (std::size_t r = first; r < last && !call.cancelled(); ++r) {
      const auto row = static_cast<std::int64_t>(r);
      if (!in.ok(row)) continue;
      if (read_pile(in, row, workspace->overlaps))
        cut_pile(target[r], *workspace, results[r]);
      else
        out.fail(row, Reason::bad_pile);
    }
    if (workspace->bytes() > kept_bytes) workspace.discard();
  });
  if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the piles were cancelled");
  double unanchored = 0;
  for (const Pieces& pieces : results) unanchored += static_cast<double>(pieces.unanchored);
  if (unanchored > 0) call.count("overlaps without anchors", unanchored);
  give_figures(call, results);

  const Buffer pieces = out.offsets([&](std::int64_t row) { return results[static_cast<std::size_t>(row)].begin.size(); });
  const Buffer layers = out.offsets([&](std::int64_t row) { return results[static_cast<std::size_t>(row)].query.size(); });
  const auto give = [&]<class Value>(const char* name, const Buffer& offsets, std::vector<Value> Pieces::*values) {
    auto to = out.list<Value>(name, offsets).begin();
    for (const Pieces& result : results) to = std::copy((result.*values).begin(), (result.*values).end(), to);
  };
  give("piece_start", pieces, &Pieces::begin);
  give("piece_end", pieces, &Pieces::end);
  give("piece_layers", pieces, &Pieces::layers);
  give("layer_query", layers, &Pieces::query);
  give("layer_query_start", layers, &Pieces::query_begin);
  give("layer_query_end", layers, &Pieces::query_end);
  give("layer_is_reverse", layers, &Pieces::is_reverse);
}

// Described in every call: a stage that has no state has no end.
void PileSegmentation::give_figures(const Call& call, const std::vector<Pieces>& results) const {
  const Figure noisy_reads{1, FigureKind::share, title_of_noisy_.c_str(), "read",
                           "reads that are like those that overlap them in less than 75 % of their bases, where k or piece_length is not given"};
  OverlapIdentity identity;
  std::uint64_t measured = 0, noisy = 0;
  for (const Pieces& pieces : results) {
    identity += pieces.identity;
    measured += pieces.identity.letters > 0 ? 1 : 0;
    noisy += pieces.identity.is_noisy() ? 1 : 0;
  }
  ResultFigures figures;
  figures.describe(identity_of_overlaps);
  figures.add_share(identity_of_overlaps, static_cast<std::uint64_t>(std::max<std::int64_t>(identity.letters - identity.differences, 0)),
                    static_cast<std::uint64_t>(identity.letters));
  if (!parameters_.k || !parameters_.piece_length) {
    figures.describe(noisy_reads);
    figures.add_share(noisy_reads, noisy, measured);
  }
  figures.give(call);
}

// False: it is not one of pile_collection's.
bool PileSegmentation::read_pile(const Batch& in, std::int64_t row, std::vector<PileOverlap>& overlaps) const {
  const auto query = in.list<std::int64_t>("pile_query")[row];
  const auto target_begin = in.list<std::int32_t>("pile_target_start")[row], target_end = in.list<std::int32_t>("pile_target_end")[row];
  const auto query_begin = in.list<std::int32_t>("pile_query_start")[row], query_end = in.list<std::int32_t>("pile_query_end")[row];
  const auto matches = in.list<std::int32_t>("pile_matches")[row];
  const auto is_reverse = in.list<std::uint8_t>("pile_is_reverse")[row];
  for (const std::size_t size : {target_begin.size(), target_end.size(), query_begin.size(), query_end.size(), matches.size(), is_reverse.size()})
    if (size != query.size()) return false;
  const std::int64_t target = in.column<std::int64_t>("target_index")[static_cast<std::size_t>(row)];
  overlaps.clear();
  for (std::size_t i = 0; i < query.size(); ++i) {
    if (!reads_.has(target, target_begin[i], target_end[i]) || !reads_.has(query[i], query_begin[i], query_end[i])) return false;
    overlaps.push_back({query[i], target_begin[i], target_end[i], query_begin[i], query_end[i], matches[i], is_reverse[i] != 0});
  }
  return target >= 0 && target < reads_.size();
}

std::size_t PileSegmentation::Workspace::bytes() const {
  std::size_t all = template_bases.bytes();
  for (const PackedBases& read : bases) all += read.bytes();
  return all;
}

void PileSegmentation::cut_pile(std::int64_t target, Workspace& workspace, Pieces& result) const {
  const std::int64_t length = reads_.length(target);
  select_overlaps(static_cast<std::int32_t>(length), parameters_.max_layers, workspace.overlaps);
  workspace.reads->fetch_bases(target, 0, length, Strand::forward, workspace.template_bases);
  fetch_reads(length, workspace);
  workspace.cutter->cut(workspace.template_bases, workspace.pile);
  list_pieces(workspace, result);
}

void PileSegmentation::fetch_reads(std::int64_t length, Workspace& workspace) const {
  workspace.fetched.clear();
  workspace.pile.clear();
  if (workspace.bases.size() < workspace.overlaps.size()) workspace.bases.resize(workspace.overlaps.size());
  for (std::size_t i = 0; i < workspace.overlaps.size(); ++i) {
    const PileOverlap& overlap = workspace.overlaps[i];
    // What the read has beside the template's next 100 bases, in the read's own orientation.
    std::int64_t before = reach_on_read(std::min<std::int64_t>(overlap_reach, overlap.template_begin));
    std::int64_t behind = reach_on_read(std::min<std::int64_t>(overlap_reach, length - overlap.template_end));
    if (overlap.is_reverse) std::swap(before, behind);
    const std::int64_t begin = std::max<std::int64_t>(overlap.read_begin - before, 0);
    const std::int64_t end = std::min<std::int64_t>(overlap.read_end + behind, reads_.length(overlap.read));
    workspace.fetched.push_back({begin, end});
    workspace.reads->fetch_bases(overlap.read, begin, end, overlap.is_reverse ? Strand::reverse : Strand::forward, workspace.bases[i]);
    const auto read_begin = static_cast<std::int32_t>(overlap.is_reverse ? end - overlap.read_end : overlap.read_begin - begin);
    workspace.pile.push_back(
        {&workspace.bases[i], {overlap.template_begin, overlap.template_end, read_begin, read_begin + overlap.read_end - overlap.read_begin}});
  }
}

void PileSegmentation::list_pieces(const Workspace& workspace, Pieces& result) {
  result.unanchored = workspace.cutter->unanchored();
  result.identity = workspace.cutter->identity();
  const auto layers = workspace.cutter->layers();
  for (const Piece& piece : workspace.cutter->pieces()) {
    result.begin.push_back(piece.begin);
    result.end.push_back(piece.end);
    result.layers.push_back(static_cast<std::int32_t>(piece.end_layer - piece.first_layer));
    for (const PieceLayer& layer : layers.subspan(piece.first_layer, piece.end_layer - piece.first_layer)) {
      const PileOverlap& overlap = workspace.overlaps[static_cast<std::size_t>(layer.read)];
      const Fetched& fetched = workspace.fetched[static_cast<std::size_t>(layer.read)];
      result.query.push_back(overlap.read);
      result.query_begin.push_back(static_cast<std::int32_t>(overlap.is_reverse ? fetched.end - layer.end : fetched.begin + layer.begin));
      result.query_end.push_back(static_cast<std::int32_t>(overlap.is_reverse ? fetched.end - layer.begin : fetched.begin + layer.end));
      result.is_reverse.push_back(overlap.is_reverse ? 1 : 0);
    }
  }
}

}  // namespace sluice::read_correction
