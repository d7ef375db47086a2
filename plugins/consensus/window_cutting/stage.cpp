// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <limits>
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "window_cutting/layers.hpp"
#include "window_cutting/open_windows.hpp"

namespace sluice::window_cutting {
namespace {

constexpr char weight_zero = '!';  // Phred + 33: what a backbone without qualities weighs
constexpr char weight_one = '"';   // and a layer without qualities
// About 30 windows of 500 bases at 20 fold coverage: some tenths of a second of consensus, and few enough that short runs use all threads.
constexpr std::size_t batch_letters = std::size_t{1} << 18;

class WindowCutting {
 public:
  enum class Reason : std::uint32_t { bad_alignment };

  struct Parameters {
    std::int64_t window_length = 500;
    double min_quality = 10.0;
  };
  static void describe(Describe<WindowCutting>& d) {
    d.id("window_cutting").summary("cuts aligned reads into the windows of their targets, as racon does").regroup("overlap", "window");
    d.doc(
        "Targets are divided into windows of window_length bases. A window's sequence 0 is the target's own part (the backbone), the others are the "
        "layers: the parts of reads that are aligned to it, in the order of the overlap file. A layer is left out when it has fewer bases than 2 % "
        "of "
        "a window, or a mean quality below min_quality. Qualities are given for all sequences: a backbone without qualities has '!' (weight 0), a "
        "layer "
        "without has '\"' (weight 1).\n\n"
        "Windows with fewer than two layers are not given, except each target's last one: nothing is there to polish. Overlaps must come in the "
        "order of their targets and places (overlap_reader, order = target); a window is given as soon as no later overlap can reach it, so what is "
        "in "
        "memory are the windows under the longest read.");
    d.work_unit("base");
    d.option("window_length", &Parameters::window_length, "length of a window").range(2, 1000000000).unit("bases");
    d.option("min_quality", &Parameters::min_quality, "layers with a lower mean Phred score are left out").range(0, 100);
    d.needs("target_index", "i64", "row of the target in its store").needs("target_start", "i64", "first base on the target");
    d.needs("target_end", "i64", "end on the target").needs("overlap_index", "i64", "ordinal of the overlap in its file");
    d.needs("target_overlaps", "i64", "overlaps on this target").needs("query_bases", "utf8", "the read's part, in the target's orientation");
    d.needs("query_qualities", "utf8", "Phred + 33; empty: unknown").needs("cigar", "list<u32>", "alignment of query_bases");
    d.gives("window_name", "utf8", "name of the target").gives("target_index", "i64", "row of the target in its store");
    d.gives("window_index", "i64", "ordinal of the window on its target").gives("target_overlaps", "i64", "overlaps on this target");
    d.gives("sequences", "utf8", "backbone and layers, one after the other").gives("sequence_length", "list<i32>", "bases of each");
    d.gives("sequence_qualities", "utf8", "Phred + 33 of all of them");
    d.gives("layer_begin", "list<i32>", "per sequence: first base on the backbone").gives("layer_end", "list<i32>", "per sequence: last base");
    d.uses("targets", "sequence", "the targets");
    d.reason("bad_alignment", "an overlap whose alignment does not fit its sequences");
  }

  WindowCutting(const Setup& setup, const Parameters& p)
      : targets_(setup.resource("targets")), window_length_(p.window_length), min_quality_(p.min_quality) {}

  void process(const Call& call, const Batch& in, Output& out) {
    const auto target_index = in.column<std::int64_t>("target_index");
    const auto target_start = in.column<std::int64_t>("target_start");
    const auto target_end = in.column<std::int64_t>("target_end");
    const auto overlap_index = in.column<std::int64_t>("overlap_index");
    const auto target_overlaps = in.column<std::int64_t>("target_overlaps");
    const TextView bases = in.text("query_bases");
    const TextView qualities = in.text("query_qualities");
    const auto cigar = in.list<std::uint32_t>("cigar");
    for (std::int64_t row = 0; row < in.rows() && !call.cancelled(); ++row) {
      const auto r = static_cast<std::size_t>(row);
      if (!in.ok(row)) continue;
      const std::int64_t target = target_index[r];
      if (target < 0 || target >= targets_.size() || target_start[r] < 0 || target_start[r] > target_end[r] ||
          target_end[r] > targets_.length(target) || (!qualities[row].empty() && qualities[row].size() != bases[row].size()) ||
          !cut_layers(cigar[row], static_cast<std::int64_t>(bases[row].size()), target_start[r], target_end[r], window_length_, layers_)) {
        // The overlap has no name; the target it lies on has.
        call.account(Reason::bad_alignment, 1, target >= 0 && target < targets_.size() ? std::string(targets_.name(target)) : std::string());
        continue;
      }
      if (target < target_ || (target == target_ && target_start[r] / window_length_ < windows_.first()))
        throw Failure::usage("window_cutting: overlaps do not come in the order of their targets", "set order = target in overlap_reader");
      if (target > target_) {
        end_target(call, out);
        target_ = target;
      }
      target_overlaps_ = target_overlaps[r];
      if (layers_.empty()) continue;
      close_windows(target_start[r] / window_length_, call, out);
      for (const Layer& layer : layers_) add(layer, overlap_index[r], bases[row], qualities[row]);
    }
  }

  void finish(const Call& call, Output& out) {
    end_target(call, out);
    emit(call, out);
  }

 private:
  void add(const Layer& layer, std::int64_t overlap, std::string_view bases, std::string_view qualities) {
    const std::int64_t letters = layer.query_end - layer.query_begin;
    if (static_cast<double>(letters) < 0.02 * static_cast<double>(window_length_)) return ++too_short_, void();
    const auto part = [&](std::string_view text) {
      return text.substr(static_cast<std::size_t>(layer.query_begin), static_cast<std::size_t>(letters));
    };
    if (!qualities.empty() && mean_quality(part(qualities)) < min_quality_) return ++too_bad_, void();
    if (layer.target_end - layer.target_begin < 2) return;
    const std::int64_t window = layer.target_begin / window_length_;
    const std::int64_t begin = window * window_length_;
    windows_.add(window, overlap, static_cast<std::int32_t>(layer.target_begin - begin), static_cast<std::int32_t>(layer.target_end - 1 - begin),
                 part(bases), qualities.empty() ? qualities : part(qualities));
  }

  // All windows before `end` are complete.
  void close_windows(std::int64_t end, const Call& call, Output& out) {
    while (windows_.first() < end && !windows_.empty()) {
      if (windows_.front().layers.size() >= 2) give(windows_.first(), &windows_.front(), call, out);
      windows_.pop_front();
    }
    windows_.skip_to(end);
  }

  void end_target(const Call& call, Output& out) {
    if (target_ >= 0 && targets_.length(target_) > 0) {
      const std::int64_t last = (targets_.length(target_) - 1) / window_length_;
      close_windows(last, call, out);
      give(last, windows_.empty() ? nullptr : &windows_.front(), call, out);
    }
    windows_.restart();
  }

  // layers: nullptr for none.
  void give(std::int64_t window, const OpenWindow* layers, const Call& call, Output& out) {
    const std::int64_t begin = window * window_length_;
    const std::int64_t end = std::min(begin + window_length_, targets_.length(target_));
    const auto length = static_cast<std::size_t>(end - begin);
    std::size_t at = sequences_.size();
    sequences_.resize(at + length);
    qualities_.resize(at + length, weight_zero);
    targets_.fetch_bases(target_, begin, end, sequences_.data() + at, scratch_);
    if (targets_.has_qualities(target_)) targets_.fetch_qualities(target_, begin, end, qualities_.data() + at, scratch_);
    const auto add_sequence = [this](std::size_t letters, std::int32_t first, std::int32_t last) {
      sequence_length_.push_back(static_cast<std::int32_t>(letters));
      layer_begin_.push_back(first);
      layer_end_.push_back(last);
    };
    add_sequence(length, 0, static_cast<std::int32_t>(length) - 1);
    if (layers != nullptr) {
      for (const WindowLayer& layer : layers->layers) {
        sequences_.append(layers->bases, layer.offset, layer.length);
        if (layer.has_qualities)
          qualities_.append(layers->qualities, layer.offset, layer.length);
        else
          qualities_.append(layer.length, weight_one);
        add_sequence(layer.length, layer.begin, layer.end);
      }
    }
    rows_.push_back({target_, window, target_overlaps_, sequences_.size(), sequence_length_.size()});
    if (sequences_.size() >= batch_letters) emit(call, out);
  }

  void emit(const Call& call, Output& out) {
    call.count("layers too short", static_cast<double>(too_short_));
    call.count("layers of low quality", static_cast<double>(too_bad_));
    too_short_ = too_bad_ = 0;
    if (rows_.empty()) return;
    out.set_rows(static_cast<std::int64_t>(rows_.size()));
    out.set_work(static_cast<double>(sequences_.size()));
    std::vector<std::string_view> names;
    for (const Row& row : rows_) names.push_back(targets_.name(row.target));
    out.text_rows("window_name", names);
    const auto target = out.column<std::int64_t>("target_index");
    const auto window = out.column<std::int64_t>("window_index");
    const auto overlaps = out.column<std::int64_t>("target_overlaps");
    for (std::size_t r = 0; r < rows_.size(); ++r) target[r] = rows_[r].target, window[r] = rows_[r].window, overlaps[r] = rows_[r].overlaps;
    const auto size = [&](std::size_t Row::*end) {
      return [this, end](std::int64_t row) {
        const auto r = static_cast<std::size_t>(row);
        return rows_[r].*end - (r == 0 ? 0 : rows_[r - 1].*end);
      };
    };
    const Buffer letters = out.offsets(size(&Row::letters_end));
    std::copy(sequences_.begin(), sequences_.end(), out.text("sequences", letters).begin());
    std::copy(qualities_.begin(), qualities_.end(), out.text("sequence_qualities", letters).begin());
    const Buffer lists = out.offsets(size(&Row::lists_end));
    const auto list = [&](const char* column, const std::vector<std::int32_t>& values) {
      std::copy(values.begin(), values.end(), out.list<std::int32_t>(column, lists).begin());
    };
    list("sequence_length", sequence_length_);
    list("layer_begin", layer_begin_);
    list("layer_end", layer_end_);
    out.emit();
    rows_.clear();
    sequences_.clear();
    qualities_.clear();
    sequence_length_.clear();
    layer_begin_.clear();
    layer_end_.clear();
  }

  // A window that waits to be given; its cells are in the vectors below.
  struct Row {
    std::int64_t target, window, overlaps;
    std::size_t letters_end, lists_end;
  };

  SequenceStoreView targets_;
  std::int64_t window_length_;
  double min_quality_;
  std::int64_t target_ = -1, target_overlaps_ = 0;
  OpenWindows windows_;
  std::vector<Layer> layers_;
  std::vector<char> scratch_;
  std::vector<Row> rows_;
  std::string sequences_, qualities_;
  std::vector<std::int32_t> sequence_length_, layer_begin_, layer_end_;
  std::uint64_t too_short_ = 0, too_bad_ = 0;
};

}  // namespace
}  // namespace sluice::window_cutting

SLUICE_PLUGIN("window_cutting", "0.1.0", "MIT", sluice::window_cutting::WindowCutting);
