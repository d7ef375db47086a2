// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/piece_windows.hpp"

#include <algorithm>
#include <numeric>
#include <sluice/resume.hpp>
#include <string>
#include <string_view>

#include "read_correction/pile_columns.hpp"

namespace sluice::read_correction {
namespace {

// About 500 windows of 100 bases at 20-fold coverage, of some five piles: a tenth of a second of consensus.
constexpr std::int64_t batch_letters = std::int64_t{1} << 20;

template <class... Lists>
bool have_size(std::size_t size, const Lists&... lists) {
  return ((lists.size() == size) && ...);
}

}  // namespace

void PieceWindows::describe(Describe<PieceWindows>& d) {
  d.id("piece_windows").summary("makes a window of each piece of a read").regroup("pile", "window").work_unit("base").concatenates();
  d.doc("A window is a piece of the read with its layers, the parts of other reads that belong to it. window_sequences fetches their letters.");
  d.needs("target_index", "i64", "row of the read that is corrected in the store").needs("target_overlaps", "i64", "overlaps on it");
  d.needs("piece_start", "list<i32>", "per piece: its first base on the target").needs("piece_end", "list<i32>", "per piece: its end");
  d.needs("piece_layers", "list<i32>", "per piece: number of its layers, which follow each other in the columns below");
  describe_layer_columns([&d](const char* name, const char* type, const char* help) { d.needs(name, type, help); });
  d.gives("window_name", "utf8", "name of the target").gives("target_index", "i64", "row of the target in the store");
  d.gives("window_index", "i64", "ordinal of the window on its target").gives("target_overlaps", "i64", "overlaps on this target");
  d.gives("window_start", "i64", "first base of the piece on the target").gives("window_end", "i64", "its end");
  describe_layer_columns([&d](const char* name, const char* type, const char* help) { d.gives(name, type, help); });
  d.uses("reads", "sequence", "the reads");
}

PieceWindows::PieceWindows(const Setup& setup, const Parameters&) : reads_(setup.resource("reads")) {
  resume(setup, [this](StateReader& from) { restore(from); });
}

void PieceWindows::process(const Call& call, const Batch& in, Output& out) {
  const auto target = in.column<std::int64_t>("target_index"), overlaps = in.column<std::int64_t>("target_overlaps");
  const auto piece_start = in.list<std::int32_t>("piece_start"), piece_end = in.list<std::int32_t>("piece_end");
  const auto piece_layers = in.list<std::int32_t>("piece_layers");
  const auto query = in.list<std::int64_t>("layer_query");
  const auto query_start = in.list<std::int32_t>("layer_query_start"), query_end = in.list<std::int32_t>("layer_query_end");
  const auto is_reverse = in.list<std::uint8_t>("layer_is_reverse");
  for (std::int64_t row = 0; row < in.rows() && !call.cancelled(); ++row) {
    if (!in.ok(row)) continue;
    const auto r = static_cast<std::size_t>(row);
    if (target[r] < 0 || target[r] >= reads_.size()) throw Failure::input("a pile of a read that '" + reads_.path() + "' does not have");
    const auto all_layers = std::accumulate(piece_layers[row].begin(), piece_layers[row].end(), std::int64_t{0});
    if (piece_end[row].size() != piece_start[row].size() || piece_layers[row].size() != piece_start[row].size() ||
        std::any_of(piece_layers[row].begin(), piece_layers[row].end(), [](std::int32_t layers) { return layers < 0; }) ||
        !have_size(static_cast<std::size_t>(all_layers), query[row], query_start[row], query_end[row], is_reverse[row]))
      throw Failure::input("read '" + std::string(reads_.name(target[r])) + "': the lists of its pieces and layers differ in length");
    std::int64_t ordinal = 0;
    std::size_t layer = 0;
    for (std::size_t piece = 0; piece < piece_start[row].size(); ++piece) {
      const auto layers = static_cast<std::size_t>(piece_layers[row][piece]);
      const auto append = [&](const auto& from, auto& to) {
        const auto part = from[row].subspan(layer, layers);
        to.insert(to.end(), part.begin(), part.end());
      };
      append(query, query_);
      append(query_start, query_begin_);
      append(query_end, query_end_);
      append(is_reverse, is_reverse_);
      letters_ += piece_end[row][piece] - piece_start[row][piece];
      for (std::size_t i = layer; i < layer + layers; ++i) letters_ += query_end[row][i] - query_start[row][i];
      windows_.push_back({target[r], ordinal++, piece_start[row][piece], piece_end[row][piece], overlaps[r], query_.size()});
      layer += layers;
      if (letters_ >= batch_letters) emit(out);
    }
  }
}

void PieceWindows::finish(const Call&, Output& out) { emit(out); }

void PieceWindows::save(const Call&, StateWriter& to) const {
  to.values(windows_);
  to.values(query_);
  to.values(query_begin_);
  to.values(query_end_);
  to.values(is_reverse_);
  to.value(letters_);
}

void PieceWindows::restore(StateReader& from) {
  windows_ = from.values<Window>();
  query_ = from.values<std::int64_t>();
  query_begin_ = from.values<std::int32_t>();
  query_end_ = from.values<std::int32_t>();
  is_reverse_ = from.values<std::uint8_t>();
  letters_ = from.value<std::int64_t>();
  const std::size_t layers = windows_.empty() ? 0 : windows_.back().end_layer;
  bool fits = have_size(layers, query_, query_begin_, query_end_, is_reverse_) &&
              std::is_sorted(windows_.begin(), windows_.end(), [](const Window& a, const Window& b) { return a.end_layer < b.end_layer; });
  for (const Window& window : windows_) fits = fits && window.target >= 0 && window.target < reads_.size();
  if (!fits) throw damaged_state();
}

void PieceWindows::emit(Output& out) {
  if (windows_.empty()) return;
  out.set_rows(static_cast<std::int64_t>(windows_.size()));
  out.set_work(static_cast<double>(letters_));
  std::vector<std::string_view> names;
  for (const Window& window : windows_) names.push_back(reads_.name(window.target));
  out.text_rows("window_name", names);
  const auto fill = [&](const char* column, std::int64_t Window::*value) {
    const auto values = out.column<std::int64_t>(column);
    for (std::size_t w = 0; w < windows_.size(); ++w) values[w] = windows_[w].*value;
  };
  fill("target_index", &Window::target);
  fill("window_index", &Window::ordinal);
  fill("target_overlaps", &Window::overlaps);
  fill("window_start", &Window::begin);
  fill("window_end", &Window::end);
  const Buffer layers = out.offsets([&](std::int64_t row) {
    const auto w = static_cast<std::size_t>(row);
    return windows_[w].end_layer - (w == 0 ? 0 : windows_[w - 1].end_layer);
  });
  const auto list = [&]<class Value>(const char* column, std::vector<Value>& values) {
    std::copy(values.begin(), values.end(), out.list<Value>(column, layers).begin());
    values.clear();
  };
  list("layer_query", query_);
  list("layer_query_start", query_begin_);
  list("layer_query_end", query_end_);
  list("layer_is_reverse", is_reverse_);
  out.emit();
  windows_.clear();
  letters_ = 0;
}

}  // namespace sluice::read_correction
