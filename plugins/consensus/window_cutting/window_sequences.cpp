// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_cutting/window_sequences.hpp"

#include <algorithm>

#include "window_cutting/layer_columns.hpp"

namespace sluice::window_cutting {
namespace {

constexpr std::size_t windows_per_part = 128;
constexpr char weight_zero = '!', weight_one = '"';  // Phred + 33
// Memory of a workspace that one huge window has blown up is not kept.
constexpr std::size_t kept_bytes = std::size_t{8} << 20U;

// Of a backbone and its layers.
std::int64_t letters_of(std::int64_t backbone, std::span<const std::int32_t> begin, std::span<const std::int32_t> end) {
  std::int64_t letters = backbone;
  for (std::size_t i = 0; i < begin.size(); ++i) letters += end[i] - begin[i];
  return letters;
}

}  // namespace

void WindowSequences::describe(Describe<WindowSequences>& d) {
  d.id("window_sequences").summary("fetches the letters of windows and of their layers").map("window").work_unit("base");
  d.doc(
      "Sequence 0 of a window is the target's own part (the backbone), the others are its layers in their order, on the target's strand. Qualities "
      "are "
      "given for all sequences: a layer without has '\"' (weight 1).");
  d.option("backbone_without_qualities", &Parameters::backbone_without_qualities,
           "what a backbone weighs whose target has no qualities: 0 or 1 a base")
      .choices({"no_weight", "weight_one"});
  d.needs("target_index", "i64", "row of the target in its store");
  d.needs("window_start", "i64", "first base of the window on the target").needs("window_end", "i64", "its end");
  describe_layer_columns([&d](const char* name, const char* type, const char* help) { d.needs(name, type, help); });
  d.gives("sequences", "utf8", "backbone and layers, one after the other").gives("sequence_length", "list<i32>", "bases of each");
  d.gives("sequence_qualities", "utf8", "Phred + 33 of all of them");
  d.uses("reads", "sequence", "what layers are parts of")
      .uses("targets", "sequence", "what backbones are parts of; without it the reads", Needed::optional);
  d.reason("bad_layers", "a backbone or a layer that does not lie on its sequence");
}

WindowSequences::WindowSequences(const Setup& setup, const Parameters& p)
    : reads_(setup.resource("reads")),
      targets_(setup.resource(setup.has_resource("targets") ? "targets" : "reads")),
      quality_of_backbone_(p.backbone_without_qualities == "weight_one" ? weight_one : weight_zero) {}

Estimate WindowSequences::estimate(const Batch& in) const {
  const auto start = in.column<std::int64_t>("window_start"), end = in.column<std::int64_t>("window_end");
  const auto layer_start = in.list<std::int32_t>("layer_query_start"), layer_end = in.list<std::int32_t>("layer_query_end");
  Estimate e;
  for (std::int64_t row = 0; row < in.rows(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    const bool is_whole = in.ok(row) && layer_start[row].size() == layer_end[row].size();
    const double work = is_whole ? std::max(static_cast<double>(letters_of(end[r] - start[r], layer_start[row], layer_end[row])), 0.0) : 0;
    e.row_work.push_back(work);
    e.work += work;
    e.largest_row_work = std::max(e.largest_row_work, work);
  }
  e.output_bytes = static_cast<std::uint64_t>(e.work * 2);
  return e;
}

void WindowSequences::process(const Call& call, const Batch& in, Output& out) {
  const auto start = in.column<std::int64_t>("window_start"), end = in.column<std::int64_t>("window_end");
  const auto layer_start = in.list<std::int32_t>("layer_query_start"), layer_end = in.list<std::int32_t>("layer_query_end");
  const auto rows = static_cast<std::size_t>(in.rows());
  std::vector<std::uint8_t> is_good(rows, 0);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = static_cast<std::int64_t>(r);
    if (!in.ok(row)) continue;
    is_good[r] = fits(in, row) ? 1 : 0;
    if (is_good[r] == 0) out.fail(row, Reason::bad_layers);
  }
  const auto if_good = [&](auto&& size) {
    return [&is_good, size](std::int64_t row) { return is_good[static_cast<std::size_t>(row)] != 0 ? static_cast<std::int64_t>(size(row)) : 0; };
  };
  const Buffer lists = out.offsets(if_good([&](std::int64_t row) { return layer_start[row].size() + 1; }));
  const Buffer ends = out.offsets(if_good([&](std::int64_t row) {
    const auto r = static_cast<std::size_t>(row);
    return letters_of(end[r] - start[r], layer_start[row], layer_end[row]);
  }));
  const auto length = out.list<std::int32_t>("sequence_length", lists);
  const Letters letters = {out.text("sequences", ends), out.text("sequence_qualities", ends)};
  const auto first_length = lists.as<std::int64_t>(), first_letter = ends.as<std::int64_t>();
  call.parallel_for(rows, windows_per_part, [&](std::size_t first, std::size_t last) {
    auto workspace = workspaces_.take();
    if (!workspace->from_reads) {
      workspace->from_targets = std::make_unique<StretchFetcher>(targets_, quality_of_backbone_);
      workspace->from_reads = std::make_unique<StretchFetcher>(reads_, weight_one);
    }
    workspace->backbones.clear();
    workspace->layers.clear();
    for (std::size_t r = first; r < last; ++r) {
      if (is_good[r] == 0) continue;
      const auto row = static_cast<std::int64_t>(r);
      auto to = length.begin() + static_cast<std::ptrdiff_t>(first_length[r]);
      *to++ = static_cast<std::int32_t>(end[r] - start[r]);
      std::transform(layer_start[row].begin(), layer_start[row].end(), layer_end[row].begin(), to,
                     [](std::int32_t begin_of, std::int32_t end_of) { return end_of - begin_of; });
      list_stretches(in, row, first_letter[r], *workspace);
    }
    if (call.cancelled()) return;
    workspace->from_targets->fetch(workspace->backbones, letters);
    workspace->from_reads->fetch(workspace->layers, letters);
    if (workspace->from_targets->bytes() + workspace->from_reads->bytes() > kept_bytes) workspace.discard();
  });
  if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the sequences were cancelled");
}

bool WindowSequences::fits(const Batch& in, std::int64_t row) const {
  const auto r = static_cast<std::size_t>(row);
  const auto query = in.list<std::int64_t>("layer_query")[row];
  const auto begin = in.list<std::int32_t>("layer_query_start")[row], end = in.list<std::int32_t>("layer_query_end")[row];
  if (begin.size() != query.size() || end.size() != query.size() || in.list<std::uint8_t>("layer_is_reverse")[row].size() != query.size())
    return false;
  for (std::size_t i = 0; i < query.size(); ++i)
    if (!reads_.has(query[i], begin[i], end[i])) return false;
  return targets_.has(in.column<std::int64_t>("target_index")[r], in.column<std::int64_t>("window_start")[r],
                      in.column<std::int64_t>("window_end")[r]);
}

void WindowSequences::list_stretches(const Batch& in, std::int64_t row, std::int64_t at, Workspace& workspace) {
  const auto r = static_cast<std::size_t>(row);
  const std::int64_t start = in.column<std::int64_t>("window_start")[r], window_end = in.column<std::int64_t>("window_end")[r];
  workspace.backbones.push_back({in.column<std::int64_t>("target_index")[r], start, window_end, at, Strand::forward});
  at += window_end - start;
  const auto query = in.list<std::int64_t>("layer_query")[row];
  const auto begin = in.list<std::int32_t>("layer_query_start")[row], end = in.list<std::int32_t>("layer_query_end")[row];
  const auto is_reverse = in.list<std::uint8_t>("layer_is_reverse")[row];
  for (std::size_t i = 0; i < query.size(); ++i) {
    workspace.layers.push_back({query[i], begin[i], end[i], at, is_reverse[i] != 0 ? Strand::reverse : Strand::forward});
    at += end[i] - begin[i];
  }
}

}  // namespace sluice::window_cutting
