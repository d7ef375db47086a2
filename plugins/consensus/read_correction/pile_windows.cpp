// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/pile_windows.hpp"

#include <algorithm>

namespace sluice::read_correction {
namespace {

constexpr char weight_one = '"';  // Phred + 33, of a read without qualities
// About 130 windows of 100 bases at 20 fold coverage.
constexpr std::size_t batch_letters = std::size_t{1} << 18;
// Overlapping bases of the piles that are cut at once: their windows take twice that, or less.
constexpr std::int64_t piles_bases = std::int64_t{1} << 24;

}  // namespace

void PileSegmentation::describe(Describe<PileSegmentation>& d) {
  d.id("pile_segmentation").summary("cuts a read and the reads that overlap it into windows between shared anchors").regroup("overlap", "window");
  d.doc(
      "Target and queries are reads of one store. The overlaps of a target are its pile. Each query is anchored to the target by chained k-mers, "
      "which "
      "also reach up to 100 bases beyond the overlap's ends; the target is cut into pieces at places where most queries have an anchor, and each "
      "query's share of a piece is found from its anchors, or by an alignment between two of them. A window is a piece (sequence 0) with its layers, "
      "the "
      "most similar queries first. Pieces with fewer than min_layers layers are not given.\n\n"
      "Overlaps must come in the order of their targets (hit_overlaps, or overlap_reader with order = target). Reads are fetched as they are "
      "needed. Reads without qualities weigh 1 a base.");
  d.work_unit("base");
  d.option("piece_length", &Parameters::piece_length, "mean length of a piece; none is longer than one and a half").range(10, 100000).unit("bases");
  d.option("k", &Parameters::k, "bases of a k-mer").range(5, 15);
  d.option("margin", &Parameters::margin, "an anchor supports places with this many of its bases to both sides").range(0, 100).unit("bases");
  d.option("min_layers", &Parameters::min_layers, "pieces with fewer layers are left as they are (CONSENT: minSupport)").range(1, 1000);
  d.option("max_layers", &Parameters::max_layers, "layers of a piece; the overlaps with most matches are used (CONSENT: maxSupport)").range(1, 1000);
  d.option("max_overhang", &Parameters::max_overhang,
           "overlaps with more bases of both reads beside them than this share of their own length are left out: they are repeats")
      .range(0, 1e9);
  d.needs("target_index", "i64", "row of the read that is corrected in the store").needs("query_index", "i64", "row of the overlapping read");
  d.needs("target_start", "i64", "first base on the target").needs("target_end", "i64", "end on the target");
  d.needs("query_start", "i64", "first base on the query, forward strand").needs("query_end", "i64", "end on the query");
  d.needs("is_reverse", "u8", "1: the query's reverse complement matches");
  d.needs("overlap_matches", "i64", "matching bases; 0: unknown", Needed::optional);
  d.gives("window_name", "utf8", "name of the target").gives("target_index", "i64", "row of the target in the store");
  d.gives("window_index", "i64", "ordinal of the window on its target").gives("target_overlaps", "i64", "overlaps on this target");
  d.gives("window_start", "i64", "first base of the piece on the target").gives("window_end", "i64", "its end");
  d.gives("sequences", "utf8", "piece and layers, one after the other").gives("sequence_length", "list<i32>", "bases of each");
  d.gives("sequence_qualities", "utf8", "Phred + 33 of all of them");
  d.uses("reads", "sequence", "the reads");
  d.reason("bad_overlap", "an overlap that does not lie on its reads");
  d.reason("inside", "an overlap that ends inside both reads: a repeat");
}

PileSegmentation::PileSegmentation(const Setup& setup, const Parameters& p) : reads_(setup.resource("reads")), max_overhang_(p.max_overhang) {
  parameters_ = {.piece_length = static_cast<std::int32_t>(p.piece_length),
                 .k = static_cast<std::int32_t>(p.k),
                 .margin = static_cast<std::int32_t>(p.margin),
                 .min_layers = static_cast<std::int32_t>(p.min_layers),
                 .max_layers = static_cast<std::int32_t>(p.max_layers)};
}

void PileSegmentation::process(const Call& call, const Batch& in, Output& out) {
  const auto target_index = in.column<std::int64_t>("target_index");
  const auto query_index = in.column<std::int64_t>("query_index");
  const auto target_start = in.column<std::int64_t>("target_start");
  const auto target_end = in.column<std::int64_t>("target_end");
  const auto query_start = in.column<std::int64_t>("query_start");
  const auto query_end = in.column<std::int64_t>("query_end");
  const auto is_reverse = in.column<std::uint8_t>("is_reverse");
  const auto matches = in.has("overlap_matches") ? in.column<std::int64_t>("overlap_matches") : std::span<const std::int64_t>();
  const auto lies_on = [this](std::int64_t read, std::int64_t begin, std::int64_t end) {
    return read >= 0 && read < reads_.size() && begin >= 0 && begin < end && end <= reads_.length(read);
  };
  for (std::int64_t row = 0; row < in.rows() && !call.cancelled(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    if (!in.ok(row)) continue;
    if (!lies_on(target_index[r], target_start[r], target_end[r]) || !lies_on(query_index[r], query_start[r], query_end[r])) {
      const bool is_known = query_index[r] >= 0 && query_index[r] < reads_.size();
      call.account(Reason::bad_overlap, 1, is_known ? std::string(reads_.name(query_index[r])) : std::string());
      continue;
    }
    if (query_index[r] == target_index[r]) continue;
    const PileOverlap overlap = {.read = query_index[r],
                                 .template_begin = static_cast<std::int32_t>(target_start[r]),
                                 .template_end = static_cast<std::int32_t>(target_end[r]),
                                 .read_begin = static_cast<std::int32_t>(query_start[r]),
                                 .read_end = static_cast<std::int32_t>(query_end[r]),
                                 .matches = matches.empty() ? 0 : static_cast<std::int32_t>(matches[r]),
                                 .is_reverse = is_reverse[r] != 0};
    if (static_cast<double>(overhang(overlap, reads_.length(target_index[r]), reads_.length(query_index[r]))) >
        max_overhang_ * static_cast<double>(target_end[r] - target_start[r])) {
      call.account(Reason::inside, 1, std::string(reads_.name(query_index[r])));
      continue;
    }
    if (!piles_.empty() && target_index[r] < piles_.back().target)
      throw Failure::usage("pile_segmentation: overlaps do not come in the order of their targets", "set order = target in overlap_reader");
    if (piles_.empty() || target_index[r] > piles_.back().target) {
      if (waiting_bases_ >= piles_bases) cut_piles(call, out);
      piles_.push_back({target_index[r], 0, {}});
    }
    Pile& pile = piles_.back();
    ++pile.overlaps;
    pile.used.push_back(overlap);
    waiting_bases_ += target_end[r] - target_start[r];
  }
  if (piles_.size() < 2 || call.cancelled()) return;
  // The last pile may go on in the next batch.
  Pile last = std::move(piles_.back());
  piles_.pop_back();
  cut_piles(call, out);
  for (const PileOverlap& overlap : last.used) waiting_bases_ += overlap.template_end - overlap.template_begin;
  piles_.push_back(std::move(last));
}

void PileSegmentation::finish(const Call& call, Output& out) {
  cut_piles(call, out);
  emit(out);
}

void PileSegmentation::cut_piles(const Call& call, Output& out) {
  std::vector<Rows> results(piles_.size());
  std::vector<std::int64_t> unanchored(piles_.size(), 0);
  call.parallel_for(piles_.size(), 1, [&](std::size_t begin, std::size_t end) {
    auto workspace = workspaces_.take();
    if (!workspace->cutter) workspace->cutter = std::make_unique<PileCutter>(parameters_);
    for (std::size_t i = begin; i < end && !call.cancelled(); ++i) {
      cut_pile(piles_[i], *workspace, results[i]);
      unanchored[i] = workspace->cutter->unanchored();
    }
  });
  double not_anchored = 0;
  for (const std::int64_t count : unanchored) not_anchored += static_cast<double>(count);
  if (not_anchored > 0) call.count("overlaps without anchors", not_anchored);
  for (Rows& result : results) {
    for (Row row : result.rows) {
      row.letters_end += rows_.sequences.size();
      row.lengths_end += rows_.lengths.size();
      rows_.rows.push_back(row);
    }
    rows_.sequences += result.sequences;
    rows_.qualities += result.qualities;
    rows_.lengths.insert(rows_.lengths.end(), result.lengths.begin(), result.lengths.end());
    result = {};
    if (rows_.sequences.size() >= batch_letters) emit(out);
  }
  piles_.clear();
  waiting_bases_ = 0;
}

void PileSegmentation::cut_pile(Pile& pile, Workspace& workspace, Rows& result) const {
  const std::int64_t length = reads_.length(pile.target);
  select_overlaps(static_cast<std::int32_t>(length), parameters_.max_layers, pile.used);
  fetch_template(pile.target, workspace);
  fetch_reads(pile, length, workspace);
  workspace.cutter->cut(workspace.template_bases, workspace.reads);
  append_rows(pile, workspace, result);
}

void PileSegmentation::fetch_template(std::int64_t target, Workspace& workspace) const {
  const std::int64_t length = reads_.length(target);
  workspace.template_bases.resize(static_cast<std::size_t>(length));
  workspace.template_qualities.resize(static_cast<std::size_t>(length));
  reads_.fetch_bases(target, 0, length, workspace.template_bases.data(), workspace.scratch);
  fetch_qualities(target, 0, length, workspace.template_qualities.data(), workspace.scratch);
}

void PileSegmentation::fetch_reads(const Pile& pile, std::int64_t length, Workspace& workspace) const {
  workspace.reads.clear();
  workspace.begin.clear();
  workspace.bases.clear();
  workspace.qualities.clear();
  for (const PileOverlap& overlap : pile.used) {
    // What the read has beside the template's next 100 bases, in the read's own orientation.
    std::int64_t before = reach_on_read(std::min<std::int64_t>(overlap_reach, overlap.template_begin));
    std::int64_t behind = reach_on_read(std::min<std::int64_t>(overlap_reach, length - overlap.template_end));
    if (overlap.is_reverse) std::swap(before, behind);
    const std::int64_t begin = std::max<std::int64_t>(overlap.read_begin - before, 0);
    const std::int64_t end = std::min<std::int64_t>(overlap.read_end + behind, reads_.length(overlap.read));
    const std::size_t at = workspace.bases.size();
    workspace.bases.resize(at + static_cast<std::size_t>(end - begin));
    workspace.qualities.resize(workspace.bases.size());
    reads_.fetch_bases(overlap.read, begin, end, workspace.bases.data() + at, workspace.scratch);
    fetch_qualities(overlap.read, begin, end, workspace.qualities.data() + at, workspace.scratch);
    if (overlap.is_reverse) {
      const auto first = workspace.bases.begin() + static_cast<std::ptrdiff_t>(at);
      std::reverse(first, workspace.bases.end());
      std::transform(first, workspace.bases.end(), first, complement_of);
      std::reverse(workspace.qualities.begin() + static_cast<std::ptrdiff_t>(at), workspace.qualities.end());
    }
    const auto read_begin = static_cast<std::int32_t>(overlap.is_reverse ? end - overlap.read_end : overlap.read_begin - begin);
    workspace.begin.push_back(at);
    workspace.reads.push_back({{}, {overlap.template_begin, overlap.template_end, read_begin, read_begin + overlap.read_end - overlap.read_begin}});
  }
  workspace.begin.push_back(workspace.bases.size());
  for (std::size_t i = 0; i < workspace.reads.size(); ++i)
    workspace.reads[i].bases = std::string_view(workspace.bases).substr(workspace.begin[i], workspace.begin[i + 1] - workspace.begin[i]);
}

void PileSegmentation::fetch_qualities(std::int64_t read, std::int64_t begin, std::int64_t end, char* to, std::vector<char>& scratch) const {
  if (reads_.has_qualities(read))
    reads_.fetch_qualities(read, begin, end, to, scratch);
  else
    std::fill(to, to + (end - begin), weight_one);
}

void PileSegmentation::append_rows(const Pile& pile, const Workspace& workspace, Rows& result) const {
  const auto append = [&result](const std::string& bases, const std::string& qualities, std::size_t at, std::size_t letters) {
    result.sequences.append(bases, at, letters);
    result.qualities.append(qualities, at, letters);
    result.lengths.push_back(static_cast<std::int32_t>(letters));
  };
  const auto layers = workspace.cutter->layers();
  std::int64_t window = 0;
  for (const Piece& piece : workspace.cutter->pieces()) {
    append(workspace.template_bases, workspace.template_qualities, static_cast<std::size_t>(piece.begin),
           static_cast<std::size_t>(piece.end - piece.begin));
    for (const PieceLayer& layer : layers.subspan(piece.first_layer, piece.end_layer - piece.first_layer))
      append(workspace.bases, workspace.qualities, workspace.begin[static_cast<std::size_t>(layer.read)] + static_cast<std::size_t>(layer.begin),
             static_cast<std::size_t>(layer.end - layer.begin));
    result.rows.push_back({pile.target, window++, piece.begin, piece.end, pile.overlaps, result.sequences.size(), result.lengths.size()});
  }
}

void PileSegmentation::Rows::clear() {
  rows.clear();
  sequences.clear();
  qualities.clear();
  lengths.clear();
}

void PileSegmentation::emit(Output& out) {
  const std::vector<Row>& rows = rows_.rows;
  if (rows.empty()) return;
  out.set_rows(static_cast<std::int64_t>(rows.size()));
  out.set_work(static_cast<double>(rows_.sequences.size()));
  std::vector<std::string_view> names;
  for (const Row& row : rows) names.push_back(reads_.name(row.target));
  out.text_rows("window_name", names);
  const auto fill = [&](const char* column, std::int64_t Row::*value) {
    const auto values = out.column<std::int64_t>(column);
    for (std::size_t r = 0; r < rows.size(); ++r) values[r] = rows[r].*value;
  };
  fill("target_index", &Row::target);
  fill("window_index", &Row::window);
  fill("window_start", &Row::begin);
  fill("window_end", &Row::end);
  fill("target_overlaps", &Row::overlaps);
  const auto size = [&](std::size_t Row::*end) {
    return [&rows, end](std::int64_t row) {
      const auto r = static_cast<std::size_t>(row);
      return rows[r].*end - (r == 0 ? 0 : rows[r - 1].*end);
    };
  };
  const Buffer letters = out.offsets(size(&Row::letters_end));
  std::copy(rows_.sequences.begin(), rows_.sequences.end(), out.text("sequences", letters).begin());
  std::copy(rows_.qualities.begin(), rows_.qualities.end(), out.text("sequence_qualities", letters).begin());
  const Buffer lengths = out.offsets(size(&Row::lengths_end));
  std::copy(rows_.lengths.begin(), rows_.lengths.end(), out.list<std::int32_t>("sequence_length", lengths).begin());
  out.emit();
  rows_.clear();
}

}  // namespace sluice::read_correction
