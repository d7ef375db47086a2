// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_cutting/window_cutting.hpp"

#include <algorithm>
#include <sluice/resume.hpp>
#include <string>
#include <string_view>

#include "window_cutting/layer_columns.hpp"

namespace sluice::window_cutting {
namespace {

// A batch: a half second of consensus at 20-fold coverage, and enough windows for all threads, or for a device, to share.
constexpr std::size_t batch_windows = 256;
constexpr std::int64_t batch_letters = std::int64_t{1} << 22;

}  // namespace

void WindowCutting::describe(Describe<WindowCutting>& d) {
  d.id("window_cutting")
      .summary("puts the layers of reads into the windows of their targets")
      .regroup("overlap", "window")
      .work_unit("base")
      .concatenates();
  d.doc(
      "A window has the target's own part (the backbone) and the layers that layer_cutting has cut for it, in the order of the overlap file. "
      "window_sequences fetches their letters.\n\n"
      "Windows with fewer than two layers are not given, except each target's last one: nothing is there to polish. Overlaps must come in the "
      "order of their targets and places (overlap_reader, order = target); a window is given as soon as no later overlap can reach it, so what is in "
      "memory are the windows under the longest read.");
  d.option("window_length", &Parameters::window_length, "length of a window, as in layer_cutting").range(2, 1000000000).unit("bases");
  d.needs("target_index", "i64", "row of the target in its store").needs("target_start", "i64", "first base on the target");
  d.needs("query_index", "i64", "row of the read in the store of reads").needs("is_reverse", "u8", "1: the read's reverse complement is aligned");
  d.needs("overlap_index", "i64", "ordinal of the overlap in its file").needs("target_overlaps", "i64", "overlaps on this target");
  d.needs("layer_target_start", "list<i64>", "per layer: first base on the target").needs("layer_target_end", "list<i64>", "per layer: its end");
  d.needs("layer_query_start", "list<i32>", "per layer: first base on the read, forward strand")
      .needs("layer_query_end", "list<i32>", "per layer: end on the read");
  d.gives("window_name", "utf8", "name of the target").gives("target_index", "i64", "row of the target in its store");
  d.gives("window_index", "i64", "ordinal of the window on its target").gives("target_overlaps", "i64", "overlaps on this target");
  d.gives("window_start", "i64", "first base of the window on the target").gives("window_end", "i64", "its end");
  describe_layer_columns([&d](const char* name, const char* type, const char* help) { d.gives(name, type, help); });
  d.gives("layer_begin", "list<i32>", "per sequence, the backbone first: first base on the backbone")
      .gives("layer_end", "list<i32>", "per sequence: last base");
  d.uses("targets", "sequence", "the targets");
}

WindowCutting::WindowCutting(const Setup& setup, const Parameters& p) : targets_(setup.resource("targets")), window_length_(p.window_length) {
  resume(setup, [this](StateReader& from) { restore(from); });
}

void WindowCutting::process(const Call& call, const Batch& in, Output& out) {
  const auto target_index = in.column<std::int64_t>("target_index"), target_start = in.column<std::int64_t>("target_start");
  const auto query_index = in.column<std::int64_t>("query_index"), overlap_index = in.column<std::int64_t>("overlap_index");
  const auto target_overlaps = in.column<std::int64_t>("target_overlaps");
  const auto is_reverse = in.column<std::uint8_t>("is_reverse");
  const auto target_begin = in.list<std::int64_t>("layer_target_start"), target_end = in.list<std::int64_t>("layer_target_end");
  const auto query_begin = in.list<std::int32_t>("layer_query_start"), query_end = in.list<std::int32_t>("layer_query_end");
  for (std::int64_t row = 0; row < in.rows() && !call.cancelled(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    if (!in.ok(row)) continue;
    const std::int64_t target = target_index[r];
    if (target < 0 || target >= targets_.size() || target < target_ || (target == target_ && target_start[r] / window_length_ < windows_.first()))
      throw Failure::usage("window_cutting: overlaps do not come in the order of their targets", "set order = target in overlap_reader");
    if (target > target_) {
      end_target(out);
      target_ = target;
    }
    target_overlaps_ = target_overlaps[r];
    const std::size_t layers = target_begin[row].size();
    if (target_end[row].size() != layers || query_begin[row].size() != layers || query_end[row].size() != layers)
      throw Failure::input("target '" + std::string(targets_.name(target)) + "': the lists of an overlap's layers differ in length");
    if (layers == 0) continue;
    close_windows(target_start[r] / window_length_, out);
    for (std::size_t i = 0; i < layers; ++i) {
      const std::int64_t window = target_begin[row][i] / window_length_;
      if (target_begin[row][i] < std::max<std::int64_t>(target_start[r], 0) || target_end[row][i] <= target_begin[row][i] ||
          target_end[row][i] > std::min((window + 1) * window_length_, targets_.length(target)))
        throw Failure::input("target '" + std::string(targets_.name(target)) + "': a layer does not lie in a window",
                             "give layer_cutting and window_cutting the same window_length");
      const auto on_window = [&](std::int64_t place) { return static_cast<std::int32_t>(place - window * window_length_); };
      windows_.add(window, {overlap_index[r], query_index[r], query_begin[row][i], query_end[row][i], on_window(target_begin[row][i]),
                            on_window(target_end[row][i] - 1), is_reverse[r]});
    }
  }
}

void WindowCutting::finish(const Call&, Output& out) {
  end_target(out);
  emit(out);
}

// All windows before `end` are complete.
void WindowCutting::save(const Call&, StateWriter& to) const {
  for (const std::int64_t number : {target_, target_overlaps_, letters_}) to.value(number);
  to.values(rows_);
  save_layers(to, layers_);
  windows_.save(to);
}

void WindowCutting::restore(StateReader& from) {
  for (std::int64_t* number : {&target_, &target_overlaps_, &letters_}) *number = from.value<std::int64_t>();
  rows_ = from.values<Row>();
  restore_layers(from, layers_);
  windows_.restore(from);
  bool fits = target_ >= -1 && target_ < targets_.size() && (rows_.empty() ? 0 : rows_.back().end_layer) == layers_.size() &&
              std::is_sorted(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.end_layer < b.end_layer; });
  for (const Row& row : rows_) fits = fits && row.target >= 0 && row.target < targets_.size();
  if (!fits) throw damaged_state();
}

void WindowCutting::close_windows(std::int64_t end, Output& out) {
  while (windows_.first() < end && !windows_.empty()) {
    if (const WindowLayers& layers = windows_.front(); layers.size() >= 2) give(windows_.first(), layers, out);
    windows_.pop_front();
  }
  windows_.skip_to(end);
}

void WindowCutting::end_target(Output& out) {
  if (target_ >= 0 && targets_.length(target_) > 0) {
    const std::int64_t last = (targets_.length(target_) - 1) / window_length_;
    close_windows(last, out);
    give(last, windows_.empty() ? WindowLayers() : windows_.front(), out);
  }
  windows_.restart();
}

void WindowCutting::give(std::int64_t window, const WindowLayers& layers, Output& out) {
  const std::int64_t begin = window * window_length_, end = std::min(begin + window_length_, targets_.length(target_));
  layers_.insert(layers_.end(), layers.begin(), layers.end());
  letters_ += end - begin;
  for (const WindowLayer& layer : layers) letters_ += layer.query_end - layer.query_begin;
  rows_.push_back({target_, window, begin, end, target_overlaps_, layers_.size()});
  if (rows_.size() >= batch_windows || letters_ >= batch_letters) emit(out);
}

void WindowCutting::emit(Output& out) {
  if (rows_.empty()) return;
  out.set_rows(static_cast<std::int64_t>(rows_.size()));
  out.set_work(static_cast<double>(letters_));
  std::vector<std::string_view> names;
  for (const Row& row : rows_) names.push_back(targets_.name(row.target));
  out.text_rows("window_name", names);
  const auto fill = [&](const char* column, std::int64_t Row::*value) {
    const auto values = out.column<std::int64_t>(column);
    for (std::size_t r = 0; r < rows_.size(); ++r) values[r] = rows_[r].*value;
  };
  fill("target_index", &Row::target);
  fill("window_index", &Row::window);
  fill("target_overlaps", &Row::overlaps);
  fill("window_start", &Row::begin);
  fill("window_end", &Row::end);
  const auto first_layer = [&](std::size_t r) { return r == 0 ? 0 : rows_[r - 1].end_layer; };
  const auto layers_of = [&](std::int64_t row) {
    const auto r = static_cast<std::size_t>(row);
    return rows_[r].end_layer - first_layer(r);
  };
  const Buffer layers = out.offsets(layers_of), sequences = out.offsets([&](std::int64_t row) { return layers_of(row) + 1; });
  const auto list = [&]<class Value>(const char* column, Value WindowLayer::*value) {
    const auto values = out.list<Value>(column, layers);
    for (std::size_t i = 0; i < layers_.size(); ++i) values[i] = layers_[i].*value;
  };
  list("layer_query", &WindowLayer::query);
  list("layer_query_start", &WindowLayer::query_begin);
  list("layer_query_end", &WindowLayer::query_end);
  list("layer_is_reverse", &WindowLayer::is_reverse);
  const auto list_with_backbone = [&](const char* column, std::int32_t WindowLayer::*value, auto&& of_backbone) {
    auto to = out.list<std::int32_t>(column, sequences).begin();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      *to++ = static_cast<std::int32_t>(of_backbone(rows_[r]));
      for (std::size_t i = first_layer(r); i < rows_[r].end_layer; ++i) *to++ = layers_[i].*value;
    }
  };
  list_with_backbone("layer_begin", &WindowLayer::begin, [](const Row&) { return 0; });
  list_with_backbone("layer_end", &WindowLayer::end, [](const Row& row) { return row.end - row.begin - 1; });
  out.emit();
  rows_.clear();
  layers_.clear();
  letters_ = 0;
}

}  // namespace sluice::window_cutting
