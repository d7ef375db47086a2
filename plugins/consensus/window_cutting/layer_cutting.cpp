// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_cutting/layer_cutting.hpp"

#include <algorithm>
#include <string_view>

namespace sluice::window_cutting {
namespace {

constexpr std::size_t overlaps_per_part = 16;

}  // namespace

void LayerCutting::describe(Describe<LayerCutting>& d) {
  d.id("layer_cutting").summary("cuts aligned reads at the borders of their targets' windows, as racon does").map("overlap").work_unit("base");
  d.doc(
      "Targets are divided into windows of window_length bases. The part of a read that is aligned to one of them is a layer. A layer is left out "
      "when "
      "it has fewer bases than 2 % of a window, or a mean quality below min_quality.");
  d.option("window_length", &Parameters::window_length, "length of a window").range(2, 1000000000).unit("bases");
  d.option("min_quality", &Parameters::min_quality, "layers with a lower mean Phred score are left out").range(0, 100);
  d.needs("target_index", "i64", "row of the target in its store").needs("target_start", "i64", "first base on the target");
  d.needs("target_end", "i64", "end on the target").needs("is_reverse", "u8", "1: the read's reverse complement is aligned");
  d.needs("query_start", "i64", "first base on the read, forward strand").needs("query_end", "i64", "end on the read");
  d.needs("query_qualities", "utf8", "Phred + 33 of the read's part, in the target's orientation; empty: unknown");
  d.needs("cigar", "list<u32>", "alignment of the read's part");
  d.gives("layer_target_start", "list<i64>", "per layer: first base on the target").gives("layer_target_end", "list<i64>", "per layer: its end");
  d.gives("layer_query_start", "list<i32>", "per layer: first base on the read, forward strand")
      .gives("layer_query_end", "list<i32>", "per layer: end on the read");
  d.uses("targets", "sequence", "the targets");
  d.reason("bad_alignment", "an overlap whose alignment does not fit its sequences");
}

LayerCutting::LayerCutting(const Setup& setup, const Parameters& p)
    : targets_(setup.resource("targets")), window_length_(p.window_length), min_quality_(p.min_quality) {}

Estimate LayerCutting::estimate(const Batch& in) const {
  const auto start = in.column<std::int64_t>("target_start"), end = in.column<std::int64_t>("target_end");
  Estimate e;
  for (std::int64_t row = 0; row < in.rows(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    if (!in.ok(row) || end[r] < start[r]) continue;
    const double bases = static_cast<double>(end[r]) - static_cast<double>(start[r]);
    e.work += bases;
    e.largest_row_work = std::max(e.largest_row_work, bases);
  }
  e.output_bytes = static_cast<std::uint64_t>(e.work * 24 / static_cast<double>(window_length_));
  return e;
}

void LayerCutting::process(const Call& call, const Batch& in, Output& out) {
  const auto rows = static_cast<std::size_t>(in.rows());
  const auto is_reverse = in.column<std::uint8_t>("is_reverse");
  const auto query_start = in.column<std::int64_t>("query_start"), query_end = in.column<std::int64_t>("query_end");
  const TextView qualities = in.text("query_qualities");
  std::vector<std::vector<Layer>> layers(rows);
  std::vector<Counts> counts(rows);
  call.parallel_for(rows, overlaps_per_part, [&](std::size_t first, std::size_t last) {
    for (std::size_t r = first; r < last && !call.cancelled(); ++r) {
      const auto row = static_cast<std::int64_t>(r);
      if (!in.ok(row)) continue;
      if (cut(in, row, layers[r])) {
        drop_useless(qualities[row], layers[r], counts[r]);
      } else {
        layers[r].clear();
        out.fail(row, Reason::bad_alignment);
      }
    }
  });
  if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the layers were cancelled");
  Counts all;
  for (const Counts& of_row : counts) all.too_short += of_row.too_short, all.too_bad += of_row.too_bad;
  call.count("layers too short", static_cast<double>(all.too_short));
  call.count("layers of low quality", static_cast<double>(all.too_bad));

  const Buffer offsets = out.offsets([&](std::int64_t row) { return layers[static_cast<std::size_t>(row)].size(); });
  const auto target_begin = out.list<std::int64_t>("layer_target_start", offsets), target_end = out.list<std::int64_t>("layer_target_end", offsets);
  const auto begin = out.list<std::int32_t>("layer_query_start", offsets), end = out.list<std::int32_t>("layer_query_end", offsets);
  std::size_t at = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    for (const Layer& layer : layers[r]) {
      target_begin[at] = layer.target_begin;
      target_end[at] = layer.target_end;
      begin[at] = static_cast<std::int32_t>(is_reverse[r] != 0 ? query_end[r] - layer.query_end : query_start[r] + layer.query_begin);
      end[at] = static_cast<std::int32_t>(is_reverse[r] != 0 ? query_end[r] - layer.query_begin : query_start[r] + layer.query_end);
      ++at;
    }
  }
}

// False: the alignment does not fit.
bool LayerCutting::cut(const Batch& in, std::int64_t row, std::vector<Layer>& layers) const {
  const auto r = static_cast<std::size_t>(row);
  const std::int64_t target = in.column<std::int64_t>("target_index")[r];
  const std::int64_t start = in.column<std::int64_t>("target_start")[r], end = in.column<std::int64_t>("target_end")[r];
  const std::int64_t query_start = in.column<std::int64_t>("query_start")[r], query_end = in.column<std::int64_t>("query_end")[r];
  const std::string_view qualities = in.text("query_qualities")[row];
  if (target < 0 || target >= targets_.size() || start < 0 || start > end || end > targets_.length(target) || query_start < 0 ||
      query_end < query_start)
    return false;
  if (!qualities.empty() && static_cast<std::int64_t>(qualities.size()) != query_end - query_start) return false;
  return cut_layers(in.list<std::uint32_t>("cigar")[row], query_end - query_start, start, end, window_length_, layers);
}

void LayerCutting::drop_useless(std::string_view qualities, std::vector<Layer>& layers, Counts& counts) const {
  std::erase_if(layers, [&](const Layer& layer) {
    const std::int64_t letters = layer.query_end - layer.query_begin;
    if (static_cast<double>(letters) < 0.02 * static_cast<double>(window_length_)) return ++counts.too_short, true;
    if (!qualities.empty() &&
        mean_quality(qualities.substr(static_cast<std::size_t>(layer.query_begin), static_cast<std::size_t>(letters))) < min_quality_)
      return ++counts.too_bad, true;
    return layer.target_end - layer.target_begin < 2;
  });
}

}  // namespace sluice::window_cutting
